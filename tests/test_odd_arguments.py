"""Whatever is passed to a function of `dpcheck`, it works or is refused in a sentence: no error of another library."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.errors import DpcheckError

ZERO, ONE = np.zeros(1), np.ones(1)
CLAIM = dp.ApproxDP(1.0, 1e-5)
OUTPUTS = np.random.default_rng(0).laplace(size=(2, 200))
VALUES = {
    "an array": np.array([1.0, 2.0]),
    "flags": np.array([True, False]),
    "a matrix": np.zeros((2, 2)),
    "a number in an array": np.array(5),
    "a list": [1, 2],
    "a dict": {},
    "text": "x",
    "bytes": b"x",
    "nothing": None,
    "an object": object(),
    "no number": float("nan"),
    "infinity": float("inf"),
    "a huge integer": 10**400,
    "a negative one": -1,
    "zero": np.int64(0),
    "a fraction": np.float64(1.5),
    "a complex number": 1j,
    "a date": np.datetime64("2020-01-01"),
}


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def released(data, rng):
    return data.sum(axis=0) + rng.normal(size=5)


def against(output, canaries):
    return canaries @ output


REFUTED = dp.audit(laplace, ZERO, ONE, dp.PureDP(0.3), trials=3000)
PAIR = {"data": ZERO, "neighbour": ONE}
RUN = {**PAIR, "trials": 100}
CALLS = {
    "audit": partial(dp.audit, mechanism=laplace, claim=CLAIM, **RUN),
    "audit anytime": partial(dp.audit, mechanism=laplace, claim=CLAIM, mode="anytime", max_samples=2000, **RUN),
    "audit_samples": partial(dp.audit_samples, x=OUTPUTS[0], y=OUTPUTS[1], claim=CLAIM),
    "audit_one_run": partial(dp.audit_one_run, mechanism=released, canaries=np.eye(5), claim=CLAIM, score=against),
    "audit_canary_scores": partial(dp.audit_canary_scores, inside=OUTPUTS[0], outside=OUTPUTS[1], claim=CLAIM),
    "plan_audit": partial(dp.plan_audit, claim=CLAIM, must_detect=2.0),
    "exact_epsilon": partial(dp.exact_epsilon, first=[0.5, 0.5], second=[0.4, 0.6]),
    "search_pair": partial(dp.search_pair, mechanism=laplace, n=2, claim=CLAIM, trials=60, rounds=1, moves=2),
    "shrink": partial(dp.shrink, mechanism=laplace, result=REFUTED, trials=500),
    "record_outputs": partial(dp.record_outputs, mechanism=laplace, **RUN),
    "attack": partial(dp.attacks.attack, mechanism=laplace, claim=CLAIM, only=["support"], **PAIR),
    "granularity": partial(dp.attacks.granularity, mechanism=laplace, claim=CLAIM, **RUN),
    "support": partial(dp.attacks.support, mechanism=laplace, claim=CLAIM, **RUN),
    "replayed_noise": partial(dp.attacks.replayed_noise, mechanism=laplace, **PAIR),
    "special_records": partial(dp.attacks.special_records, mechanism=laplace, data=ONE),
    "summation_order": partial(dp.attacks.summation_order, core=np.sum, sensitivity=1.0),
    "summation_order_of": partial(dp.attacks.summation_order_of, mechanism=laplace, sensitivity=1.0, **PAIR),
    "timing": partial(dp.attacks.timing, function=released, data=np.eye(5), calls=60),
    "state": partial(dp.attacks.state, mechanism=laplace, **PAIR),
    "Projection": dp.scores.Projection,
    "vectorize": partial(dp.vectorize, function=released),
    "in_workers": partial(dp.in_workers, mechanism=laplace, workers=1),
}
NAMES = [
    (call, name)
    for call, function in CALLS.items()
    for name, parameter in inspect.signature(function).parameters.items()
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD
]


@pytest.mark.parametrize(("call", "name"), NAMES, ids=lambda each: each)
@pytest.mark.filterwarnings("ignore")
def test_what_makes_no_sense_is_refused_in_a_sentence(call, name):
    for value in VALUES.values():
        try:
            CALLS[call](**{name: value})
        except DpcheckError as error:
            said = str(error)
            assert said
            assert len(said) < 1500


@pytest.mark.parametrize(
    ("call", "change", "says"),
    [
        ("audit", {"halts": np.array([True, False])}, r"halts must be True or False, got array\(\[ True, False\]\)"),
        ("audit", {"trials": 10**400}, "trials must be at most 1,000,000,000, got an integer of 1329 bits"),
        ("audit anytime", {"max_samples": 10**400}, "max_samples must be an integer >= 1, .* an integer of 1329 bits"),
        (
            "audit anytime",
            {"trials": 10**15, "max_samples": None},
            r"trials must be .* at most 1e\+15 on both, got 10*$",
        ),
        ("audit_samples", {"ordered": "no"}, "ordered must be True or False, got 'no'"),
        ("audit_samples", {"name": 3}, "name must be text, what the result calls the mechanism, got 3"),
        ("audit_samples", {"among": 0}, "among must be the number of audits of these outputs, 1 to .*, got 0"),
        ("audit_one_run", {"claim": 1.0}, "claim must be a guarantee such as .*, got 1.0"),
        ("audit_one_run", {"canaries": "x"}, "canaries must be an array of numbers, got 'x'"),
        ("audit_one_run", {"base": np.zeros((2, 4))}, r"base must hold records of shape \(5,\) .* got shape \(2, 4\)"),
        ("search_pair", {"n": "2"}, "n must be an integer from 1 to 10,000,000, got '2'"),
        ("search_pair", {"n": 10**6, "d": 100}, "at most 10,000,000 numbers, got n = 1,000,000 records of d = 100"),
        ("search_pair", {"rounds": 20}, "the last of 20 rounds would take .* ask for fewer rounds or trials"),
        ("search_pair", {"low": 1.0}, "low and high must be numbers with low < high, got 1.0 and 1.0"),
        ("search_pair", {"adjacency": 3}, "adjacency must be one of replace-one, .*, or None, got 3"),
        ("shrink", {"fixed_size": 1}, "fixed_size must be True or False, got 1"),
        ("attack", {"only": "stat"}, "unknown attack 'stat'; choose from granularity, .*, state"),
        ("attack", {"sensitivity": [1.0]}, r"sensitivity must be a finite number > 0, got \[1.0\]"),
        ("granularity", {"trials": None}, "trials must be an integer from 50 to 1,000,000,000, got None"),
        ("special_records", {"data": ZERO[:0]}, "data must hold at least one record"),
        ("state", {"trials": 31}, "trials must be an integer from 32 to .*, got 31"),
        ("state", {"failure_probability": 0.0}, "failure_probability|failure probability"),
        ("exact_epsilon", {"both_directions": "forward"}, "both_directions must be True or False, got 'forward'"),
    ],
)
def test_the_sentence_has_the_value_in_it(call, change, says):
    with pytest.raises(DpcheckError, match=says):
        CALLS[call](**change)
