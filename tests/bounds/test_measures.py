"""What a bound is a bound on is typed; every claim that plans may take for a bound on the excess risk is read here."""

from __future__ import annotations

import pytest
from checkout import collected

from dpcheck.claims import Paper
from dpcheck.errors import CollectionError

CLAIMS = collected().claims
PLAIN = "excess risk"
QUALIFIED = {
    "lp_spaces/claim-contrib-1": "excess risk, strongly convex",
    "lp_spaces/claim-contrib-3": "excess risk, small ε",
    "lp_spaces/claim-table-1": "excess risk, convex",
    "lp_spaces/claim-table-2": "excess risk, heavy tails, M = 1",
    "lp_spaces/claim-rem-2": "excess risk on the ℓ_2 ball",
    "lp_spaces/claim-rem-3": "excess risk, constrained",
    "tsybakov/thm-4": "minimax excess risk",
    "tsybakov/thm-5": "minimax excess risk",
    "user_level/fact-prior-rates": "excess risk of group privacy",
}
"""Claims on the excess risk whose quantity says more than that; only O-forms and lower bounds."""
UPPER = {
    "l1_geometry/thm-4",
    "l1_geometry/thm-4@summed",
    "l1_geometry/thm-6",
    "l1_geometry/thm-6@summed",
    "l1_geometry/thm-7",
    "l1_geometry/thm-8@summed",
    "l1_geometry/thm-9@summed",
    "lp_spaces/thm-10@derived",
    "lp_spaces/thm-2@corrected",
    "lp_spaces/thm-2@derived",
    "lp_spaces/thm-2@fixed-sample",
    "lp_spaces/thm-2@uncentred",
    "lp_spaces/thm-4@any-accuracy",
    "lp_spaces/thm-4@derived",
    "lp_spaces/thm-7@risk",
    "lp_spaces/thm-8@corrected",
    "pure_heavy_tails/fact-trivial",
    "pure_heavy_tails/thm-2-1@derived",
    "pure_heavy_tails/thm-2-1@summed",
    "pure_heavy_tails/thm-3-1@derived",
    "tsybakov/fact-acsa@derived",
    "tsybakov/thm-1@summed",
    "tsybakov/thm-2@derived",
    "tsybakov/thm-6@derived",
    "tsybakov/thm-6@placed",
    "user_level/proc-group-privacy@summed",
    "user_level/thm-b1@derived",
    "user_level/thm-b1@summed",
    "user_level/thm-c3@derived",
    "user_level/thm-c3@sampled",
    "user_level/thm-c3@summed",
    "user_level/thm-d3@summed",
}
"""The upper bounds with constants: each was read, and is on the population excess risk of what an algorithm returns."""
OTHERS = {
    "lp_spaces/thm-7@derived": "empirical suboptimality",
    "l1_geometry/lem-3-3": "",
    "l1_geometry/lem-3-4": "",
    "tsybakov/lem-1": "",
    "tsybakov/lem-4": "",
    "tsybakov/thm-1@phase": "",
    "tsybakov/thm-1@derived": "",
    "pure_heavy_tails/fact-erm-sensitivity": "",
    "user_level/lem-b2@derived": "",
}
"""What the words "risk" and "distance" passed off as such, to be read in no plan."""


def test_every_claim_on_the_excess_risk_says_so_in_words() -> None:
    """Fails at f95bebe, where plans looked for the word in `quantity`."""
    found = {label: claim.quantity for label, claim in CLAIMS.items() if claim.measures == "excess risk"}
    assert {label: said for label, said in found.items() if said != PLAIN} == QUALIFIED
    for label in QUALIFIED:
        assert CLAIMS[label].explicit is None, label
    plain = {label for label, claim in CLAIMS.items() if claim.quantity == PLAIN}
    assert plain == found.keys() - QUALIFIED.keys()


def test_upper_bounds_with_constants_on_the_excess_risk_are_those_that_were_read() -> None:
    found = {
        label
        for label, claim in CLAIMS.items()
        if claim.measures == "excess risk" and claim.relation == "<=" and claim.explicit is not None
    }
    assert found == UPPER


@pytest.mark.parametrize("label", OTHERS)
def test_what_only_sounds_like_it_is_something_else(label: str) -> None:
    assert CLAIMS[label].measures == OTHERS[label]


def test_distances_are_those_to_the_minimiser_of_a_solver() -> None:
    found = {claim.quantity for claim in CLAIMS.values() if claim.measures == "distance"}
    assert found == {
        "distance to the regularised empirical minimiser",
        "distance to the smoothed regularised empirical minimiser",
    }


def test_an_unknown_measure_is_refused() -> None:
    paper = Paper(key="toy", title="", authors="", reference="")
    with pytest.raises(CollectionError, match="measures 'risk' is not one of"):
        paper.claim("toy/thm-1", "Theorem 1", "", kind="theorem", measures="risk")
