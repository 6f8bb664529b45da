"""Pairs of a statement and a variable: which are asked for, what measures them, and that none goes missing."""

import pytest
import sympy as sp

from dpcheck.checks import together
from dpcheck.claims import Paper
from dpcheck.errors import CollectionError
from dpcheck.harness.scaling import Drawn, Family, geometric, pairs, scaling, unmeasured
from dpcheck.report.scaling import account_of, decided, measured_by
from dpcheck.symbols import D, epsilon, n
from dpcheck.verdicts import holds

PAPER = Paper(key="toy", title="Toy", authors="", reference="")


def stated(label, order=D / n + 1 / epsilon, **fields):
    return PAPER.claim(
        label, "Toy", "A toy.", kind="theorem", order=order, **{"measures": "excess risk", "relation": "<=", **fields}
    )


def row(label, variable, **fields):
    @scaling(label, variable=variable, sizes=(1, 2, 3), family=Family.of(a=geometric(1.0, 0.5, 4)), engine=Drawn(4),
             **fields)  # fmt: skip
    def measured(**given):
        raise NotImplementedError

    return measured


def test_variables_of_the_orders_of_own_upper_bounds_are_asked_for():
    claims = [
        stated("toy/thm-1"),
        stated("toy/thm-1@corrected", order=1 / n),
        stated("toy/thm-2", relation=">="),
        stated("toy/thm-3", origin="cited"),
        stated("toy/thm-4", measures="distance"),
    ]
    assert [(pair.statement, pair.variable) for pair in pairs(claims, [], [])] == [
        ("toy/thm-1", "n"),
        ("toy/thm-1", "epsilon"),
    ]


def test_a_row_of_a_reading_or_a_series_of_several_values_stands_for_the_pair():
    claims = [stated("toy/thm-1"), stated("toy/thm-2")]
    of_reading = row("toy/thm-1@corrected", "n", also=("toy/thm-2",))
    assert [bool(pair.checks) for pair in pairs(claims, [of_reading], [])] == [True, False, True, False]
    several = row("toy/thm-1", "n", series={"case": together("part epsilon", ("all", 1.0), ("all", 2.0))})
    assert [bool(pair.checks) for pair in pairs(claims, [several], [])] == [True, True, False, False]
    once = row("toy/thm-1", "n", series={"epsilon": (1.0,)})
    assert [bool(pair.checks) for pair in pairs(claims, [once], [])] == [True, False, False, False]


def test_what_has_neither_row_nor_reason_is_named():
    reasons = [unmeasured("toy/thm-1", "epsilon D", "Nothing reaches it.")]
    of_n, of_epsilon = pairs([stated("toy/thm-1")], [], reasons)
    assert (of_n.reason, of_epsilon.reason) == ("", "Nothing reaches it.")
    assert measured_by(of_n) == "not measured, and nobody has said why"
    told = "0 have a row, 1 a reason why nothing measures them, 1 neither; the stored rows decide 0 to "
    assert told in account_of([of_n, of_epsilon], {})
    with pytest.raises(CollectionError, match="say which variables"):
        unmeasured("toy/thm-1", "", "Nothing reaches it.")


def stored(*rows):
    """Verdict of a check whose rows have (variable, word, half-width)."""
    names = ("variable", "word", "half-width")
    return holds(
        "as told", "exact", rows=[{**dict(zip(names, row, strict=True)), "measured exponent": 0.0} for row in rows]
    )


@pytest.mark.parametrize(
    ("variable", "rows", "known"),
    [
        ("n", [("n", "met", 0.05)], True),
        ("n", [("n", "met", 0.051)], False),
        ("n", [("n", "near", 0.01)], False),
        ("n", [("n", "blind", 0.01), ("n", "shallower", 0.01)], True),
        ("k", [("n", "met", 0.01), ("n", "near", 0.01)], False),  # k varies in the series alone: all of them
        ("k", [("n", "met", 0.01), ("n", "at most", 0.01)], True),
        ("delta", [("log(1/delta)", "met", 0.01), ("log(1/delta)", "wide", 0.2)], True),
        ("n", [], False),
    ],
)
def test_what_stored_rows_decide(variable, rows, known):
    (pair,) = pairs([stated("toy/thm-1", order=sp.Symbol(variable, positive=True))], [row("toy/thm-1", variable)], [])
    verdicts = {pair.checks[0]: stored(*rows)}
    assert decided(pair, verdicts) is known
    assert not decided(pair, {})
    assert ("decide 1 to ±0.05 or better, 100.0%" in account_of([pair], verdicts)) is known
