"""`dp.in_workers`: the same outputs for any number of processes, and nothing hangs, is lost or left when one fails."""

from __future__ import annotations

import importlib.util
import io
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types

import cloudpickle
import numpy as np
import pytest

import dpcheck as dp
from dpcheck import processes
from dpcheck.auditing.identity import identity
from dpcheck.auditing.workers import INPUTS, _Piece, serve
from dpcheck.errors import InvalidInput, MechanismError

ZERO, ONE = np.zeros(1), np.ones(1)


def single(data, rng):
    return float(data.sum() + rng.laplace())


def numbers(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def halting(data, rng, trials):
    return np.ma.masked_array(rng.random(trials) + data.sum(), rng.random(trials) < 0.3)


def words(data, rng, trials):
    return np.where(rng.random(trials) < 0.3 + 0.4 * data.sum(), "yes", "no longer")


def transcripts(data, rng, trials):
    return [["yes"] * int(1 + rng.integers(3)) for _ in range(trials)]


def parts(data, rng, trials):
    noisy = data.sum() + rng.normal(size=(trials, 2))
    return noisy, np.where(noisy[:, 0] > 0, "up", "down")


def named(data, rng, trials):
    return {"b": rng.random(trials), "a": rng.integers(3, size=trials)}


def told(result):
    plain = result.to_dict()
    return json.dumps({name: value for name, value in plain.items() if "seconds" not in name})


@pytest.mark.usefixtures("modules_known")
@pytest.mark.parametrize("claim", [dp.PureDP(0.5), dp.GaussianDP(1.0)])
@pytest.mark.parametrize("mode", ["fixed", "anytime"])
def test_an_audit_says_the_same_with_any_number_of_workers(claim, mode):
    said = []
    for workers in (1, 2, 3):
        with dp.in_workers(dp.vectorize(single), workers) as spread:
            said.append(told(dp.audit(spread, ZERO, ONE, claim, trials=900, mode=mode, chunk=300)))
    assert said[0] == said[1] == said[2]
    assert '"mechanism": "single"' in said[0]
    handed = dp.audit(dp.vectorize(single), ZERO, ONE, claim, trials=900, mode=mode, chunk=300, workers=2)
    assert told(handed) == said[0]
    assert children() == 0


@pytest.mark.parametrize("mechanism", [numbers, halting, words, transcripts, parts, named, dp.vectorize(single)])
def test_outputs_are_the_same_and_of_the_right_kind(mechanism):
    here = mechanism(ONE, np.random.default_rng(3), 70)
    found = []
    for workers in (1, 3):
        with dp.in_workers(mechanism, workers) as spread:
            found.append([spread(ONE, np.random.default_rng(3), trials) for trials in (70, 1)])
    assert repr(found[0]) == repr(found[1])
    out = found[0][0]
    assert type(out) is type(here)
    if isinstance(out, np.ndarray):
        assert out.shape == here.shape
        assert out.dtype == here.dtype
    if isinstance(out, np.ma.MaskedArray):
        assert 0.1 < out.mask.mean() < 0.6
    if isinstance(out, dict):
        assert set(out) == set(here)


def test_pieces_are_independent_and_another_call_draws_anew():
    with dp.in_workers(numbers, 2) as spread:
        rng = np.random.default_rng(1)
        first, second = spread(ZERO, rng, 400), spread(ZERO, rng, 400)
    assert len(np.unique(np.concatenate([first, second]))) == 800


def test_lambdas_local_functions_and_what_they_hold_are_sent():
    scale = np.array([2.0])
    with dp.in_workers(lambda data, rng, trials: (data + scale) * np.ones((trials, 1)), 2) as spread:
        assert (spread(ONE, np.random.default_rng(0), 40) == 3.0).all()


def test_a_module_that_no_import_finds_is_sent_with_its_mechanism(tmp_path):
    file = tmp_path / "somewhere.py"
    file.write_text(
        "SHIFT = 7\ndef helper():\n    return SHIFT\ndef run(data, rng, trials):\n    return [helper()] * trials\n"
    )
    spec = importlib.util.spec_from_file_location("found_by_no_import", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        with dp.in_workers(module.run, 1) as spread:
            assert set(spread(ONE, np.random.default_rng(0), 9)) == {7}
    finally:
        del sys.modules[spec.name]


def test_a_module_that_its_owner_packs_by_value_stays_so(monkeypatch):
    module = types.ModuleType("packed_by_its_owner")
    module.__file__ = __file__
    monkeypatch.setitem(sys.modules, module.__name__, module)
    cloudpickle.register_pickle_by_value(module)
    try:
        dp.in_workers(numbers, 1).close()
        assert module.__name__ in cloudpickle.list_registry_pickle_by_value()
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    dp.in_workers(numbers, 1).close()
    assert module.__name__ not in cloudpickle.list_registry_pickle_by_value()


def test_pieces_of_several_kinds_are_no_outputs_of_one_call():
    """70 runs are pieces of three, and a last one of one."""

    def keyed(data, rng, trials):
        return {"first" if trials > 1 else "last": rng.random(trials)}

    def split(data, rng, trials):
        return (rng.random(trials),) * (2 if trials > 1 else 3)

    for mechanism, says in ((keyed, "dict of other keys from call to call"), (split, "2 parts first, and another")):
        with dp.in_workers(mechanism, 1) as spread, pytest.raises(MechanismError, match=says):
            spread(ONE, np.random.default_rng(0), 70)


class Unsendable:
    def __reduce__(self):
        raise TypeError("it stays here")


def served(monkeypatch, mechanism, tasks):
    """What a worker answers to [(pieces, input or None), …], run in this process."""
    asked, answers = io.BytesIO(), io.BytesIO()
    pickle.dump(("it", cloudpickle.dumps(mechanism)), asked)
    for pieces, values in tasks:
        pickle.dump((pieces, None if values is None else cloudpickle.dumps(values)), asked)
    asked.seek(0)
    monkeypatch.setattr(processes, "die_with", lambda parent: None)
    monkeypatch.setattr(processes, "pipes", lambda: (asked, answers))
    serve(0)
    answers.seek(0)
    return [pickle.load(answers) for _ in tasks]


def test_a_worker_answers_piece_by_piece_up_to_the_first_that_raises(monkeypatch):
    def picky(data, rng, trials):
        if trials > 3:
            raise OSError("too many")
        return iter([data] * trials)

    few, many = _Piece(1, 5, 0, 2), _Piece(1, 5, 1, 4)
    answers = served(monkeypatch, picky, [([few], "a"), ([few, many, few], None)])
    assert answers[0] == [["a", "a"]]
    assert answers[1][0] == ["a", "a"]
    assert len(answers[1]) == 2
    error = answers[1][1].error()
    assert (type(error).__name__, str(error)) == ("OSError", "too many")
    assert "too many" in str(error.__cause__)


def test_outputs_that_no_process_can_send_are_an_error_of_their_own(monkeypatch):
    ((answer,),) = served(monkeypatch, lambda data, rng, trials: [Unsendable()], [([_Piece(1, 0, 0, 1)], 0)])
    assert (answer.name, answer.said) == ("TypeError", "it stays here")
    assert isinstance(answer.error(), TypeError)


def test_a_worker_keeps_the_newest_inputs(monkeypatch):
    """As many as its parent reckons with; what it was not sent anew, and has forgotten, it does not answer of."""
    tasks = [([_Piece(number, 0, 0, 1)], number) for number in range(1, INPUTS + 2)]
    newest = [([_Piece(number, 0, 0, 1)], None) for number in (2, INPUTS + 1, 1)]
    answers = served(monkeypatch, lambda data, rng, trials: [data] * trials, [*tasks, *newest])
    assert answers[:-1] == [[[number]] for number in (*range(1, INPUTS + 2), 2, INPUTS + 1)]
    assert answers[-1][0].name == "KeyError"


def test_inputs_of_any_kind_and_more_of_them_than_are_kept():
    seen = []
    with dp.in_workers(lambda data, rng, trials: [str(data)] * trials, 2) as spread:
        for number in (*range(7), 6, 5, 4, 0):
            seen.append((number, spread([number], np.random.default_rng(0), 4)[0]))
    assert all(text == f"[{number}]" for number, text in seen)


def test_what_cannot_be_sent_is_refused_in_one_sentence():
    lock = threading.Lock()

    def locked(data, rng):
        with lock:
            return 0.0

    with pytest.raises(InvalidInput, match=r"locked cannot be sent to worker processes .*inside the function"):
        dp.in_workers(dp.vectorize(locked), 2)
    for workers in (0, True, 1.5, 10**6):
        with pytest.raises(InvalidInput, match="workers must be"):
            dp.in_workers(numbers, workers)
        with pytest.raises(InvalidInput, match="workers must be"):
            dp.audit(numbers, ZERO, ONE, dp.PureDP(1.0), workers=workers)
    with pytest.raises(InvalidInput, match="must be callable"):
        dp.in_workers(3, 2)


def audit(mechanism, workers=2, **options):
    with dp.in_workers(mechanism, workers) as spread:
        return dp.audit(spread, ZERO, ONE, dp.PureDP(1.0), trials=200, **options)


@pytest.mark.usefixtures("modules_known")
def test_an_exception_is_the_first_one_whatever_the_number_of_workers():
    def sometimes(data, rng, trials):
        time.sleep(0.02 * rng.random())
        drawn = rng.random()
        if drawn < 0.3:
            raise KeyError(f"at {drawn}")
        return rng.random(trials)

    said = set()
    for workers in (1, 2, 3):
        with pytest.raises(MechanismError, match=r"sometimes raised KeyError on \w+ with trials=\d+: .at 0") as caught:
            audit(sometimes, workers)
        said.add(str(caught.value))
        assert "in a worker process" in str(caught.value.__cause__.__cause__)
    assert len(said) == 1


@pytest.mark.usefixtures("modules_known")
def test_errors_keep_their_advice():
    def writes(data, rng, trials):
        data[0] = 1
        return rng.random(trials)

    with pytest.raises(MechanismError, match="a copy would not"):
        audit(writes)
    with pytest.raises(MechanismError, match=r"goes through dp\.vectorize"):
        audit(single)
    with pytest.raises(MechanismError, match="returned None"):
        audit(lambda data, rng, trials: None)
    with pytest.raises(MechanismError, match="axis 0 must count trials"):
        audit(lambda data, rng, trials: np.zeros(trials + 1))
    with pytest.raises(MechanismError, match="raised SystemExit"):
        audit(lambda data, rng, trials: sys.exit(7))


def test_a_worker_that_is_killed_once_costs_nothing(tmp_path):
    def killed(data, rng, trials):
        try:
            (tmp_path / "once").touch(exist_ok=False)
        except FileExistsError:
            return rng.random(trials)
        os.kill(os.getpid(), signal.SIGKILL)

    with dp.in_workers(killed, 2) as spread:
        survived = spread(ONE, np.random.default_rng(5), 64)
        assert (survived == spread(ONE, np.random.default_rng(5), 64)).all()


def test_a_mechanism_that_ends_its_process_is_told():
    with pytest.raises(MechanismError, match=r"WorkerDied.*ended, twice: exit code 3"):
        audit(lambda data, rng, trials: os._exit(3))


def children():
    listed = subprocess.run(
        ["ps", "-ww", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    ).stdout
    return listed.count("auditing.workers import serve")


def test_no_process_is_left():
    spread = dp.in_workers(numbers, 2)
    spread(ONE, np.random.default_rng(0), 64)
    assert children() == 2
    spread.close()
    assert children() == 0
    spread(ONE, np.random.default_rng(0), 64)  # starts others
    assert children() == 2
    del spread
    assert children() == 0
    with pytest.raises(MechanismError):
        dp.audit(dp.in_workers(lambda data, rng, trials: 1 / 0, 2), ZERO, ONE, dp.PureDP(1.0), trials=200)
    assert children() == 0


# SIGINT is ignored in whatever a shell starts in the background, and in what that starts.
PROGRAM = """
import signal, time
import numpy as np
import dpcheck as dp

signal.signal(signal.SIGINT, signal.default_int_handler)

def slow(data, rng):
    time.sleep(0.001)
    return rng.random()

def told(runs, seconds):
    print("begun", flush=True)

with dp.in_workers(dp.vectorize(slow), 2, told=told) as spread:
    dp.audit(spread, np.zeros(1), np.ones(1), dp.PureDP(1.0), trials=100_000)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -2), (signal.SIGKILL, -9)])
def test_interrupted_or_killed_it_leaves_no_orphan(number, code, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == b"begun\n"
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
        workers = [int(word) for word in listed.stdout.split()]
        assert len(workers) == 2
        process.send_signal(number)
        assert process.wait(30) == code
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    end = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{worker}") for worker in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{worker}") for worker in workers)


def test_all_workers_work():
    def sleeps(data, rng):
        time.sleep(0.02)
        return float(os.getpid())

    with dp.in_workers(dp.vectorize(sleeps), 4) as spread:
        served = spread(ONE, np.random.default_rng(0), 128)
    assert len(set(served)) == 4
    assert os.getpid() not in served


def test_runs_are_told_as_they_end():
    heard = []
    with dp.in_workers(numbers, 2, told=lambda runs, seconds: heard.append((runs, seconds))) as spread:
        spread(ONE, np.random.default_rng(0), 64)
        spread(ONE, np.random.default_rng(0), 10)
    told = [runs for runs, _ in heard]
    assert told == sorted(told)
    assert 64 in told
    assert told[-1] == 74
    assert len(told) >= 8
    assert all(one < two for (_, one), (_, two) in itertools.pairwise(heard))


@pytest.mark.usefixtures("modules_known")
def test_an_anytime_audit_goes_on_with_another_number_of_workers():
    options = {"mode": "anytime", "chunk": 400, "score": "auto"}
    with dp.in_workers(numbers, 1) as one, dp.in_workers(numbers, 3) as three:
        asked = dp.PureDP(1.0), "auto", 0, 0.05
        claim, score, seed, alpha = asked
        assert identity(one, (ZERO, ONE), claim, score, seed, alpha) == identity(
            three, (ZERO, ONE), claim, score, seed, alpha
        )
        begun = dp.audit(one, ZERO, ONE, claim, max_samples=3000, **options)
        state = json.loads(json.dumps(begun.state))
        gone_on = dp.audit(three, ZERO, ONE, claim, max_samples=6000, resume=state, **options)
    assert gone_on.counts["samples"] > begun.counts["samples"]


@pytest.mark.usefixtures("modules_known")
def test_they_run_where_mechanisms_are_taken():
    recorded = [dp.record_outputs(numbers, ZERO, ONE, trials=500, workers=workers) for workers in (1, 2)]
    assert all((one == two).all() for one, two in zip(*recorded, strict=True))
    result = dp.testing.assert_private(numbers, ZERO, ONE, claim=dp.PureDP(1.0), trials=2000, workers=2)
    assert result.mechanism == "numbers"
    with pytest.raises(AssertionError, match=r"numbers is not 0\.2-DP"):
        dp.testing.assert_private(numbers, ZERO, ONE, claim=dp.PureDP(0.2), trials=2000, workers=2)
