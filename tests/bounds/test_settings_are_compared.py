"""What the printed lines of an algorithm choose is a claim, and one generic check compares it with the plan."""

from __future__ import annotations

from checkout import collected

CHOOSES_NOTHING = {
    "pure_heavy_tails/fact-trivial": "a constant",
    "tsybakov/proc-dpsgd": "the baseline of Section 7, of which no number is printed",
}


def test_every_algorithm_has_its_settings_compared() -> None:
    compared = {id.partition("::")[0] for id in collected().checks if id.endswith("::settings")}
    assert set(collected().algorithms) - compared == set(CHOOSES_NOTHING)


def test_algorithms_1_and_2_of_tsybakov_are_given_all_numbers() -> None:
    """Algorithms 3 to 5 choose for them; a plan of their own there is none, and nothing is claimed of one."""
    for item in ("alg-1", "alg-2"):
        assert f"tsybakov/{item}" not in collected().algorithms
        stated = [claim for claim in collected().readings(f"tsybakov/{item}") if claim.relation == "="]
        assert not stated
