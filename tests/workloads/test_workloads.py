"""Every workload: gradients by differences, risk and moments by enumeration or quadrature, draws, extensions."""

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy import integrate
from statsmodels.regression.quantile_regression import QuantReg
from statsmodels.tools.sm_exceptions import IterationLimitWarning

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Sample, Workload
from dpcheck.solvers.extension import searched_extension
from dpcheck.workloads import (
    FinitePopulation,
    HeavyHinge,
    HeavyMean,
    Huber,
    Pareto,
    RadialHeavyTail,
    RareSpikes,
    SparseDirection,
    Spike,
    Squared,
    TwoPoint,
    Users,
    WeightedMedian,
    diabetes,
    randhie,
)


def small_population(link=None):
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    y = x @ np.array([0.5, -1.0, 0.3]) + rng.standard_t(3, size=60)
    return FinitePopulation(x, y, 3.0) if link is None else FinitePopulation(x, y, 3.0, link)


WORKLOADS = {
    "spikes": RareSpikes(D=2.0, k=3.0, G=1.5, p=0.05, theta=0.4),
    "direction": SparseDirection(nu=(0.6, 0.0, 0.8), D=2.0, k=2.0, p=0.1),
    "two-point": TwoPoint(D=1.0, G=2.0, rho=0.2, dimension=3),
    "radial-pareto": RadialHeavyTail(b=(0.3, -0.2), D=2.0, weights=Pareto(3.5)),
    "radial-spike": RadialHeavyTail(b=(0.1,), D=2.0, weights=Spike.of_moment(1.0, 2.0, 0.1)),
    "median": WeightedMedian(D=3.0, weights=Pareto(4.0)),
    "mean": HeavyMean(D=5.0, tail=4.5, theta=0.5),
    "hinge": HeavyHinge(),
    "population": small_population(),
    "population-huber": small_population(Huber(0.7)),
    "population-squared": small_population(Squared()),
    "users": Users(HeavyMean(D=5.0), samples=3),
}


@pytest.fixture(params=list(WORKLOADS), scope="module")
def work(request) -> Workload:
    return WORKLOADS[request.param]


def points(work, count, seed=0):
    rng = np.random.default_rng(seed)
    scale = work.constants.diameter(2.0)
    return work.project(scale * rng.normal(size=(count, work.constants.d)))


def test_gradients_are_subgradients_and_match_differences(work):
    rng = np.random.default_rng(3)
    z = work.rows(rng, 1, 40)[0]
    w, other = points(work, 40), points(work, 40, seed=1)
    g = work.gradient(w, z)
    assert g.shape == w.shape
    assert work.loss(w, z).shape == (40,)
    rise = work.loss(other, z) - work.loss(w, z) - ((other - w) * g).sum(axis=1)
    scale = 1 + np.abs(work.loss(w, z)) + np.linalg.norm(g, axis=1)
    assert np.all(rise >= -1e-12 * scale)
    step = 1e-6
    for e in np.eye(work.constants.d):
        numeric = (work.loss(w + step * e, z) - work.loss(w - step * e, z)) / (2 * step)
        close = np.abs(numeric - g @ e) <= 1e-5 * scale
        assert close.mean() > 0.85  # a kink within `step` of a random point is rare, not impossible


def test_broadcasting_over_trials_and_records(work):
    rng = np.random.default_rng(4)
    sample = work.draw(rng, 3, 5)
    w = points(work, 3)
    g = work.gradient(w[:, None], sample.values)
    assert g.shape[0] in (1, 3)
    assert g.shape[-1] == work.constants.d
    assert sample.size == 5
    assert sample.mean(g).shape == (3, work.constants.d)


def test_constants_bound_what_is_drawn(work):
    constants = work.constants
    z = work.rows(np.random.default_rng(6), 1, 300)[0]
    w, v = points(work, 300), points(work, 300, seed=2)
    g, h = work.gradient(w, z), work.gradient(v, z)
    assert np.linalg.norm(g, axis=1).max() <= constants.lipschitz(2.0) * (1 + 1e-12)
    assert np.abs(g).sum(axis=1).max() <= constants.lipschitz(math.inf) * (1 + 1e-12)
    assert np.linalg.norm(w - v, axis=1).max() <= constants.diameter(2.0) * (1 + 1e-12)
    if math.isfinite(H := constants.smoothness(2.0)):
        assert np.all(np.linalg.norm(g - h, axis=1) <= H * np.linalg.norm(w - v, axis=1) + 1e-9)
    if hasattr(work, "amplitude"):
        assert np.all(np.linalg.norm(g, axis=1) <= work.amplitude(z) * (1 + 1e-12))
    orders = [k for k in (1.0, 1.5, 2.0, 3.0) if math.isfinite(constants.moment(k, 1))]
    moments = [constants.moment(k, 1) for k in orders]
    assert all(a <= b * (1 + 1e-12) for a, b in itertools.pairwise(moments))


def test_excess_risk_is_least_at_the_minimiser(work):
    excess = work.excess_risk(points(work, 200))
    tolerance = work.constants.extra.get("risk_tolerance", 1e-12)
    assert excess.shape == (200,)
    assert excess.min() >= -tolerance


@pytest.mark.parametrize("name", ["spikes", "direction", "two-point"])
def test_linear_risk_and_moments_by_enumeration(name):
    work = WORKLOADS[name]
    w = points(work, 20)
    risk = sum(p * work.loss(w, z) for p, z in zip(work.probabilities, work.atoms, strict=True))
    best = -work.D / 2 * np.linalg.norm(work.mean)
    assert np.allclose(work.excess_risk(w), risk - best, atol=1e-12)
    for k in (1.0, 2.0, 3.5):
        direct = sum(p * np.linalg.norm(z) ** k for p, z in zip(work.probabilities, work.atoms, strict=True))
        assert work.constants.moment(k, 1) == pytest.approx(direct ** (1 / k), rel=1e-12)
    # E |mean of 3 gradients|^2 over all triples.
    triples = itertools.product(range(len(work.atoms)), repeat=3)
    direct = sum(
        math.prod(work.probabilities[list(t)]) * np.linalg.norm(work.atoms[list(t)].mean(axis=0)) ** 2 for t in triples
    )
    assert work.constants.moment(2.0, 3) == pytest.approx(math.sqrt(direct), rel=1e-10)


def test_rare_spikes_named_moments():
    work = RareSpikes(D=1.0, k=4.0, G=2.0, p=0.01, theta=0.5)
    assert work.constants.moment(4.0, 1) == pytest.approx(2.0, rel=1e-12)
    assert work.constants.moment(1.0, 1) == pytest.approx(2.0 * 0.01**0.75, rel=1e-12)
    assert work.constants.moment(2.0, 1) == pytest.approx(2.0 * 0.01**0.25, rel=1e-12)
    rare = RareSpikes.rescaled(10_000, 0.05, 9, k=2.0)
    assert rare.p == pytest.approx(9 / 500)
    assert rare.constants.moment(2.0, 1) == pytest.approx(1.0)
    assert RareSpikes.rescaled(10, 0.05, 9).p == 1.0


@pytest.mark.parametrize("theta", [0.1, 0.3, 0.6, 1.0])
def test_spikes_in_every_record_can_be_drawn(theta):
    """At f95bebe 1 - p(1 + theta)/2 - p(1 - theta)/2 rounded below 0 for p = 1, and drawing crashed."""
    work = RareSpikes(p=1.0, theta=theta)
    sample = work.draw(np.random.default_rng(0), 3, 50)
    assert work.probabilities.min() >= 0
    assert np.array_equal(sample.weights.sum(axis=1), [50.0] * 3)
    assert work.rows(np.random.default_rng(0), 2, 5).shape == (2, 5, 1)


def test_rescaled_spikes_have_the_rate_whatever_is_returned():
    """Why they measure no rate: the wrong end of W has the private term of Theorem 3.1 at every n."""
    for k in (2.0, 4.0):
        for n in (2**12, 2**20, 2**28):
            work = RareSpikes.rescaled(n, 1.0, 9, k=k, theta=0.6)
            worst = float(work.excess_risk(np.array([[work.D / 2]]))[0])
            assert worst == pytest.approx(0.6 * work.D * (9 / n) ** (1 - 1 / k), rel=1e-9)


def test_radial_and_median_risk_by_quadrature():
    radial, median = WORKLOADS["radial-pareto"], WORKLOADS["median"]
    w = points(radial, 10)
    assert np.allclose(radial.excess_risk(w), 3.5 / 2.5 * np.linalg.norm(w - np.array(radial.b), axis=1))

    def risk(x):
        value, _ = integrate.quad(lambda b: abs(x - b) / median.D, -median.D / 2, median.D / 2, points=[x])
        return 4 / 3 * value

    for x in (-1.2, 0.0, 0.7):
        assert median.excess_risk(np.array([[x]]))[0] == pytest.approx(risk(x) - risk(0.0), abs=1e-10)


def test_mean_risk_moments_and_minimiser():
    work = HeavyMean(D=5.0, tail=4.5, theta=0.5)
    mu = 0.5 * 4.5 / 3.5
    assert work.mu == pytest.approx(mu)
    assert work.excess_risk(np.array([[mu + 0.3]]))[0] == pytest.approx(0.045)
    y = Pareto(4.5)
    assert work.constants.moment(2.0, 1) ** 2 == pytest.approx(y.moment(2) + 5 * y.moment(1) + 6.25)
    assert work.constants.moment(4.5, 1) == math.inf
    assert work.constants.moment(2.5, 1) >= work.constants.moment(2.0, 1)
    with pytest.raises(InvalidInput, match="lies outside"):
        HeavyMean(D=0.5, theta=1.0)


@pytest.mark.parametrize("radius", [0.5, 1.0, 4.0])
def test_hinge_risk_by_quadrature_and_certificate(radius):
    work = HeavyHinge(radius=radius)

    def risk(w):
        total = 0.0
        for share, direction in zip(work.shares, work.directions, strict=True):
            c = float(direction @ w)
            inside = [1 / c] if c > 1 / 50 else []
            value, _ = integrate.quad(
                lambda u, c=c: max(0.0, 1 - c / u) * work.tail * u ** (work.tail - 1),
                0,
                1,
                points=[1 / p for p in inside if p > 1],
            )
            total += share * value
        return total

    for w in points(work, 6):
        assert work.risk(w) == pytest.approx(risk(w), abs=1e-7)
    best = work.population_minimiser
    # Frank-Wolfe: no point of the disc is better than the linearisation allows.
    slope = work.risk_gradient(best)
    assert slope @ best + radius * np.linalg.norm(slope) <= 1e-11
    around = work.project(best + 0.05 * np.random.default_rng(0).normal(size=(200, 2)))
    assert work.excess_risk(around).min() >= -1e-12


def test_population_minimiser_and_moments():
    for name in ("population", "population-huber", "population-squared"):
        work = WORKLOADS[name]
        best = work.population_minimiser
        tolerance = work.constants.extra["risk_tolerance"]
        around = work.project(
            best + np.random.default_rng(0).normal(size=(2000, 3)) * np.geomspace(1e-4, 1, 2000)[:, None]
        )
        assert work.excess_risk(around).min() >= -tolerance
        norms = work.amplitude(work.table)
        assert work.constants.moment(2.0, 1) == pytest.approx(math.sqrt((norms**2).mean()))
        dense = work.project(np.random.default_rng(1).normal(size=(4000, 1, 3)) * 10)
        seen = np.linalg.norm(work.gradient(dense, work.table), axis=-1).max(axis=0)
        assert np.all(seen <= norms * (1 + 1e-12))
        assert np.all(seen >= 0.5 * norms)


def test_constrained_population_minimiser():
    work = FinitePopulation(WORKLOADS["population"].features_table, WORKLOADS["population"].target, 0.4)
    assert np.linalg.norm(work.population_minimiser) == pytest.approx(0.4, rel=1e-9)
    assert work.excess_risk(points(work, 2000)).min() >= -work.constants.extra["risk_tolerance"]


def test_least_absolute_deviations_of_tied_counts():
    """Counts tie in thousands: the vertex is the median, and no worse than quantile regression on all covariates."""
    work = randhie("absolute")
    line = FinitePopulation(work.features_table[:, :1], work.target, work.radius)
    assert line.population_minimiser[0] * line.features_table[0, 0] == pytest.approx(np.median(work.target))
    with warnings.catch_warnings():  # reweighted least squares cycle on ties, and may or may not say so
        warnings.simplefilter("ignore", IterationLimitWarning)
        theirs = QuantReg(work.target, work.features_table).fit(0.5).params
    assert work.risk(work.population_minimiser) <= work.risk(np.asarray(theirs)) + 1e-9


def test_real_data():
    work = diabetes("absolute")
    assert work.table.shape == (442, 12)
    assert np.mean((work.features_table**2).sum(axis=1)) == pytest.approx(1.0)
    counts = work.draw(np.random.default_rng(0), 2, 10_000)
    assert counts.values.shape == (1, 442, 12)
    assert counts.size == 10_000
    rows = work.draw(np.random.default_rng(0), 2, 30)
    assert rows.values.shape == (2, 30, 12)
    assert 0 < work.excess_risk(np.zeros((1, 11)))[0] < 1


def test_draw_moments():
    rng = np.random.default_rng(7)
    for name, mean in (("spikes", WORKLOADS["spikes"].mean), ("two-point", WORKLOADS["two-point"].mean)):
        work = WORKLOADS[name]
        sample = work.draw(rng, 400, 1000)
        error = math.sqrt(work.constants.moment(2.0, 1) ** 2 / 400_000)
        # 8 standard errors of a bounded mean: failure below 1e-10.
        assert np.linalg.norm(sample.mean(sample.values).mean(axis=0) - mean) < 8 * error
        rows = work.rows(rng, 400, 1000)
        assert np.linalg.norm(rows.mean(axis=(0, 1)) - mean) < 8 * error
    one = WORKLOADS["spikes"].draw(rng, 4, 10**7, means_only=True)
    assert one.values.shape == (4, 1, 1)
    assert one.size == 10**7
    hinge = WORKLOADS["hinge"].rows(rng, 1, 20_000)[0]
    assert np.linalg.norm(hinge, axis=1).min() >= 1.0
    angles = np.arctan2(hinge[:, 1], hinge[:, 0])
    assert set(np.round(np.unique(np.round(angles, 9)), 6)) == {0.4, -0.7, 2.6}


def test_users_are_records():
    work = WORKLOADS["users"]
    assert work.record_shape == (3, 1)
    sample = work.draw(np.random.default_rng(0), 2, 7)
    assert sample.values.shape == (2, 7, 3, 1)
    w = np.array([[0.2], [0.4]])
    flat = work.each.gradient(w[:, None, None], sample.values).mean(axis=2)
    assert np.allclose(work.gradient(w[:, None], sample.values), flat)
    assert work.constants.moment(2.0, 1) == work.each.constants.moment(2.0, 3)
    with pytest.raises(InvalidInput):
        Users(work.each, 0)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: RareSpikes(p=0.0),
        lambda: RareSpikes(theta=1.5),
        lambda: SparseDirection(nu=(1.0, 1.0)),
        lambda: TwoPoint(rho=2.0),
        lambda: RadialHeavyTail(b=(3.0,), D=2.0),
        lambda: WeightedMedian(D=-1.0),
        lambda: HeavyHinge(shares=(1.0, 1.0, 1.0)),
        lambda: FinitePopulation(np.ones((3, 2)), np.ones(2), 1.0),
        lambda: FinitePopulation(np.full((3, 2), np.nan), np.ones(3), 1.0),
    ],
)
def test_illegal_workloads(bad):
    with pytest.raises(InvalidInput):
        bad()


# The Lipschitz extension: the five facts


def test_fact_1_records_that_are_not_steep_are_untouched():
    for name in ("direction", "hinge", "population", "radial-pareto", "median", "spikes"):
        work = WORKLOADS[name]
        z, w = work.rows(np.random.default_rng(8), 1, 50)[0], points(work, 50)
        cap = float(np.median(work.amplitude(z))) + 1e-9
        same = work.amplitude(z) <= cap
        assert np.array_equal(work.extension(w, z, cap)[same], work.loss(w, z)[same])
        assert np.all(work.extension(w, z, cap) <= work.loss(w, z) + 1e-12)


def test_fact_2_in_the_plane_clipping_is_something_else():
    # Linear loss of slope 3 on the unit disc, C = 1: the slopes differ by up to sqrt(A^2 - C^2), not A - C.
    work = SparseDirection(nu=(1.0, 0.0), D=2.0, G=3.0, p=1.0)
    angle = np.linspace(0, 2 * np.pi, 2001)
    w = 0.999999 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    z = np.array([[3.0, 0.0]])
    difference = np.linalg.norm(work.gradient(w, z) - work.extension_gradient(w, z, 1.0), axis=1)
    assert difference.max() == pytest.approx(math.sqrt(8), abs=0.02)
    assert difference.max() > 2.7 > 2.0


def test_fact_3_radial_losses():
    work = RadialHeavyTail(b=(0.3, -0.2), D=2.0)
    z, w = np.full((6, 1), 5.0), points(work, 6)
    assert np.allclose(work.extension(w, z, 1.5), searched_extension(work, w, z, 1.5), atol=1e-9)
    assert np.allclose(work.extension(w, z, 1.5), 1.5 * np.linalg.norm(w - np.array(work.b), axis=1))


def test_fact_4_linear_losses_on_an_interval():
    work = RareSpikes(D=3.0)
    w = np.linspace(-1.5, 1.5, 31)[:, None]
    for z in (-4.0, 4.0):
        y = np.linspace(-1.5, 1.5, 3001)
        brute = (z * y[None] + 1.2 * np.abs(w - y[None])).min(axis=1)
        assert np.allclose(work.extension(w, np.array([[z]]), 1.2), brute, atol=1e-12)
        assert np.allclose(brute, 1.2 * np.sign(z) * w[:, 0] - (abs(z) - 1.2) * 1.5)


@pytest.mark.parametrize("name", ["hinge", "direction-2d"])
def test_ridge_extension_against_the_plane_search(name):
    work = SparseDirection(nu=(0.6, 0.8), D=2.0, p=0.1) if name == "direction-2d" else HeavyHinge()
    rng = np.random.default_rng(9)
    w = work.project(rng.normal(size=(12, 2)))
    z = 2.5 * work.rows(rng, 1, 12)[0]
    exact, found = work.extension(w, z, 1.0), searched_extension(work, w, z, 1.0)
    assert np.all(exact <= found + 1e-12)
    assert np.all(found <= exact + 1e-7)


@pytest.mark.parametrize("name", ["hinge", "direction", "population", "population-huber", "population-squared"])
def test_ridge_extension_is_convex_lipschitz_and_below(name):
    work = WORKLOADS[name]
    rng = np.random.default_rng(10)
    z = work.rows(rng, 1, 400)[0]
    w, v = points(work, 400), points(work, 400, seed=3)
    cap = float(np.quantile(work.amplitude(z), 0.3)) + 0.01
    here, there = work.extension(w, z, cap), work.extension(v, z, cap)
    slope = work.extension_gradient(w, z, cap)
    middle = work.extension((w + v) / 2, z, cap)
    assert np.linalg.norm(slope, axis=1).max() <= cap * (1 + 1e-9)
    assert np.all(np.abs(here - there) <= cap * np.linalg.norm(w - v, axis=1) * (1 + 1e-9) + 1e-12)
    assert np.all(middle <= (here + there) / 2 + 1e-11 * (1 + np.abs(here)))
    assert np.all(there - here - ((v - w) * slope).sum(axis=1) >= -1e-9 * (1 + np.abs(here)))


def test_minimisers_against_a_grid():
    rng = np.random.default_rng(11)
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401)), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) <= 1]
    for work in (SparseDirection(nu=(0.6, 0.8), D=2.0, p=0.3), RadialHeavyTail(b=(0.3, -0.2), D=2.0)):
        sample = work.draw(rng, 1, 8)
        for cap in (0.5, 1.0, 30.0):
            centre, weight = np.array([[0.2, -0.7]]), np.array([[0.8]])
            found = work.minimiser(sample, cap, weight, centre)

            def value(w, sample=sample, cap=cap, work=work, centre=centre):
                losses = work.extension(w[None, None], sample.values[:, :, None], cap)
                return sample.mean(losses)[0] + 0.4 * ((w - centre) ** 2).sum(axis=1)

            assert value(found)[0] <= value(grid).min() + 1e-12
            assert np.linalg.norm(found - grid[value(grid).argmin()]) < 0.02


def test_two_steep_atoms_have_no_closed_form():
    work = TwoPoint(dimension=2, G=3.0)
    sample = Sample(work.atoms[None], np.array([[3.0, 2.0]]))
    assert work.minimiser(sample, 1.0, np.ones((1, 1)), np.zeros((1, 2))) is None
    assert work.minimiser(sample, 5.0, np.ones((1, 1)), np.zeros((1, 2))) is not None
