"""Claims: evaluation with assumptions that name what fails, comparison of orders, and how they print."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from checkout import collected

from dpcheck.asymptotics import Regime, verify
from dpcheck.claims import Claim, Paper, evaluate
from dpcheck.errors import CollectionError, InvalidInput
from dpcheck.printing import inline
from dpcheck.symbols import D, L, d, epsilon, index, lambda_, last, n, sequences

PAPER = Paper(key="toy", title="A toy", authors="", reference="")


def stated(bound: sp.Expr, **fields) -> Claim:
    kind = {"order": bound} if fields.pop("hidden", True) else {"explicit": bound}
    return PAPER.claim("toy/thm-1", "Theorem 1", "…", kind="theorem", relation="<=", **kind, **fields)


FREE = stated(L * D / sp.sqrt(n))
PRIVATE = stated(L * D * (1 / sp.sqrt(n) + sp.sqrt(d) / (epsilon * n)))


def test_evaluation_broadcasts():
    bound = stated(2 * L * D / sp.sqrt(n), hidden=False, assumptions=(sp.Ge(n, 4),))
    values = bound.evaluate(n=np.array([4.0, 16.0]), L=np.array([[1.0], [3.0]]), D=1.0)
    np.testing.assert_allclose(values, [[1.0, 0.5], [3.0, 1.5]])


def test_what_scipy_alone_has_is_taken_from_there_when_it_is_needed():
    """Of a plain bound nothing of it is loaded, which would take longer than the rest of `dpcheck plan`."""
    half = evaluate(sp.Function("gammaincinv")(sp.Symbol("d"), sp.Rational(1, 2)), {"d": 1.0})
    assert half == pytest.approx(math.log(2))
    code = "import sys, sympy as sp; from dpcheck.claims import evaluate; evaluate(sp.sqrt(sp.Symbol('x')), {'x': 4}); "
    done = subprocess.run(
        [sys.executable, "-c", code + "print('scipy.special' in sys.modules)"], capture_output=True, text=True
    )
    assert done.stdout == "False\n", done.stderr


def test_the_assumption_that_fails_is_named_with_its_values():
    bound = stated(2 * L * D / sp.sqrt(n), hidden=False, assumptions=(sp.Ge(n, 4), sp.Le(d, n)))
    with pytest.raises(InvalidInput, match=r"assumes n >= 4, which fails at n = 2$"):
        bound.evaluate(n=2, d=1, L=1, D=1)
    with pytest.raises(
        InvalidInput, match=r"assumes d <= n, which fails at d = 9.0, n = 5.0 and at 2 more of 6 entries"
    ):
        bound.evaluate(n=np.array([5.0, 7.0, 20.0]), d=np.array([[1.0], [9.0]]) * np.array([1.0, 1.0, 3.0]), L=1, D=1)
    with pytest.raises(InvalidInput, match="needs a value for D, d"):
        bound.evaluate(n=5, L=1)


def test_a_name_that_is_no_symbol_is_told_with_those_that_are():
    bound = stated(2 * L * D / sp.sqrt(n), hidden=False)
    with pytest.raises(InvalidInput, match=r"^toy/thm-1 has no symbol foo; its symbols are D, L, n$"):
        bound.evaluate(foo=1)
    with pytest.raises(InvalidInput, match="has no symbol eps, foo"):
        bound.evaluate(n=4, L=1, D=1, eps=1, foo=1)
    assert bound.evaluate(n=4, L=1, D=1, epsilon=1) == bound.at({"n": 4, "L": 1, "D": 1, "foo": 1}) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("D", value) for value in ("x", "7", None, {}, [1, "a"], [1, [2]], b"1", [None])]
    + [("sigma[i]", value) for value in (3.0, "12", None, ["1.5"], [[1.0]])],
    ids=repr,
)
def test_what_is_no_number_is_named_with_its_symbol(name, value):
    at = {"D": 1.0, "l": 1, "lambda_": 1.0, "lambda[i]": [1.0, 2.0, 3.0], "sigma[i]": [1.0, 2.0, 3.0]}
    claim = summed() if name in summed().needs else stated(2 * D, hidden=False)
    wanted = "a list of its terms" if name in summed().needs else "a number, or an array of numbers"
    with pytest.raises(InvalidInput, match=rf"^toy/\S+: {re.escape(name)} must be {wanted}, got "):
        claim.at(at | {name: value})


def test_a_list_is_an_array_and_exact_numbers_stay_exact():
    bound = stated(2 * D, hidden=False)
    np.testing.assert_array_equal(bound.evaluate(D=[1, 2.5]), [2, 5])
    assert bound.evaluate(D=Fraction(1, 3)) == Fraction(2, 3)
    assert bound.evaluate(D=sp.Rational(1, 3)) == sp.Rational(2, 3)
    assert list(bound.evaluate(D=[10**30, 1])) == [2 * 10**30, 2]


@pytest.mark.parametrize(
    ("label", "fields", "says"),
    [
        ("other/thm-1", {}, "other/thm-1 is not a statement of the paper 'toy'"),
        ("toy/thm-1", {"kind": "guess"}, "toy/thm-1: unknown kind 'guess'; choose one of "),
        ("toy/thm-1", {"measures": "luck"}, "toy/thm-1: measures 'luck' is not one of "),
        ("toy/thm-1", {"relation": "<="}, "toy/thm-1: the relation '<=' needs `order` or `explicit`"),
    ],
)
def test_a_claim_that_is_stated_wrongly_is_named(label, fields, says):
    with pytest.raises(CollectionError, match=says):
        PAPER.claim(label, "Theorem 1", "…", **{"kind": "theorem", **fields})


def test_a_reading_keeps_the_label_of_its_statement():
    read = FREE.as_read("toy/thm-1@corrected", "Theorem 1", "…")
    assert (read.order, read.reading, read.statement_label) == (FREE.order, "corrected", "toy/thm-1")
    assert (FREE.reading, FREE.statement_label) == ("as-printed", "toy/thm-1")
    with pytest.raises(CollectionError, match="toy/thm-2@corrected is no reading of toy/thm-1"):
        FREE.as_read("toy/thm-2@corrected", "Theorem 2", "…")


def test_a_statement_in_words_has_nothing_to_evaluate():
    words = PAPER.claim("toy/lem-2", "Lemma 2", "…", kind="lemma")
    with pytest.raises(InvalidInput, match="no symbolic bound to evaluate; see `dpcheck show toy/lem-2`"):
        words.at({"n": 4})
    with pytest.raises(InvalidInput, match="toy/lem-2 has no symbolic bound, so no exponent"):
        words.local_exponent("n", {"n": 4})


def test_an_exponent_moves_with_what_is_tied_to_its_variable():
    at = {"n": 100.0, "d": 100.0, "epsilon": 1.0, "L": 1.0, "D": 1.0}
    assert FREE.local_exponent("n", at) == pytest.approx(-0.5, abs=1e-8)
    # Both terms are a tenth here, of exponents -1/2 and -1; with d = n they are the same function of n.
    assert PRIVATE.local_exponent("n", at) == pytest.approx(-0.75, abs=1e-8)
    assert PRIVATE.local_exponent("n", at, tied={"d": n}) == pytest.approx(-0.5, abs=1e-8)


def test_an_exponent_needs_a_value_of_what_moves():
    with pytest.raises(InvalidInput, match="n moves and has no value; `at` has d, L"):
        FREE.local_exponent("n", {"d": 1.0, "L": 1.0})


def test_comparison_of_claims():
    comparison = PRIVATE.compare(FREE)
    assert comparison.relation == "larger"
    assert not comparison.everywhere
    verify(comparison)
    few = Regime(ties={d: 1, epsilon: 1}, constants="D L")
    assert PRIVATE.compare(FREE, few).relation == "same order"
    assert FREE.compare(1 / n, few).relation == "larger"


def test_what_has_no_order_says_why():
    nothing = PAPER.claim("toy/lem-2", "Lemma 2", "…", kind="lemma")
    with pytest.raises(InvalidInput, match="toy/lem-2 has no symbolic bound to compare"):
        nothing.compare(FREE)
    with pytest.raises(InvalidInput, match=r"toy/thm-1 has no order of growth: exp\(n\) grows faster than every power"):
        stated(sp.exp(n)).compare(FREE)


@pytest.mark.parametrize("label", ["l1_geometry/lem-4-3", "tsybakov/lem-6"])
def test_orders_with_exp_are_refused_with_a_reason(label):
    claims = collected().claims
    with pytest.raises(InvalidInput, match=f"{label} has no order of growth: .*compare the logarithms"):
        claims[label].compare(claims["l1_geometry/thm-4"])


def test_a_claim_prints_three_ways():
    bound = stated(L * sp.Min(1, sp.sqrt(d) / n))
    assert bound.unicode().splitlines()[0].strip().startswith("⎛")
    assert "min" in bound.unicode()
    assert bound.latex().startswith(r"\lesssim")
    assert ET.fromstring(bound.mathml()).tag == "math"
    assert "≲" in bound.mathml()
    exact = stated(L / n, hidden=False)
    assert exact.latex().startswith(r"\leq")
    nothing = PAPER.claim("toy/lem-2", "Lemma 2", "…", kind="lemma")
    assert nothing.unicode() == nothing.latex() == nothing.mathml() == ""


# Sequences over phases, steps or leaves -----------------------------------------------------------------------------


def summed() -> Claim:
    """Σ_{i>=2} σ_{i-1}²/λ_i + λ σ_l: a sequence λ_i beside a symbol λ."""
    sigma, weight = sequences("sigma lambda")
    total = sp.Sum(sigma[index - 1] ** 2 / weight[index], (index, 2, last)) + lambda_ * sigma[last]
    return stated(total, hidden=False)


def test_a_sum_over_phases_takes_their_terms_from_the_first_on() -> None:
    claim = summed()
    assert claim.needs == ("l", "lambda", "lambda[i]", "sigma[i]")
    at = {"lambda": 10.0, "lambda[i]": [math.inf, 2.0, 4.0], "sigma[i]": (1.0, 3.0, 5.0), "l": 3}
    assert claim.evaluate(**at) == pytest.approx(1 / 2 + 9 / 4 + 50)
    assert claim.evaluate(**{**at, "l": 1}) == pytest.approx(10)


def test_a_sequence_is_no_symbol_of_the_same_letter() -> None:
    with pytest.raises(InvalidInput, match=r"needs a value for lambda\[i\], sigma\[i\]"):
        summed().evaluate(l=3, lambda_=1.0, sigma=[1.0, 2.0, 3.0])


def test_terms_of_a_sequence_are_printed_with_their_index() -> None:
    lines = summed().unicode()
    assert "λ⋅σₗ" in lines
    assert "σᵢ₋₁" in lines
    assert r"\sigma}_{i - 1}" in summed().latex()


def test_names_of_symbols_are_written_as_on_paper():
    ell, R_e, prime, bar = sp.symbols("H_ell R_{e} delta_prime theta_bar", positive=True)
    shown = stated(ell + sp.exp(-R_e) + prime + bar)
    assert set("".join(ET.fromstring(shown.mathml()).itertext())) >= set("ℓeδ′θ\u0304")
    assert not re.search(r"ell|[{}]|prime|bar|&\w", shown.mathml())
    assert "H_ℓ" in shown.unicode()
    assert inline(bar / 3 + sp.exp(R_e)) == "θ\u0304/3 + exp(Rₑ)"


def test_a_product_of_numbers_does_not_read_as_one_number():
    shown = stated(2 * 2 ** (n * D) + 3 * sp.sqrt(2) + 2 * n).mathml()
    assert "<mn>2</mn><mo>&#183;</mo><msup><mn>2</mn>" in shown
    assert "<mn>2</mn><mo>&#8290;</mo><mi>n</mi>" in shown


def test_markup_in_the_name_of_a_symbol_stays_text():
    name = 's"><script>alert(9)</script>&c'
    shown = stated(sp.Symbol(name, positive=True) + n).mathml()
    assert "<script" not in shown
    assert name in "".join(ET.fromstring(shown).itertext())
