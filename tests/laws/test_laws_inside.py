"""Outputs whose noise was drawn inside of the mechanism."""

import math

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.laws import Laplace
from dpcheck.laws.inside import Inside
from dpcheck.privacy import PureDP


class TestInside:
    def test_the_core_is_the_output(self) -> None:
        core = np.arange(6.0).reshape(3, 2)
        assert np.array_equal(Inside(1.0, 2.0).sample(core, np.random.default_rng(0)), core)

    @pytest.mark.parametrize("moved", [1e-9, 1.0, math.inf])
    def test_it_costs_the_same_however_far_the_core_moves(self, moved: float) -> None:
        law = Inside(0.5, 2.0)
        assert law.pure(moved) == 0.5
        assert law.pure(moved, 3) == 1.5
        assert law.zcdp(moved) == pytest.approx(0.5 * math.tanh(0.25))
        assert law.delta(0.2, moved) == pytest.approx(PureDP(0.5).delta_at(0.2))

    def test_what_does_not_move_costs_nothing(self) -> None:
        law = Inside(0.5, 2.0)
        assert (law.pure(0.0), law.zcdp(0.0), law.delta(0.0, 0.0)) == (0.0, 0.0, 0.0)

    def test_it_is_no_better_than_any_mechanism_of_its_epsilon(self) -> None:
        """Laplace noise at epsilon = 1: its profile, and its rho of one and of four uses."""
        law, laplace = Inside(1.0, 1.0), Laplace(1.0)
        for epsilon in np.linspace(-1.5, 1.5, 31):
            assert law.delta(float(epsilon), 1.0) >= laplace.delta(float(epsilon), 1.0) - 1e-15
        for count in (1, 4):
            assert law.zcdp(1.0, count) >= laplace.zcdp(1.0, count)

    def test_its_density_is_not_told(self) -> None:
        with pytest.raises(InvalidInput, match="audit the outputs"):
            Inside(1.0, 1.0).log_ratio(np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1)))

    @pytest.mark.parametrize(("epsilon", "noise"), [(-1.0, 1.0), (math.nan, 1.0), (1.0, 0.0), (1.0, math.inf)])
    def test_what_is_no_cost_or_no_scale_is_refused(self, epsilon: float, noise: float) -> None:
        with pytest.raises(InvalidInput, match="must be"):
            Inside(epsilon, noise)

    def test_a_movement_must_not_be_negative(self) -> None:
        with pytest.raises(InvalidInput, match="sensitivity"):
            Inside(1.0, 1.0).pure(-1.0)
