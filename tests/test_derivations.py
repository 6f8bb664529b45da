"""Derivations: that a true step follows, that a false one is caught, and that those of the catalogue are complete."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.asymptotics.optima import least_order
from dpcheck.claims import Paper
from dpcheck.derivations import Derivation, Proof, derivation, underived
from dpcheck.engine.catalogue import load
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
    assert found.verdict().outcome is Outcome.HOLDS
    assert found.verdict().numbers == {"steps executed": 4, "steps argued": 1, "gaps": 0}


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
    assert "becomes" in details[0]


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

    for function, outcome in ((idle, Outcome.UNDECIDED), (stops, Outcome.DIFFERS)):
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
    return load(content=["bounds"])


@pytest.mark.parametrize("paper", [*PAPERS, "tsybakov", "user_level"])
def test_every_derivation_is_complete(catalogue, paper):
    broken = []
    for label in catalogue.derivations:
        if label.startswith(f"{paper}/"):
            found = catalogue.transcript(label)
            if not found.complete:
                broken.append((label, [(s.text, s.detail) for s in found.broken] or "does not reach it"))
    assert not broken


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


def test_derivations_are_homes_of_their_statement(catalogue):
    places = [str(home) for home in catalogue.homes("pure_heavy_tails/thm-3-1") if home.kind == "derivation"]
    assert any(place.startswith("bounds/pure_heavy_tails/derivations.py:") for place in places)


def test_the_symbolic_layer_is_light():
    """Claims, orders and derivations import SymPy and what SymPy imports, nothing numerical besides."""
    script = (
        "import sys, dpcheck.claims, dpcheck.asymptotics, dpcheck.derivations, dpcheck.panels, dpcheck.printing;"
        "print([m for m in ('numpy', 'scipy', 'matplotlib', 'sklearn', 'joblib', 'click') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("exponent", [sp.Rational(1, 3), sp.Rational(1, 2), 1])
def test_the_diameter_scales_with_its_choice(exponent):
    """A choice off by a power of D is never optimal, whatever the power."""
    standings, _ = run(lambda p: p.chooses(D * C + D / C, {C: D**exponent}))
    assert standings == ["fails"]
