"""Lower bounds as games: the least error of every private decoder at once, a linear programme with exact certificates.

N laws on n records: a record is 0 with probability 1 − p, else it names the law. A decoder answers with a law; averaged
over renamings and over the order of the records it is as good and as private, so that only counts matter, up to
renaming: `m_a_b__s` is the probability of one law of count s where the counts are a, b, …. What all neighbouring counts
allow is then the exact value over all private decoders; what the counts of a single law allow bounds it from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb

import sympy as sp

from dpcheck.certificates.runs import StatementRun, run, words_of

Lines = list[str]
Counts = tuple[int, ...]
Spent = tuple[str, str]
"""The names of e^epsilon and of delta, which is empty where there is none."""


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


def _private(answers: Sequence[tuple[int, str, str]], E: str, delta: str, name: str) -> Iterator[str]:
    """That all sets of answers, each as often as is said, are at most e^epsilon = E times as likely, and delta more."""
    over: list[str] = []
    for often, here, there in answers:
        if not delta:
            yield f"assume {here} <= {E}*{there}"
            continue
        extra = f"{name}_{len(over)}"
        yield from (f"{extra} = number()", f"assume 0 <= {extra}", f"assume {here} - {E}*{there} <= {extra}")
        over.append(f"{often}*{extra}")
    if delta:
        yield f"assume {' + '.join(over)} <= {delta}"


def packing(N: int, n: int, spent: Sequence[Spent] = (("E", ""),)) -> Lines:
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
            answers = [
                (pairs.count(pair), _name(counts, pair[0]), _name(other, pair[1])) for pair in sorted(set(pairs))
            ]
            for E, delta in spent:
                lines += _private(answers, E, delta, f"t{len(seen)}{E[1:]}")
    hits = " + ".join(f"w{j}*{_name((j, *[0] * (N - 1)), j)}" for j in range(n + 1))
    return [*dict.fromkeys(lines), f"bound {hits} - 1"]


def chain(N: int, n: int, delta: str = "") -> Lines:
    """Every decoder of n records that is private at e^epsilon = E (with delta, where it is said) on data sets that name
    one law only: its error, averaged over N laws, with a minus sign, which no decoder that is private on all data sets
    exceeds."""
    lines = [*_hit(n), f"m0 = one/{N}", f"u0 = one/{N}"]
    for j in range(1, n + 1):
        lines += [f"m{j} = number()", f"u{j} = (one - m{j})/{N - 1}", f"assume 0 <= m{j}", f"assume 0 <= u{j}"]
        for here, there in ((j, j - 1), (j - 1, j)):
            answers = [(1, f"m{here}", f"m{there}"), (N - 1, f"u{here}", f"u{there}")]
            lines += _private(answers, "E", delta, f"t{here}_{there}")
    return [*lines, "bound " + " + ".join(f"w{j}*m{j}" for j in range(n + 1)) + " - 1"]


def exponential_error(N: int, n: int, p: Fraction, root: Fraction) -> Fraction:
    """The error of the decoder that names a law of count c with probability ∝ root^c, private at e^epsilon = root²."""
    hits = sum(comb(n, j) * p**j * (1 - p) ** (n - j) * root**j / (root**j + N - 1) for j in range(n + 1))
    return 1 - Fraction(hits)


def reached(game: StatementRun) -> Fraction:
    """The error of the exponential decoder that is as private as a game asks, of (N, n, p) in the game's `at`."""
    at = {name: sp.sympify(str(value), rational=True) for name, value in game.at.items()}
    size, records = int(at["N" if "rho" in at else "V"]), int(at["n"])
    root = math.exp(math.sqrt(2 * at["rho"])) if "rho" in at else math.sqrt(game.rationals["E"])  # eps²/8-zCDP
    below = Fraction(math.floor(1000 * root), 1000)
    return exponential_error(size, records, game.rationals["p"], below)


def _said(**numbers: object) -> str:
    return ", ".join(f"{name.replace('E', 'e^eps')} = {value}" for name, value in numbers.items() if value)


def _exact(N: int, n: int, p: str, E: str, delta: str = "") -> StatementRun:
    given = {"p": p, "E": E, **({"delta": delta} if delta else {})}
    said, at = _said(N=N, n=n, **given), {"V": N, "n": n, "p": p, "epsilon": f"log({E})", "delta": delta or 0}
    shape = {"N": N, "n": n, "spent": (("E", "delta" if delta else ""),)}
    return run(packing, said, shape, given, at=at, lower=True, attained=True)


def _bracket(N: int, n: int, p: str, E: str, delta: str = "") -> StatementRun:
    given = {"p": p, "E": E, **({"delta": delta} if delta else {})}
    said, at = _said(N=N, n=n, **given), {"V": N, "n": n, "p": p, "epsilon": f"log({E})", "delta": delta or 0}
    shape = {"N": N, "n": n, "delta": "delta" if delta else ""}
    return run(chain, f"{said}, from below", shape, given, at=at, lower=True)


def _two_points(n: int, named: int, E: str, delta: str = "") -> StatementRun:
    """The laws of theorem G.6 in one dimension, at the printed p: a wrong sign costs what it claims."""
    kappa = Fraction(delta or 0) / (Fraction(E) - 1)
    zeta = (Fraction(1, 2) + kappa) / Fraction(E) ** named - kappa
    numbers = {"p": str(Fraction(named, n)), "E": E, "zeta": str(zeta), **({"delta": delta} if delta else {})}
    said = _said(n=n, zeta=zeta, E=E, delta=delta)
    shape = {"N": 2, "n": n, "spent": (("E", "delta" if delta else ""),)}
    said = f"two points, {said}: the error, as the text has it"
    return run(packing, said, shape, numbers, display="zeta", lower=True, attained=True)


def _four_directions(n: int, p: str, E: str, zeta: str) -> StatementRun:
    """The laws of theorem G.6 in the plane, V = {±e_1, ±e_2}: two of them have no answer in common whose excess is
    below (2 − √2)/4 times D‖mean‖ for both, so that an answer as good as that names its law."""
    return _named_by_answers(_four_directions, n, p, E, zeta)


def _four_means(n: int, p: str, E: str, zeta: str) -> StatementRun:
    """The laws of proposition G.4 in the plane, V = {±e_1, ±e_2}: no two means are closer than √2‖mean‖, so that an
    estimate with a squared error below half of ‖mean‖² names its law."""
    return _named_by_answers(_four_means, n, p, E, zeta)


def _named_by_answers(why: Callable[..., StatementRun], n: int, p: str, E: str, zeta: str) -> StatementRun:
    said = f"four directions, {_said(n=n, p=p, zeta=zeta, E=E)}: the error, as the text has it"
    numbers = {"p": p, "E": E, "zeta": zeta}
    made = run(packing, said, {"N": 4, "n": n}, numbers, display="zeta", lower=True, attained=True)
    return replace(made, words=f"{made.words} {words_of(why)}")


def _concentrated(N: int, n: int, p: str, share: int, spent: dict[str, str]) -> StatementRun:
    """Every rho-zCDP test is private at each of these e^epsilon with its delta (rounded up), so that its error is no
    smaller; rho = log(2)/share, and a test that errs costs a = 1."""
    given = {"p": p}
    for i, (E, delta) in enumerate(spent.items(), start=1):
        given |= {f"E{i}": E, f"delta{i}": delta}
    names = tuple((f"E{i}", f"delta{i}") for i in range(1, len(spent) + 1))
    at = {"N": N, "n": n, "p": p, "rho": f"log(2)/{share}", "a": 1}
    said = f"{_said(N=N, n=n, p=p)}, rho = log(2)/{share}, from below"
    made = run(packing, said, {"N": N, "n": n, "spent": names}, given, at=at, lower=True)
    return replace(made, words=f"{made.words} {words_of(_concentrated)}")


ZCDP = {
    20: {"5/4": "31/500", "3/2": "1/50", "2": "19/12500"},
    40: {"5/4": "1/40", "3/2": "33/10000", "2": "1/40000"},
}
"""k -> e^epsilon -> delta, no less than the one that log(2)/k-zCDP implies."""

GAMES: dict[str, tuple[StatementRun, ...]] = {
    "pure_heavy_tails/fact-bd14": (
        _exact(2, 2, "1/2", "2"),
        _exact(2, 6, "1/3", "2"),
        _exact(4, 4, "1/2", "2"),
        _exact(4, 6, "1/3", "3/2"),
        _exact(8, 4, "1/2", "2"),
        _bracket(4, 20, "1/10", "4"),
        _bracket(16, 20, "1/10", "4"),
        _bracket(256, 30, "1/10", "4"),
    ),
    "pure_heavy_tails/fact-bd14@approximate": (
        _exact(2, 4, "1/2", "2", delta="1/100"),
        _exact(2, 6, "1/3", "2", delta="1/100"),
        _exact(4, 4, "1/2", "2", delta="1/100"),
        _exact(4, 5, "1/3", "3/2", delta="1/1000"),
        _exact(8, 4, "1/2", "2", delta="1/100"),
        _bracket(4, 20, "1/10", "4", delta="1/1000"),
        _bracket(16, 20, "1/10", "4", delta="1/100000"),
        _bracket(256, 30, "1/10", "4", delta="1/100000"),
    ),
    "pure_heavy_tails/thm-g-6@corrected": (
        _two_points(2, 1, "2"),
        _two_points(4, 2, "2"),
        _two_points(6, 2, "3/2"),
        _two_points(8, 4, "5/4"),
    ),
    "pure_heavy_tails/thm-g-6@approximate": (
        _two_points(2, 1, "2", delta="1/100"),
        _two_points(4, 2, "2", delta="1/100"),
        _two_points(6, 2, "3/2", delta="1/1000"),
        _two_points(8, 4, "5/4", delta="1/100"),
    ),
    "pure_heavy_tails/prop-g-4@derived": (
        _four_means(4, "1", "2", "1/8"),
        _four_means(6, "37/40", "2", "1/8"),
        _four_means(6, "1", "3/2", "1/4"),
        _four_means(8, "31/40", "3/2", "1/4"),
    ),
    "pure_heavy_tails/thm-g-6@derived": (
        _four_directions(4, "1", "2", "1/8"),
        _four_directions(6, "37/40", "2", "1/8"),
        _four_directions(6, "1", "3/2", "1/4"),
        _four_directions(8, "31/40", "3/2", "1/4"),
    ),
    "tsybakov/lem-5@corrected": (
        _concentrated(4, 4, "1/2", 20, ZCDP[20]),
        _concentrated(4, 4, "1/2", 40, ZCDP[40]),
        _concentrated(8, 4, "1/2", 20, ZCDP[20]),
        _concentrated(16, 4, "1/2", 40, ZCDP[40]),
    ),
}
"""Label -> the games that it loses."""
