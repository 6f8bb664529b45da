"""Numbers, escapes and formulas."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest
import report_example as example
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpcheck import printing
from dpcheck import symbols as s
from dpcheck.report import mathematics, tables


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1234567, "0.12346"),
        (12, "12"),
        (1234567, "1,234,567"),
        (-3, "−3"),
        (16384.0, "16,384"),
        (1e-5, "1e−5"),
        (2.5e20, "2.5e20"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "not a number"),
        (True, "yes"),
        (False, "no"),
        (0.0, "0"),
        ("1/3", "1/3"),
    ],
)
def test_number(value, shown):
    assert tables.number(value) == shown


@settings(derandomize=True)
@given(st.floats(min_value=1e-300, max_value=1.0))
def test_probabilities_are_never_understated(value):
    shown = Fraction(tables.probability(value))
    assert Fraction(value) <= shown * (1 + Fraction(1, 10**9))
    assert float(shown) <= 1.11 * value


def test_natural_order():
    assert sorted(["p/lem-10", "p/lem-2", "p/alg-1", "p/lem-c-2", "p/lem-2-1"], key=tables.natural) == [
        "p/alg-1", "p/lem-2", "p/lem-2-1", "p/lem-10", "p/lem-c-2",
    ]  # fmt: skip


PLAIN = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), blacklist_characters="`&"), min_size=1
)


@settings(derandomize=True)
@given(PLAIN.filter(lambda text: not tables.SCRIPT.search(text) and not tables._TYPED.search(text)))
def test_markdown_escapes_give_the_text_back(text):
    cell = f"| head |\n| :--- |\n| x{tables.markdown(text)}x |\n"
    parser = MarkdownIt("commonmark").enable("table").enable("strikethrough")
    inline = [token for token in parser.parse(cell) if token.type == "inline"]
    assert len(inline) == 2
    assert "".join(token.content for token in inline[1].children) == f"x{text}x"


def test_html_escapes_and_code():
    assert tables.hypertext('a <b> & "c" `x < y`') == "a &lt;b&gt; &amp; &quot;c&quot; <code>x &lt; y</code>"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("epsilon <= 1, so delta(epsilon) >= 0", "ε ≤ 1, so δ(ε) ≥ 0"),
        ("R^{k-1} and R_{2k,n}", "R<sup>k−1</sup> and R<sub>2k,n</sub>"),
        ("(n epsilon)^(-1/4) e^eps n^-0.5 F^*", "(n ε)<sup>−1/4</sup> e<sup>ε</sup> n<sup>−0.5</sup> F<sup>*</sup>"),
        ("G_k at lambda_t, c_erm, ell_1", "G<sub>k</sub> at λ<sub>t</sub>, c<sub>erm</sub>, ℓ<sub>1</sub>"),
        ("λ = 20Δ_1/D, d/(m_1ε), s²w_2k", "λ = 20Δ<sub>1</sub>/D, d/(m<sub>1</sub>ε), s²w<sub>2k</sub>"),
        ("l1_geometry/thm-4::a_line of a_line.py", "l1_geometry/thm-4::a_line of a_line.py"),
        (
            "deltas => beta_first, `epsilon <= x_1`",
            "deltas =&gt; β_first, <code>epsilon &lt;= x_1</code>",
        ),
        ("kη_k/2 + x̂_T + 1/L_f", "kη<sub>k</sub>/2 + x̂<sub>T</sub> + 1/L<sub>f</sub>"),
        ("‖g_k‖_∞² + ‖z‖_+^m", "‖g<sub>k</sub>‖<sub>∞</sub>² + ‖z‖<sub>+</sub><sup>m</sup>"),
        ("η_in_i, T_iK_im", "η<sub>i</sub>n<sub>i</sub>, T_iK_im"),  # K_im may be one symbol
        ("⌊log_2 n⌋ and log_θ̄", "⌊log<sub>2</sub> n⌋ and log<sub>θ̄</sub>"),
        ("lam-strongly, lamp, x^_1, r̂^(2)", "λ-strongly, lamp, x̂<sub>1</sub>, r̂<sup>(2)</sup>"),  # no square
        ("e^εΦ, n^(θ/(θ-1))", "e<sup>ε</sup>Φ, n<sup>θ/(θ−1)</sup>"),
        ("make_noisy_top_k, n_in_all, lp_spaces/alg_1.py", "make_noisy_top_k, n_in_all, lp_spaces/alg_1.py"),
        ("c_noise, ε_total/ε, δ_prime, E_Gamma", "c<sub>noise</sub>, ε<sub>total</sub>/ε, δ′, E<sub>Γ</sub>"),
        ("P_- and R^mean", "P<sub>−</sub> and R<sup>mean</sup>"),
        ("e^{ε_0} and x^{1/2^(i-1)}", "e<sup>ε<sub>0</sub></sup> and x<sup>1/2<sup>i−1</sup></sup>"),
        ("1.5e-05, 2.88e+17, 1e−6, 1e5", "1.5×10⁻⁵, 2.88×10¹⁷, 10⁻⁶, 10⁵"),
        ("commit 1e5f of v1.0e2.3, `1e-05`", "commit 1e5f of v1.0e2.3, <code>1e-05</code>"),
        ("λ_1 = 1/(η_1n_1^{2p})", "λ<sub>1</sub> = 1/(η<sub>1</sub>n<sub>1</sub><sup>2p</sup>)"),
        ("log2_n, log2_nothing", "log₂ n, log2_nothing"),
        ("C = G*(ε*n/d)**(1/k), 2*2**(t - 1)", "C = G·(ε·n/d)<sup>1/k</sup>, 2·2<sup>t − 1</sup>"),
        ("**bold** words, F*(x) and *so*", "**bold** words, F*(x) and *so*"),
        ("sqrt d/(n epsilon), sqrt epsilon, sqrt words", "√d/(n ε), √ε, sqrt words"),
        (
            "l1 to l inf, l_2, l_q in l1_geometry/a",
            "ℓ<sub>1</sub> to ℓ<sub>∞</sub>, ℓ<sub>2</sub>, ℓ<sub>q</sub> in l1_geometry/a",
        ),
        ("1 - β, 2 - fold", "1 − β, 2 - fold"),
        ("G_<script>", "G_&lt;script&gt;"),
        ("x^(<b>)", "x<sup>&lt;b&gt;</sup>"),
    ],
)
def test_typed_mathematics_is_shown_as_it_is_written(typed, shown):
    assert tables.hypertext(typed) == shown


def test_what_cannot_be_raised_is_set_all_the_same():
    """Alternative texts said `epsilon`, `e^{−t}` and `>=`, beside a caption that was set."""
    said = "e^{−t} at epsilon >= sqrt(d), n^(3/2), S_{1,1}, x_k and 1e-05; `alg-1` of sqrt d"
    assert tables.spoken(said) == "e^(−t) at ε ≥ √d, n^(3/2), S_(1,1), xₖ and 10⁻⁵; alg-1 of √d"


def test_counts():
    assert tables.summary(["holds"]) == "holds"
    assert tables.summary(["refuted", "holds", "holds"]) == "holds 2 · refuted 1"
    assert tables.summary([]) == ""
    assert tables.counted(["not run"])["not run"] == 1


@pytest.mark.parametrize(
    "value",
    [
        example.RATE,
        sp.Piecewise((s.n, s.n > s.d), (s.d, True)),
        sp.And(s.n > 1, s.epsilon <= sp.sqrt(sp.log(1 / s.delta))),
        sp.Abs(s.n - s.d) + sp.floor(s.n / 2) * sp.Min(s.L, s.D),
        sp.Sum(1 / s.k, (s.k, 1, s.n)),
        sp.erf(s.t) + sp.gamma(s.d) + sp.binomial(s.n, s.k),
    ],
)
def test_formulas_in_both_languages(value):
    formula = mathematics.expression(value)
    tree = ET.fromstring(formula.mathml)
    assert tree.tag == "math"
    assert not re.search(r"\\[^a-zA-Z ]|[|<>]", formula.latex), "Markdown would read it otherwise"
    names = set(formula.latex.replace("{", " ").replace("}", " ").split())
    for symbol in value.free_symbols:
        assert any(sp.latex(symbol).split("_")[0] in name for name in names)


def test_cases_are_set_as_cases():
    text = printing.mathml(sp.Piecewise((s.n, s.n > s.d), (s.d, True)))
    assert text.count("<mtr>") == 2
    assert "otherwise" in text


def test_both_bounds_of_a_claim():
    claim = next(c for c in example.CLAIMS if c.label == "example/thm-2")
    order, explicit = mathematics.formulas(claim)
    assert r"\lesssim" in order.latex
    assert r"\leq 20" in explicit.latex
    assert order.latex.startswith(r"\text{excess risk}")
    assert [a.latex for a in mathematics.assumptions(claim)] == [r"\epsilon \leq d", r"n \gt 2"]


def test_names_of_symbols_are_no_markup():
    """A browser ran the script that a symbol was called by."""
    name = 's"><script>alert(9)</script>&c'
    shown = mathematics.expression(sp.Symbol(name, positive=True) + s.n).mathml
    assert "<script" not in shown
    assert name in "".join(ET.fromstring(shown).itertext())
