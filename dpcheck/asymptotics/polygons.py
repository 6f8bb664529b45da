"""Convex polygons with rational vertices: clipping by lines, pieces, unions that stay convex. No floats.

A polygon is a tuple of vertices, anticlockwise from its least one, without collinear ones; () is empty. Everything
without area counts as empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

Vertex = tuple[Fraction, Fraction]
Polygon = tuple[Vertex, ...]
Line = tuple[Fraction, Fraction, Fraction]
"""(p, q, r): the half-plane p x + q y + r >= 0."""
K = TypeVar("K", bound=Hashable)
EMPTY: Polygon = ()


def _turn(o: Vertex, u: Vertex, v: Vertex) -> Fraction:
    return (u[0] - o[0]) * (v[1] - o[1]) - (u[1] - o[1]) * (v[0] - o[0])


def twice_area(polygon: Sequence[Vertex]) -> Fraction:
    """Twice the signed area."""
    pairs = zip(polygon, (*polygon[1:], *polygon[:1]), strict=True)
    return sum((u[0] * v[1] - u[1] * v[0] for u, v in pairs), Fraction(0))


def hull(points: Iterable[Vertex]) -> Polygon:
    """Convex hull; empty when the points are collinear."""
    ordered = sorted(set(points))
    chains: list[list[Vertex]] = []
    for sweep in (ordered, ordered[::-1]):
        chain: list[Vertex] = []
        for point in sweep:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains.append(chain[:-1])
    corners = (*chains[0], *chains[1]) if chains else ()
    return corners if len(corners) > 2 else EMPTY


def values(polygon: Polygon, line: Line) -> list[Fraction]:
    """p x + q y + r at the vertices."""
    p, q, r = line
    return [p * x + q * y + r for x, y in polygon]


def clip(polygon: Polygon, line: Line, at: Sequence[Fraction] | None = None) -> Polygon:
    """The part of a polygon in a half-plane.

    Args:
        at: `values(polygon, line)`, when they are known already.
    """
    heights = values(polygon, line) if at is None else at
    if all(h >= 0 for h in heights):
        return polygon
    if all(h <= 0 for h in heights):
        return EMPTY
    kept: list[Vertex] = []
    for i, (vertex, height) in enumerate(zip(polygon, heights, strict=True)):
        before, last = polygon[i - 1], heights[i - 1]
        if (height > 0 > last) or (height < 0 < last):
            share = last / (last - height)
            kept.append((before[0] + share * (vertex[0] - before[0]), before[1] + share * (vertex[1] - before[1])))
        if height >= 0:
            kept.append(vertex)
    return hull(kept)


def clipped(polygon: Polygon, lines: Iterable[Line]) -> Polygon:
    """The part of a polygon in several half-planes."""
    for line in lines:
        polygon = clip(polygon, line) if polygon else EMPTY
    return polygon


def split(polygon: Polygon, line: Line) -> tuple[Polygon, Polygon]:
    """The parts on the non-negative and the non-positive side."""
    heights = values(polygon, line)
    p, q, r = line
    return clip(polygon, line, heights), clip(polygon, (-p, -q, -r), [-h for h in heights])


def edges(polygon: Polygon) -> list[Line]:
    """The half-planes whose intersection the polygon is."""
    pairs = zip(polygon, (*polygon[1:], *polygon[:1]), strict=True)
    return [(u[1] - v[1], v[0] - u[0], u[0] * v[1] - u[1] * v[0]) for u, v in pairs]


def intersect(first: Polygon, second: Polygon) -> Polygon:
    """The common part."""
    if first == second:
        return first
    if not first or not second or _apart(first, second):
        return EMPTY
    return clipped(first, edges(second))


def _apart(first: Polygon, second: Polygon) -> bool:
    """Whether the bounding boxes have no area in common."""
    for axis in (0, 1):
        one, two = [v[axis] for v in first], [v[axis] for v in second]
        if max(one) <= min(two) or max(two) <= min(one):
            return True
    return False


def subtract(polygon: Polygon, hole: Polygon) -> list[Polygon]:
    """What is left of a polygon without another one, as convex pieces."""
    if not polygon or not hole or _apart(polygon, hole):
        return [polygon] if polygon else []
    pieces = []
    for line in edges(hole):
        polygon, outside = split(polygon, line)
        if outside:
            pieces.append(outside)
        if not polygon:
            break
    return pieces


def contains(polygon: Polygon, point: Vertex) -> bool:
    """Whether a point lies in a polygon or on its edge."""
    return bool(polygon) and all(p * point[0] + q * point[1] + r >= 0 for p, q, r in edges(polygon))


def merged(pieces: Iterable[tuple[Polygon, K]]) -> list[tuple[Polygon, K]]:
    """Joins pieces of equal key as long as the union is convex; pieces of one key must not overlap."""
    groups: dict[K, list[Polygon]] = {}
    for polygon, key in pieces:
        if polygon:
            groups.setdefault(key, []).append(polygon)
    return [(polygon, key) for key, parts in groups.items() for polygon in sorted(_joined(parts))]


def _joined(polygons: list[Polygon]) -> list[Polygon]:
    waiting, done = [(p, twice_area(p)) for p in polygons], list[tuple[Polygon, Fraction]]()
    while waiting:
        polygon, area = waiting.pop()
        for i, (other, other_area) in enumerate(done):
            if _touch(polygon, other):
                union = hull((*polygon, *other))
                if twice_area(union) == area + other_area:
                    done.pop(i)
                    waiting.append((union, area + other_area))
                    break
        else:
            done.append((polygon, area))
    return [polygon for polygon, _ in done]


def _touch(first: Polygon, second: Polygon) -> bool:
    for axis in (0, 1):
        one, two = [v[axis] for v in first], [v[axis] for v in second]
        if max(one) < min(two) or max(two) < min(one):
            return False
    return True


def components(pieces: Sequence[Polygon]) -> list[list[Polygon]]:
    """Interior-disjoint pieces grouped by common stretches of edge; a common corner does not connect."""
    groups: list[list[Polygon]] = []
    for piece in pieces:
        near = [group for group in groups if any(_share_edge(piece, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(polygon for group in near for polygon in group), piece])
    return [sorted(group) for group in groups]


def _share_edge(first: Polygon, second: Polygon) -> bool:
    if not _touch(first, second):
        return False
    corners = {*first, *second}
    one, two = (set(_edges_cut_at(polygon, corners)) for polygon in (first, second))
    return any((v, u) in two for u, v in one)


def _edges_cut_at(polygon: Polygon, corners: Iterable[Vertex]) -> list[tuple[Vertex, Vertex]]:
    """Directed edges, cut at every corner on them."""
    cut = []
    for u, v in zip(polygon, (*polygon[1:], *polygon[:1]), strict=True):
        on_edge = [c for c in corners if _turn(u, v, c) == 0 and min(u, v) < c < max(u, v)]
        stops = [u, *sorted(on_edge, reverse=u > v), v]
        cut += list(itertools.pairwise(stops))
    return cut


def outline(pieces: Sequence[Polygon]) -> tuple[Polygon, tuple[Polygon, ...]]:
    """The outer ring (anticlockwise) and the holes (clockwise) of an edge-connected union of disjoint pieces."""
    corners = {vertex for piece in pieces for vertex in piece}
    directed = {edge for piece in pieces for edge in _edges_cut_at(piece, corners)}
    border = sorted((u, v) for u, v in directed if (v, u) not in directed)
    leaving: dict[Vertex, list[Vertex]] = {}
    for u, v in border:
        leaving.setdefault(u, []).append(v)
    following = {(u, v): (v, _sharpest_right(u, v, leaving[v])) for u, v in border}
    rings = []
    while following:
        edge = min(following)
        ring = []
        while edge in following:
            ring.append(edge[0])
            edge = following.pop(edge)
        rings.append(_tidy(ring))
    rings.sort(key=twice_area, reverse=True)
    return rings[0], tuple(rings[1:])


def _sharpest_right(before: Vertex, at: Vertex, candidates: Sequence[Vertex]) -> Vertex:
    """The next corner first met when turning anticlockwise from the way back: it keeps to the same bit of outside."""
    best = candidates[0]
    for other in candidates[1:]:
        first_half = [_turn(at, before, c) > 0 for c in (other, best)]
        if first_half[0] != first_half[1]:
            best = other if first_half[0] else best
        elif _turn(at, other, best) > 0:
            best = other
    return best


def _tidy(ring: Sequence[Vertex]) -> Polygon:
    """Without collinear vertices, from the least one on."""
    around = zip((ring[-1], *ring[:-1]), ring, (*ring[1:], ring[0]), strict=True)
    corners = [v for u, v, w in around if _turn(u, v, w) != 0]
    start = corners.index(min(corners))
    return (*corners[start:], *corners[:start])
