"""One rule for parallel, sequential and tree composition; what it certifies is never below the exact loss."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from releases import plan, release
from scipy import stats

from dpcheck.accounting import (
    account,
    gaussian_mu,
    optimal_epsilon,
    smallest_noise,
    zcdp_to_epsilon,
)
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Read, Release, Sampling, Schedule
from dpcheck.laws import (
    AboveThreshold,
    Exponential,
    Gaussian,
    GeneralizedGaussian,
    IsotropicLaplace,
    Laplace,
    NoisyMin,
)
from dpcheck.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, gaussian_delta


def test_what_reads_records_and_releases_nothing_is_not_certified() -> None:
    bare = account(replace(plan(claimed=PureDP(1.0)), gradients=100), 100)
    assert bare.epsilon(0.0) == bare.epsilon(0.1) == math.inf
    assert bare.delta(50.0) == 1.0
    assert bare.unproved == ()
    promises = (PureDP(1e6), ApproxDP(1.0, 0.99), ZCDP(1e6), GaussianDP(1e6), RenyiDP(2.0, 1e6))
    assert not any(bare.within(promise) for promise in promises)
    assert not account(replace(plan(), gradients=1), assuming="all").within(PureDP(1.0))
    with pytest.raises(InvalidInput, match="look at the output, which no noise hides"):
        _ = bare.guarantee
    assert account(plan(claimed=PureDP(1.0))).epsilon(0.0) == 0.0  # and reads no record


def test_a_release_that_rests_on_a_claim_costs_infinitely_much_until_the_claim_is_assumed() -> None:
    resting = replace(release("step", Laplace(2.0), 0, 5), rests_on=("toy/lem-1",))
    schedule = plan(resting, release("far", Laplace(4.0), 5, 9))
    found = account(schedule)
    assert found.unproved == account(schedule, assuming=["toy/lem-2"]).unproved == ("toy/lem-1",)
    assert found.epsilon(0.0) == found.epsilon(0.5) == math.inf
    assert found.delta(1e6) == 1.0
    assert not found.within(ApproxDP(1e6, 0.5))
    with pytest.raises(InvalidInput, match="nothing is certified: sensitivities rest on toy/lem-1, not proved"):
        _ = found.guarantee
    for assuming in (["toy/lem-1"], "all"):
        passed = account(schedule, assuming=assuming)  # type: ignore[arg-type]
        assert (passed.unproved, passed.assumed, passed.epsilon(0.0)) == ((), ("toy/lem-1",), 0.5)
    blind = replace(resting, reads=(Read(start=0, stop=5, sensitivity=0.0),))  # moved by no record, it rests on nothing
    assert account(plan(blind)).epsilon(0.0) == 0.0


def test_disjoint_blocks_compose_in_parallel_and_shared_ones_add() -> None:
    laws = (Laplace(2.0), Laplace(4.0), Laplace(1.0))
    parallel = account(plan(*(release(f"{i}", law, 10 * i, 10 * i + 10) for i, law in enumerate(laws))))
    assert parallel.epsilon(0.0) == 1.0
    assert parallel.worst_stretch is not None
    assert parallel.worst_stretch.names == ("2",)
    assert (parallel.worst_stretch.start, parallel.worst_stretch.stop) == (20, 30)
    sequential = account(plan(*(release(f"{i}", law, 0, 30) for i, law in enumerate(laws))))
    assert sequential.epsilon(0.0) == pytest.approx(1.75)
    assert sequential.guarantee == PureDP(sequential.epsilon(0.0))
    overlapping = account(plan(release("a", Laplace(2.0), 0, 15), release("b", Laplace(4.0), 10, 30)))
    assert overlapping.epsilon(0.0) == pytest.approx(0.75)
    assert [(s.start, s.stop) for s in overlapping.stretches] == [(0, 10), (10, 15), (15, 30)]


def test_a_tree_charges_a_record_for_the_nodes_above_it() -> None:
    # Three leaves: a root block read by all of them, and one block of its own each, weighing twice as much.
    leaves = tuple(
        Release(
            name=f"leaf {i}",
            law=NoisyMin(8.0),
            norm="range",
            reads=(
                Read(start=0, stop=40, sensitivity=0.5),
                Read(start=40 + 20 * i, stop=60 + 20 * i, sensitivity=1.0),
            ),
        )
        for i in range(3)
    )
    found = account(plan(*leaves, claimed=PureDP(0.375)))
    assert found.epsilon(0.0) == pytest.approx(3 * 2 * 0.5 / 8)
    assert found.within(PureDP(0.375))
    assert not found.within(PureDP(0.37))
    assert len(found.stretches) == 2
    assert found.stretches[1].alike == 3
    # One part for all leaves: what a tree of many leaves takes in memory.
    assert len(found.stretches[0].parts) == 3
    assert len(set(map(id, found.stretches[0].parts))) == 1


def test_stretches_with_the_same_parts_in_another_number_stay_apart() -> None:
    leaves = [release(f"leaf {i}", Laplace(1.0), 0, 10 + 10 * i) for i in range(3)]
    failing = [release(f"far {i}", Laplace(1.0), 100 + 10 * i, 110 + 10 * i, failure=0.1 * i) for i in range(3)]
    found = account(plan(*leaves, *failing))
    assert [(s.start, len(s.parts), s.failure) for s in found.stretches] == [
        (0, 3, 0.0), (10, 2, 0.0), (20, 1, 0.0), (110, 1, 0.1), (120, 1, 0.2),
    ]  # fmt: skip
    assert [s.alike for s in found.stretches] == [1, 1, 2, 1, 1]


def test_overlapping_reads_of_one_release_add_their_sensitivities() -> None:
    both = Release(
        name="both",
        law=Laplace(1.0),
        reads=(Read(start=0, stop=10, sensitivity=0.25), Read(start=5, stop=20, sensitivity=0.5)),
    )
    assert account(plan(both)).epsilon(0.0) == 0.75


def test_gaussian_releases_compose_exactly() -> None:
    found = account(
        plan(release("a", Gaussian(2.0), 0, 10, count=3), release("b", Gaussian(1.0), 0, 10, sensitivity=0.5))
    )
    mu = math.sqrt(3 / 4 + 1 / 4)
    assert isinstance(found.guarantee, GaussianDP)
    assert found.guarantee.mu == pytest.approx(mu)
    for delta in (1e-3, 1e-8):
        assert gaussian_delta(mu, found.epsilon(delta)) == pytest.approx(delta, rel=1e-6)
    assert found.delta(1.0) == pytest.approx(gaussian_delta(mu, 1.0))
    assert found.within(GaussianDP(mu))
    assert not found.within(GaussianDP(0.999 * mu))
    assert found.within(ZCDP(mu**2 / 2))
    assert not found.within(ZCDP(0.999 * mu**2 / 2))
    assert found.within(RenyiDP(5.0, 5 * mu**2 / 2))
    assert not found.within(PureDP(100.0))


def exact_delta(pairs: list[tuple[Any, Any]], epsilon: float) -> float:
    """Hockey-stick of a product of laws on the line, rounded towards the optimistic side: a lower bound."""
    h, reach = 4e-3, 60.0
    total, base = np.ones(1), 0
    for p, q in pairs:
        edges = np.arange(-30, 30 + h, h)
        mass = np.diff(p.cdf(edges))
        middle = (edges[1:] + edges[:-1]) / 2
        loss = np.clip(p.logpdf(middle) - q.logpdf(middle), -reach, reach)
        order = np.floor(loss / h - 1).astype(int)
        total = np.convolve(total, np.bincount(order - order.min(), weights=mass))
        base += int(order.min())
    losses = (np.arange(len(total)) + base) * h
    return float((total * -np.expm1(np.minimum(0, epsilon - losses))).sum())


def test_mixed_composition_lies_above_the_exact_loss_and_below_the_crude_bounds() -> None:
    found = account(plan(release("noise", Laplace(1.25), 0, 5), release("point", Gaussian(1.5), 0, 5)))
    pairs = [
        (stats.laplace(scale=1.25), stats.laplace(loc=1, scale=1.25)),
        (stats.norm(scale=1.5), stats.norm(loc=1, scale=1.5)),
    ]
    for epsilon in (0.2, 1.0, 2.0):
        exact = exact_delta(pairs, epsilon)
        assert exact <= found.delta(epsilon)
        assert found.delta(epsilon) <= 2.2 * exact + 1e-3
    for delta in (1e-2, 1e-6):
        crude = 0.8 + 1 / gaussian_mu_inverse(delta)
        assert found.epsilon(delta) <= crude
        rho = Laplace(1.25).zcdp(1.0) + Gaussian(1.5).zcdp(1.0)
        assert found.epsilon(delta) <= zcdp_to_epsilon(rho, delta) * (1 + 1e-9)


def gaussian_mu_inverse(delta: float) -> float:
    """1 / epsilon of the single Gaussian release above at that delta."""
    low, high = 1e-3, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_mu(middle, delta) < 1 / 1.5 else (low, middle)
    return 1 / high


def test_many_pure_releases_use_the_best_of_three_bounds() -> None:
    found = account(plan(release("steps", NoisyMin(20.0), 0, 9, count=100)))
    assert found.epsilon(0.0) == pytest.approx(10.0)
    optimal = optimal_epsilon(0.1, 0.0, 100, 1e-6)
    assert found.epsilon(1e-6) <= optimal * (1 + 1e-9)
    assert found.epsilon(1e-6) < 0.6 * 10
    # Bounded range composes better than pure DP of the same epsilon.
    bounded = account(plan(release("steps", Exponential(0.05), 0, 9, count=100)))
    assert bounded.epsilon(0.0) == pytest.approx(10.0)
    assert bounded.epsilon(1e-6) < 0.55 * found.epsilon(1e-6)


def test_a_threshold_test_is_charged_once_whatever_its_length() -> None:
    law = AboveThreshold(threshold=4.0, query=8.0)
    found = account(plan(release("bits", law, 0, 9, count=10_000), claimed=PureDP(0.5)))
    assert found.epsilon(0.0) == pytest.approx(0.5)
    assert found.epsilon(1e-6) <= 0.5
    one = account(plan(release("bits", law, 0, 9)))
    assert one.delta(0.1) < found.delta(0.1)


def test_single_releases_use_the_exact_curve_of_their_law() -> None:
    for law in (Laplace(1.0), IsotropicLaplace(1.0, d=4), Exponential(0.5), Gaussian(1.0)):
        found = account(plan(release("only", law, 0, 3, sensitivity=1.3)))
        assert found.delta(0.4) == pytest.approx(law.delta(0.4, 1.3), rel=1e-9)
        epsilon = found.epsilon(1e-3)
        assert law.delta(epsilon, 1.3) <= 1e-3 * (1 + 1e-9)
        assert law.delta(epsilon * (1 - 1e-6), 1.3) > 1e-3


def test_failure_goes_into_delta_once() -> None:
    found = account(plan(release("mean", Gaussian(3.0), 0, 9, count=4, failure=1e-4)))
    clean = account(plan(release("mean", Gaussian(3.0), 0, 9, count=4)))
    assert found.epsilon(3e-4) == pytest.approx(clean.epsilon(2e-4))
    assert found.delta(1.0) == pytest.approx(clean.delta(1.0) + 1e-4)
    assert found.epsilon(5e-5) == math.inf
    assert not found.within(GaussianDP(100.0))
    pure = account(plan(release("mean", Laplace(3.0), 0, 9, failure=1e-4)))
    assert pure.epsilon(0.0) == math.inf
    assert pure.epsilon(1e-4) == pytest.approx(1 / 3)
    assert not pure.within(PureDP(1.0))
    assert pure.within(ApproxDP(0.34, 1e-4))
    assert pure.reference_delta > 0


# The papers' own budgets.


def test_definition_3_noise_gives_the_zcdp_of_the_papers() -> None:
    epsilon, delta, sensitivity = 0.7, 1e-5, 0.02
    sigma = 4 * sensitivity * math.sqrt(math.log(1 / delta)) / epsilon
    found = account(plan(release("point", Gaussian(sigma), 0, 64, sensitivity), claimed=ApproxDP(epsilon, delta)))
    assert found.worst_stretch is not None
    assert found.worst_stretch.rho == pytest.approx(epsilon**2 / (32 * math.log(1 / delta)))
    assert found.within(ApproxDP(epsilon, delta))
    assert found.epsilon(delta) < 0.3 * epsilon


def test_double_output_perturbation_spends_a_third_of_its_budget_at_exact_sensitivities() -> None:
    epsilon, lipschitz, weight, m = 1.0, 3.0, 0.5, 40
    scale = 12 * lipschitz / (weight * m * epsilon)
    claimed = 6 * lipschitz / (weight * m)
    schedule = plan(
        release("stage 1/centre", IsotropicLaplace(scale), 0, m, claimed),
        release("point", IsotropicLaplace(scale), 0, m, claimed),
        claimed=PureDP(epsilon),
    )
    found = account(schedule)
    assert found.within(PureDP(epsilon))
    assert [row.epsilon for row in found.per_release] == pytest.approx([0.5, 0.5])
    exact = 2 * lipschitz / (weight * m)
    assert sum(found.realised(row.name, exact).epsilon for row in found.per_release) == pytest.approx(epsilon / 3)
    assert account(schedule.edit("*", law=lambda law: IsotropicLaplace(law.scale / 1.01))).within(PureDP(1.0)) is False


def test_noisy_mirror_descent_in_a_regular_space() -> None:
    epsilon, delta, steps, kappa, n = 0.5, 1e-6, 31, 2.2, 1000
    sigma = math.sqrt(64 * kappa * steps * math.log(1 / delta)) / (n * epsilon)
    law = GeneralizedGaussian(sigma, r=3.0, kappa=kappa)
    found = account(plan(release("gradients", law, 0, n, 2 / n, count=steps), claimed=ApproxDP(epsilon, delta)))
    rho = epsilon**2 / (32 * math.log(1 / delta))
    assert found.worst_stretch is not None
    assert found.worst_stretch.rho == pytest.approx(rho)
    assert found.epsilon(delta) == pytest.approx(zcdp_to_epsilon(rho, delta), rel=1e-9)
    assert found.within(ApproxDP(epsilon, delta))


# The account as an object.


def test_rows_and_references() -> None:
    schedule = plan(
        release("noise", Laplace(2.0), 0, 5),
        release("steps", Gaussian(4.0), 5, 9, 0.5, count=4),
        claimed=ApproxDP(1.0, 1e-5),
    )
    found = account(schedule, records=9)
    noise, steps = found.per_release
    assert (noise.name, noise.sensitivity, noise.noise, noise.count) == ("noise", 1.0, 2.0, 1)
    assert noise.delta == 1e-5
    assert noise.epsilon <= 0.5
    assert steps.rho == pytest.approx(4 * 0.25 / 32)
    assert steps.reads == schedule.releases[1].reads
    assert steps.epsilon == pytest.approx(account(plan(release("a", Gaussian(4.0), 0, 1, 0.5, 4))).epsilon(1e-5))
    assert found.realised("steps", 0.25).epsilon < steps.epsilon
    assert found.reference_delta == 1e-5
    with pytest.raises(InvalidInput, match="no release 'stepz'"):
        found.realised("stepz", 1.0)


def test_nothing_released_and_nothing_certified() -> None:
    empty = account(plan())
    assert empty.epsilon(0.0) == empty.delta(0.0) == 0.0
    assert empty.guarantee is None
    assert empty.worst_stretch is None
    assert empty.within(PureDP(1e-9))
    blind = account(plan(release("blind", Laplace(1.0), 0, 5, sensitivity=0.0)))
    assert blind.guarantee is None
    assert blind.within(PureDP(1e-9))
    sampling = Sampling("poisson", 2)
    for hidden in (sampling, replace(sampling, kind="shuffled")):
        assert account(plan(release("blind", Laplace(1.0), 0, 5, 0.0, sampling=hidden))).guarantee is None
    hopeless = account(plan(release("bare", Gaussian(1.0), 0, 5, sensitivity=math.inf)))
    assert hopeless.epsilon(0.1) == math.inf
    assert hopeless.delta(5.0) == 1.0
    with pytest.raises(InvalidInput, match="look at bare"):
        _ = hopeless.guarantee
    with pytest.raises(InvalidInput, match=r"epsilon must be >= 0, got -1\.0"):
        hopeless.delta(-1.0)
    with pytest.raises(InvalidInput, match="cannot decide a claim of type str"):
        hopeless.within(cast(Guarantee, "1-DP"))


def test_what_may_fail_is_certified_at_the_claimed_delta() -> None:
    claimed = ApproxDP(1.0, 1e-5)
    found = account(plan(release("mean", Laplace(3.0), 0, 9, failure=1e-7), claimed=claimed)).guarantee
    assert isinstance(found, ApproxDP)
    assert (found.epsilon, found.delta) == (pytest.approx(1 / 3, rel=1e-3), 1e-5)


@pytest.mark.parametrize(
    ("releases", "message"),
    [
        ([release("a", Laplace(1.0), 0, 5), release("a", Laplace(1.0), 5, 9)], "two releases are named 'a'"),
        ([release("a", Laplace(1.0), 5, 5)], r"reads \[5, 5\)"),
        ([release("a", Laplace(1.0), 0, 11)], "no block of 10 records"),
        ([release("a", Laplace(1.0), 0, 5, sensitivity=-1.0)], "sensitivity -1.0"),
        ([release("a", Laplace(1.0), 0, 5, sensitivity=math.nan)], "sensitivity nan"),
        ([release("a", Laplace(1.0), 0, 5, failure=1.5)], "failure 1.5"),
        ([release("a", Laplace(1.0), 0, 5, count=0)], "count 0"),
    ],
)
def test_bad_schedules_are_refused(releases: list[Release], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        account(plan(*releases), records=10)


def test_thousands_of_blocks_are_reckoned_once() -> None:
    releases = [release(f"block {i}", Gaussian(1.0), 3 * i, 3 * i + 3) for i in range(3000)]
    found = account(plan(*releases, release("all", Laplace(5.0), 0, 9000)))
    assert len(found.stretches) == 1
    assert found.stretches[0].alike == 3000
    assert found.epsilon(1e-6) > account(plan(releases[0])).epsilon(1e-6)


def test_smallest_noise_finds_the_edge() -> None:
    def schedule(x: float) -> Schedule[Any]:
        return plan(release("a", Laplace(x), 0, 5), release("b", Laplace(2 * x), 0, 5))

    assert smallest_noise(schedule, PureDP(0.5)) == pytest.approx(3.0, rel=1e-6)
    assert account(schedule(smallest_noise(schedule, ApproxDP(0.5, 1e-5)))).within(ApproxDP(0.5, 1e-5))
    assert smallest_noise(schedule, PureDP(0.5), low=7.0) == 7.0  # more than enough: nothing is sought below
    with pytest.raises(InvalidInput, match="not certified even"):
        smallest_noise(lambda x: plan(release("a", Gaussian(x), 0, 5)), PureDP(1.0))


blocks = st.tuples(st.integers(0, 6), st.integers(1, 4), st.sampled_from([0.5, 1.0, 3.0]), st.booleans())


@given(st.lists(blocks, min_size=1, max_size=5), st.permutations(range(5)))
@settings(max_examples=40, deadline=None)
def test_the_order_of_releases_does_not_matter_and_fewer_cost_less(made: list[Any], order: list[int]) -> None:
    releases = [
        release(f"{i}", Laplace(s) if pure else Gaussian(s), start, start + length)
        for i, (start, length, s, pure) in enumerate(made)
    ]
    found = account(plan(*releases))
    shuffled_order = [releases[i] for i in order if i < len(releases)]
    delta = 1e-4
    assert account(plan(*shuffled_order)).epsilon(delta) == pytest.approx(found.epsilon(delta), rel=1e-9)
    assert account(plan(*releases[:-1])).epsilon(delta) <= found.epsilon(delta) * (1 + 1e-9)
    assert found.delta(found.epsilon(delta) * (1 + 1e-9)) <= delta * (1 + 1e-6)
