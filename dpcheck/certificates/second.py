"""A second checker of certificates, which shares nothing with the first but the format: python-flint's polynomials.

A product of vectors is a product of letters, one a vector, so that all numbers of a run are quadratic polynomials and
its inequalities r <= 0 are written down anew. bound - quantity + sum y r is positive semidefinite if its characteristic
polynomial has coefficients of alternating sign; the stored pivots are quotients of its minors. With pplpy, an exact
simplex method looks for multipliers by itself: it finds the greatest quantity that the inequalities in use leave, and
the squares of some sums of vectors, which are no less than 0 whatever the certificate says.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import lcm
from typing import Any

from dpcheck.errors import MissingExtra, WitnessRejected

Number = Any
"""Of flint: an `fmpq` that was typed, or a polynomial."""
OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
TAKES = {"distance": {2}, "gradient": {2}, "value": {2}, "subgradient": {3}, "inside": {2, 3}, "project": {2}}
"""How much a call of a problem is given; the others are given nothing but a class its keywords."""
SIMPLEX = 16
"""Multipliers of a certificate that an exact simplex method is asked about: it takes minutes of the largest."""
LETTERS = (64, 256, 1024)
"""Of a ring that is large enough for a problem."""


class Class:
    """Convex functions, `mu` strongly, 1/s-smooth and L-Lipschitz where that is given; of any norm where it is said."""

    def __init__(self, run: Ring, any_norm: bool, kind: Mapping[str, Any]) -> None:
        if kind.keys() - {"mu", "s", "L"} or not all(_typed(value) for value in kind.values()):
            raise WitnessRejected("a class is given by its mu, s and L, which are typed")
        self.run, self.any_norm = run, any_norm
        self.mu, self.s, self.L = (kind.get(name) for name in ("mu", "s", "L"))
        mu, s = (Fraction(str(value or 0)) for value in (self.mu, self.s))
        if mu < 0 or s < 0 or mu * s >= 1 or (any_norm and s):
            raise WitnessRejected("a class needs mu >= 0, s >= 0 and mu*s < 1, in any norm s = 0")
        self.points: list[tuple[Any, Any, Any]] = []

    def asked(self, x: Any, g: Any = None) -> tuple[Any, Any, Any]:
        for point in self.points if g is None else ():
            if point[0] == x:
                return point
        new = (_point(x), self.run.letter(free=self.any_norm) if g is None else _point(g), self.run.value())
        if self.L is not None and not self.any_norm:
            self.run.at_most(new[1] ** 2, self.L**2)
        for old in self.points:
            self.lies_above(new, old)
            self.lies_above(old, new)
        self.points.append(new)
        return new

    def lies_above(self, one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> None:
        """What f(x) >= f(z) + <g_z, x - z> + … says of two points x and z of a function of the class."""
        (x, g, f), (z, h, e) = one, other
        mu, s = self.mu or 0, self.s or 0
        if self.any_norm:
            way = self.run.distance(x, z)
            if self.L is not None:
                self.run.at_most(h * (z - x), self.L * self.run.unit * way)
                self.run.at_most(h * (x - z), self.L * self.run.unit * way)
            self.run.at_most(e + h * (x - z) + way**2 * mu / 2, f)
            return
        curved = s * (g - h) ** 2 + mu * (x - z) ** 2 - 2 * mu * s * (h - g) * (z - x)
        self.run.at_most(e + h * (x - z) + curved / (2 * (1 - mu * s)), f)


class Ring:
    """A problem as polynomials: its letters, those of no inner product, and what is known to be <= 0."""

    def __init__(self, lines: list[str], parameters: Mapping[str, Fraction], size: int) -> None:
        flint = _flint()
        names = [f"x{i}" for i in range(size)]
        self.context = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.deglex)
        self.letters, self.used, self.free = self.context.gens(), 1, set[int]()
        self.unit, self.rows, self.classes = self.letters[0], list[Any](), list[Class]()
        self.ways: list[tuple[Any, Any]] = []
        self.names: dict[str, Any] = {name: _rational(value) for name, value in parameters.items()}
        self.names |= {"zero": self.unit * 0, "unit": self.unit}
        self.quantity: Any = None
        for line in lines:
            self.read(line)

    def read(self, line: str) -> None:
        head, _, rest = line.partition(" ")
        if self.quantity is not None:
            raise WitnessRejected("there are lines after the quantity")
        if head == "bound":
            self.quantity = self.number(self.of(rest))
        elif head == "assume":
            left, _, right = rest.partition(" <= ")
            self.at_most(self.of(left), self.of(right))
        elif head not in self.names and head.isidentifier() and rest.startswith("= "):
            self.names[head] = self.of(rest[2:])
        else:
            raise WitnessRejected(f"no line of a problem: {line[:80]!r}")

    def of(self, text: str) -> Any:
        return self.worth(ast.parse(text, mode="eval").body)

    def worth(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return _rational(Fraction(node.value))
        if isinstance(node, ast.Name):
            return self.names[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = {str(each.arg): self.worth(each.value) for each in node.keywords}
            return self.call(node.func.id, [self.worth(each) for each in node.args], given)
        if not isinstance(node, ast.BinOp):
            raise WitnessRejected(f"no expression of a problem: {ast.unparse(node)[:80]}")
        left, right = self.worth(node.left), self.worth(node.right)
        if isinstance(node.op, ast.MatMult):
            if _degree(left) > 1 or _degree(right) > 1 or _typed(left) or _typed(right):
                raise WitnessRejected("a product is of two vectors")
            return left * right
        typed = _typed(left), _typed(right)
        if isinstance(node.op, ast.Add | ast.Sub) and typed[0] != typed[1]:
            if any(sum(powers) != 2 for powers in (right if typed[0] else left).monoms()):
                raise WitnessRejected("a vector and a number are added")
            if typed[0] and isinstance(node.op, ast.Sub):
                raise WitnessRejected("what is unknown is taken from what is typed")
            left, right = self.number(left), self.number(right)
        elif isinstance(node.op, ast.Mult | ast.Div) and not (typed[1] or (typed[0] and isinstance(node.op, ast.Mult))):
            raise WitnessRejected("a vector or a number is multiplied by what is typed, and by nothing else")
        return OPERATORS[type(node.op)](left, right)

    def call(self, name: str, at: list[Any], given: Mapping[str, Any]) -> Any:
        if len(at) not in TAKES.get(name, {0}) or (given and not name.startswith("convex")):
            raise WitnessRejected(f"{name[:40]!r} is given other things than it takes")
        match name:
            case "vector" | "point":
                return self.letter(free=name == "point")
            case "number":
                return self.value()
            case "distance":
                return self.distance(*at)
            case "convex" | "convex_any":
                self.classes.append(Class(self, name == "convex_any", given))
                return self.classes[-1]
            case "gradient":
                return at[0].asked(at[1])[1]
            case "value":
                return at[0].asked(at[1])[2]
            case "subgradient":
                return at[0].asked(at[1], at[2])[2]
            case "region":
                return []
            case "inside":
                return self.inside(*at)
            case "project":
                normal = self.letter()
                return self.inside(at[0], _point(at[1]) - normal, normal)
        raise WitnessRejected(f"a problem knows no {name[:40]!r}")

    def inside(self, region: list[tuple[Any, Any]], x: Any, normal: Any = None) -> Any:
        normal = self.unit * 0 if normal is None else _point(normal)
        for y, other in region:
            self.at_most(normal * (y - x), 0)
            self.at_most(other * (x - y), 0)
        region.append((_point(x), normal))
        return x

    def letter(self, *, free: bool = False) -> Any:
        self.used += 1
        if free:
            self.free.add(self.used - 1)
        return self.letters[self.used - 1]

    def value(self) -> Any:
        return self.unit * self.letter(free=True)

    def distance(self, x: Any, y: Any) -> Any:
        x, y = _point(x), _point(y)
        for way, length in self.ways:
            if way in (x - y, y - x):
                return length
        length = self.letter()
        self.at_most(-self.unit * length, 0)
        self.ways.append((x - y, length))
        return length

    def number(self, value: Any) -> Any:
        """What is typed, as a multiple of the unit's square."""
        return value * self.unit**2 if _typed(value) or isinstance(value, int) else value

    def at_most(self, left: Any, right: Any) -> None:
        row = self.number(left) - self.number(right)
        if any(sum(powers) != 2 for powers in row.monoms()):
            raise WitnessRejected("an inequality is between numbers")
        self.rows.append(row)


def confirm(certificate: Mapping[str, Any], bound: Fraction | None, attained: Fraction | None) -> str:
    """Who finds what the first checker found: this one, and PPL where the certificate is not too large for it.

    Raises:
        MissingExtra: python-flint or pplpy is not installed.
        WitnessRejected: they differ.
    """
    try:
        checked = check(certificate)
        most = greatest(certificate) if 0 < len(certificate.get("multipliers", ())) <= SIMPLEX else None
    except MissingExtra:
        raise
    except Exception as error:
        raise WitnessRejected(f"the second checker refuses it: {error}") from error
    if checked != (bound, attained):
        raise WitnessRejected(f"the first checker finds {(bound, attained)}, the second {checked}")
    if most is not None and bound is not None and most > bound:
        raise WitnessRejected(f"by PPL, {most} is left where {bound} is said to be proved")
    return "a second checker agrees" if most is None else "a second checker and PPL agree"


def check(certificate: Mapping[str, Any]) -> tuple[Fraction | None, Fraction | None]:
    """The bound that is proved and the size that is attained, as `checker.check` says them.

    Raises:
        MissingExtra: python-flint is not installed.
        Exception: of whatever kind, for anything that proves nothing.
    """
    ring = _ring(certificate)
    bound = _proved(ring, certificate) if "multipliers" in certificate else None
    attained = _attained(ring, certificate) if "attained" in certificate else None
    if bound is None and attained is None:
        raise WitnessRejected("there is neither a bound nor a function that attains one")
    return bound, attained


def greatest(certificate: Mapping[str, Any]) -> Fraction:
    """The greatest quantity that the inequalities in use leave, and the squares into which the form falls, by PPL.

    Raises:
        MissingExtra: pplpy is not installed.
        WitnessRejected: there is none.
    """
    try:
        import ppl
    except ImportError as error:
        raise MissingExtra("the exact simplex method", "second") from error
    ring = _ring(certificate)
    used = [ring.rows[int(number)] for number in certificate["multipliers"]]
    rows = [*used, *(-square for square in _squares(ring, _combined(ring, certificate)[1]))]
    products = sorted({m for row in (*rows, ring.quantity) for m in row.monoms()} - {(ring.unit**2).monoms()[0]})
    variables = {product: ppl.Variable(i) for i, product in enumerate(products)}

    def linear(form: Any) -> tuple[Any, int]:
        parts = {m: _fraction(c) for m, c in form.to_dict().items()}
        scale = lcm(*(c.denominator for c in parts.values()), 1)
        whole = sum(
            (int(c * scale) * variables[m] for m, c in parts.items() if m in variables), ppl.Linear_Expression()
        )
        return whole + sum(int(c * scale) for m, c in parts.items() if m not in variables), scale

    programme = ppl.MIP_Problem(len(products))
    for row in rows:
        programme.add_constraint(linear(row)[0] <= 0)
    goal, scale = linear(ring.quantity)
    programme.set_objective_function(goal)
    programme.set_optimization_mode("maximization")
    try:
        return Fraction(str(programme.optimal_value())) / scale
    except ValueError as error:
        raise WitnessRejected(f"the inequalities leave no greatest quantity: {error}") from error


def _ring(certificate: Mapping[str, Any]) -> Ring:
    parameters = {name: _canonical(text) for name, text in certificate["parameters"].items()}
    for size in LETTERS:
        try:
            return Ring(certificate["problem"], parameters, size)
        except IndexError:
            continue
    raise WitnessRejected(f"the problem has more than {LETTERS[-1]} vectors")


def _combined(ring: Ring, certificate: Mapping[str, Any]) -> tuple[Fraction, Any]:
    """The bound, and bound - quantity + sum y r."""
    bound = _canonical(certificate["bound"])
    form = ring.number(_rational(bound)) - ring.quantity
    for number, text in certificate["multipliers"].items():
        if (y := _canonical(text)) <= 0 or str(int(number)) != number or int(number) < 0:
            raise WitnessRejected("a multiplier is positive, and its inequality is numbered from 0")
        form += _rational(y) * ring.rows[int(number)]
    return bound, form


def _squares(ring: Ring, form: Any) -> list[Any]:
    """Of the sums of vectors of which a positive semidefinite form is a sum of squares."""
    values = []
    for letter in reversed(range(ring.used)):
        place = tuple(2 * (i == letter) for i in range(len(ring.letters)))
        if pivot := form.to_dict().get(place, 0):
            values.append((form.derivative(letter) / (2 * pivot)) ** 2)
            form -= pivot * values[-1]
    return values


def _proved(ring: Ring, certificate: Mapping[str, Any]) -> Fraction:
    flint = _flint()
    bound, form = _combined(ring, certificate)
    order = [i for i in range(ring.used) if i not in ring.free]
    matrix = flint.fmpq_mat(len(order), len(order))
    for powers, c in form.to_dict().items():
        i, j = (i for i, power in enumerate(powers) for _ in range(power))
        a, b = order.index(i), order.index(j)  # raises where a letter without inner product is left
        matrix[a, b] = matrix[b, a] = c if a == b else c / 2
    signed = [c if (len(order) - k) % 2 == 0 else -c for k, c in enumerate(matrix.charpoly().coeffs())]
    if any(c < 0 for c in signed):
        raise WitnessRejected("the matrix has a negative eigenvalue")
    kept, minor = list[int](), flint.fmpq(1)
    for place, text in zip(reversed(range(len(order))), certificate["pivots"], strict=True):
        trial = [*kept, place]
        determinant = flint.fmpq_mat([[matrix[a, b] for b in trial] for a in trial]).det()
        if determinant != minor * _rational(_canonical(text)):
            raise WitnessRejected("the pivots are others")
        if determinant:
            kept, minor = trial, determinant
    return bound


def _attained(ring: Ring, certificate: Mapping[str, Any]) -> Fraction:
    given = {int(i): [_canonical(text) for text in row] for i, row in certificate["vectors"].items()}
    unclear = any(f.any_norm or (f.mu and f.L is not None) for f in ring.classes)
    if unclear or sorted(given) != list(range(1, ring.used)):
        raise WitnessRejected("these inequalities do not make a function, or an unknown is not given")
    given[0] = [Fraction(1)]

    def size(form: Any) -> Fraction:
        total = Fraction(0)
        for powers, c in form.to_dict().items():
            i, j = (i for i, power in enumerate(powers) for _ in range(power))
            if i == 0 and not given[j]:
                raise WitnessRejected("a value is not given")
            total += _fraction(c) * sum(a * b for a, b in zip(given[i], given[j], strict=False))
        return total

    attained = _canonical(certificate["attained"])
    if size(ring.quantity) != attained or any(size(row) > 0 for row in ring.rows):
        raise WitnessRejected("the vectors break an inequality, or attain another number")
    return attained


def _canonical(text: str) -> Fraction:
    value = Fraction(text)
    if str(value) != text:
        raise WitnessRejected(f"not a rational in lowest terms: {text[:40]!r}")
    return value


def _rational(value: Fraction) -> Any:
    return _flint().fmpq(value.numerator, value.denominator)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _typed(value: Any) -> bool:
    return isinstance(value, _flint().fmpq)


def _point(value: Any) -> Any:
    if _typed(value):
        raise WitnessRejected("a point is a vector, and no number")
    return value


def _degree(value: Any) -> int:
    return 0 if _typed(value) else max((sum(powers) for powers in value.monoms()), default=0)


def _flint() -> Any:
    try:
        import flint
    except ImportError as error:
        raise MissingExtra("the second checker", "second") from error
    return flint
