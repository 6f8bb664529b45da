"""A violation as ten lines of NumPy and SciPy, for whoever does not want to believe dpcheck.

The event is the simplest that shows it: one column beyond a rounded threshold, or equal to one value. It is chosen on
rows that the script does not count, and the script computes what it says from counts of its own: a Clopper-Pearson
bound for either input, at half of the failure probability each.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import foreign
from dpcheck.auditing.audit import AuditResult
from dpcheck.errors import InvalidInput
from dpcheck.recorded.files import names_in
from dpcheck.recorded.rows import NUMBERS, WORDS, Rows
from dpcheck.statistics.binomial import clopper_pearson

QUANTILES = np.concatenate([[0.002, 0.005, 0.01, 0.02], np.linspace(0.05, 0.95, 37), [0.98, 0.99, 0.995, 0.998]])
VALUES, OFTEN = 30, 5
"""Most values of a column that are tried as events, and how often they must have been seen."""
LONGEST = 2000
"""Characters of an input that is written into a script."""
MARKED_DOWN = 1e-3
"""Part of the failure probability at which events are compared: against the winner's curse."""


Holds = Callable[[Rows], NDArray[np.bool_]]


@dataclass(frozen=True)
class Event:
    """A set of outputs, and the bound on epsilon by which it was chosen.

    Attributes:
        text: as a NumPy expression in the outputs `z`; holds: outputs -> where they are in it.
        swapped: it is likelier on `neighbour`.
    """

    text: str
    holds: Holds
    swapped: bool
    bound: float


def bound(hits: int, runs: int, hits_other: int, runs_other: int, delta: float, failure_probability: float) -> float:
    """What the script computes: log((low - delta) / high); -inf where nothing is shown."""
    low = float(clopper_pearson(hits, runs, failure_probability / 2, "lower")[0])
    high = float(clopper_pearson(hits_other, runs_other, failure_probability / 2, "upper")[1])
    return math.log((low - delta) / high) if low > delta else -math.inf


def simplest_event(x: Rows, y: Rows, delta: float, failure_probability: float, above: float | None = None) -> Event:
    """The event of one column whose bound is largest on these rows.

    Args:
        above: an epsilon to exceed; then the event that is shortest to write among those that exceed it half as far.

    Raises:
        InvalidInput: outputs that are neither numbers nor words.
    """
    if x.dtype.kind not in NUMBERS.replace("c", "") + WORDS:
        raise InvalidInput("a script counts outputs that are real numbers or words; these are rows of another kind")
    level = MARKED_DOWN * failure_probability
    best = Event("z != z", lambda z: np.zeros(len(z), dtype=bool), False, -math.inf)
    events = []
    for text, holds in _events(x, y):
        seen = int(holds(x).sum()), int(holds(y).sum())
        for swapped in (False, True):
            (hits, runs), (others, of_others) = ((seen[0], len(x)), (seen[1], len(y)))[:: -1 if swapped else 1]
            event = Event(text, holds, swapped, bound(hits, runs, others, of_others, delta, level))
            best = event if event.bound > best.bound else best
            events.append(event)
    if above is None or not best.bound > above:
        return best
    clear = [event for event in events if event.bound >= (best.bound + above) / 2]
    return min(clear, key=lambda event: (len(event.text), -event.bound))


def _events(x: Rows, y: Rows) -> Iterator[tuple[str, Holds]]:
    """What is tried, column by column."""
    flat = np.concatenate([x.reshape(len(x), -1), y.reshape(len(y), -1)])
    for place, both in enumerate(flat.T):
        z = "z" if x.ndim == 1 else f"z.reshape(len(z), -1)[:, {place}]"
        for text, holds in _of_column(z, both):
            yield text, functools.partial(_in_column, place, holds)


def _in_column(place: int, holds: Holds, rows: Rows) -> NDArray[np.bool_]:
    return holds(rows.reshape(len(rows), -1)[:, place])


def _of_column(z: str, both: Rows) -> Iterator[tuple[str, Holds]]:
    values, counts = np.unique(both, return_counts=True)
    commonest = np.argsort(-counts, kind="stable")[:VALUES]
    for value in values[commonest[counts[commonest] >= OFTEN]]:
        if value == value:
            yield f"{z} == {value.item()!r}", functools.partial(_compared, operator.eq, value)
    if both.dtype.kind in WORDS:
        return
    numbers = both.astype(float)
    if np.isnan(numbers).any():
        yield f"np.isnan({z})", np.isnan
        numbers = numbers[~np.isnan(numbers)]
    for cut in np.unique(_rounded(np.quantile(numbers, QUANTILES))).tolist() if len(numbers) else ():
        yield f"{z} >= {cut!r}", functools.partial(_compared, operator.ge, cut)
        yield f"{z} < {cut!r}", functools.partial(_compared, operator.lt, cut)


def _compared(how: Callable[[Any, Any], Any], value: Any, column: Rows) -> NDArray[np.bool_]:
    return np.asarray(how(column, value))


def _rounded(cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """To two digits of their spread."""
    spread = float(cuts[-1] - cuts[0])
    return np.round(cuts, 1 - math.floor(math.log10(spread))) if spread > 0 else cuts


def of(result: AuditResult, samples: tuple[Rows, Rows], lines: Sequence[str], *, plain: bool = False) -> str:
    """The program: `lines` make x and y, outputs that chose no event. A second test, with a level of its own.

    Args:
        samples: outputs on both inputs: the earlier halves choose the event, the later ones say whether it shows.
        plain: the shortest event that shows it clearly, in place of the one that shows most.

    Raises:
        InvalidInput: no event of one column shows it.
    """
    epsilon, delta, alpha = result.epsilon_claimed, result.delta, result.failure_probability
    x, y = (rows[: len(rows) // 2] for rows in samples)
    event = simplest_event(x, y, delta, alpha, epsilon if plain else None)
    later = [rows[len(rows) // 2 :] for rows in samples]
    hits = [int(event.holds(rows).sum()) for rows in later]
    order = slice(None, None, -1) if event.swapped else slice(None)
    (one, of_one), (two, of_two) = list(zip(hits, map(len, later), strict=True))[order]
    value = bound(one, of_one, two, of_two, delta, alpha)
    if value <= epsilon:
        raise InvalidInput(
            "no half-line or value of one column shows it by itself on half of the outputs; the witness does"
        )
    swap = ["x, y = y, x  # the event is likelier on the neighbour"] if event.swapped else []
    what = f"{foreign.plain(result.mechanism)} is not {foreign.plain(str(result.claim))}"
    return "\n".join(
        [
            f"# {what}{MARK}",
            "import numpy as np",
            "from scipy.stats import beta",
            *lines,
            *swap,
            f"p, q = (int(np.sum({event.text})) for z in (x, y))",
            f"low = beta.ppf({alpha / 2!r}, p, len(x) - p + 1)  # Clopper and Pearson, a half of {alpha:g} each",
            f"high = beta.ppf({1 - alpha / 2!r}, q + 1, len(y) - q)",
            f"found = np.log(max(low - {delta!r}, 1e-300) / high)",
            f'print(f"{{p}} of {{len(x)}}, {{q}} of {{len(y)}}: epsilon >= {{found:.4f}}, claimed {epsilon!r}")',
            "",
        ]
    )


MARK = ", if every output is a run of its own"
"""The end of the first line of every script."""


def is_script(path: Path) -> bool:
    """Whether an audit wrote this file. Raises `InvalidInput` where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline(LONGEST).rstrip("\n")
    except OSError as error:
        raise InvalidInput(f"cannot read {foreign.shown(path)}: {error.strerror}; name another script") from error
    return first.startswith("# ") and first.endswith(MARK)


def loaded(*files: str, ordered: bool) -> list[str]:
    """Lines that load the later halves of recorded outputs. Raises `InvalidInput` for files that NumPy cannot read."""
    if len(files) == 1 and files[0].endswith(".npz"):
        one, two = (f"np.load({files[0]!r})[{name!r}]" for name in names_in(files[0]))
    elif all(file.endswith(".npy") for file in files):
        one, two = (f"np.load({file!r})" for file in files)
    else:
        raise InvalidInput("NumPy reads outputs from two .npy files or one .npz file; keep them so")
    shuffle = [] if ordered else [f"x, y = ({SHUFFLE}.permutation(z) for z in (x, y))"]
    return [f"x, y = {one}, {two}", *shuffle, "x, y = (z[len(z) // 2 :] for z in (x, y))  # the others chose the event"]


SHUFFLE = "np.random.default_rng(0)"


def shuffled(x: Rows, y: Rows) -> tuple[Rows, Rows]:
    """As the script does."""
    return np.random.default_rng(0).permutation(x), np.random.default_rng(0).permutation(y)


def run_anew(
    reference: str, pair: tuple[str, str], *, trials: int, seed: int, per_call: bool, written: bool = False
) -> list[str]:
    """Lines that run a mechanism of a Python file, given as FILE:NAME, on two inputs.

    Args:
        pair: the files that hold them; written: they stand there as Python instead.
    """
    path, _, name = reference.rpartition(":")
    given, inputs = ("d", f"({', '.join(pair)})") if written else ("np.load(f)", repr(pair))
    call = f"{name}({given}, rng, {trials})"
    if per_call:
        call = f"np.array([{name}({given}, rng) for _ in range({trials})])"
    return [
        f"import sys; sys.path.insert(0, {str(Path(path).parent)!r})",
        f"from {Path(path).stem} import {name}",
        f"rng = np.random.default_rng({seed})",
        f"x, y = ({call} for {'d' if written else 'f'} in {inputs})",
    ]


def written(values: Any) -> str:
    """An input as Python. Raises `InvalidInput` where it is too long to read."""
    text = repr(values)
    if isinstance(values, np.ndarray):
        kind = "" if values.dtype in (np.dtype(float), np.dtype(int)) else f", dtype={values.dtype.str!r}"
        text = f"np.array({values.tolist()!r}{kind})"
    if len(text) > LONGEST:
        raise InvalidInput(f"an input of {len(text):,} characters is no part of a short script")
    return text
