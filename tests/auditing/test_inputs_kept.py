"""Inputs that no call can change: for the next one, for the other side, for the caller."""

import copy
import importlib.util
import pathlib

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing import attacks
from dpcheck.auditing.handing import digest, maker
from dpcheck.auditing.one_run import audit_one_run
from dpcheck.auditing.pairs import worst_sensitivity
from dpcheck.checks import Context
from dpcheck.engine import collect
from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.mutants import Mutant

PAIR = dp.testing.worst_pairs(n=20)
FILE = pathlib.Path(__file__).parents[1] / "mutants" / "catalogue" / "inputs.py"
BUGS = {bug.name: bug for bug in collect.content_of(collect.ContentFile(FILE.parent, FILE), (Mutant,))}


def centred(data, rng, trials):
    mean = data.mean()
    data -= mean
    return mean + rng.laplace(scale=1e-4, size=trials)


def centred_once(data, rng):
    return float(centred(data, rng, 1)[0])


@pytest.mark.parametrize("name", BUGS)
def test_seeded_bugs(name):
    kill = BUGS[name].kill(Context("mutants/catalogue", name, {}, "smoke"))
    assert kill.killed != BUGS[name].lookalike


@pytest.mark.skipif(not importlib.util.find_spec("pandas"), reason="without pandas there is no data frame")
def test_data_frames_are_among_them():
    assert "centres-its-data-frame" in BUGS


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
@pytest.mark.parametrize("mechanism", [centred, dp.vectorize(centred_once)], ids=["vectorised", "one run a call"])
def test_writing_into_an_array_is_refused_with_its_cure(mechanism, mode):
    data, neighbour = (side.copy() for side in PAIR)
    with pytest.raises(MechanismError, match=r"it writes into its input; .* works on a copy .*: data = data.copy\(\)"):
        dp.audit(mechanism, data, neighbour, dp.PureDP(1.0), trials=1000, mode=mode)
    assert np.array_equal(data, PAIR[0])
    assert np.array_equal(neighbour, PAIR[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.sort(),
        lambda data: np.random.default_rng(0).shuffle(data),
        lambda data: data.fill(0.0),
        lambda data: np.clip(data, 0, 1, out=data),
        lambda data: data.setflags(write=True),
        lambda data: data.__setitem__(0, 7.0),
    ],
)
def test_no_way_of_writing(change):
    def mechanism(data, rng, trials):
        change(data)
        return rng.laplace(size=trials)

    with pytest.raises(MechanismError):
        dp.audit(mechanism, *PAIR, dp.PureDP(1.0), trials=1000)


def test_an_array_forced_open_is_noticed():
    def mechanism(data, rng, trials):
        data.base.flags.writeable = True
        data.base[0] += 1.0
        return rng.laplace(size=trials)

    with pytest.raises(MechanismError, match=r"made (data|neighbour) writable again and changed it"):
        dp.audit(mechanism, *PAIR, dp.PureDP(1.0), trials=1000)


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
def test_a_caller_s_object_that_changes_all_the_same_is_noticed(mode):
    shared = {"values": [0.0] * 4}

    def mechanism(data, rng, trials):
        shared["values"][0] += 1.0
        return rng.laplace(size=trials)

    with pytest.raises(MechanismError, match="data was changed while mechanism ran"):
        dp.audit(mechanism, shared, {"values": [1.0] * 4}, dp.PureDP(1.0), trials=1500, mode=mode)


class Counter:
    """An object with state."""

    def __init__(self):
        self.seen, self.values = 0, np.arange(3.0)


OBJECTS = {
    "list": [1.0, [2.0]],
    "dict": {"a": [1.0]},
    "array of objects": np.array([[1], {"a": 2}], dtype=object),
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    "object": Counter(),
    "set": {1, 2},
}


@pytest.mark.parametrize("name", OBJECTS)
def test_every_run_gets_a_copy_of_its_own(name):
    values = OBJECTS[name]
    before = digest(values)
    make = maker(copy.deepcopy(values))
    one, two = make(), make()
    assert one is not two
    assert type(one) is type(values)
    # A masked array that is packed and unpacked holds other values behind its mask.
    before = digest(two) if name == "masked" else before
    assert digest(one) == digest(two) == before
    if isinstance(one, list):
        one[1].append(3.0)
    elif isinstance(one, Counter):
        one.values += 1
    elif isinstance(one, np.ndarray):
        one[0] = 5
    elif isinstance(one, dict):
        one["a"].append(2.0)
    else:
        one.add(3)
    assert digest(one) != before
    assert digest(make()) == digest(two) == before


def test_what_cannot_be_copied_is_refused():
    with pytest.raises(InvalidInput, match="data is a generator, which cannot be copied"):
        dp.audit(lambda d, r, t: r.laplace(size=t), (x for x in [1.0]), [2.0], dp.PureDP(1.0), trials=1000)


def test_functions_of_one_run_see_the_same_list_every_time():
    lengths = []

    def run(data, rng):
        lengths.append(len(data))
        data.append(0.0)
        return rng.laplace()

    dp.vectorize(run)([1.0, 2.0], np.random.default_rng(0), 4)
    dp.audit(dp.vectorize(run), [0.0, 0.0], [0.0, 1.0], dp.PureDP(1.0), trials=200)
    assert set(lengths) == {2}


def test_attacks_and_searches_do_not_change_the_caller_s_arrays():
    data, neighbour = (side.copy() for side in PAIR)
    with pytest.raises(MechanismError, match=r"data = data.copy\(\)"):
        attacks.attack(centred, data, neighbour, dp.PureDP(1.0))
    for attack in (
        lambda: attacks.special_records(centred, data),
        lambda: attacks.summation_order_of(centred, data, neighbour, 1.0),
        lambda: attacks.replayed_noise(centred, data, neighbour),
        lambda: attacks.state(centred, data, neighbour),
        lambda: attacks.granularity(centred, data, neighbour, dp.PureDP(1.0)),
    ):
        with pytest.raises(MechanismError, match=r"data = data.copy\(\)"):
            attack()
    with pytest.raises(MechanismError, match=r"data = data.copy\(\)"):
        attacks.timing(centred_once, data)
    with pytest.raises(ValueError, match="read-only"):
        worst_sensitivity(lambda x: x.sort() or x.sum(), [(data, neighbour)])
    assert np.array_equal(data, PAIR[0])
    assert np.array_equal(neighbour, PAIR[1])


def test_one_run():
    canaries = np.eye(4)
    for mechanism, score in (
        (lambda records, rng: records.fill(0.0), lambda out, canaries: np.zeros(4)),
        (lambda records, rng: 0.0, lambda out, canaries: canaries.fill(0.0)),
        (lambda records, rng: 0.0, lambda out, canaries: ["a"] * 4),
        (lambda records, rng: 0.0, lambda out, canaries: 1 / 0),
    ):
        with pytest.raises(MechanismError):
            audit_one_run(mechanism, canaries, dp.PureDP(1.0), score)
    assert np.array_equal(canaries, np.eye(4))


def test_what_cannot_be_packed_is_copied():
    class Local:  # which pickle does not find by its name
        def __init__(self):
            self.records = [1.0]

    own = Local()
    make = maker(own)
    make().records.append(2.0)
    assert own.records == make().records == [1.0]


def test_a_core_gets_a_list_of_its_own():
    pair = [0.0, 1.0], [0.0, 3.0]
    distance, _ = worst_sensitivity(lambda values: values.pop(), [pair])
    assert (distance, pair) == (2.0, ([0.0, 1.0], [0.0, 3.0]))


class Model:
    """What can be called, and holds something that can change."""

    def __init__(self):
        self.weights = [1.0]

    def __call__(self, x):
        return x * sum(self.weights)


def test_what_can_be_called_is_copied_with_all_that_it_holds():
    own = Model()
    make = maker(own)
    make().weights.append(2.0)
    assert own.weights == make().weights == [1.0]
    assert make()(3.0) == 3.0
