"""Files of recorded outputs: read within bounds and never as pickles, and written by `keep_outputs`.

Two files hold one sample each; one file holds both, under the names of a pair in `SIDES`:

* `.npy`: one array; `.npz`: two arrays, or one of each file;
* `.jsonl`: one output a line, or `{"input": "data", "output": …}` a line for both inputs; null is a halt;
* `.parquet` (needs pyarrow): one row an output; for both inputs with a column `input`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing import plans
from dpcheck.auditing.inputs import check_mechanism, check_path, check_seed, describe_pair
from dpcheck.auditing.mechanisms import Encoder, Mechanism, as_array, mechanism_name
from dpcheck.auditing.runner import Runner, block_size
from dpcheck.auditing.workers import spread
from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.foreign import BYTES, parsed, plain, shortened, shown
from dpcheck.recorded.rows import NUMBERS, WORDS, Rows
from dpcheck.recorded.samples import fewest_rows

SCORES = ("in", "out")
"""What the scores of canaries are called: of those in the data, and of those left out."""
SIDES = (("data", "neighbour"), ("x", "y"), SCORES)
"""What the two samples of one file may be called."""
MOST_BYTES = 8 * 2**30
"""Of the arrays of one file, unpacked."""
MOST_ROWS = 10**7
"""Of lines in one file, and of runs that are recorded."""
KEPT = (".npz", ".jsonl")


def read_outputs(*paths: Path | str, of_runs: bool = False) -> tuple[Any, Any]:
    """Both samples, from a file of both or a file of each.

    Args:
        of_runs: they are going to be taken for runs of their own: what is called as scores of canaries are is refused.

    Raises:
        InvalidInput: a file that cannot be read, is of no known kind, or does not hold what its kind holds.
    """
    if len(paths) not in (1, 2):
        raise InvalidInput(f"outputs are in one file or in two, got {len(paths)}")
    files = [check_path("a file of outputs", path) for path in paths]
    if len(files) == 2:
        return _alone(files[0]), _alone(files[1])
    path = files[0]
    kind = _kind(path)
    if kind == ".npy":
        raise InvalidInput(
            f"{shown(path)} holds one array; give two .npy files, of outputs on the one input and the other"
        )
    if kind == ".npz":
        return _pair(path, dict(_arrays(path)), of_runs)
    rows = list(_json_lines(path)) if kind == ".jsonl" else _parquet(path, both=True)
    by_name: dict[str, list[Any]] = {}
    for row in rows:
        if not isinstance(row, dict) or set(row) != {"input", "output"} or not isinstance(row["input"], str):
            raise InvalidInput(
                f'{shown(path)}: a file of both samples has rows {{"input": "data", "output": …}}, not {shortened(row)}'
            )
        by_name.setdefault(row["input"], []).append(row["output"])
    return _pair(path, by_name, of_runs)


def names_in(path: Path | str) -> tuple[str, str]:
    """What the two samples of a .npz file are called."""
    names = {name for name, _ in _arrays(Path(path))}
    for pair in SIDES:
        if names == set(pair):
            return pair
    raise InvalidInput(f"{shown(path)} holds {', '.join(map(plain, sorted(names)))}; no two samples")


def _kind(path: Path) -> str:
    kind = {".ndjson": ".jsonl"}.get(path.suffix, path.suffix)
    if kind not in (".npy", ".npz", ".jsonl", ".parquet"):
        raise InvalidInput(f"{shown(path)} is no file of outputs; these end in .npy, .npz, .jsonl or .parquet")
    return kind


def _pair(path: Path, by_name: dict[str, Any], of_runs: bool) -> tuple[Any, Any]:
    if of_runs and set(by_name) == set(SCORES):
        raise InvalidInput(
            f"{shown(path)} holds in and out, which look like scores of the canaries of one training run: --one-run "
            "judges them; if each row is the output of a run of its own, call the two samples data and neighbour, or x "
            "and y"
        )
    for one, two in SIDES:
        if set(by_name) == {one, two}:
            return by_name[one], by_name[two]
    names = ", ".join(map(plain, sorted(by_name))) or "nothing"
    raise InvalidInput(
        f"{shown(path)} holds {names}; two samples are called data and neighbour, x and y, or in and out"
    )


def _alone(path: Path) -> Any:
    kind = _kind(path)
    if kind == ".npy":
        return load_array(shown(path), path)
    if kind == ".jsonl":
        return list(_json_lines(path))
    if kind == ".parquet":
        return _parquet(path, both=False)
    arrays = [values for _, values in _arrays(path)]
    if len(arrays) != 1:
        raise InvalidInput(f"{shown(path)} holds {len(arrays)} arrays; of two files each holds one")
    return arrays[0]


def load_array(name: str, path: Path | str) -> NDArray[Any]:
    """The array of a .npy file. Raises `InvalidInput` that begins with the name."""
    values = _loaded(name, path)
    if not isinstance(values, np.ndarray):
        raise InvalidInput(f"{name} holds several arrays (.npz); write one with numpy.save")
    if values.ndim == 0:
        raise InvalidInput(f"{name} holds a single number, {values}; axis 0 must count records")
    return values


def _unreadable(name: str, error: OSError) -> InvalidInput:
    return InvalidInput(f"cannot read {name}: {error.strerror or error}; give the path of a file that can be read")


def _loaded(name: str, path: Path | str, member: str = "") -> Any:
    """What NumPy reads, no pickle among it: an array, or of a member of an archive its array."""
    try:
        loaded = np.load(path, allow_pickle=False, max_header_size=10_000)
        if not member:
            return loaded
        with loaded:
            return loaded[member]
    except MemoryError as error:
        raise InvalidInput(f"{name} says that it holds more than fits into memory") from error
    except Exception as error:  # NumPy's header parser raises whatever Python's does
        if isinstance(error, OSError) and error.errno is not None:
            raise _unreadable(name, error) from error
        what = "is not an array in NumPy's .npy format; write it with numpy.save"
        if "Object arrays" in str(error):
            what = "holds Python objects; save numbers or strings"
        raise InvalidInput(f"{name} {what}") from error


def _arrays(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise _unreadable(shown(path), error) from error
        raise InvalidInput(
            f"cannot read {shown(path)}: not an archive of numpy.savez; write it with numpy.savez"
        ) from error
    if sum(member.file_size for member in members) > MOST_BYTES or len(members) > 16:
        raise InvalidInput(f"{shown(path)} holds more than {MOST_BYTES:,} bytes, or more than 16 arrays")
    for member in members:
        name = member.filename.removesuffix(".npy")
        outcome = _loaded(f"{plain(name)} in {shown(path)}", path, name)
        if not isinstance(outcome, np.ndarray):
            raise InvalidInput(f"{plain(name)} in {shown(path)} is not an array; write the file with numpy.savez")
        yield name, outcome


def _json_lines(path: Path) -> Iterator[Any]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(BYTES + 1), b""), 1):
                if number > MOST_ROWS or len(line) > BYTES:
                    raise InvalidInput(f"{shown(path)} has more than {MOST_ROWS:,} lines, or a line of {BYTES:,} bytes")
                if not line.strip():
                    continue
                try:
                    yield parsed(line)
                except InvalidInput as error:
                    raise InvalidInput(f"{shown(path)}, line {number}: {error}") from error
    except OSError as error:
        raise _unreadable(shown(path), error) from error


def _parquet(path: Path, *, both: bool) -> list[Any]:
    """Rows of a Parquet file: the value of its only column, or a list; of a file of both with the column `input`."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InvalidInput(f"{shown(path)} needs pyarrow: pip install 'dpcheck[parquet]'") from error
    try:
        file = parquet.ParquetFile(path)
        size = sum(file.metadata.row_group(k).total_byte_size for k in range(file.metadata.num_row_groups))
        if size > MOST_BYTES or file.metadata.num_rows > MOST_ROWS:
            raise InvalidInput(f"{shown(path)} has more than {MOST_ROWS:,} rows or {MOST_BYTES:,} bytes")
        table = file.read()
    except InvalidInput:
        raise
    except Exception as error:  # pyarrow raises its own, and OSError for what is no such file
        raise InvalidInput(f"cannot read {shown(path)} as Parquet: {plain(str(error))}") from error
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    sides = columns.pop("input", None) if both else None
    if not columns or (both and sides is None):
        raise InvalidInput(
            f"{shown(path)} needs a column of outputs"
            + (" and a column `input`, which says data or neighbour; or give a file of each" if both else "")
        )
    outputs = [list(row) if len(row) > 1 else row[0] for row in zip(*columns.values(), strict=True)]
    return outputs if sides is None else [{"input": s, "output": o} for s, o in zip(sides, outputs, strict=True)]


# -- writing ---------------------------------------------------------------------------------------------------------


def record_outputs(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    *,
    trials: int = 100_000,
    seed: int = 0,
    adjacency: str | None = "replace-one",
    halts: bool = False,
    workers: int | None = None,
) -> tuple[Any, Any]:
    """Runs a mechanism `trials` times on each input: what `audit_samples` takes, and `keep_outputs` writes.

    The order of calls is drawn, block by block, as `dp.audit` does. Arguments are those of `dp.audit`, and `workers` as
    in `dp.in_workers`.

    Raises:
        InvalidInput, MechanismError: as `dp.audit`; and at once where it draws from a global generator, as nobody could
            see that in its outputs.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or not fewest_rows() <= trials <= MOST_ROWS:
        raise InvalidInput(
            f"trials must lie between {fewest_rows()} and {MOST_ROWS:,}: outputs are kept, got {trials!r}"
        )
    check_mechanism(mechanism)
    describe_pair(data, neighbour, adjacency)
    check_seed(seed)
    encoder = Encoder(mechanism_name(mechanism), halts=halts)
    with spread(mechanism, workers) as run:
        runner = Runner(run, (data, neighbour), seed, encoder, block_size(trials, seeds.CHUNK))
        runner.outputs(0, 1, "recorded", "first")  # before all are run: whoever draws from elsewhere is told now
        if elsewhere := runner.elsewhere():
            raise MechanismError(f"{encoder.name}: nothing could be concluded of its outputs: {elsewhere}")
        drawn = plans.draw(runner, trials, "recorded")
    runner.check_inputs()
    one, two = (_plainly(outputs.raw) for outputs in drawn)
    return one, two


def _plainly(raw: Any) -> Rows:
    """Outputs as one array; of several parts their columns side by side, or rows of objects."""
    parts = [as_array(part) for part in raw] if isinstance(raw, tuple) else [as_array(raw)]
    parts = [np.ma.filled(p.astype(float), np.nan) if isinstance(p, np.ma.MaskedArray) else p for p in parts]
    if len(parts) == 1:
        return parts[0]
    if all(part.dtype.kind in NUMBERS for part in parts):
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    return as_array(list(zip(*(part.tolist() for part in parts), strict=True)))


def check_kept(path: Path | str) -> None:
    """Raises `InvalidInput` where outputs could not be written: before they are made."""
    path = check_path("the file to keep outputs in", path)
    if path.suffix not in KEPT:
        raise InvalidInput(f"{shown(path)}: outputs are kept in a file that ends in {' or '.join(KEPT)}")
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {shown(path.parent)} to keep {shown(path.name)} in")


def keep_outputs(path: Path | str, x: Any, y: Any) -> None:
    """Writes both samples: arrays of numbers or words as .npz, anything that JSON can say as .jsonl."""
    check_kept(path)
    path = Path(path)
    samples = dict(zip(SIDES[0], map(as_array, (x, y)), strict=True))
    for name, given in zip("xy", (x, y), strict=True):
        if as_array(given).ndim == 0:
            raise InvalidInput(f"{name} must be an array or a list of outputs, one a run, got {shortened(given)}")
    if path.suffix == ".npz":
        for rows in samples.values():
            if rows.dtype.kind not in NUMBERS + WORDS:
                raise InvalidInput(f"{shown(path)} holds arrays of numbers or words only; keep these outputs as .jsonl")
        np.savez(path, allow_pickle=False, **samples)
        return
    lines = [_line(side, row) for side, rows in samples.items() for row in rows.tolist()]
    path.write_text("".join(lines), encoding="utf-8")


def _line(side: str, row: Any) -> str:
    try:
        return json.dumps({"input": side, "output": row}, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"JSON cannot say {shortened(row)} ({error}); keep numbers as .npz") from error
