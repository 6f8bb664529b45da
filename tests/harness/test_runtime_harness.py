"""Counted oracle calls: atoms count as records, subsets as what was kept, closed forms as nothing."""

import numpy as np
import pytest
from harness_toys import Mean, NoisyDescent, NoisyMean, Subsampled, problem

from dpcheck.errors import InvalidInput
from dpcheck.harness import runtime
from dpcheck.interfaces import Read, Release, Sample, Sampling
from dpcheck.laws import Laplace
from dpcheck.verdicts import Outcome, combine
from dpcheck.workloads.base import Extended, Minimised


@pytest.mark.parametrize("atoms", [False, True])
def test_full_batch_steps_call_every_record(atoms):
    counts = runtime.count(NoisyDescent(steps=3), Mean(atoms=atoms), problem(), 20, 4, 0)
    assert counts.gradients.tolist() == [60.0] * 4
    assert counts.claimed == 60
    answer = runtime.verdict(counts.gradients, counts.claimed)
    assert answer.outcome is Outcome.HOLDS
    assert answer.evidence == "counted"
    assert counts.projections.tolist() == [0.0] * 4


def test_one_call_too_many_is_refuted():
    class Twice(NoisyDescent):
        def execute(self, run, workload, data, start):
            workload.gradient(start[:, None, :], data.read().values[:, :1])
            return super().execute(run, workload, data, start)

    counts = runtime.count(Twice(steps=3), Mean(), problem(), 20, 2, 0)
    answer = runtime.verdict(counts.gradients, counts.claimed, x=20.0)
    assert answer.outcome is Outcome.REFUTED
    assert "61 gradients counted, 60 allowed" in answer.reason
    assert answer.points[0].bound == 60


def test_given_data_and_projections():
    data = np.zeros((1, 6, 1))
    counts = runtime.count(NoisyMean(), Mean(), problem(), 6, 2, 0, data=data)
    assert counts.gradients.tolist() == [0.0, 0.0]
    assert counts.projections.tolist() == [1.0, 1.0]
    answer = runtime.verdict(counts.gradients, counts.claimed)
    assert answer.outcome is Outcome.DIFFERS
    assert "does not call the oracle" in answer.reason
    assert runtime.verdict(0.0, 5.0, at_least_one=False).outcome is Outcome.HOLDS


def test_subsamples_count_what_they_hold():
    counts = runtime.count(Subsampled(b=3), Mean(), problem(), 12, 3, 0)
    assert counts.gradients.tolist() == [3.0] * 3


class Poisson(Subsampled):
    def schedule(self, problem, n):
        read = Read(start=0, stop=n, sensitivity=1.0, sampling=Sampling("poisson", self.b))
        release = Release(name="batch", law=Laplace(1.0), reads=(read,), norm=1.0)
        return self.plan(problem, n, release, gradients=self.b)

    def execute(self, run, workload, data, start):
        batch = run.subsample("batch", data.read())
        total = (batch.weights[..., None] * workload.gradient(np.zeros((1, 1, 1)), batch.values)).sum(axis=1)
        return run.release("batch", -total / self.b)


def test_poisson_subsets_count_the_kept_rows():
    counts = runtime.count(Poisson(b=5), Mean(), problem(), 50, 300, 0)
    # Bin(50, 0.1), an empty subset counting 1: mean 5.005; five standard errors: fails with probability 6e-7.
    assert abs(counts.gradients.mean() - 5.005) < 5 * np.sqrt(4.5 / 300)
    assert runtime.verdict(counts.gradients, 5).outcome is Outcome.REFUTED


def test_losses_are_counted_and_broadcast_trials_are_not():
    counting = runtime.CountingWorkload(Mean(d=2))
    counting.loss(np.zeros((1, 1, 2)), np.zeros((1, 7, 2)))
    counting.gradient(np.zeros((5, 1, 2)), np.zeros((1, 7, 2)))
    counting.gradient(np.zeros((5, 2)), np.zeros((5, 2)))
    counting.project(np.zeros((5, 3, 2)))
    assert (counting.losses, counting.gradients, counting.projections) == (7, 8, 3)


def test_what_else_a_workload_offers_passes_through():
    class Rich(Mean):
        special = 7

        def extension(self, w, z, cap):
            return self.loss(w, z)

        def extension_gradient(self, w, z, cap):
            return self.gradient(w, z)

    counting = runtime.CountingWorkload(Rich())
    assert counting.special == 7
    assert isinstance(counting, Extended)
    assert not isinstance(counting, Minimised)
    counting.extension_gradient(np.zeros((1, 1, 1)), np.zeros((1, 4, 1)), 1.0)
    assert counting.gradients == 4


def test_weights_expand_into_rows():
    sample = Sample(np.array([[[1.0], [2.0]]]), np.array([[2.0, 1.0], [0.0, 3.0]]))
    rows = runtime.raw_rows(sample)
    assert rows.values[..., 0].tolist() == [[1.0, 1.0, 2.0], [2.0, 2.0, 2.0]]
    with pytest.raises(InvalidInput, match="counts"):
        runtime.raw_rows(Sample(np.zeros((1, 2, 1)), np.array([[0.5, 1.5]])))


def test_conclude_judges_all_cells():
    rows = [({"n": n}, {"calls": 2.0 * n, "bound": 3.0 * n}) for n in (10, 20)]
    answer = runtime.conclude(rows, 1e-6)
    assert answer.outcome is Outcome.HOLDS
    assert answer.numbers["largest calls/bound"] == pytest.approx(2 / 3)
    assert len(answer.points) == 2
    broken = [*rows, ({"n": 40}, {"calls": 121.0, "bound": 120.0})]
    answer = runtime.conclude(broken, 1e-6)
    assert answer.outcome is Outcome.REFUTED
    assert "n = 40" in answer.reason
    with pytest.raises(InvalidInput, match="no cell"):
        runtime.conclude([], 1e-6)


def test_figure_and_worst_cell_of_counts():
    answers = [runtime.verdict(calls, 10.0, what="steps", x=calls, variable="T") for calls in (2.0, 9.0)]
    assert answers[0].axes == ("T", "steps")
    assert "9 steps counted" in combine(answers, [{"T": 2}, {"T": 9}]).reason


def test_no_digits_that_a_float_has_not():
    assert "6.30553e+17 gradients counted, 1e+18 allowed" in runtime.verdict(630_553_204_792_620_416.0, 1e18).reason
