"""Derivations: from a master inequality, by a choice of parameters, to the stated bound, in steps that are executed.

A derivation is a function that writes a proof down. Each line it adds is checked as it is written: identities and
inequalities by SymPy, orders of growth and the optimality of a choice by `dpcheck.asymptotics`. What algebra cannot
check is said to be argued, and a step of a paper that does not follow is shown as such, with a point at which it fails.

>>> from dpcheck.claims import Paper
>>> from dpcheck.symbols import C, n
>>> paper = Paper(key="toy", title="", authors="", reference="")
>>> rate = paper.claim("toy/thm-1", "Theorem 1", "…", kind="theorem", relation="<=", order=1 / sp.sqrt(n))
>>> @derivation("toy/thm-1")
... def balance(proof: Proof) -> None:
...     \"\"\"The clip level balances noise against bias.\"\"\"
...     bound = proof.master("error", {"noise": C / n, "bias": 1 / C})
...     proof.concludes("toy/thm-1", proof.chooses(bound, {C: sp.sqrt(n)}))
>>> [step.standing for step in balance.run({"toy/thm-1": rate}).steps]
['argued', 'follows', 'follows']
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import sympy as sp

from dpcheck.asymptotics import Order, Ray, Regime, Undecided, at_most
from dpcheck.asymptotics.optima import least_order
from dpcheck.claims import Claim, Relation, split_label
from dpcheck.errors import CollectionError, DpcheckError, InvalidInput, UnknownLabel
from dpcheck.verdicts import Verdict, differs, holds, undecided

Standing = Literal["follows", "argued", "gap", "fails", "open"]
"""follows: executed; argued: in words, in `bounds/<paper>.md`; gap: does not follow, as the derivation says, at a point
that is shown; fails: said to follow and does not; open: neither proved nor refuted."""
Where = Mapping[sp.Basic, Any]
"""Symbols or parts replaced before a step is checked: a choice of parameters, or an assumption (`{d: epsilon + t}`)."""

ANYWHERE = Regime(base=None, others="free")
"""All variables have arbitrary exponents."""
_SIGNS = {"<=": ("≤", r"\leq"), ">=": ("≥", r"\geq"), "=": ("=", "="), "≲": ("≲", r"\lesssim"), "≍": ("≍", r"\asymp")}


@dataclass(frozen=True)
class Formula:
    """`left sign right`; words or nothing may stand on the left."""

    left: sp.Expr | str
    sign: str
    right: sp.Expr

    @property
    def unicode_sign(self) -> str:
        return _SIGNS.get(self.sign, (self.sign, ""))[0]

    @property
    def latex_sign(self) -> str:
        return _SIGNS.get(self.sign, ("", self.sign))[1]

    def __str__(self) -> str:
        return f"{self.left} {self.unicode_sign} {self.right}".strip()


@dataclass(frozen=True)
class Step:
    """One line of a proof: what is said, the formulas, how it stands, and what the execution found."""

    text: str
    standing: Standing
    formulas: tuple[Formula, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class Transcript:
    """An executed derivation.

    Attributes:
        label: the statement; `about`: the derivation in a sentence.
        reached: labels of the claims that it concludes.
    """

    label: str
    about: str
    steps: tuple[Step, ...]
    reached: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Nothing fails or is left open, and the statement, in some reading, is reached."""
        own = {label.partition("@")[0] for label in self.reached}
        return self.label.partition("@")[0] in own and not self.broken

    @property
    def broken(self) -> tuple[Step, ...]:
        """The steps that were said to follow and do not, or are not decided."""
        return tuple(step for step in self.steps if step.standing in ("fails", "open"))

    @property
    def gaps(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.standing == "gap")

    def verdict(self) -> Verdict:
        """HOLDS when the derivation is complete; a broken one refutes nothing: what we wrote down DIFFERS."""
        executed = sum(step.standing in ("follows", "gap") for step in self.steps)
        numbers = {
            "steps executed": executed,
            "steps argued": len(self.steps) - executed - len(self.broken),
            "gaps": len(self.gaps),
        }
        if self.broken:
            said = f"step {self.steps.index(self.broken[0]) + 1} does not hold: {self.broken[0].text}"
            return differs(f"{said} ({self.broken[0].detail})", "symbolic", numbers=numbers)
        if not self.complete:
            return undecided("the derivation does not reach the statement", "symbolic", numbers=numbers)
        gaps = f"; what does not follow as printed: {'; '.join(step.text for step in self.gaps)}" if self.gaps else ""
        return holds(f"{self.about} Reaches {', '.join(self.reached)}{gaps}", "symbolic", numbers=numbers)


@dataclass
class Proof:
    """What a derivation writes to; every method adds one step and returns the expression to go on with."""

    claims: Mapping[str, Claim]
    regime: Regime = ANYWHERE
    steps: list[Step] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)

    # -- what is put in -------------------------------------------------------------------------------------------

    def argues(self, text: str, left: sp.Expr | str = "", relation: Relation = "<=", right: Any = None) -> Any:
        """A step in words that no algebra checks; `right` is what it gives."""
        given = () if right is None else (Formula(left, relation, sp.sympify(right)),)
        self._add(text, "argued", given)
        return right

    def master(self, quantity: str, terms: Mapping[str, sp.Expr], text: str = "the master inequality") -> sp.Expr:
        """The sum of the terms bounds the quantity; why is in words. The terms are named for the reader."""
        total = sp.Add(*terms.values(), evaluate=True)
        self._add(f"{text}: {' + '.join(terms)}", "argued", (Formula(quantity, "<=", total),))
        return total

    def uses(self, label: str, gives: Any, where: Where | None = None, *, as_order: bool = False) -> sp.Expr:
        """Another claim enters: its bound, with its symbols replaced, is (up to a constant, is of the order of) this.

        Args:
            where: symbol of that claim -> what it stands for here.
            as_order: compare orders of growth, not expressions.
        """
        claim, gives = self._claim(label), sp.sympify(gives)
        bound = (claim.order if as_order and claim.order is not None else claim.bound) if claim else None
        if claim is None or bound is None:
            self._add(f"uses {label}", "fails", (), "no such claim, or one without a bound")
            return gives
        there = sp.sympify(bound).subs(where or {}, simultaneous=True)
        found = self._compared(there, gives) if as_order else _equality(there, gives)
        self._add(f"{claim.title} ({label})", found[0], (Formula(claim.quantity, claim.relation, gives),), found[1])
        return gives

    # -- what is checked ------------------------------------------------------------------------------------------

    def equal(self, text: str, left: Any, right: Any, where: Where | None = None) -> sp.Expr:
        """An identity between expressions of positive symbols."""
        left, right = (sp.sympify(x) for x in (left, right))
        found = _equality(*(x.subs(where or {}, simultaneous=True) for x in (left, right)))
        self._add(text, found[0], (Formula(left, "=", right),), found[1])
        return right

    def at_most(self, text: str, smaller: Any, larger: Any, where: Where | None = None) -> sp.Expr:
        """An inequality for all positive values of the symbols, under the assumptions that `where` puts in."""
        smaller, larger = (sp.sympify(x) for x in (smaller, larger))
        found = _inequality(*(x.subs(where or {}, simultaneous=True) for x in (smaller, larger)))
        self._add(text, found[0], (Formula(smaller, "<=", larger),), found[1])
        return larger

    def order_at_most(self, text: str, smaller: Any, larger: Any, regime: Regime | None = None) -> sp.Expr:
        """One rate is O of another in the regime."""
        standing, detail = self._compared(smaller, larger, regime, both=False)
        self._add(text, standing, (Formula(smaller, "≲", larger),), detail)
        return sp.sympify(larger)

    def same_order(self, text: str, left: Any, right: Any, regime: Regime | None = None) -> sp.Expr:
        """Two rates are equal up to constants in the regime."""
        standing, detail = self._compared(left, right, regime)
        self._add(text, standing, (Formula(left, "≍", right),), detail)
        return sp.sympify(right)

    def gap(self, text: str, smaller: Any, larger: Any, at: Where, stands: str = "") -> None:
        """A step of the paper, `smaller <= larger`, that does not follow: at the given point it is false.

        Args:
            at: exact values for all symbols.
            stands: what remains true, in words.
        """
        smaller, larger = (sp.sympify(x) for x in (smaller, larger))
        low, high = (sp.N(x.subs(at, simultaneous=True), 30) for x in (smaller, larger))
        point = ", ".join(f"{s} = {v}" for s, v in at.items())
        if low.is_number and high.is_number and bool(low > high):
            detail = f"{_short(low)} > {_short(high)} at {point}" + (f"; {stands}" if stands else "")
            self._add(text, "gap", (Formula(smaller, "<=", larger),), detail)
        else:
            self._add(text, "fails", (Formula(smaller, "<=", larger),), f"said to fail at {point}, and does not")

    def chooses(
        self,
        bound: Any,
        choice: Where,
        *,
        better: Where | None = None,
        limits: Sequence[Any] = (),
        regime: Regime | None = None,
        text: str = "",
    ) -> sp.Expr:
        """Puts the paper's choice of parameters into a bound and decides whether another one has a smaller order.

        Args:
            choice: parameter -> value. A value may hold other parameters of the choice only if they stay free.
            better: when the choice is not optimal: one that is; the gain is shown.
            limits: monomials that any choice must keep bounded (`1/T`: at least one step).

        Returns:
            The bound at the paper's choice.
        """
        value = tidy(sp.sympify(bound).subs(choice, simultaneous=True))
        names = ", ".join(f"{s} = {v}" for s, v in choice.items())
        formulas = [Formula("", "=", value)]
        try:
            standing, detail = self._optimality(bound, value, choice, better, limits, regime or self.regime)
        except InvalidInput as error:
            standing, detail = "open", str(error)
        if better is not None and standing == "follows":
            formulas.append(Formula("", "≍", tidy(sp.sympify(bound).subs(better, simultaneous=True))))
        self._add(text or f"choose {names}", standing, tuple(formulas), detail)
        return value

    def concludes(
        self,
        label: str,
        bound: Any,
        *,
        regime: Regime | None = None,
        where: Where | None = None,
        as_order: bool = False,
    ) -> None:
        """The bound reached is that of a claim: within its constants when it has some, else of its order.

        Args:
            where: what the symbols of the claim stand for, or assumptions, as in `at_most`.
            as_order: the O-form of a claim that has both.
        """
        claim, bound = self._claim(label), sp.sympify(bound)
        exact = claim is not None and claim.explicit is not None and not as_order
        stated = (claim.explicit if exact else claim.order) if claim is not None else None
        if claim is None or stated is None:
            self._add(f"concludes {label}", "fails", (), "no such claim, or one without a bound")
            return
        here, there = (sp.sympify(x).subs(where or {}, simultaneous=True) for x in (bound, stated))
        low, high = (there, here) if claim.relation == ">=" else (here, there)
        if not exact:
            standing, detail = self._compared(low, high, regime, both=False)
        else:
            standing, detail = (_equality if claim.relation == "=" else _inequality)(low, high)
        sign = claim.relation if exact else {"<=": "≲", ">=": "≳"}.get(claim.relation, "≍")
        self._add(f"which is {claim.title} ({label})", standing, (Formula(claim.quantity, sign, stated),), detail)
        if standing == "follows":
            self.reached.append(label)

    # -- how ------------------------------------------------------------------------------------------------------

    def _add(self, text: str, standing: Standing, formulas: tuple[Formula, ...] = (), detail: str = "") -> None:
        self.steps.append(Step(text, standing, formulas, detail))

    def _claim(self, label: str) -> Claim | None:
        split_label(label)
        return self.claims.get(label)

    def _compared(
        self, smaller: Any, larger: Any, regime: Regime | None = None, *, both: bool = True
    ) -> tuple[Standing, str]:
        within = regime or self.regime
        smaller, larger = _order(smaller), _order(larger)
        above, below = at_most(smaller, larger, within), at_most(larger, smaller, within)
        undecided = [e.reason for e in (above, *([below] if both else [])) if isinstance(e, Undecided)]
        if isinstance(above, Ray) or (both and isinstance(below, Ray)):
            return "fails", f"larger: {above}" if isinstance(above, Ray) else f"smaller: {below}"
        if undecided:
            return "open", undecided[0]
        if isinstance(below, Undecided):
            return "follows", ""
        return "follows", "of smaller order at some exponents" if isinstance(below, Ray) else "the same order"

    def _optimality(
        self, bound: Any, value: sp.Expr, choice: Where, better: Where | None, limits: Sequence[Any], regime: Regime
    ) -> tuple[Standing, str]:
        least = least_order(bound, choice, limits=limits, ranges=regime.ranges)
        lost = at_most(_order(value), least, regime)  # the least order is a lower bound whatever is chosen
        if isinstance(lost, Undecided):
            return "open", lost.reason
        if not isinstance(lost, Ray):
            return ("follows" if better is None else "fails"), "optimal up to a constant"
        if better is None:
            return "fails", f"not optimal: {least} is possible"
        improved = tidy(sp.sympify(bound).subs(better, simultaneous=True))
        names = ", ".join(f"{s} = {v}" for s, v in better.items())
        if isinstance(at_most(_order(improved), least, regime), Ray | Undecided):
            return "fails", f"neither the choice nor {names} is optimal: {least} is possible"
        return "follows", f"not optimal: {names} gives {least}; at {_exponents(lost)} {lost.rate} becomes {lost.other}"


@dataclass(frozen=True)
class Derivation:
    """A derivation of one statement, written by `function`; executed by `run`."""

    label: str
    function: Callable[[Proof], None]
    regime: Regime = ANYWHERE

    @property
    def about(self) -> str:
        """First paragraph of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n\n")[0].replace("\n", " ")

    def run(self, claims: Mapping[str, Claim]) -> Transcript:
        """Executes every step against the claims that it names.

        Raises:
            UnknownLabel: the statement itself is not among the claims.
        """
        statement = self.label.partition("@")[0]
        if not any(label.partition("@")[0] == statement for label in claims):
            raise UnknownLabel(self.label, claims)
        proof = Proof(claims, self.regime)
        try:
            self.function(proof)
        except DpcheckError as error:
            proof.steps.append(Step("the derivation stops", "fails", (), str(error)))
        return Transcript(self.label, self.about, tuple(proof.steps), tuple(dict.fromkeys(proof.reached)))


def derivation(label: str, regime: Regime = ANYWHERE) -> Callable[[Callable[[Proof], None]], Derivation]:
    """Makes a function the derivation of a statement: `@derivation("paper/thm-1", Regime(…))`.

    Args:
        regime: in which orders are compared; default: all variables independent of each other.
    """
    split_label(label)

    def decorate(function: Callable[[Proof], None]) -> Derivation:
        if not inspect.getdoc(function):
            raise CollectionError(f"the derivation of {label} has no docstring; say in a sentence how the bound arises")
        return Derivation(label, function, regime)

    return decorate


@dataclass(frozen=True)
class Underived:
    """A statement with no derivation here, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class Finding:
    """Something that follows from a paper's bounds and that the paper does not say; for the report's front page.

    Attributes:
        label: the claim that states it, which has a derivation and a check of its own.
        says: one or two sentences.
    """

    label: str
    says: str


def finding(label: str, says: str) -> Finding:
    """Puts a derived claim on the report's front page."""
    split_label(label)
    return Finding(label, says)


def underived(label: str, reason: str) -> Underived:
    """States why a claim has no derivation: `thm_9 = underived("paper/thm-9", "cited; its proof is elsewhere")`."""
    split_label(label)
    if not reason.strip():
        raise CollectionError(f"{label} needs a reason for having no derivation")
    return Underived(label, reason)


# -- algebra -----------------------------------------------------------------------------------------------------------


def tidy(expression: Any) -> sp.Expr:
    """A sum of terms in which powers of products are taken apart and equal bases joined; for positive symbols."""
    terms = sp.Add.make_args(sp.expand_multinomial(sp.expand_mul(expression, deep=False), deep=False))
    taken = (sp.powdenest(sp.expand_power_base(term, force=True), force=True) for term in terms)
    return sp.Add(*(sp.powsimp(term, force=True) for term in taken))


def _equality(left: sp.Expr, right: sp.Expr) -> tuple[Standing, str]:
    rest = left - right
    for simpler in (tidy, lambda x: tidy(sp.expand(x)), lambda x: sp.simplify(sp.expand_log(x, force=True))):
        rest = simpler(rest)
        if rest == 0:
            return "follows", ""
    if right != 0 and not (left.is_Add or right.is_Add):  # monomials: their logarithms are linear in the exponents
        exponents = sp.expand_log(sp.log(left), force=True) - sp.expand_log(sp.log(right), force=True)
        if sp.simplify(exponents) == 0:
            return "follows", ""
    for point, value in _values(rest):
        if abs(value) > sp.Float(10) ** -15:
            return "fails", f"the two sides differ by {_short(value)} at {_said(point)}"
    return "open", f"SymPy leaves {rest}"


def _inequality(smaller: sp.Expr, larger: sp.Expr) -> tuple[Standing, str]:
    gap = tidy(larger - smaller)
    for simpler in (lambda x: x, sp.expand, sp.factor, sp.simplify, lambda x: tidy(sp.expand(x))):
        form = simpler(gap)
        if form.is_nonnegative:
            return "follows", "equal" if form == 0 else ""
    for point, value in _values(gap):
        if value < -(sp.Float(10) ** -15):
            return "fails", f"short by {_short(-value)} at {_said(point)}"
    return "open", f"SymPy does not decide the sign of {gap}"


def _values(expression: sp.Expr) -> Iterator[tuple[Where, sp.Expr]]:
    """The value at a few exact points at which it is real."""
    for point in _points(expression):
        try:
            value = sp.N(expression.subs(point, simultaneous=True), 30)
        except (ValueError, TypeError):  # a maximum of numbers that are not real
            continue
        if value.is_number and value.is_real:
            yield point, value


def _points(expression: sp.Expr) -> list[Where]:
    """A few exact points, the same at every run; small and large values alike."""
    symbols = sorted(expression.free_symbols, key=str)
    draw = random.Random(0)
    return [{s: sp.Rational(draw.randint(1, 60), draw.choice((1, 7, 40))) for s in symbols} for _ in range(12)]


def _order(rate: Any) -> Order:
    return Order.of(rate, ignore_rounding=True)


def _exponents(ray: Ray) -> str:
    return ", ".join(f"{s} = {v}" for s, v in {**ray.exponents, **ray.parameters}.items())


def _said(point: Where) -> str:
    return ", ".join(f"{s} = {v}" for s, v in point.items())


def _short(value: Any) -> str:
    return str(sp.N(value, 4))
