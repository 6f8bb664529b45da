"""Proofs for all parameters and every number of steps: multipliers in closed form, executed by SymPy.

The inequalities are those of `checker`, built with symbols in the place of rationals. A family's multipliers are
formulas, its matrix is eliminated symbolically, and a pivot counts as non-negative when, as a quotient of polynomials
in positive symbols, it has no negative coefficient. What several steps give is a recursion or a sum, in `follows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from dpcheck.certificates import checker
from dpcheck.claims import Claim
from dpcheck.errors import InvalidInput

Named = Mapping[str, str]


@dataclass(frozen=True)
class Concluded:
    """What a family says of a statement.

    Attributes:
        label: of the claim; its bound is compared with what is proved.
        at: its symbols as formulas in those of the family.
        proved: the formula that follows; by default the family's bound.
        squared: the family bounds the square of the claim's quantity.
    """

    label: str
    at: Named
    proved: str = ""
    squared: bool = False


@dataclass(frozen=True)
class ProofFamily:
    """One certificate with symbols in it.

    Attributes:
        words: what it proves, of every number of steps where `follows` says so.
        problem: the lines of one run.
        parameters: what their names stand for, as formulas in positive symbols.
        multipliers: number of an inequality -> formula.
        bound: what is proved of the run.
        follows: (what is said, a formula that is then non-negative).
        displays: labels of which it proves what the text says beside the formula.
        where: the case of the statement that it covers, where that is not all of it.
    """

    words: str
    problem: tuple[str, ...]
    parameters: Named
    multipliers: Mapping[int, str]
    bound: str
    concludes: tuple[Concluded, ...]
    follows: tuple[tuple[str, str], ...] = field(default=())
    displays: tuple[str, ...] = ()
    where: str = ""

    @property
    def every(self) -> str:
        every = "every T and all parameters" if self.follows else "all parameters"
        return f"{every}, {self.where}" if self.where else every


def positive(text: str) -> sp.Expr:
    """A formula, of which all letters are positive."""
    names = {name: sp.Symbol(name, positive=True) for name in _LETTERS}
    return sp.sympify(text, {**names, "Sum": sp.Sum})


_LETTERS = (*"ABCDGHLNRTVabcdmnrstxz", "alpha", "eta", "gamma", "gap", "lam", "xi")


def not_negative(formula: sp.Expr) -> bool:
    """Whether a quotient of polynomials in positive symbols has no negative coefficient."""
    powers = {p: sp.Dummy(positive=True) for p in formula.atoms(sp.Pow) if p.exp.free_symbols}  # a**T, of positive a
    formula = formula.xreplace(powers)
    above, below = sp.fraction(sp.cancel(sp.together(formula)))
    symbols = sorted(formula.free_symbols, key=str)
    if not symbols:
        return bool(formula >= 0)
    signs = [[bool(c >= 0) for c in sp.Poly(part, *symbols).coeffs()] for part in (above, below)]
    return all(all(part) for part in signs) or all(not any(part) for part in signs)


def proved(family: ProofFamily, claims: Callable[[str], Claim]) -> list[str]:
    """The labels that a family proves, after every line of it was executed.

    Raises:
        InvalidInput: a line does not hold; the message says which.
    """
    execute(family)
    for conclusion in family.concludes:
        conclude(family, conclusion, claims(conclusion.label))
    return labels(family)


def execute(family: ProofFamily) -> None:
    """The certificate with its symbols, and what follows for every number of steps. Raises `InvalidInput`."""
    _certificate(family)
    for said, formula in family.follows:
        if not not_negative(sp.simplify(positive(formula).doit())):
            raise InvalidInput(f"{said}: {formula} is not seen to be non-negative")


def conclude(family: ProofFamily, conclusion: Concluded, claim: Claim) -> None:
    """The claim is no less than what a family proves of it. Raises `InvalidInput`."""
    if claim.explicit is None:
        raise InvalidInput(f"{claim.label} has no explicit bound to conclude; name another of its readings")
    terms = {term: sp.Symbol(str(term)) for term in claim.explicit.atoms(sp.Indexed)}
    stated = claim.explicit.subs(terms)
    stated = stated.subs({s: positive(conclusion.at[s.name]) for s in stated.free_symbols}, simultaneous=True)
    stated = stated**2 if conclusion.squared else stated
    if not not_negative(sp.simplify(stated - positive(conclusion.proved or family.bound))):
        raise InvalidInput(f"{claim.label}: {conclusion.proved or family.bound} is not seen to be below {stated}")


def labels(family: ProofFamily) -> list[str]:
    """The statements of which a family speaks."""
    return [*(conclusion.label for conclusion in family.concludes), *family.displays]


def _certificate(family: ProofFamily) -> None:
    """The checker's argument with symbols."""
    run: Any = checker.ExactRun(family.problem, {name: positive(text) for name, text in family.parameters.items()})
    form = run.quantity * -1 + positive(family.bound)
    for number, text in family.multipliers.items():
        multiplier = positive(text)
        if not not_negative(multiplier):
            raise InvalidInput(f"the multiplier {text} is not seen to be non-negative")
        form = form + run.rows[number] * multiplier
    entries = {key: sp.cancel(sp.together(c)) for key, c in form.items()}
    left = {key: c for key, c in entries.items() if c != 0}
    if any(run.free.intersection(key) for key in left):
        raise InvalidInput("the multipliers do not cancel the values")
    indices = sorted({i for key in left for i in key}, reverse=True)
    matrix = {(i, j): left.get((min(i, j), max(i, j)), sp.S.Zero) for i in indices for j in indices}
    matrix = {(i, j): c if i == j else c / 2 for (i, j), c in matrix.items()}
    while indices:
        i = indices.pop(0)
        pivot = matrix[i, i]
        if pivot == 0:
            if any(matrix[i, j] != 0 for j in indices):
                raise InvalidInput("a pivot is zero and its row is not")
            continue
        if not not_negative(pivot):
            raise InvalidInput(f"the pivot {pivot} is not seen to be non-negative")
        for j in indices:
            for k in indices:
                matrix[j, k] = sp.cancel(matrix[j, k] - matrix[i, j] * matrix[i, k] / pivot)


def family(
    make: Callable[..., Sequence[str]],
    names: str,
    multipliers: Mapping[int, str],
    bound: str,
    *concludes: Concluded,
    words: str = "",
    follows: tuple[tuple[str, str], ...] = (),
    displays: tuple[str, ...] = (),
    where: str = "",
    **parameters: str,
) -> ProofFamily:
    given = {**{name: name for name in names.split()}, **parameters}
    words = words or " ".join((make.__doc__ or "").split())
    return ProofFamily(words, tuple(make()), given, multipliers, bound, concludes, follows, displays, where)
