"""A million hostile inputs: `python tests/fuzz.py [INPUTS] [--seed N]`, as `make fuzz` does, fresh ones every day.

Every reader of what may come from elsewhere is given documents with bytes, places or values changed. It may refuse by
an error of dpcheck, or read; any other exception, and more than `LIMIT` CPU seconds for one, is a failure, of which the
input is written to `.dpcheck/fuzz/`. Hypothesis draws far slower, and shrinks: what is found here becomes a test of
`tests/engine/test_foreign_files.py`. `guided.py` gives the same readers what reaches new lines of theirs.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import FAILED, TABLE

import dpcheck as dp
from dpcheck import certificates, foreign
from dpcheck.auditing.anytime import State
from dpcheck.engine import history
from dpcheck.engine.mutate.table import Table
from dpcheck.errors import DpcheckError
from dpcheck.privacy import PureDP
from dpcheck.pytest_plugin.evidence import log_wealth
from dpcheck.pytest_plugin.failures import Failures
from dpcheck.recorded.files import keep_outputs, read_outputs
from dpcheck.verdicts import Witness
from dpcheck.witnesses import verify

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 5.0
"""CPU seconds for one input."""
PATIENCE = 20
"""Wall-clock time, in multiples of it, after which one that waits is given up: the machine may be busy."""
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**63, -(10**30), 1.5, 1e308, 5e-324, float("nan"), float("inf"), "", "nan", "1/0", "1/3",
    "1e100000000", "9" * 5000, "\x1b[2J", "<script>alert(1)</script>", "\udc80", [], {}, [[]], {"a": [1]}, [1e9] * 3,
)  # fmt: skip
CLAIM = PureDP(0.5)
RARER = {"witness, recomputed": 100, "evidence": 20, "anytime state": 5}
"""Readers that compute with what they read have a part of the inputs of the others."""


class Hang(BaseException):
    """No reader may catch it."""


def edited(rng: random.Random, value: Any) -> Any:
    """A copy with a few places replaced, left out, or exchanged for others of the document."""
    found = json.loads(json.dumps(value))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = found
        while isinstance(place, dict | list) and place:
            key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.3:
                what = rng.randrange(6)
                if what == 0:
                    del place[key]
                elif what == 1 and isinstance(place[key], int | float):
                    place[key] = rng.choice((-place[key], place[key] * 10**6, place[key] + 1, str(place[key])))
                else:
                    place[key] = copy.deepcopy(rng.choice(JUNK))
                break
            place = place[key]
    return found


def noisy(rng: random.Random, content: bytes) -> bytes:
    """Bytes of which a few are flipped, gone, doubled or new."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, length = rng.randrange(len(found) + 1), rng.choice((1, 1, 2, 8, 64, len(found)))
        what = rng.randrange(4)
        if what == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            del found[at : at + length]
        elif what == 2:
            found[at:at] = found[at : at + length]
        else:
            found[at : at + rng.choice((0, 1, length))] = rng.randbytes(rng.choice((1, 4, 16)))
    return bytes(found)


def text_of(value: Any) -> bytes:
    return json.dumps(value).encode()


@dataclass(frozen=True)
class OfFile:
    """A reader of a file: where that lies, what inputs are made from, and the call."""

    path: Path
    contents: list[bytes]
    read: Callable[[Path], Any]

    def __call__(self, rng: random.Random) -> tuple[bytes, Callable[[], Any]]:
        content = rng.choice(self.contents)
        if self.path.suffix in (".json", ".jsonl") and rng.random() < 0.6:
            lines = content.splitlines()
            at = rng.randrange(len(lines))
            if content.count(b"\n") <= 1:
                content = text_of(edited(rng, json.loads(content)))
            else:
                with_one = [*lines[:at], _line(rng, lines[at]), *lines[at + 1 :]]
                content = b"\n".join(with_one) + b"\n"
        else:
            content = noisy(rng, content)
        self.path.write_bytes(content)
        return content, lambda: self.read(self.path)


class Readers:
    """Every reader: (an input) -> None, and what inputs are made from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        witnesses = [json.loads(path.read_text()) for path in sorted((ROOT / "reports/witnesses").rglob("*.json"))]
        self._counted = next(each for each in witnesses if each["kind"].startswith("sampled."))
        certificate = min((ROOT / "reports/certificates").rglob("*.json"), key=lambda path: path.stat().st_size)
        records = (ROOT / "reports/records.jsonl").read_bytes().splitlines(keepends=True)[::200]
        self._states = [self._audited(claim) for claim in (CLAIM, dp.ZCDP(0.1))]
        counts = np.array(self._states[0]["counts"])
        # Of 400 held-out runs on each input it is not known which cell they fell into; any that fit will do.
        before = np.minimum(counts, np.maximum(0, 800 - (np.cumsum(counts).reshape(counts.shape) - counts)))
        self._taught = before.astype(np.int64)
        State.from_dict(self._states[0], CLAIM, self._taught, 1e-3, 0)  # or nothing but refusals would be tried
        self._outputs = self._kept()
        self.all: dict[str, Callable[[random.Random], tuple[bytes, Callable[[], Any]]]] = {
            "witness": self._file("w.json", [text_of(each) for each in witnesses[::9]], Witness.load),
            "witness, recomputed": self._recomputed,
            "records": self._file("records.jsonl", records, lambda path: history.read(path, [])),
            "mutants": self._file("mutants.jsonl", [TABLE.text().encode()], lambda path: Table.read(path).text()),
            "certificate": self._file("c.json", [certificate.read_bytes()], certificates.load),
            "failures": self._file("failures/one.json", [text_of(FAILED)], lambda path: Failures(path.parent).read()),
            "anytime state": self._resumed,
            "evidence": self._evidence,
            **{f"outputs {s}": self._file(f"o{s}", [c], read_outputs) for s, c in self._outputs.items()},
            "number": self._number,
        }

    def _audited(self, claim: dp.Guarantee) -> dict[str, Any]:
        def noise(data: Any, rng: np.random.Generator, trials: int) -> Any:
            return data.sum() + rng.laplace(size=trials)

        state = dp.audit(noise, np.zeros(1), np.ones(1), claim, mode="anytime", trials=1_000).state
        assert state is not None
        return dict(state)

    def _kept(self) -> dict[str, bytes]:
        rows = np.arange(40.0)
        kept = {}
        for suffix in (".npz", ".jsonl"):
            keep_outputs(self._folder / f"o{suffix}", rows, rows + 1)
            kept[suffix] = (self._folder / f"o{suffix}").read_bytes()
        return kept

    def _file(self, name: str, contents: list[bytes], read: Callable[[Path], Any]) -> OfFile:
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        return OfFile(path, contents, read)

    def _recomputed(self, rng: random.Random) -> tuple[bytes, Callable[[], Any]]:
        """With a digest that fits, in this process, without the bounds of `dpcheck.isolation`."""
        parameters = edited(rng, self._counted["parameters"])
        fields = {name: str(self._counted[name]) for name in ("label", "kind", "claimed", "found")}
        return text_of(parameters), lambda: verify(Witness(**fields, parameters=parameters))

    def _resumed(self, rng: random.Random) -> tuple[bytes, Callable[[], Any]]:
        state = edited(rng, self._states[0])
        return text_of(state), lambda: State.from_dict(state, CLAIM, self._taught, 1e-3, 0)

    def _evidence(self, rng: random.Random) -> tuple[bytes, Callable[[], Any]]:
        which = rng.randrange(2)
        state = edited(rng, self._states[which])

        def read() -> None:
            assert not np.isnan(log_wealth(state, (CLAIM, dp.ZCDP(0.1))[which])).any()

        return text_of(state), read

    def _number(self, rng: random.Random) -> tuple[bytes, Callable[[], Any]]:
        text = "".join(rng.choice("0123456789.eE+-/ _naif\u0663") for _ in range(rng.choice((1, 4, 12, 40))))
        return text.encode(), lambda: foreign.fraction(text)


def _line(rng: random.Random, line: bytes) -> bytes:
    try:
        return text_of(edited(rng, json.loads(line)))
    except ValueError:
        return noisy(rng, line)


@contextmanager
def alarmed(seconds: float) -> Iterator[None]:
    """Raises `Hang` in the middle of whatever takes more CPU time, or waits `PATIENCE` times as long."""

    def rung(*_: Any) -> None:
        raise Hang

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, PATIENCE * seconds)}
    before = {number: signal.signal(number, rung) for number in timers}
    try:
        for timer, after in timers.values():
            signal.setitimer(timer, after)
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def fuzz(inputs: int, seed: int, kept: Path, say: Callable[[str], None] = print) -> int:
    """The number of failures of so many inputs; see `RARER`."""
    failures = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        readers = Readers(Path(folder)).all
        common = inputs / sum(1 / RARER.get(name, 1) for name in readers)
        for name, made in readers.items():
            rng = random.Random(f"{seed} {name}")
            each = max(1, round(common / RARER.get(name, 1)))
            begun, refused, failed = time.process_time(), 0, 0
            for _ in range(each):
                content, read = made(rng)
                try:
                    with alarmed(LIMIT):
                        read()
                except DpcheckError:
                    refused += 1
                except (Exception, Hang) as error:
                    failed += 1
                    kept.mkdir(parents=True, exist_ok=True)
                    (kept / f"{name.replace(' ', '-')}-{failed}").write_bytes(content)
                    if failed <= 3:
                        say(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            spent = max(time.process_time() - begun, 0.01)  # the least that some systems count
            say(f"{name:20} {each:9,} inputs, {refused:9,} refused, {failed} failures, {each / spent:8,.0f} a second")
            failures += failed
    return failures


def main() -> int:
    today = int(datetime.date.today().strftime("%Y%m%d"))
    parser = argparse.ArgumentParser(description="Feeds hostile inputs to every reader of dpcheck.")
    parser.add_argument("inputs", nargs="?", type=float, default=1e6)
    parser.add_argument("--seed", type=int, default=today, help="default: the date, so that every night tries others")
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    begun = time.process_time()
    failures = fuzz(int(asked.inputs), asked.seed, ROOT / ".dpcheck" / "fuzz")
    print(f"{failures} failures; {time.process_time() - begun:.0f} CPU seconds")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
