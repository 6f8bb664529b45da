"""Lower bounds as games: the least error of every private decoder at once, a linear programme with exact certificates.

N laws on n records: a record is 0 with probability 1 − p, else it names the law. A decoder answers with a law; averaged
over renamings and over the order of the records it is as good and as private, so that only counts matter, up to
renaming: `m_a_b__s` is the probability of one law of count s where the counts are a, b, …. What all neighbouring counts
allow is then the exact value over all private decoders; what the counts of a single law allow bounds it from below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import comb

from dpcheck.certificates.runs import StatementRun, run, words_of

Lines = list[str]
Counts = tuple[int, ...]


def all_counts(laws: int, records: int) -> Iterator[Counts]:
    """How often each law is named by at most so many records, up to renaming."""
    if laws == 0:
        yield ()
        return
    for most in range(records + 1):
        for rest in all_counts(laws - 1, records - most):
            if not rest or rest[0] <= most:
                yield (most, *rest)


def _neighbours(counts: Counts, records: int) -> Iterator[Counts]:
    """After one record is replaced, the laws in their places."""
    places = range(len(counts))
    for old in (None, *places):
        for new in (None, *places):
            if old == new or (old is None and sum(counts) == records) or (old is not None and not counts[old]):
                continue
            yield tuple(c - (i == old) + (i == new) for i, c in enumerate(counts))


def _name(counts: Counts, count: int) -> str:
    return "_".join(["m", *map(str, sorted(counts, reverse=True)), "", str(count)])


def _hit(n: int) -> Lines:
    """The weights of the counts of the true law."""
    lines = ["one = unit @ unit", "q = 1 - p"]
    lines += [
        f"w{j} = " + "*".join([str(comb(n, j)), *["p"] * j, *["q"] * (n - j)]) for j in range(n + 1)
    ]  # the checker knows no powers
    return lines


def packing(N: int, n: int, approximate: bool = False) -> Lines:
    """Every decoder of n records that is private at e^epsilon = E (with delta, where it is said) on all data sets: its
    error, averaged over N laws, with a minus sign."""
    lines = _hit(n)
    for counts in all_counts(N, n):
        classes = sorted(set(counts))
        rest = "one"
        for count in classes[1:]:
            name = _name(counts, count)
            lines += [f"{name} = number()", f"assume 0 <= {name}"]
            rest += f" - {counts.count(count)}*{name}"
        last = _name(counts, classes[0])
        lines += [f"{last} = ({rest})/{counts.count(classes[0])}", f"assume 0 <= {last}"]
    seen = set()
    for counts in all_counts(N, n):
        for other in _neighbours(counts, n):
            pairs = sorted(zip(counts, other, strict=True))
            if (key := tuple(pairs)) in seen:
                continue
            seen.add(key)
            spent: list[str] = []
            for pair in sorted(set(pairs)):
                here, there = _name(counts, pair[0]), _name(other, pair[1])
                if not approximate:
                    lines.append(f"assume {here} <= E*{there}")
                    continue
                extra = f"t{len(seen)}_{len(spent)}"
                lines += [f"{extra} = number()", f"assume 0 <= {extra}", f"assume {here} - E*{there} <= {extra}"]
                spent.append(f"{pairs.count(pair)}*{extra}")
            lines += [f"assume {' + '.join(spent)} <= delta"] if spent else []
    hits = " + ".join(f"w{j}*{_name((j, *[0] * (N - 1)), j)}" for j in range(n + 1))
    return [*dict.fromkeys(lines), f"bound {hits} - 1"]


def chain(N: int, n: int) -> Lines:
    """Every decoder of n records that is private at e^epsilon = E on data sets that name one law only: its error,
    averaged over N laws, with a minus sign, which no decoder that is private on all data sets exceeds."""
    lines = [*_hit(n), f"m0 = one/{N}", f"u0 = one/{N}"]
    for j in range(1, n + 1):
        lines += [f"m{j} = number()", f"u{j} = (one - m{j})/{N - 1}", f"assume 0 <= m{j}", f"assume 0 <= u{j}"]
        lines += [f"assume {x}{j} <= E*{x}{j - 1}" for x in "mu"] + [f"assume {x}{j - 1} <= E*{x}{j}" for x in "mu"]
    return [*lines, "bound " + " + ".join(f"w{j}*m{j}" for j in range(n + 1)) + " - 1"]


def exponential_error(N: int, n: int, p: Fraction, root: Fraction) -> Fraction:
    """The error of the decoder that names a law of count c with probability ∝ root^c, private at e^epsilon = root²."""
    hits = sum(comb(n, j) * p**j * (1 - p) ** (n - j) * root**j / (root**j + N - 1) for j in range(n + 1))
    return 1 - Fraction(hits)


def _exact(N: int, n: int, p: str, E: str, delta: str = "") -> StatementRun:
    said = f"N = {N}, n = {n}, p = {p}, e^eps = {E}" + (f", delta = {delta}" if delta else "")
    return run(
        packing,
        said,
        {"N": N, "n": n, "approximate": bool(delta)},
        {"p": p, "E": E, **({"delta": delta} if delta else {})},
        at={"V": N, "n": n, "p": p, "epsilon": f"log({E})"},
        lower=True,
        attained=True,
    )


def _bracket(N: int, n: int, p: str, E: str) -> StatementRun:
    return run(
        chain,
        f"N = {N}, n = {n}, p = {p}, e^eps = {E}, from below",
        {"N": N, "n": n},
        {"p": p, "E": E},
        at={"V": N, "n": n, "p": p, "epsilon": f"log({E})"},
        lower=True,
    )


def _two_points(n: int, named: int, E: str) -> StatementRun:
    """The laws of theorem G.6 in one dimension, at p = log(1/(2 zeta))/(n eps): a wrong sign costs what it claims."""
    zeta = str(1 / (2 * Fraction(E) ** named))
    said = f"two points, n = {n}, zeta = {zeta}, e^eps = {E}: the error, as the text has it"
    numbers = {"p": str(Fraction(named, n)), "E": E, "zeta": zeta}
    return run(packing, said, {"N": 2, "n": n}, numbers, display="zeta", lower=True, attained=True)


def _four_directions(n: int, p: str, E: str, zeta: str) -> StatementRun:
    """The laws of theorem G.6 in the plane, V = {±e_1, ±e_2}: two of them have no answer in common whose excess is
    below (2 − √2)/4 times D‖mean‖ for both, so that an answer as good as that names its law."""
    said = f"four directions, n = {n}, p = {p}, zeta = {zeta}, e^eps = {E}: the error, as the text has it"
    numbers = {"p": p, "E": E, "zeta": zeta}
    made = run(packing, said, {"N": 4, "n": n}, numbers, display="zeta", lower=True, attained=True)
    return replace(made, words=f"{made.words} {words_of(_four_directions)}")


GAMES: dict[str, tuple[StatementRun, ...]] = {
    "pure_heavy_tails/fact-bd14": (
        _exact(2, 2, "1/2", "2"),
        _exact(2, 6, "1/3", "2"),
        _exact(4, 4, "1/2", "2"),
        _exact(4, 6, "1/3", "3/2"),
        _exact(8, 4, "1/2", "2"),
        _exact(2, 4, "1/2", "2", delta="1/100"),
        _exact(4, 4, "1/2", "2", delta="1/100"),
        _bracket(4, 20, "1/10", "4"),
        _bracket(16, 20, "1/10", "4"),
        _bracket(256, 30, "1/10", "4"),
    ),
    "pure_heavy_tails/thm-g-6@corrected": (
        _two_points(2, 1, "2"),
        _two_points(4, 2, "2"),
        _two_points(6, 2, "3/2"),
        _two_points(8, 4, "5/4"),
    ),
    "pure_heavy_tails/thm-g-6@derived": (
        _four_directions(4, "1", "2", "1/8"),
        _four_directions(6, "37/40", "2", "1/8"),
        _four_directions(6, "1", "3/2", "1/4"),
        _four_directions(8, "31/40", "3/2", "1/4"),
    ),
}
"""Label -> the games that it loses."""
