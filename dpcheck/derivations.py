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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import sympy as sp

from dpcheck.algebra import Side, Where, built, equality, inequality, resolution, sameness, short, tidy, under
from dpcheck.asymptotics import Order, Ray, Regime, Undecided, at_most
from dpcheck.asymptotics.optima import least_order
from dpcheck.claims import Claim, Relation
from dpcheck.errors import CollectionError, DpcheckError, InvalidInput, UnknownLabel
from dpcheck.labels import split_label
from dpcheck.verdicts import Outcome, Verdict, consistent, differs, holds, undecided

Standing = Literal["follows", "argued", "granted", "gap", "fails", "open"]
"""follows: executed; argued: in words, in `bounds/<paper>.md`; granted: a premise of the paper that is false or open;
gap: does not follow, as the derivation says, at a point that is shown; fails: said to follow and does not; open:
neither proved nor refuted."""
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
    notices: str = ""
    """Of a conclusion: the smallest change of the claim that the step does not survive."""


@dataclass(frozen=True)
class ExecutedDerivation:
    """An executed derivation.

    Attributes:
        label: the reading that it is of; `about`: the derivation in a sentence.
        also: further claims that it says to conclude.
        reached: labels of the claims that it does conclude; `used`: of those that it goes out from.
    """

    label: str
    about: str
    steps: tuple[Step, ...]
    reached: tuple[str, ...]
    also: tuple[str, ...] = ()
    used: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Nothing fails or is left open, and every claim that it is of is reached."""
        return not self.missed and not self.broken

    @property
    def missed(self) -> tuple[str, ...]:
        """The claims that it is of and does not reach."""
        return tuple(label for label in (self.label, *self.also) if label not in self.reached)

    @property
    def broken(self) -> tuple[Step, ...]:
        """The steps that were said to follow and do not, or are not decided."""
        return self.of("fails", "open")

    @property
    def executed(self) -> tuple[Step, ...]:
        return self.of("follows", "gap")

    @property
    def in_words(self) -> tuple[Step, ...]:
        return self.of("argued", "granted")

    def of(self, *standings: Standing) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.standing in standings)

    @property
    def counted(self) -> str:
        """How much of it is executed, in words."""
        total, words = len(self.steps), len(self.in_words)
        if not words:
            return f"all {total} steps executed" if total != 1 else "its one step executed"
        return f"{total - words} of {total} steps executed, {'the others' if words > 1 else 'the other'} in words"

    def verdict(self, elsewhere: Sequence[str] = ()) -> Verdict:
        """HOLDS when every step is executed. Where words carry a part it is CONSISTENT, and says what would have been
        noticed; where a premise is granted, or a claim not reached, UNDECIDED; what does not follow DIFFERS, for it
        refutes nothing but what was written down here.

        Args:
            elsewhere: claims that it goes out from and whose own derivations are in words, in part.
        """
        counts = {"executed": self.executed, "in words": self.in_words, "that do not follow as printed": self.of("gap")}
        fields: dict[str, Any] = {"numbers": {f"steps {name}": len(steps) for name, steps in counts.items()}}
        for standing, verdict in (("fails", differs), ("open", undecided)):
            for step in self.of(standing):  # type: ignore[arg-type]
                what = "does not hold" if standing == "fails" else "is not decided"
                said = f"step {self.steps.index(step) + 1} {what}: {step.text} ({step.detail})"
                return verdict(said, "symbolic", **fields)
        if self.missed:
            return undecided(f"the derivation does not reach {', '.join(self.missed)}", "symbolic", **fields)
        said = f"{self.counted[0].upper()}{self.counted[1:]}. {self.about} Reaches {', '.join(self.reached)}"
        said += f"; given {', '.join(self.used)}" if self.used else ""
        said += f"; in words, in part, is what it uses: {', '.join(elsewhere)}" if elsewhere else ""
        for standing, what in (("gap", "what does not follow as printed"), ("granted", "granted and not shown")):
            steps = self.of(standing)  # type: ignore[arg-type]
            said += f"; {what}: {'; '.join(step.text for step in steps)}" if steps else ""
        if self.of("granted"):
            return undecided(said, "symbolic", **fields)
        if self.in_words or elsewhere:
            notices = "; ".join(dict.fromkeys(step.notices for step in self.steps if step.notices))
            return consistent(said, "symbolic", notices=f"granted what is in words, {notices}", **fields)
        return holds(said, "symbolic", **fields)


@dataclass
class Proof:
    """What a derivation writes to; every method adds one step and returns the expression to go on with."""

    claims: Mapping[str, Claim]
    regime: Regime = ANYWHERE
    steps: list[Step] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)

    # -- what is put in -------------------------------------------------------------------------------------------

    def argues(self, text: str, left: sp.Expr | str = "", relation: Relation = "<=", right: Any = None) -> Any:
        """A step in words that no algebra checks; `right` is what it gives."""
        given = () if right is None else (Formula(left, relation, sp.sympify(right)),)
        self._add(text, "argued", given)
        return right

    def grants(self, text: str, left: sp.Expr | str = "", relation: Relation = "<=", right: Any = None) -> Any:
        """A premise of the paper that is false or open; `right` is what would follow. Nothing is concluded from it."""
        given = () if right is None else (Formula(left, relation, sp.sympify(right)),)
        self._add(text, "granted", given)
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
        pair = self._compared(there, gives) if as_order else equality(there, gives)
        shown = [Formula(claim.quantity, claim.relation, bound)]
        if bound != gives:
            shown.append(Formula("", "≍" if as_order else "=", gives))
        self._add(f"{claim.title} ({label})", pair[0], tuple(shown), under(where, pair[1]))
        self.used.append(label)
        return gives

    def assumes(self, label: str, smaller: Any, larger: Any) -> sp.Expr:
        """A hypothesis of a claim enters: `smaller <= larger` (or `<`) is among its assumptions. Returns `larger`."""
        claim, smaller, larger = self._claim(label), sp.sympify(smaller), sp.sympify(larger)
        parts = sp.And.make_args(sp.And(*claim.assumptions)) if claim else ()
        sides = [(part.lts, part.gts) for part in parts if isinstance(part, sp.Le | sp.Ge | sp.Lt | sp.Gt)]
        there = any(equality(low, smaller)[0] == equality(high, larger)[0] == "follows" for low, high in sides)
        detail = "" if there else f"not among the assumptions of {label}"
        shown = (Formula(smaller, "<=", larger),)
        self._add(f"by hypothesis of {label}", "follows" if there else "fails", shown, detail)
        return larger

    # -- what is checked ------------------------------------------------------------------------------------------

    def equal(self, text: str, left: Side, right: Side, where: Where | None = None) -> sp.Expr:
        """An identity between expressions of positive symbols; returns the right one."""
        (shown, left), (shown_right, right) = built(left), built(right)
        pair = equality(*(x.subs(where or {}, simultaneous=True) for x in (left, right)))
        self._add(text, pair[0], (Formula(shown, "=", shown_right),), under(where, pair[1]))
        return right

    def at_most(self, text: str, smaller: Side, larger: Side, where: Where | None = None) -> sp.Expr:
        """An inequality for all positive values of the symbols, under the assumptions that `where` puts in."""
        (shown, smaller), (shown_larger, larger) = built(smaller), built(larger)
        pair = inequality(*(x.subs(where or {}, simultaneous=True) for x in (smaller, larger)))
        self._add(text, pair[0], (Formula(shown, "<=", shown_larger),), under(where, pair[1]))
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
            detail = f"{short(low)} > {short(high)} at {point}" + (f"; {stands}" if stands else "")
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
        looser: bool = False,
    ) -> None:
        """The bound reached is that of a claim: the same value when it has constants, else of the same order.

        Args:
            where: what the symbols of the claim stand for, or assumptions, as in `at_most`.
            as_order: the O-form of a claim that has both.
            looser: the claim is meant to be weaker than what is reached; else a weaker one is an error too.
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
            compared = equality if claim.relation == "=" else inequality if looser else sameness
            standing, detail = compared(low, high)
        sign = claim.relation if exact else {"<=": "≲", ">=": "≳"}.get(claim.relation, "≍")
        shown = [Formula(claim.quantity, sign, bound)]
        if bound != stated:
            shown.append(Formula("", sign, stated))
        if standing == "follows":
            same = exact and (detail == "equal" if compared is sameness else equality(here, there)[0] == "follows")
            standing, detail = self._tight(standing, detail, looser, same)
        notices = resolution(here, there, claim.relation, looser) if exact else _ORDERS[looser]
        text = f"which is {claim.title} ({label})"
        self.steps.append(Step(text, standing, tuple(shown), under(where, detail), f"{label}: {notices}"))
        if standing == "follows":
            self.reached.append(label)

    @staticmethod
    def _tight(standing: Standing, detail: str, looser: bool, equal: bool) -> tuple[Standing, str]:
        """A claim that follows is what was reached, or weaker where the derivation says so."""
        if looser != (equal or detail == "the same order"):
            return standing, detail
        if looser:
            return "fails", "the claim is said to be weaker than what is reached, and is not"
        return "fails", "the claim is weaker than what is reached; `looser=True` says that it is meant to be"

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
        symbols = {symbol.name for symbol in sp.sympify(bound).free_symbols}
        return "follows", f"not optimal: {names} gives {least}; {_gain(lost, symbols)}"


@dataclass(frozen=True)
class Derivation:
    """A derivation of one claim, and of those in `also`, written by `function`; executed by `run`."""

    label: str
    function: Callable[[Proof], None]
    regime: Regime = ANYWHERE
    also: tuple[str, ...] = ()
    expect: frozenset[Outcome] = frozenset({Outcome.HOLDS, Outcome.CONSISTENT})

    @property
    def labels(self) -> tuple[str, ...]:
        """The claims that it concludes."""
        return (self.label, *self.also)

    @property
    def about(self) -> str:
        """First paragraph of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n\n")[0].replace("\n", " ")

    def run(self, claims: Mapping[str, Claim]) -> ExecutedDerivation:
        """Executes every step against the claims that it names.

        Raises:
            UnknownLabel: what it concludes is not among the claims.
        """
        for label in self.labels:
            if label not in claims:
                raise UnknownLabel(label, claims)
        proof = Proof(claims, self.regime)
        try:
            self.function(proof)
        except DpcheckError as error:
            proof.steps.append(Step("the derivation stops", "fails", (), str(error)))
        reached, used = (tuple(dict.fromkeys(labels)) for labels in (proof.reached, proof.used))
        return ExecutedDerivation(self.label, self.about, tuple(proof.steps), reached, self.also, used)


def derivation(
    label: str, regime: Regime = ANYWHERE, *, also: Sequence[str] = (), expect: Outcome | str | None = None
) -> Callable[[Callable[[Proof], None]], Derivation]:
    """Makes a function the derivation of a claim: `@derivation("paper/thm-1@corrected", Regime(…))`.

    The engine makes a check of it, `paper/thm-1@corrected::derivation`.

    Args:
        label: the claim, in the reading that the derivation concludes.
        regime: in which orders are compared; default: all variables independent of each other.
        also: further claims that it concludes.
        expect: the outcome that is not news; default: that it holds, or is consistent where words carry a part.
    """
    for each in (label, *also):
        split_label(each)
    expected = frozenset({Outcome.HOLDS, Outcome.CONSISTENT}) if expect is None else frozenset({Outcome(expect)})

    def decorate(function: Callable[[Proof], None]) -> Derivation:
        if not inspect.getdoc(function):
            raise CollectionError(f"the derivation of {label} has no docstring; say in a sentence how the bound arises")
        return Derivation(label, function, regime, tuple(also), expected)

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

    def __post_init__(self) -> None:
        split_label(self.label)


def underived(label: str, reason: str) -> Underived:
    """States why a claim has no derivation: `thm_9 = underived("paper/thm-9", "cited; its proof is elsewhere")`."""
    split_label(label)
    if not reason.strip():
        raise CollectionError(f"{label} needs a reason for having no derivation")
    return Underived(label, reason)


_ORDERS = {False: "a rate of another order", True: "a rate below the one reached"}


def _order(rate: Any) -> Order:
    return Order.of(rate, ignore_rounding=True)


def _gain(ray: Ray, symbols: set[str]) -> str:
    """What a better choice gains along a ray. `symbols` are the bound's; other names are exponents of a regime."""
    rates = f"{ray.rate} becomes {ray.other}"
    return f"with {ray.place(symbols)} for a growing N, the order {rates}" if ray.exponents else rates
