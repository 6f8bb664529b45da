"""What comes with the package so that a first command answers at once: `python -m dpcheck.engine.bringing` writes it.

It is what commands keep for later ones anyway, under keys that do not depend on where the package lies: an entry is
found while all that it was made of is as it was, and whoever edits a source works out anew what depends on it.
"""

from __future__ import annotations

import hashlib
from typing import Any

from dpcheck import carried
from dpcheck.engine import fetching, history, index, layout, memo
from dpcheck.engine.admission import admitted
from dpcheck.engine.kept import Kept, content
from dpcheck.engine.records import Refused, told
from dpcheck.engine.sources import Snapshot
from dpcheck.errors import DpcheckError


def asked() -> dict[tuple[str, ...], Any]:
    """The entries that commands about the content of dpcheck read and write, whatever the label.

    Witnesses are verified anew. Raises `DpcheckError` where the content, or a record of it, is amiss.
    """
    root = carried.folder()
    here = layout.find(root)
    with memo.taken() as entries:
        known = index.whole(here)
        refused: list[Refused] = []
        records = [record for path in here.records if path.is_file() for record in history.read_jsonl(path, refused)]
        admitted(records, known, refused, anew=True)
        for label in known.claims:
            known.transcript(label)
        _answers(here, known)
        Snapshot()
    if amiss := [*map(str, known.errors), *told(refused)]:
        raise DpcheckError(amiss[0])
    return {key: _of_today(value, here) if key[0] == "facts" else value for key, value in entries.items()}


def _of_today(facts: dict[str, Any], here: layout.Layout) -> dict[str, Any]:
    """Facts of the files that there are."""
    there = {hashlib.sha256(file.read_bytes()).hexdigest() for file in content(here)}
    return {hashed: known for hashed, known in sorted(facts.items()) if hashed in there}


def _answers(here: layout.Layout, known: index.Index) -> None:
    """What `run` and `plan` ask of every statement: which files hold what, and fingerprints."""
    found = fetching.lazily(here, kept=Kept(here))
    statements = list(dict.fromkeys(claim.statement_label for claim in known.claims.values()))
    for label in statements:
        found.conform(found.select([label]))
    for name in (*statements, *index.algorithms(), *known.papers):
        found.naming([name])
    found.fingerprints()
    found.keep()


if __name__ == "__main__":
    memo.bring(asked())
