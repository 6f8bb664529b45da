"""Wrong formulas: every claim with one constant, exponent, term, logarithm or assumption that is not its own."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy as sp

from dpcheck.claims import Claim
from dpcheck.engine.mutate.mutation import Mutation

FACTOR = 2
UP, DOWN, DROPPED = "factor up", "factor down", "assumption dropped"
HALF = sp.Rational(1, 2)
Path = tuple[int, ...]
Change = tuple[str, str, sp.Expr]
"""Operator, what was done, and the formula that comes out."""
Wrong = tuple[int, str, str]
"""A wrong form of a claim: its place among all that can be done, or of the assumption; operator, and what was done."""
Words = tuple[Any, ...]
"""A text and what is put into it: most that can be done is never told, and to print a formula takes long."""


def of_claim(claim: Claim, known: Sequence[Wrong] | None = None) -> Iterator[Mutation]:
    """Every wrong form of one claim: of the bound with constants where it has one, else of its order.

    Args:
        known: what is `listed` of it, which takes long to find; None: it is found now.
    """
    name, bound = _bound(claim)
    for place, operator, said in listed(claim) if known is None else known:
        if operator == DROPPED:
            rest = tuple(each for number, each in enumerate(claim.assumptions) if number != place)
            yield _mutation(claim, operator, said, "assumptions", functools.partial(tuple, rest))
        else:
            wrong = functools.partial(_formed, bound, place, constants=name == "explicit")
            yield _mutation(claim, operator, said, name, wrong)


def listed(claim: Claim) -> list[Wrong]:
    """What the wrong forms of one claim are."""
    name, bound = _bound(claim)
    different = () if bound is None else _different(sp.sympify(bound), constants=name == "explicit")
    found = [(place, operator, said) for place, operator, said, _ in different]
    return found + [(place, DROPPED, without(each)) for place, each in enumerate(claim.assumptions)]


def _bound(claim: Claim) -> tuple[str, Any]:
    """What of a claim is made wrong: its bound with constants where it has one, else its order."""
    name = "explicit" if claim.explicit is not None else "order"
    return name, getattr(claim, name)


def without(assumption: sp.Basic) -> str:
    return f"without {assumption}"


def scaled(claim: Claim, factor: float) -> Mutation:
    """The claim with its bound multiplied: for its resolution."""
    operator = UP if factor > 1 else DOWN
    wrong = sp.Float(factor) * claim.explicit
    return _mutation(claim, operator, f"× {factor:.6g}", "explicit", lambda: wrong)


def _mutation(claim: Claim, operator: str, said: str, name: str, value: Callable[[], Any]) -> Mutation:
    def apply() -> None:
        object.__setattr__(claim, name, value())

    return Mutation("claim", claim.label, operator, said, apply, reads=(claim.label,))


def changes(bound: sp.Expr, *, constants: bool) -> Iterator[Change]:
    """The wrong forms of a formula, no two of which are the same function; without constants, those of its order."""
    return ((operator, said, wrong) for _, operator, said, wrong in _different(bound, constants=constants))


def _different(bound: sp.Expr, *, constants: bool) -> Iterator[tuple[int, str, str, sp.Expr]]:
    """`changes`, each with its place among all that can be done."""
    points = [_Point(seed) for seed in (1, 2)]
    seen = {_signature(bound, points)}
    for place, (operator, (text, *told), path, part) in enumerate(_all(bound, constants)):
        wrong = _with(bound, path, part)
        signature = _signature(wrong, points)
        if signature not in seen and (signature is not None or None in seen):  # else it is no number any more
            seen.add(signature)
            yield (
                place,
                operator,
                text.format(*map(str, told)),
                wrong,
            )  # `format` itself asks first whether it is a number


def _formed(bound: Any, place: int, *, constants: bool) -> sp.Expr:
    """The formula at one place among all that can be made of a bound."""
    expression = sp.sympify(bound)
    _, _, path, part = next(itertools.islice(_all(expression, constants), place, None))
    return _with(expression, path, part)


def _all(bound: sp.Expr, constants: bool) -> Iterator[tuple[str, Words, Path, sp.Basic]]:
    """Operator, what is done, and which part gives way to what."""
    if constants:
        yield UP, (f"× {FACTOR}",), (), FACTOR * bound
        yield DOWN, (f"÷ {FACTOR}",), (), bound / FACTOR
        if bound == 0:
            yield "constant", ("{} + 1", bound), (), sp.Integer(1)
    for path, part in _parts(bound):
        if not constants and any(isinstance(_at(bound, path[:i]), sp.log) for i in range(len(path))):
            continue  # a power inside of a logarithm is a constant before it
        if isinstance(part, sp.Add | sp.Max | sp.Min):
            for place, term in enumerate(part.args):
                rest = _made(part.func, [each for i, each in enumerate(part.args) if i != place])
                if part.free_symbols or constants:
                    yield "term dropped", ("without {} in {}", term, part), path, rest
                if constants:
                    doubled = _made(part.func, [FACTOR * e if i == place else e for i, e in enumerate(part.args)])
                    yield "term doubled", ("{} doubled in {}", term, part), path, doubled
        if isinstance(part, sp.log):
            yield "logarithm dropped", ("without {}", part), path, sp.Integer(1)
        if isinstance(part, sp.Pow) and part.exp.is_Rational and part.base.free_symbols:
            for sign, step in (("+", HALF), ("-", -HALF)):
                yield "exponent", (f"({{}}) ^ {sign}1/2", part), path, part.base ** (part.exp + step)
        elif isinstance(part, sp.Symbol | sp.Indexed) and not _is_base(bound, path):
            for sign, step in (("+", HALF), ("-", -HALF)):
                yield "exponent", (f"{{}} ^ {sign}1/2", part), path, part ** (1 + step)
        if constants and part.is_Number and part not in (0, 1, -1) and not _is_exponent(bound, path):
            yield "constant", (f"{{}} × {FACTOR}", part), path, FACTOR * part
            yield "constant", (f"{{}} ÷ {FACTOR}", part), path, part / FACTOR


def _parts(expression: sp.Basic, path: Path = ()) -> Iterator[tuple[Path, sp.Basic]]:
    """Every part of an expression that is one itself; not the indices of sequences, nor the limits of sums."""
    yield path, expression
    if isinstance(expression, sp.Indexed | sp.Symbol):
        return
    inside = expression.args[:1] if isinstance(expression, sp.Sum | sp.Product) else expression.args
    for place, part in enumerate(inside):
        if isinstance(part, sp.Expr):
            yield from _parts(part, (*path, place))


def _with(expression: sp.Basic, path: Path, part: sp.Basic) -> sp.Expr:
    if not path:
        return part
    args = list(expression.args)
    args[path[0]] = _with(args[path[0]], path[1:], part)
    return _made(expression.func, args)


def _at(expression: sp.Basic, path: Path) -> sp.Basic:
    return functools.reduce(lambda part, place: part.args[place], path, expression)


def _is_base(expression: sp.Basic, path: Path) -> bool:
    """Whether a part is the base of a power, whose exponent is changed as such."""
    return bool(path) and isinstance(_at(expression, path[:-1]), sp.Pow) and path[-1] == 0


def _is_exponent(expression: sp.Basic, path: Path) -> bool:
    return any(isinstance(_at(expression, path[:i]), sp.Pow) and path[i] == 1 for i in range(len(path)))


class _Point:
    """Values of formulas at a point that is drawn for each symbol by its name; each part is worked out once."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[sp.Basic, complex] = {}

    def value(self, part: sp.Basic) -> complex:
        """Raises `ArithmeticError` or `ValueError` where it has none."""
        if part not in self._known:
            self._known[part] = self._value(part)
        return self._known[part]

    def _value(self, part: sp.Basic) -> complex:
        if isinstance(part, sp.Symbol):
            return self._drawn(part.name)
        if part in (sp.zoo, sp.nan, sp.oo, -sp.oo):
            raise ValueError(f"{part} is no number")
        if part.is_Number or part in (sp.pi, sp.E):
            return complex(part)
        if isinstance(part, sp.Pow):
            return self.value(part.base) ** self.value(part.exp)
        simple = FUNCTIONS.get(part.func)
        if simple is None:  # a sum, say, or a special function: another one has another value
            return self._drawn(_text(part))
        return simple([self.value(each) for each in part.args])

    def _drawn(self, text: str) -> complex:
        return random.Random(f"{text}{self._seed}").uniform(0.2, 3)


@functools.lru_cache(maxsize=4096)
def _text(part: sp.Basic) -> str:
    """A part as it is printed, once for all points."""
    return str(part)


FUNCTIONS: dict[Any, Callable[[list[complex]], complex]] = {
    sp.Add: sum,
    sp.Mul: math.prod,
    sp.Max: lambda values: max(values, key=_real),
    sp.Min: lambda values: min(values, key=_real),
    sp.log: lambda values: cmath.log(values[0]),
    sp.exp: lambda values: cmath.exp(values[0]),
    sp.Abs: lambda values: abs(values[0]),
    sp.floor: lambda values: math.floor(_real(values[0])),
    sp.ceiling: lambda values: math.ceil(_real(values[0])),
}


def _real(value: complex) -> float:
    if value.imag:
        raise ValueError(f"{value} is not real")
    return value.real


def _signature(expression: sp.Expr, points: Sequence[_Point]) -> str | None:
    """The value at some points: two formulas of one signature are one; None where it has no real value."""
    try:
        return " ".join(f"{_real(point.value(expression)):.11g}" for point in points)
    except (ArithmeticError, ValueError):
        return None


def _made(function: Any, args: Sequence[sp.Basic]) -> sp.Expr:
    """Like `function(*args)`; which of several terms is the larger SymPy would ask itself for minutes."""
    if function not in (sp.Max, sp.Min):
        return function(*args)
    return args[0] if len(args) == 1 else function(*args, evaluate=False)
