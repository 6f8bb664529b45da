"""What an audit found, and how to say it."""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath

from dpcheck.auditing import figures, spending
from dpcheck.auditing.curve import Curve
from dpcheck.auditing.inputs import Pair
from dpcheck.auditing.premise import CURE, ELSEWHERE, PREMISE
from dpcheck.auditing.visible import Visible
from dpcheck.displayed import Displayed
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.verdicts import Outcome, Verdict, Witness
from dpcheck.witnesses import sampled

UP = decimal.Context(prec=3, rounding=decimal.ROUND_UP)
ALIKE = "every output alike"
"""The event of a rule that guesses the same input whatever comes out."""
CONSTANT = "one and the same output on both inputs"
"""The same, where nothing else came out."""
HALTED = "a halt on both inputs"
"""The same, where nothing came out."""


@dataclass(frozen=True, kw_only=True)
class AuditResult(Displayed):
    """The answer of `dp.audit`. A sampled audit never says HOLDS.

    Attributes:
        outcome: REFUTED when `epsilon_lower` > `epsilon_claimed`, else CONSISTENT when
            `detectable_epsilon` is finite, UNDECIDED when no truth could have been refuted.
        epsilon_lower: certified at `delta`. It, the refutation and the band of `curve` hold together, and at all looks
            of an anytime audit, with probability 1 - failure_probability; `spending.split` says what each one spends.
        epsilon_estimate: of the event seen, without a guarantee.
        epsilon_claimed: the claim at `delta`. For a claimed curve, delta is where the held-out part saw most.
        detectable_epsilon: true epsilon that this run would have refuted with probability 0.95, were every guess of its
            event right as often as that epsilon allows; a leak by another event may take more.
        rule_delta: where the witness of a refutation stands: `delta`, except for a curve in anytime mode, which is
            refuted as a whole.
        event: the rule in words; counts: what it is computed from (see `to_dict`).
        dependence: what speaks against independent trials, "" if nothing: then nothing is certified, and the outcome is
            UNDECIDED. premise_failure: chance that this is said of independent trials, spent apart.
        inputs: the pair; `pair` says how it differs, in words; likely: a guess at the cause, or "".
        seconds: of analysis and of the mechanism.
    """

    outcome: Outcome
    claim: Guarantee
    epsilon_lower: float
    epsilon_estimate: float
    epsilon_claimed: float
    delta: float
    event: str
    counts: dict[str, int]
    curve: Curve | None
    visible: Visible
    mechanism: str
    score: str
    inputs: Pair
    likely: str
    trials: int
    seed: int
    mode: str
    failure_probability: float
    seconds: float
    mechanism_seconds: float
    rule_delta: float
    premise_failure: float = 0.0
    dependence: str = ""
    label: str = ""
    state: Mapping[str, Any] | None = None
    """Of an anytime audit: pass it as `resume` to go on."""
    next_look: int = 0
    """Of an anytime audit: runs in all (`max_samples`) at which its words may change next."""

    @property
    def detectable_epsilon(self) -> float:
        return self.visible.detectable

    @property
    def confidence(self) -> str:
        return percent(self.failure_probability)

    @property
    def headline(self) -> str:
        return f"{self.mechanism}: {self.outcome.value}"

    @property
    def pair(self) -> str:
        return self.inputs.text

    @property
    def witness(self) -> Witness | None:
        """The counts, with the pair, as a witness that `dpcheck verify` recomputes; None unless refuted.

        Its certificate is cruder than the audit's: in fixed mode it counts the last stage only, all guesses alike; in
        anytime mode it bets on one event only and holds at any time. So a refutation by a hair may have none.
        """
        if self.outcome is not Outcome.REFUTED or "right" not in self.counts:
            return None
        right, wrong, samples = (self.counts[name] for name in ("right", "wrong", "samples"))
        directions = self.counts["directions"]
        alpha, leak = Fraction(str(self.failure_probability)), Fraction(str(self.rule_delta)) * directions / 2
        allowed = self.claim.epsilon_at(self.rule_delta)
        if self.mode != "fixed":
            kind, certify = "sampled.stopped_counts", sampled.stopped_epsilon
        elif self.counts.get("pairs"):
            kind, certify = "sampled.pair_counts", sampled.pair_epsilon
        elif self.counts.get("fitted") and leak:
            kind, certify = "sampled.fitted_counts", sampled.fitted_epsilon
        else:
            kind, certify = "sampled.event_counts", sampled.certified_epsilon
        with mpmath.workdps(50):
            by_name = certify(right, wrong, samples, leak, alpha)
            if by_name <= allowed:
                return None
            text = mpmath.nstr(by_name, 20)
        parameters = {
            "right": right,
            "wrong": wrong,
            "samples": samples,
            "directions": directions,
            "epsilon": repr(allowed),
            "delta": repr(self.rule_delta),
            "failure_probability": repr(self.failure_probability),
            "label": self.label or f"audit/{self.mechanism}",
            "event": self.event,
            "pair": self.pair,
            **self.inputs.packed(),
            "claim": str(self.claim),
            "seed": self.seed,
            "trials": self.trials,
        }
        return Witness(
            label=str(parameters["label"]),
            kind=kind,
            parameters=parameters,
            claimed=repr(allowed),
            found=text,
            note="counts of pairs of one input and of both, drawn without their inputs"
            if self.counts.get("pairs")
            else "counts of right and wrong guesses; no rule saw the inputs of the trials that it guesses",
        )

    def reason(self) -> str:
        """One sentence that carries the number."""
        if self.dependence.startswith(ELSEWHERE):
            return f"{self.mechanism}: nothing can be concluded: {self.dependence}"
        if self.dependence:
            return f"{self.mechanism}: trials are not independent: {self.dependence}; {CURE}"
        runs = f"{self.counts['tested'] // 2:,} runs a side"
        if self.outcome is Outcome.REFUTED and self.epsilon_lower < self.epsilon_claimed:
            return (
                f"{self.mechanism} is not {self.claim}: its curve is refuted as a whole ({self.confidence}), {runs}; "
                f"certified ε {self._at_delta()}"
            )
        if self.outcome is Outcome.REFUTED:
            return f"{self.mechanism} is not {self.claim}: certified ε {self._at_delta()} ({self.confidence}), {runs}"
        text = f"certified ε {self._at_delta()} ({self.confidence}), {runs}"
        if self.outcome is Outcome.UNDECIDED:
            return f"{self.mechanism} against {self.claim}, nothing decided: {text}; {self._reach()}"
        return f"{self.mechanism} is consistent with {self.claim}: {text}; {self._reach()}"

    def _at_delta(self) -> str:
        where = "" if self.delta == 0 else f" at δ = {self.delta:.3g}"
        if isinstance(self.claim, ApproxDP):
            return f"{self._sign()} {_down(self.epsilon_lower)}{where}"
        digits = 2
        while digits < 6 and _down(self.epsilon_lower, digits) == f"{self.epsilon_claimed:.{digits}f}":
            digits += 1
        allowed = f"{self.epsilon_claimed:.{digits}f}"
        return f"{self._sign()} {_down(self.epsilon_lower, digits)}{where}, where the claim allows {allowed}"

    def _sign(self) -> str:
        """An anytime audit that stops at once has rejected the claimed epsilon itself, and none above it."""
        return ">" if self.outcome is Outcome.REFUTED and self.epsilon_lower == self.epsilon_claimed else "≥"

    def _reach(self) -> str:
        unseen = f"{self.visible.smallest_probability:.1g}"
        if self.event == CONSTANT:
            return (
                f"every run on either input gave the same output, which tells them apart by nothing; a leak is in "
                f"outputs of probability below {unseen}, of which none came, or there is none; more trials look further"
            )
        if self.event == HALTED:
            return (
                f"every run on either input halted, which tells them apart by nothing: it returned None or NaN, and a "
                f"function without `return` returns None; if it does halt, what it tells else has probability below "
                f"{unseen}, and more trials look further"
            )
        if self.event == ALIKE:
            return (
                f"no output told the inputs apart, so that nothing could have been refuted; a leak is in outputs of "
                f"probability below {unseen}, in what the score does not see, or there is none"
            )
        if not math.isfinite(self.visible.detectable):
            reach = "this event could not have refuted the claim at any ε"
        else:
            reach = f"would have refuted a true ε ≥ {_up(self.visible.detectable)} of this event with 95 % power"
        return f"{reach}; events below probability {unseen} were out of sight"

    def lacks(self, must_detect: float | None) -> str:
        """What to do where a true epsilon could not have been refuted; "" where it could, with 95 % power."""
        if must_detect is None or self.detectable_epsilon <= must_detect:
            return ""
        if must_detect <= self.epsilon_claimed:
            return (
                f"the claim itself allows ε = {self.epsilon_claimed:.4g} at the δ = {self.delta:.3g} of this audit: "
                "no number of trials refutes less; ask for more"
            )
        return f"take more than trials={self.trials}"

    def verdict(self) -> Verdict:
        """As the verdict of a check."""
        numbers: dict[str, float | int | str | bool] = {
            "epsilon_lower": self.epsilon_lower,
            "epsilon_estimate": self.epsilon_estimate,
            "epsilon_claimed": self.epsilon_claimed,
            "delta": self.delta,
            "detectable_epsilon": self.detectable_epsilon,
            "smallest_visible_probability": self.visible.smallest_probability,
            "event": self.event,
            "trials": self.trials,
            "premise": self.premise,
            **self.counts,
        }
        return Verdict(
            outcome=self.outcome,
            reason=self.reason(),
            evidence="sampled",
            failure_probability=self.premise_failure if self.dependence else self.failure_probability,
            numbers=numbers,
            witness=self.witness,
            notices=self.notices() if self.outcome is Outcome.CONSISTENT else "",
        )

    def notices(self) -> str:
        """The violation that the audit would have refuted."""
        return (
            f"a true ε ≥ {_up(self.detectable_epsilon)} of this event on this pair (95 % power), by events of "
            f"probability {self.visible.smallest_probability:.1g} and more"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; infinities as strings."""
        plain = {
            "schema_version": 1,
            "outcome": self.outcome.value,
            "claim": str(self.claim),
            "epsilon_lower": self.epsilon_lower,
            "epsilon_estimate": self.epsilon_estimate,
            "epsilon_claimed": self.epsilon_claimed,
            "delta": self.delta,
            "detectable_epsilon": self.detectable_epsilon,
            "event": self.event,
            "counts": dict(self.counts),
            "curve": None if self.curve is None else self.curve.to_dict(),
            "visible": self.visible.to_dict(),
            "mechanism": self.mechanism,
            "score": self.score,
            "pair": self.pair,
            "premise": self.premise,
            "dependence": self.dependence,
            "likely": self.likely,
            "trials": self.trials,
            "seed": self.seed,
            "mode": self.mode,
            "next_look": self.next_look,
            "split": spending.split(self.claim, self.mode),
            "failure_probability": self.failure_probability,
            "seconds": self.seconds,
            "mechanism_seconds": self.mechanism_seconds,
        }
        return {name: _jsonable(value) for name, value in plain.items()}

    @property
    def premise(self) -> str:
        """What the statement rests on, and that it was checked."""
        if self.dependence.startswith(ELSEWHERE):
            return "all randomness comes from the generator that is handed over: it does not"
        if self.dependence:
            return f"{PREMISE}: they are not"
        return f"{PREMISE}; a check of that (failure probability {self.premise_failure:.2g}) found nothing against it"

    def rows(self) -> list[tuple[str, str]]:
        """The lines below the headline: (name, text)."""
        there, back = self._hits("hits"), self._hits("back")
        none = "no single one: the bets were spread over all outputs"
        rows = [("event", none if self.event == "never" else self.event)]
        if there:
            rows.append(("seen", f"{there[0]} on `data`, {there[1]} on `neighbour`"))
        if back:
            rows.append(("seen back", f"{back[1]} on `neighbour`, {back[0]} on `data`"))
        if self.pair:
            rows.append(("pair", self.pair))
        if self.likely:
            rows.append(("likely", self.likely))
        return rows

    def _hits(self, kind: str) -> tuple[str, str] | None:
        c = self.counts
        pairs = [(c[f"{kind}_{side}"], c[f"runs_{side}"]) for side in ("data", "neighbour")]
        shown = [f"{hits:,} of {runs:,}" for hits, runs in pairs]
        return (shown[0], shown[1]) if any(hits for hits, _ in pairs) else None

    def __str__(self) -> str:
        lines = [f"{self.outcome.value.upper()}  {self.reason()}"]
        lines += [f"  {name:<12} {text}" for name, text in self.rows()]
        directions = "both directions in one test" if self.counts["directions"] == 2 else "one direction"
        looks = f"{self.visible.looks} look" + ("s" if self.visible.looks > 1 else "")
        split = spending.in_words(self.claim, self.mode, self.failure_probability)
        spent = f"failure probability {self.failure_probability:g} ({split}), {looks}, {directions}"
        times = f"{self.mechanism_seconds:.2f} s mechanism, {self.seconds:.2f} s analysis; seed {self.seed}"
        lines += [f"  {'premise':<12} {self.premise}", f"  {'spent':<12} {spent}", f"  {'time':<12} {times}"]
        if self.mode != "fixed":
            lines.append(f"  {'next look':<12} at {self.next_look:,} runs in all; until then it says nothing new")
        return "\n".join(lines)

    def plot(
        self,
        axes: Any = None,
        *,
        kind: str = "tradeoff",
        exact: Guarantee | None = None,
        accountant: Guarantee | None = None,
    ) -> Any:
        """Draws the claim, the certified band and the estimate; returns the Matplotlib axes.

        Args:
            kind: "tradeoff" (false-negative over false-positive rate) or "epsilon" (epsilon over delta: the sandwich).
            exact: the true guarantee where it is known; accountant: an accountant's upper bound.
        """
        if kind not in ("tradeoff", "epsilon"):
            raise InvalidInput(f"kind must be 'tradeoff' or 'epsilon', got {kind!r}")
        drawn = figures.draw if kind == "tradeoff" else figures.sandwich
        return drawn(self, axes, exact=exact, accountant=accountant)


def percent(failure_probability: float) -> str:
    """The confidence that is left, never too much: "95 %", "98.33 %", or "1 − 1.67e-07" where it takes more digits."""
    sure, unit = 100 * (1 - failure_probability), 100 if failure_probability >= 1e-3 else 10_000
    shown = math.floor(sure * unit + 1e-6) / unit
    if failure_probability >= 1e-5 or (shown < 100 and math.isclose(shown, sure, rel_tol=1e-12)):
        return f"{shown:.10g} %"
    return f"1 − {float(UP.create_decimal(repr(float(failure_probability)))):.3g}"


def _down(value: float, digits: int = 2) -> str:
    """A few decimals, rounded down: a certified bound must not grow by printing."""
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}" if math.isfinite(value) else str(value)


def _up(value: float) -> str:
    return f"{math.ceil(value * 100) / 100:.2f}"


def _jsonable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {k: _jsonable(v) for k, v in value.items()}
    return [_jsonable(v) for v in value] if isinstance(value, list) else value
