"""No bump breaks the privacy of objective perturbation, as long as its curvature leaves enough of epsilon."""

from __future__ import annotations

import pytest
import sympy as sp

from audits.lp_spaces import cases


def test_a_quarter_of_epsilon_has_to_be_left():
    """Theorem 3 fails from a diameter of 1.77 on, where a share of 0.22 is left: nothing is proved there."""
    assert "every other bump" in cases.every_bump(sp.Rational(1, 4))
    assert cases.every_bump(sp.Rational(22, 100)) == ""


@pytest.mark.parametrize("part", ["1/16", "1/100"])
def test_less_noise_is_not_enough(part, monkeypatch):
    printed = cases.explicit_of
    monkeypatch.setattr(cases, "explicit_of", lambda label: printed(label) * sp.Rational(part))
    assert cases.every_bump(sp.Rational(1, 2)) == ""
