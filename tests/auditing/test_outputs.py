"""Every kind of output goes through an audit, and what it tells is found; what cannot be compared is refused."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing.mechanisms import Encoder, gathered, join
from dpcheck.errors import InvalidInput, MechanismError

DATA, NEIGHBOUR = np.zeros(3), np.array([0.0, 0.0, 1.0])
ONCE = dp.vectorize
STOP = {"fixed": None, "anytime": "refuted"}


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def told(data, rng):
    """True with probability 1/4, or 3/4."""
    return bool(rng.random() < 0.25 + 0.5 * data.sum())


def answers(data, rng):
    """Answers until the first that is True."""
    given = []
    for _ in range(4):
        given.append(told(data, rng))
        if given[-1]:
            break
    return given


def noisy_answers(data, rng):
    """The same, each with a noisy number."""
    return [float(a) + rng.normal() / 10 for a in answers(data, rng)]


def mixed(data, rng):
    return float(data.sum() + rng.laplace()), "low" if rng.random() < 0.5 else "high", rng.normal(size=2)


LEAKY = {
    "numbers": laplace,
    "float32": lambda d, r, t: laplace(d, r, t).astype(np.float32),
    "vectors": lambda d, r, t: d.sum() + r.laplace(size=(t, 3)),
    "matrices": lambda d, r, t: d.sum() + r.laplace(size=(t, 2, 2)),
    "complex": lambda d, r, t: laplace(d, r, t) + 1j * r.normal(size=t),
    "integers": lambda d, r, t: 2 * int(d.sum()) + r.geometric(0.5, t) - r.geometric(0.5, t),
    "integers beyond 2^53": lambda d, r, t: 2**60 + int(d.sum()) + r.integers(0, 3, t),
    "booleans": lambda d, r, t: np.array([told(d, r) for _ in range(t)]),
    "words": lambda d, r, t: np.where([told(d, r) for _ in range(t)], "yes", "no"),
    "a list of bytes": lambda d, r, t: [b"yes" if told(d, r) else b"no" for _ in range(t)],
    "dates": lambda d, r, t: np.datetime64("2020-01-01") + np.array([told(d, r) for _ in range(t)]),
    "rows of words": lambda d, r, t: np.array([["a", "b" if told(d, r) else "c"] for _ in range(t)]),
    "sets": ONCE(lambda d, r: frozenset({told(d, r)})),
    "transcripts of answers": ONCE(answers),
    "transcripts of numbers": ONCE(noisy_answers),
    "a list of transcripts": lambda d, r, t: [noisy_answers(d, r) for _ in range(t)],
    "arrays of several lengths": ONCE(lambda d, r: np.array(noisy_answers(d, r))),
    "a tuple": lambda d, r, t: (laplace(d, r, t), np.array([told(d, r) for _ in range(t)])),
    "words and vectors": lambda d, r, t: (np.where(r.random(t) < 0.5, "a", "b"), d.sum() + r.laplace(size=(t, 2))),
    "a dict": lambda d, r, t: {"noisy": laplace(d, r, t), "constant": np.full(t, len(d))},
    "tuples, one a call": ONCE(mixed),
    "dicts, one a call": ONCE(lambda d, r: {"noisy": d.sum() + r.laplace(), "who": "x"}),
    "the keys of dicts": ONCE(lambda d, r: {"alice" if told(d, r) else "bob": 3}),
    "the keys of dicts of numbers": ONCE(lambda d, r: {"alice" if told(d, r) else "bob": r.laplace()}),
    "nesting": ONCE(lambda d, r: [[1], 2] if told(d, r) else [1, [2]]),
    "integers beyond 2^53, one a call": ONCE(lambda d, r: 2**60 + told(d, r)),
    "a halt on one input only": lambda d, r, t: np.ma.masked_array(np.ones(t), np.full(t, d.sum() > 0)),
    "an empty list or None": ONCE(lambda d, r: [] if told(d, r) else None),
    "None for a halt": ONCE(lambda d, r: None if told(d, r) else r.normal()),
    "None for a halt, vectors": ONCE(lambda d, r: None if told(d, r) else (r.normal(), r.normal())),
    "masked for a halt": lambda d, r, t: np.ma.masked_array(r.normal(size=t), [told(d, r) for _ in range(t)]),
    "rows of words and numbers": lambda d, r, t: [("a", float(x)) for x in laplace(d, r, t)],
    "lists of one length": ONCE(lambda d, r: [d.sum() + r.laplace(), 1.5]),
    "complex numbers, one a call": ONCE(lambda d, r: np.complex128(complex(r.integers(2), told(d, r)))),
    "complex numbers beside words": ONCE(lambda d, r: [np.complex64(complex(0, told(d, r))), "a", 0.5]),
    "a word and the number of its code": ONCE(lambda d, r: [r.normal(), 0.0 if told(d, r) else "a"]),
    "halts of arrays, one a call": ONCE(lambda d, r: None if told(d, r) and r.random() < 0.9 else r.normal(size=2)),
    "low digits beside larger integers": lambda d, r, t: np.where(r.random(t) < 0.2, 2**62, 2**60 + int(d.sum() > 0)),
    "integers beyond 2^63": ONCE(lambda d, r: (2**90 if r.random() < 0.5 else 2**99) + told(d, r)),
    "an iterator": lambda d, r, t: (x for x in laplace(d, r, t)),
}  # fmt: skip


IN_BOTH_MODES = ("vectors", "words", "transcripts of numbers", "a tuple", "None for a halt")


@pytest.mark.parametrize(
    ("name", "mode"), [(name, "fixed") for name in LEAKY] + [(name, "anytime") for name in IN_BOTH_MODES]
)
def test_a_leak_is_found_in(name, mode):
    """True epsilons from 1 to infinity against 0.4; fixed seed."""
    result = dp.audit(LEAKY[name], DATA, NEIGHBOUR, dp.PureDP(0.4), trials=2500, mode=mode, until=STOP[mode])
    assert result.outcome == "refuted"
    assert "refuted" in str(result).lower()


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
def test_declared_halts(mode):
    def halting(data, rng, trials):
        return np.where([told(data, rng) for _ in range(trials)], np.nan, rng.normal(size=trials))

    assert dp.audit(halting, DATA, NEIGHBOUR, dp.PureDP(0.4), trials=2000, mode=mode, halts=True).outcome == "refuted"
    everything = dp.audit(lambda d, r, t: np.full(t, np.nan), DATA, NEIGHBOUR, dp.PureDP(0.4), trials=2000, halts=True)
    assert everything.epsilon_lower == 0


CLAIMS = (
    dp.PureDP(1.0),
    dp.ApproxDP(1.0, 1e-3),
    dp.ZCDP(0.5),
    dp.RenyiDP(4.0, 0.8),
    dp.GaussianDP(1.3),
    dp.TradeOff(lambda x: np.maximum(0.0, np.maximum(1 - np.e * x, (1 - x) / np.e)), name="f"),
)


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_every_claim(claim, mode):
    """Laplace noise of scale 1 keeps them all (Renyi: 0.63 at order 4; mu 1.3 covers it); of scale 1/4 none."""
    alarm = dp.audit(laplace, DATA, NEIGHBOUR, claim, trials=1200, mode=mode, failure_probability=1e-4)
    assert alarm.outcome in ("consistent", "undecided")
    assert not alarm.dependence

    def loud(data, rng, trials):
        return data.sum() + rng.laplace(size=trials) / 4

    found = dp.audit(loud, DATA, NEIGHBOUR, claim, trials=1500, mode=mode, until=STOP[mode])
    assert found.outcome == "refuted"
    assert str(claim) in found.reason()


@pytest.mark.parametrize(
    ("mechanism", "says"),
    [
        (ONCE(lambda d, r: object()), "objects of type object, no two of which are ever equal"),
        (lambda d, r, t: 3.0, "returned float for trials="),
        (lambda d, r, t: np.zeros((2, t)), r"returned shape \(2, "),
        (ONCE(lambda d, r: [1.5, np.inf]), "returned inf in trial 0"),
        (ONCE(lambda d, r: (1.5, np.nan)), "pass halts=True if NaN means a halt"),
        (ONCE(lambda d, r: [{1}, {2}]), "returned a set, which cannot be compared|returned a tuple, which cannot"),
        (lambda d, r, t: np.ma.masked_array(np.full(t, np.inf), np.zeros(t)), "returned inf in trial 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(mechanism, says):
    with pytest.raises(MechanismError, match=says):
        dp.audit(mechanism, DATA, NEIGHBOUR, dp.PureDP(1.0), trials=500)


def test_a_wrong_number_of_arguments_gets_advice():
    def once(data, rng):
        return rng.laplace()

    with pytest.raises(MechanismError, match=r"goes through dp.vectorize \(--per-call\)"):
        dp.audit(once, DATA, NEIGHBOUR, dp.PureDP(1.0), trials=500)
    with pytest.raises(MechanismError, match=r"is audited as it is, without dp.vectorize"):
        dp.audit(ONCE(laplace), DATA, NEIGHBOUR, dp.PureDP(1.0), trials=500)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_function_of_the_data_alone_is_told_to_take_a_generator(wrapped):
    def once(data):
        return data.sum()

    with pytest.raises(MechanismError, match=r"write it as f\(data, rng\), with all noise from that rng"):
        dp.audit(ONCE(once) if wrapped else once, DATA, NEIGHBOUR, dp.PureDP(1.0), trials=500)


def test_discrete_rules_name_the_outputs():
    result = dp.audit(LEAKY["words"], DATA, NEIGHBOUR, dp.PureDP(0.4), trials=1000)
    assert result.event == "output = 'no'; back: output = 'yes'"
    many = dp.audit(LEAKY["transcripts of answers"], DATA, NEIGHBOUR, dp.PureDP(0.4), trials=3000)
    assert "[False, False, False, False]" in many.event


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
@pytest.mark.parametrize("output", [1.0, "a"])
def test_a_constant_output_has_no_power_and_says_so(output, mode):
    result = dp.audit(lambda d, r, t: np.full(t, output), DATA, NEIGHBOUR, dp.PureDP(0.4), trials=1000, mode=mode)
    assert result.event == "one and the same output on both inputs"
    assert (result.outcome, result.detectable_epsilon) == ("undecided", np.inf)
    assert "every run on either input gave the same output" in result.reason()
    assert "would have refuted" not in str(result)


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
@pytest.mark.parametrize(
    ("mechanism", "halts"),
    [(ONCE(lambda d, r: None), False), (lambda d, r, t: [None] * t, False), (lambda d, r, t: np.full(t, np.nan), True)],
)
def test_outputs_that_are_all_missing_are_named(mechanism, halts, mode):
    result = dp.audit(mechanism, DATA, NEIGHBOUR, dp.PureDP(0.4), trials=1000, mode=mode, halts=halts)
    assert result.event == "a halt on both inputs"
    assert (result.outcome, result.detectable_epsilon) == ("undecided", np.inf)
    assert "a function without `return` returns None" in result.reason()


def test_another_output_on_one_input_is_no_constant():
    result = dp.audit(lambda d, r, t: np.full(t, d.sum() > 0), DATA, NEIGHBOUR, dp.PureDP(0.4), trials=1000)
    assert result.outcome == "refuted"


def test_large_integers_are_named_as_what_they_are_counted_from():
    result = dp.audit(LEAKY["integers beyond 2^53, one a call"], DATA, NEIGHBOUR, dp.PureDP(0.4), trials=1000)
    assert "output - 11529215046068469" in result.event


def test_the_layout_is_that_of_the_first_batch():
    encoder = Encoder("m")
    first = encoder.encode([[1.5], [2.0, 0.25]], 2).matrix
    later = encoder.encode([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], []], 2).matrix
    assert first.shape == later.shape == (2, 5)
    np.testing.assert_array_equal(later[0], [6, 1, 2, 3, 4])
    np.testing.assert_array_equal(later[1], [0, np.nan, np.nan, np.nan, np.nan])
    words = Encoder("m")
    assert words.encode(["a", "b", "a"], 3).matrix.ravel().tolist() == [0, 1, 0]
    assert words.encode([1.5, "b", None], 3).matrix.ravel().tolist()[1] == 1
    assert words.category(1.0) == "'b'"


def test_numbers_stay_numbers_when_a_halt_comes_between():
    for batches in ([[3, 5], [5, None]], [[None, 3], [5, 3]]):
        encoder = Encoder("m")
        matrix = np.concatenate([encoder.encode(gathered(batch), 2).matrix.ravel() for batch in batches])
        values = batches[0] + batches[1]
        assert (matrix[values.index(5)] == matrix[values.index(3)]) is np.False_
        assert len({matrix[i] for i, value in enumerate(values) if value == 5}) == 1
        assert len({matrix[i] for i, value in enumerate(values) if value == 3}) == 1


def test_other_keys_on_the_other_input_are_refused():
    with pytest.raises(MechanismError, match="returned the keys"):
        dp.audit(
            lambda d, r, t: {"bob" if d.sum() else "alice": r.laplace(size=t)},
            DATA,
            NEIGHBOUR,
            dp.PureDP(1.0),
            trials=500,
        )


def test_a_small_batch_is_laid_out_as_the_first_one_was():
    """Calls are of few trials: transcripts happen to be of one length, and nobody halts, or somebody does at last."""
    encoder = Encoder("transcripts")
    first = encoder.encode([[1.5], [2.0, 0.25]], 2).matrix
    alike = encoder.encode([[0.5, 1.0], [2.5, 3.0]], 2).matrix
    assert alike.shape == first.shape
    np.testing.assert_array_equal(alike[0], [2, 0.5, 1, np.nan, np.nan])
    counts = Encoder("integers")
    halted = counts.encode([7, None, 3], 3).matrix
    whole = counts.encode([3, 7], 2).matrix
    assert (whole[:, 0] == halted[[2, 0], 0]).all()
    plain = Encoder("plain")
    plain.encode([7, 3], 2)
    np.testing.assert_array_equal(plain.encode([9, None, 7], 3).matrix[:, 0], [9, np.nan, 7])


def test_large_integers_are_exact_beside_a_halt_in_a_later_batch():
    encoder = Encoder("m")
    batches = [[2**60, 2**60 + 1], [2**60 + 1, None], [2**60 + 2, 2**60]]
    found = np.concatenate([encoder.encode(gathered(batch), 2).matrix.ravel() for batch in batches])
    np.testing.assert_array_equal(found, [0, 1, 1, np.nan, 2, 0])
    assert [int(x) for x in gathered([2**63, -1])] == [2**63, -1]


def test_small_and_large_integers_stay_apart_in_one_batch():
    encoder = Encoder("m")
    batch = [2**62 + 1, 2**62, 0, 1, 2**60 + 1, 2**60]
    matrix = np.concatenate([encoder.encode(np.array(batch), 6).matrix, encoder.encode(np.array(batch[:3]), 3).matrix])
    assert len({tuple(row) for row in matrix}) == 6
    np.testing.assert_array_equal(matrix[:3], matrix[6:])


def test_no_output_of_numbers_equals_one_of_words():
    matrix = Encoder("m").encode(gathered([[0.5, "a"], [0.5, 0.0], [0.5, "b"], [0.5, 1.0]]), 4).matrix
    assert len({tuple(row) for row in matrix}) == 4


def test_vectors_first_then_a_halt():
    """A batch that is an array, and one that holds None: the halt is NaN, and outputs of another length are refused."""
    encoder = Encoder("m")
    parts = [encoder.encode(np.ones((2, 2)), 2), encoder.encode(gathered([None, [3.0, 4.0]]), 2)]
    np.testing.assert_array_equal(join(parts).matrix, [[1, 1], [1, 1], [np.nan, np.nan], [3, 4]])
    assert len(join(parts).raw) == 4
    with pytest.raises(MechanismError, match="vectors of 2 numbers first, then one of 3"):
        encoder.encode(gathered([None, [3.0, 4.0, 5.0]]), 2)


def test_single_values_first_then_lists_are_refused():
    encoder = Encoder("m")
    encoder.encode([1.5, 2.0], 2)
    with pytest.raises(MechanismError, match="single values first, then lists"):
        encoder.encode([[1.5], [2.0, 3.0]], 2)


def test_masked_integers_are_halts():
    masked = np.ma.masked_array(np.array([4, 5, 6]), [False, True, False])
    np.testing.assert_array_equal(Encoder("m").encode(masked, 3).matrix[:, 0], [4, np.nan, 6])


def test_categories_take_bounded_memory():
    encoder = Encoder("m", limit=10)
    matrix = encoder.encode([str(i) for i in range(100)], 100).matrix
    assert len(encoder.codes[0]) == 10
    assert matrix.max() == 10


def test_vectorize_keeps_numbers_and_arrays_plain():
    rng = np.random.default_rng(0)
    assert dp.vectorize(lambda d, r: 1)(None, rng, 3).dtype == float
    assert dp.vectorize(lambda d, r: np.zeros(2))(None, rng, 3).shape == (3, 2)
    assert dp.vectorize(lambda d, r: [1.5, "a"])(None, rng, 3).tolist() == [[1.5, "a"]] * 3
    assert dp.vectorize(lambda d, r: datetime.date(2020, 1, 1))(None, rng, 2).dtype == object
    assert dp.vectorize(laplace).__name__ == "laplace"
    with pytest.raises(dp.InvalidInput, match="vectorize needs a function"):
        dp.vectorize(3)


def test_outputs_that_change_their_width_from_call_to_call_are_refused():
    def wavering(data, rng, trials):
        return rng.laplace(size=(trials, 2 if trials == 100 else 3))

    with pytest.raises(InvalidInput, match=r"change their width from call to call: \[2, 3\] columns"):
        dp.audit(wavering, DATA, NEIGHBOUR, dp.PureDP(1.0), trials=750, held_out=0.2, chunk=100)
