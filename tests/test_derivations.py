"""Derivations: that a true step follows, that a false one is caught, and that those of the catalogue are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
import sympy as sp
from checkout import collected

from dpcheck.asymptotics import Regime
from dpcheck.asymptotics.optima import least_order
from dpcheck.claims import Paper
from dpcheck.derivations import Derivation, Proof, derivation, underived
from dpcheck.errors import CollectionError, InvalidInput, UnknownLabel
from dpcheck.symbols import C, D, G_k, d, epsilon, k, n
from dpcheck.verdicts import Outcome

PAPER = Paper(key="toy", title="A toy", authors="", reference="")
RATE = G_k * (d / (n * epsilon)) ** (1 - 1 / k)
BOUND = {"noise": C * d / (n * epsilon), "bias": G_k**k / C ** (k - 1)}
BEST = {C: G_k * (n * epsilon / d) ** (1 / k)}
CLAIMS = {
    c.label: c
    for c in (
        PAPER.claim("toy/thm-1", "Theorem 1", "…", kind="theorem", relation="<=", order=RATE),
        PAPER.claim("toy/thm-1@derived", "Theorem 1, constants", "…", kind="theorem", relation="<=", explicit=2 * RATE),
        PAPER.claim("toy/lem-2", "Lemma 2", "…", kind="lemma", relation="<=", explicit=G_k**k / C ** (k - 1)),
        PAPER.claim("toy/thm-3", "Theorem 3", "…", kind="theorem", relation=">=", order=RATE),
    )
}
PAPERS = ("pure_heavy_tails", "l1_geometry", "lp_spaces")
"""Whose bounds are all derived, or have a reason."""


def run(write) -> tuple[list[str], list[str]]:
    """The standings and details of the steps that `write` adds."""
    proof = Proof(CLAIMS)
    write(proof)
    return [step.standing for step in proof.steps], [step.detail for step in proof.steps]


def transcript(function, label="toy/thm-1"):
    return Derivation(label, function).run(CLAIMS)


def test_a_whole_derivation():
    def proof_of_theorem_1(proof: Proof) -> None:
        """Noise against bias."""
        bias = proof.uses("toy/lem-2", BOUND["bias"])
        value = proof.chooses(proof.master("error", {"noise": BOUND["noise"], "bias": bias}), BEST)
        proof.concludes("toy/thm-1@derived", value)
        proof.concludes("toy/thm-1", value)

    found = transcript(proof_of_theorem_1)
    assert found.complete
    assert [s.standing for s in found.steps] == ["follows", "argued", "follows", "follows", "follows"]
    assert found.reached == ("toy/thm-1@derived", "toy/thm-1")
    verdict = found.verdict()
    assert verdict.outcome is Outcome.CONSISTENT, "the master inequality is in words"
    assert verdict.reason.startswith("4 of 5 steps executed, the other in words. Noise against bias.")
    assert verdict.notices == (
        "granted what is in words, toy/thm-1@derived: any other value; toy/thm-1: a rate of another order"
    )
    assert dict(verdict.numbers) == {
        "steps executed": 4,
        "steps in words": 1,
        "steps that do not follow as printed": 0,
    }


@pytest.mark.parametrize(
    "write",
    [
        lambda p: p.equal("wrong factor", sp.sqrt(4 * n), 3 * sp.sqrt(n)),
        lambda p: p.at_most("wrong way", 2 * n, n),
        lambda p: p.at_most("fails for small x only", n, n**2),
        lambda p: p.uses("toy/lem-2", 2 * BOUND["bias"]),
        lambda p: p.uses("toy/lem-9", BOUND["bias"]),
        lambda p: p.same_order("not the same", RATE, RATE * n),
        lambda p: p.order_at_most("larger", RATE * n, RATE, Regime(base=None, others="free", where=[n >= 1])),
        lambda p: p.chooses(sp.Add(*BOUND.values()), {C: G_k * (n * epsilon / d) ** (1 / (k + 1))}),
        lambda p: p.chooses(sp.Add(*BOUND.values()), BEST, better={C: G_k * n}),
        lambda p: p.chooses(sp.Add(*BOUND.values()), {C: G_k}, better={C: G_k * n}),
        lambda p: p.concludes("toy/thm-1@derived", sp.Rational(21, 10) * RATE),
        lambda p: p.concludes("toy/thm-1", RATE * n, regime=Regime(base=None, others="free", where=[n >= 1])),
        lambda p: p.concludes("toy/thm-3", RATE / n, regime=Regime(base=None, others="free", where=[n >= 1])),
        lambda p: p.gap("said to fail, and does not", n, 2 * n, {n: 5}),
    ],
)
def test_false_steps_are_caught(write):
    standings, details = run(write)
    assert standings == ["fails"]
    assert details[0]


def test_assumptions_go_in_by_substitution():
    t = sp.Symbol("t", positive=True)
    standings, _ = run(lambda p: p.at_most("1 <= d/epsilon", 1, d / epsilon))
    assert standings == ["fails"]
    standings, _ = run(lambda p: p.at_most("1 <= d/epsilon", 1, d / epsilon, {d: epsilon * (1 + t)}))
    assert standings == ["follows"]


def test_a_gap_shows_its_point():
    standings, details = run(lambda p: p.gap("n² ≤ n", n**2, n, {n: 3}, "n ≤ n²"))
    assert standings == ["gap"]
    assert details == ["9.000 > 3.000 at n = 3; n ≤ n²"]


def test_a_better_choice_and_its_gain():
    standings, details = run(lambda p: p.chooses(sp.Add(*BOUND.values()), {C: G_k}, better=BEST))
    assert standings == ["follows"]
    assert details[0].startswith("not optimal: C = G_k*(epsilon*n/d)**(1/k) gives")
    gain = re.search(r"with (.*) for a growing N, the order N\^\((.*)\) becomes (.*)$", details[0])
    assert gain
    assert all(re.fullmatch(r"[a-zA-Z_]+ = N\^\(\S+\)|k = \S+", at) for at in gain[1].split(", "))


def test_an_undecided_step_is_open_not_proved():
    standings, details = run(lambda p: p.at_most("true, but not for SymPy", sp.log(n), n))
    assert standings == ["open"]
    assert "does not decide" in details[0]


def test_a_derivation_that_stops_or_reaches_nothing_is_not_complete():
    def idle(proof: Proof) -> None:
        """Says nothing of its statement."""
        proof.equal("true", n, n)

    def stops(proof: Proof) -> None:
        """Compares what has no order."""
        proof.same_order("exp", sp.exp(n), n)

    def leaves_open(proof: Proof) -> None:
        """What SymPy does not decide is neither shown nor wrong."""
        proof.at_most("true, but not for SymPy", sp.log(n), n)
        proof.concludes("toy/thm-1", RATE)

    cases = ((idle, Outcome.UNDECIDED), (stops, Outcome.DIFFERS), (leaves_open, Outcome.UNDECIDED))
    for function, outcome in cases:
        found = transcript(function)
        assert not found.complete
        assert found.verdict().outcome is outcome
    assert "grows faster than every power" in transcript(stops).steps[-1].detail
    with pytest.raises(UnknownLabel, match="thm-8"):
        transcript(idle, "toy/thm-8")


def test_what_must_be_written():
    with pytest.raises(CollectionError, match="no docstring"):

        @derivation("toy/thm-1")
        def _(proof: Proof) -> None:
            proof.equal("true", n, n)

    with pytest.raises(CollectionError, match="needs a reason"):
        underived("toy/thm-1", " ")


# -- what a derivation may say -----------------------------------------------------------------------------------------


def executed(proof: Proof) -> None:
    """From a lemma to its own bound."""
    proof.concludes("toy/lem-2", proof.uses("toy/lem-2", BOUND["bias"]))


def test_holds_is_said_of_what_is_executed_and_of_nothing_else():
    found = transcript(executed, "toy/lem-2")
    assert found.verdict().outcome is Outcome.HOLDS
    assert "All 2 steps executed" in found.verdict().reason
    assert "given toy/lem-2" in found.verdict().reason
    behind = found.verdict(elsewhere=["toy/thm-3"])
    assert behind.outcome is Outcome.CONSISTENT, "what it uses is in words"
    assert "toy/thm-3" in behind.reason


def test_what_is_granted_leaves_the_conclusion_open():
    def granted(proof: Proof) -> None:
        """On a premise that is open."""
        proof.concludes("toy/lem-2", proof.grants("the premise", "bias", "<=", BOUND["bias"]))

    verdict = transcript(granted, "toy/lem-2").verdict()
    assert verdict.outcome is Outcome.UNDECIDED
    assert "granted and not shown: the premise" in verdict.reason


def test_a_claim_that_is_named_and_not_reached_is_undecided():
    verdict = Derivation("toy/lem-2", executed, also=("toy/thm-3",)).run(CLAIMS).verdict()
    assert verdict.outcome is Outcome.UNDECIDED
    assert "does not reach toy/thm-3" in verdict.reason


@pytest.mark.parametrize(
    ("reached", "looser", "notices"),
    [
        (2, False, "any other value"),
        (sp.Rational(199, 100), True, "smaller by the factor 1.1"),
        (1, True, "smaller by the factor 10"),
    ],
)
def test_a_conclusion_says_what_it_would_have_noticed(reached, looser, notices):
    proof = Proof(CLAIMS)
    proof.concludes("toy/thm-1@derived", reached * RATE, looser=looser)
    assert proof.steps[0].standing == "follows"
    assert notices in proof.steps[0].notices


@pytest.mark.parametrize(("reached", "looser"), [(1, False), (2, True)])
def test_a_claim_is_as_weak_as_the_derivation_says(reached, looser):
    """A bound that nobody meant to loosen is as wrong a claim as one that is too strong."""
    standings, details = run(lambda p: p.concludes("toy/thm-1@derived", reached * RATE, looser=looser))
    assert standings == ["fails"]
    assert "weaker than what is reached" in details[0]
    weaker = RATE * n ** sp.Rational(-looser - 1, 10) if reached == 1 else RATE
    regime = Regime(base=None, others="free", where=[n >= 1])
    standings, _ = run(lambda p: p.concludes("toy/thm-1", weaker, looser=looser, regime=regime))
    assert standings == ["fails"]


def test_both_sides_are_shown_as_they_are_written():
    proof = Proof(CLAIMS)
    right = proof.equal("squared", lambda: 32 * n / 2 * (3 * d / n) ** 2, 144 * d**2 / n)
    (formula,) = proof.steps[0].formulas
    assert proof.steps[0].standing == "follows"
    assert str(formula) == "((32*n)/2)*((3*d)/n)**2 = 144*d**2/n"
    assert right == 144 * d**2 / n
    j = sp.Symbol("j", integer=True, positive=True)
    proof.equal("a series", sp.Sum(n / 2**j, (j, 1, sp.oo)), n)
    assert proof.steps[1].standing == "follows"
    assert isinstance(proof.steps[1].formulas[0].left, sp.Sum)
    assert run(lambda p: p.equal("wrong", lambda: 32 * n / 2, 15 * n))[0] == ["fails"]


def test_both_sides_of_a_claim_that_enters_or_is_reached_are_shown():
    proof = Proof(CLAIMS)
    proof.uses("toy/lem-2", n**k / C ** (k - 1), {G_k: n})
    proof.concludes("toy/thm-1@derived", RATE, looser=True)
    used, reached = ([str(formula) for formula in step.formulas] for step in proof.steps)
    assert used == [" ≤ C**(1 - k)*G_k**k".strip(), "= C**(1 - k)*n**k"]
    assert reached[0] == f"≤ {RATE}"
    assert reached[1] == f"≤ {2 * RATE}"
    assert proof.steps[0].detail == "with G_k = n"


def test_a_hypothesis_enters_only_when_the_claim_has_it():
    bounded = PAPER.claim(
        "toy/thm-4", "Theorem 4", "…", kind="theorem", relation="<=", order=RATE, assumptions=(sp.Le(epsilon, 1),)
    )
    for larger, standing in ((1, "follows"), (2, "fails")):
        proof = Proof({"toy/thm-4": bounded})
        proof.assumes("toy/thm-4", epsilon, larger)
        assert [step.standing for step in proof.steps] == [standing]


def test_products_are_compared_by_their_logarithms():
    t = sp.Symbol("t", positive=True)
    power = {k: 1 + t}
    assert run(lambda p: p.at_most("grows", n ** (1 / k), (n * (1 + d)) ** (1 / k), power))[0] == ["follows"]
    assert run(lambda p: p.at_most("does not", (n * (1 + d)) ** (1 / k), n ** (1 / k), power))[0] == ["fails"]


# -- the best choice ---------------------------------------------------------------------------------------------------


def test_least_order_balances_one_two_and_limited_variables():
    T, x, A = sp.symbols("T x A", positive=True)
    assert str(least_order(A / T + T * x, [T])) == "sqrt(A)*sqrt(x)"
    assert str(least_order(A / T + T * x, [T], limits=[1 / T])) == "Max(sqrt(A)*sqrt(x), x)"
    two = least_order(1 / sp.sqrt(T) + 1 / A + T ** sp.Rational(3, 2) * A**2 * x**2, [T, A])
    assert str(two) == "x**(1/3)"


@pytest.mark.parametrize(
    ("bound", "match"),
    [
        (C * d, "tends to 0"),
        (C + sp.log(C) / C, "inside a logarithm"),
        (C + sp.Min(1 / C, 1), "has a minimum"),
    ],
)
def test_least_order_refuses(bound, match):
    with pytest.raises(InvalidInput, match=match):
        least_order(bound, [C])


def test_least_order_is_a_lower_bound_and_attained():
    """At any choice the bound is at least the weighted mean; at the balanced one it is within the number of terms."""
    least = least_order(sp.Add(*BOUND.values()), [C]).expression.subs(k, 3)
    total = sp.Add(*BOUND.values()).subs(k, 3)
    at = {G_k: 2, d: 7, n: 1000, epsilon: sp.Rational(1, 3)}
    for c in (sp.Rational(1, 10), 1, 5, 30, 1000):
        assert total.subs({**at, C: c}) >= least.subs(at)
    assert total.subs(C, BEST[C].subs(k, 3)).subs(at).evalf() <= 2 * least.subs(at).evalf() * (1 + 1e-12)


# -- the catalogue -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def catalogue():
    return collected()


def executing(paper, *values):
    """A case that executes derivations of a paper: one process does, for all of them."""
    return pytest.param(*values, marks=pytest.mark.xdist_group(f"derivations of {paper}"))


@pytest.mark.parametrize("paper", [executing(paper, paper) for paper in (*PAPERS, "tsybakov", "user_level")])
def test_every_derivation_is_complete_and_concludes_what_it_names(catalogue, paper):
    """And compares no expression with itself: '1280/3 = 1280/3' tells nobody anything, the left side is given as it is
    written. One test of all three, for whoever executes them all waits."""
    broken, other, alike = [], [], []
    for each in catalogue.derivations.values():
        label = each.label
        if label.startswith(f"{paper}/"):
            found = catalogue.transcript(label)
            if not found.complete:
                broken.append((label, [(s.text, s.detail) for s in found.broken] or "does not reach it"))
            if set(found.reached) != set(each.labels):
                other.append((label, found.reached, each.labels))
            for step in found.of("follows"):
                alike += [(label, step.text, str(f)) for f in step.formulas if _says_nothing(f)]
    assert (broken, other, alike) == ([], [], [])


def _says_nothing(formula):
    return isinstance(formula.left, sp.Basic) and str(formula.left) == str(formula.right)


def test_findings_are_claims_with_a_derivation_of_their_own(catalogue):
    assert len(catalogue.findings) >= 3
    for label in catalogue.findings:
        assert catalogue.claims[label].origin == "ours"
        assert catalogue.transcript(label).label == label
        assert label in catalogue.transcript(label).reached


def test_every_panel_is_drawn_and_no_upper_bound_is_below_a_lower_one(catalogue):
    for key, panel in catalogue.panels.items():
        diagram = panel.diagram(catalogue.claims)
        assert not diagram.uncovered, key
        if panel.versus.startswith("the lower bound"):
            assert not diagram.contradictions, key


def test_what_the_ratio_of_two_bounds_depends_on(catalogue):
    """d log(1/δ) against d + log(1/δ) shows when both grow, and only then."""
    found = dict(catalogue.contests["pure"].depends(catalogue.claims))
    assert ("beta", "d", "n") in found
    assert not any(len(names) < 3 for names in found)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_bound_of_a_theorem_has_a_derivation_or_a_reason(catalogue, paper):
    """Theorems and propositions with a bound, in whatever reading."""
    stated = {
        c.statement_label
        for c in catalogue.claims.values()
        if c.paper.key == paper and c.kind in ("theorem", "proposition") and c.bound is not None and c.relation != "is"
    }
    there = {label.partition("@")[0] for label in (*catalogue.derivations, *catalogue.underived)}
    assert not sorted(stated - there)


READ = [
    "l1_geometry/thm-1",
    "l1_geometry/thm-2",
    "l1_geometry/thm-3",
    "l1_geometry/thm-3@derived",
    "l1_geometry/alg-1",
    "l1_geometry/lem-3-1",
    "l1_geometry/thm-12",
    "l1_geometry/thm-12@corrected",
    "l1_geometry/lem-3-3",
    "l1_geometry/lem-3-2@corrected",
    "l1_geometry/lem-d4@corrected",
    "l1_geometry/thm-8@corrected",
    "l1_geometry/thm-9@corrected",
    "lp_spaces/thm-6@derived",
    "lp_spaces/claim-after-thm-5",
    "lp_spaces/lem-1",
    "lp_spaces/thm-10",
    "lp_spaces/alg-1@derived",
    "pure_heavy_tails/thm-g-5",
    "pure_heavy_tails/prop-f-5@derived",
    "pure_heavy_tails/prop-c-5@derived",
    "pure_heavy_tails/thm-3-1",
    "tsybakov/lem-1",
    "tsybakov/rem-3@derived",
    "tsybakov/thm-9@derived",
    "tsybakov/thm-10@derived",
    "tsybakov/thm-10@balance",
    "tsybakov/thm-6@range",
    "user_level/claim-3-6",
    "user_level/thm-b1@tail-exact",
    "user_level/thm-d3@derived",
    "user_level/claim-2-2",
    "user_level/lem-2-3@linear",
    "user_level/thm-3-2@derived",
]
"""Claims whose derivation is what looks at their constant or exponents: it concludes them, or goes out from them."""


@pytest.mark.parametrize("label", [executing(label.partition("/")[0], label) for label in READ])
def test_a_claim_that_is_changed_in_either_direction_is_noticed(catalogue, label):
    claim = catalogue.claims[label]
    same = [d for d in catalogue.derivations.values() if d.label.startswith(f"{claim.paper.key}/")]
    own = [d for d in same if label in (*d.labels, *catalogue.transcript(d.label).used)]
    assert own
    for up in (1, -1):
        if claim.explicit is not None:
            changed = replace(claim, explicit=claim.explicit * sp.Integer(2) ** up)
        else:
            symbol = min(claim.order.free_symbols, key=lambda s: (s != n, str(s)))
            changed = replace(claim, order=claim.order * symbol ** sp.Rational(up, 2))
        claims = {**catalogue.claims, label: changed}
        assert any(d.run(claims).broken for d in own), f"{label} to the power {up}"


def test_derivations_are_homes_of_their_statement(catalogue):
    places = [str(home) for home in catalogue.homes("pure_heavy_tails/thm-3-1") if home.kind == "derivation"]
    assert any(place.startswith("bounds/pure_heavy_tails/section_3_localised.py:") for place in places)


def test_the_symbolic_layer_is_light():
    """Claims, orders and derivations import SymPy and what SymPy imports."""
    script = (
        "import sys, dpcheck.claims, dpcheck.asymptotics, dpcheck.derivations, dpcheck.panels, dpcheck.printing;"
        "heavy = ('numpy', 'scipy', 'matplotlib', 'sklearn', 'joblib', 'click');"
        "print([m for m in heavy if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("exponent", [sp.Rational(1, 3), sp.Rational(1, 2), 1])
def test_the_diameter_scales_with_its_choice(exponent):
    """A choice off by a power of D is never optimal, whatever the power."""
    standings, _ = run(lambda p: p.chooses(D * C + D / C, {C: D**exponent}))
    assert standings == ["fails"]
