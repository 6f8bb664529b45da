"""Files of recorded outputs: there and back, bounded, never a pickle, one sentence for each that is no such file."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.recorded import files

ZERO, ONE = np.zeros(1), np.ones(1)


def noisy(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


SAMPLES = {
    "numbers": (np.arange(3.0), np.arange(2.0)),
    "whole": (np.arange(3), np.arange(2)),
    "vectors": (np.ones((3, 2)), np.zeros((2, 2))),
    "words": (np.array(["ash", "fir"]), np.array(["elm"])),
}


@pytest.mark.parametrize("ending", [".npz", ".jsonl"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_there_and_back_again(tmp_path, kind, ending):
    dp.keep_outputs(tmp_path / f"kept{ending}", *SAMPLES[kind])
    for was, found in zip(SAMPLES[kind], dp.read_outputs(tmp_path / f"kept{ending}"), strict=True):
        assert np.array_equal(np.asarray(found), was)


def test_anything_that_json_can_say(tmp_path):
    x, y = [[1, "a"], None, {"k": [True]}], ["word", 2.5]
    dp.keep_outputs(tmp_path / "kept.jsonl", x, y)
    assert dp.read_outputs(tmp_path / "kept.jsonl") == (x, y)
    with pytest.raises(dp.InvalidInput, match=r"keep these outputs as \.jsonl"):
        dp.keep_outputs(tmp_path / "kept.npz", x, y)


def test_two_files(tmp_path):
    np.save(tmp_path / "a.npy", ZERO)
    (tmp_path / "b.jsonl").write_text("1\n\n2.5\n")
    np.savez(tmp_path / "c.npz", only=ONE)
    x, y = dp.read_outputs(tmp_path / "a.npy", tmp_path / "b.jsonl")
    assert (x.tolist(), y) == ([0.0], [1, 2.5])
    assert dp.read_outputs(tmp_path / "a.npy", tmp_path / "c.npz")[1].tolist() == [1.0]
    np.savez(tmp_path / "d.npz", x=ZERO, y=ONE)
    assert dp.read_outputs(tmp_path / "d.npz")[1].tolist() == [1.0]


def test_what_is_recorded_is_what_is_judged(tmp_path):
    x, y = dp.record_outputs(noisy, ZERO, ONE, trials=3000, seed=4)
    assert x.shape == y.shape == (3000,)
    again = dp.record_outputs(noisy, ZERO, ONE, trials=3000, seed=4)
    assert np.array_equal(x, again[0])
    dp.keep_outputs(tmp_path / "kept.npz", x, y)
    found, kept = (dp.audit_samples(*pair, dp.PureDP(0.5)) for pair in ((x, y), dp.read_outputs(tmp_path / "kept.npz")))
    assert found.outcome.value == "refuted"
    assert (found.epsilon_lower, found.inputs) == (kept.epsilon_lower, kept.inputs)


def test_outputs_of_several_parts():
    def parts(data, rng, trials):
        value = data.sum() + rng.laplace(size=trials)
        return value, np.where(value > 1, "up", "down")

    def numbers(data, rng, trials):
        return {"a": rng.normal(size=trials), "b": rng.normal(size=(trials, 2))}

    x, _ = dp.record_outputs(parts, ZERO, ONE, trials=100)
    assert (len(x), type(x[0][0]), x[0][1] in ("up", "down")) == (100, float, True)
    assert dp.record_outputs(numbers, ZERO, ONE, trials=100)[0].shape == (100, 3)


def test_a_mechanism_that_keeps_state_is_seen_in_its_records():
    calls = []

    def alternates(data, rng, trials):
        calls.append(1)
        return rng.laplace(size=trials) + 3 * (len(calls) % 2)

    found = dp.audit_samples(*dp.record_outputs(alternates, ZERO, ONE, trials=3000), dp.PureDP(0.5))
    assert found.outcome.value == "undecided"
    assert found.dependence


class Bomb:
    def __reduce__(self):
        return (print, ("a pickle was opened",))


def bad_files(folder):
    """File names -> what is said of them; of a tuple both are handed in."""
    np.save(folder / "a.npy", ONE)
    np.save(folder / "objects.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    np.save(folder / "scalar.npy", np.array(3.0))
    (folder / "pickle.npy").write_bytes(pickle.dumps(Bomb()))
    np.savez(folder / "objects.npz", allow_pickle=True, data=ONE, neighbour=np.array([Bomb()], dtype=object))
    np.savez(folder / "names.npz", data=ONE, other=ONE)
    np.savez(folder / "three.npz", data=ONE, neighbour=ONE, more=ONE)
    (folder / "text.npz").write_text("no archive")
    with zipfile.ZipFile(folder / "odd.npz", "w") as archive:
        archive.writestr("data", "text")
        archive.writestr("neighbour", "text")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    (folder / "claims.npy").write_bytes(header.getvalue())
    with zipfile.ZipFile(folder / "claims.npz", "w") as archive:
        archive.writestr("data.npy", header.getvalue())
        archive.writestr("neighbour.npy", header.getvalue())
    lines = {
        "nan.jsonl": '{"input": "data", "output": NaN}',
        "bare.jsonl": "1",
        "keys.jsonl": '{"input": "data", "value": 1}',
        "number.jsonl": '{"input": 1, "output": 1}',
        "one.jsonl": '{"input": "data", "output": 1}',
        "deep.jsonl": "[" * 2000,
        "long.jsonl": "1" * 5000,
        "bytes.jsonl": "\udcff",
    }
    for name, line in lines.items():
        (folder / name).write_bytes(line.encode("utf-8", "surrogateescape") + b"\n")
    return {
        "nowhere.npz": "cannot read nowhere.npz: No such file",
        "a.npy": "a.npy holds one array; give two .npy files",
        "a.csv": "a.csv is no file of outputs; these end in .npy, .npz, .jsonl or .parquet",
        ("a.npy", "objects.npy"): "objects.npy holds Python objects; save numbers or strings",
        ("a.npy", "pickle.npy"): "pickle.npy is not an array in NumPy's .npy format",
        ("a.npy", "scalar.npy"): "scalar.npy holds a single number",
        ("a.npy", "nowhere.npy"): "cannot read nowhere.npy: No such file",
        ("a.npy", "claims.npy"): "claims.npy ",
        ("a.npy", "names.npz"): "names.npz holds 2 arrays; of two files each holds one",
        ("a.npy", "a.npy", "a.npy"): "outputs are in one file or in two, got 3",
        "objects.npz": "neighbour in objects.npz holds Python objects",
        "names.npz": "names.npz holds data, other; two samples are called data and neighbour",
        "three.npz": "three.npz holds data, more, neighbour;",
        "text.npz": "cannot read text.npz: not an archive of numpy.savez",
        "odd.npz": "data in odd.npz is not an array",
        "claims.npz": "data in claims.npz ",
        "nan.jsonl": "nan.jsonl, line 1: NaN is not a number",
        "bare.jsonl": 'a file of both samples has rows {"input": "data", "output": …}, not 1',
        "keys.jsonl": "a file of both samples has rows",
        "number.jsonl": "a file of both samples has rows",
        "one.jsonl": "one.jsonl holds data; two samples are called",
        "deep.jsonl": "deep.jsonl, line 1: more than 40 brackets",
        "long.jsonl": "long.jsonl, line 1: an integer of more than 4,000 digits",
        "bytes.jsonl": "bytes.jsonl, line 1: not JSON",
    }


def test_every_bad_file_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for names, says in bad_files(tmp_path).items():
        with pytest.raises(dp.InvalidInput) as caught:
            dp.read_outputs(*((names,) if isinstance(names, str) else names))
        assert says in str(caught.value), names
        assert "\n" not in str(caught.value)
    assert "a pickle was opened" not in capsys.readouterr().out


def test_archives_that_unpack_to_too_much_are_not_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "zeros.npz", data=np.zeros(10**6), neighbour=np.zeros(10**6))
    monkeypatch.setattr(files, "MOST_BYTES", 10**6)
    monkeypatch.setattr(files.np, "load", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(dp.InvalidInput, match="holds more than 1,000,000 bytes"):
        dp.read_outputs(tmp_path / "zeros.npz")


def test_long_files_and_long_lines_stop(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text("1\n" * 20)
    (tmp_path / "b.jsonl").write_text(json.dumps("x" * 300))
    monkeypatch.setattr(files, "MOST_ROWS", 10)
    monkeypatch.setattr(files, "BYTES", 200)
    for name in ("a.jsonl", "b.jsonl"):
        with pytest.raises(dp.InvalidInput, match="more than 10 lines, or a line of 200 bytes"):
            dp.read_outputs(tmp_path / name, tmp_path / name)


@pytest.mark.parametrize(
    ("path", "outputs", "says"),
    [
        ("kept.csv", ONE, "outputs are kept in a file that ends in .npz or .jsonl"),
        ("none/kept.npz", ONE, "there is no folder none to keep kept.npz in"),
        ("kept.jsonl", np.array([np.nan]), "JSON cannot say nan"),
        ("kept.jsonl", [b"bytes"], "JSON cannot say b'bytes'"),
    ],
)
def test_what_cannot_be_kept(tmp_path, monkeypatch, path, outputs, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dp.InvalidInput) as caught:
        dp.keep_outputs(path, outputs, outputs)
    assert says in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((noisy, ZERO, ONE, 10), "trials must lie between 70 and 10,000,000"),
        ((noisy, ZERO, ONE, 10**14), "trials must lie between 70 and 10,000,000"),
        ((noisy, ZERO, ZERO, 100), "data and neighbour are identical"),
        ((3, ZERO, ONE, 100), "mechanism must be callable"),
        ((lambda data, rng, trials: np.full(trials, np.nan), ZERO, ONE, 100), "outputs must be finite"),
    ],
)
def test_what_cannot_be_recorded(arguments, says):
    mechanism, data, neighbour, trials = arguments
    with pytest.raises(dp.DpcheckError, match=says):
        dp.record_outputs(mechanism, data, neighbour, trials=trials)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="dpcheck[parquet] is not installed")
    from pyarrow import parquet

    both = pyarrow.table({"input": ["data", "neighbour", "data"], "value": [0.5, 1.5, 2.5]})
    parquet.write_table(both, tmp_path / "both.parquet")
    assert dp.read_outputs(tmp_path / "both.parquet") == ([0.5, 2.5], [1.5])
    parquet.write_table(pyarrow.table({"a": [1, 2], "b": ["u", "v"]}), tmp_path / "one.parquet")
    assert dp.read_outputs(tmp_path / "one.parquet", tmp_path / "one.parquet")[0] == [[1, "u"], [2, "v"]]
    with pytest.raises(dp.InvalidInput, match="and a column `input`"):
        dp.read_outputs(tmp_path / "one.parquet")
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(dp.InvalidInput, match="as Parquet"):
        dp.read_outputs(tmp_path / "text.parquet")


def test_parquet_needs_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(dp.InvalidInput, match=r"needs pyarrow: pip install 'dpcheck\[parquet\]'"):
        dp.read_outputs(tmp_path / "both.parquet")
