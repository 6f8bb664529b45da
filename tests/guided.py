"""Hostile files for the readers of `fuzz.py`, led by the branches that they reach: `make fuzz-guided`.

`python tests/guided.py READER RUNS`, with atheris installed, which has wheels for Python 3.11 to 3.13. Files that
reached something new are kept under `.dpcheck/fuzz/`, where the next night begins, and so is the file of a failure.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dpcheck"]):
    from fuzz import LIMIT, ROOT, OfFile, Readers

    from dpcheck.errors import DpcheckError


def main(name: str, runs: int) -> None:
    kept = ROOT / ".dpcheck" / "fuzz" / name.replace(" ", "-")
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        readers = {key: each for key, each in Readers(Path(folder)).all.items() if isinstance(each, OfFile)}
        if name not in readers:
            sys.exit(f"no reader is called {name!r}; there are {', '.join(readers)}")
        reader = readers[name]
        for number, content in enumerate(reader.contents):
            (kept / f"good-{number}").write_bytes(content)

        def read(content: bytes) -> None:
            reader.path.write_bytes(content)
            with contextlib.suppress(DpcheckError):
                reader.read(reader.path)

        options = [f"-runs={runs}", f"-timeout={LIMIT:.0f}", "-max_len=65536", f"-artifact_prefix={kept}/failed-"]
        atheris.Setup([sys.argv[0], *options, str(kept)], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(float(sys.argv[2])))
