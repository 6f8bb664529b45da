"""Which stored results count: those that keep the rules of `judge.enforce`, with witnesses recomputed as they are read.

A record comes from a committed file or a store, so from anyone. What it says is held against today's check and claim:
a forged line accuses nobody, and a graver or weaker record of the same check speaks in its place.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcheck import carried
from dpcheck.carried import PACKAGE
from dpcheck.engine import history, judge, memo, verifiers
from dpcheck.engine.history import Chosen
from dpcheck.engine.judge import Judged
from dpcheck.engine.places import carried_along
from dpcheck.engine.records import Record, Refused, Unread, read
from dpcheck.engine.shelves import Shelves
from dpcheck.engine.sources import Snapshot
from dpcheck.errors import DpcheckError, WitnessRejected
from dpcheck.verdicts import Outcome, Witness

if TYPE_CHECKING:
    from dpcheck.isolation import Isolated
    from dpcheck.witnesses import Violation


def admitted(
    records: Sequence[Record | Unread],
    catalogue: Shelves[Any, Any],
    refused: list[Refused],
    *,
    only: Collection[str] | None = None,
    anew: bool = False,
) -> dict[str, Chosen]:
    """Check id -> the record that speaks for it, of the checks that there are.

    Args:
        records: those that are unread are read, and held against the rules, when they would speak.
        refused: takes the records that break a rule; another one of the same check then speaks.
        only: ids of the checks that matter; the witnesses of others are left alone.
        anew: verify witnesses that were verified here before, too; what is published rests on that.
    """
    checks = {id: check for id, check in catalogue.checks.items() if only is None or id in only}
    current = catalogue.fingerprints({record.check for record in records} & set(checks))
    here = [record for record in records if record.check in checks]

    def keeps_rules(record: Record) -> bool:
        return _keeps_rules(record, checks[record.check], catalogue, current, refused)

    kept = history.by_check(each for each in here if isinstance(each, Unread) or keeps_rules(each))
    files = verifiers.of(catalogue.layout, catalogue.paths)
    with contextlib.ExitStack() as stack:
        verified: dict[str, WitnessRejected | None] = {}
        child: list[Isolated] = []

        def verify(witness: Witness, /, **options: Any) -> Violation:
            if not child:
                from dpcheck.isolation import Isolated
                from dpcheck.witnesses import known

                stack.enter_context(known(files))
                child.append(stack.enter_context(Isolated()))
            return child[0].verify(witness, **options)

        def afresh(witness: Witness) -> bool:
            """The verifiers that dpcheck brings along stand alone; what those of others import, nobody knows."""
            paper = witness.kind.partition(".")[0]
            ours = verifiers.is_ours(paper) or files.get(paper) == carried.verifiers().get(paper, ())
            return anew or not ours

        def counted(row: Record | Unread) -> Record | None:
            record = row if isinstance(row, Record) else next(iter(read([(row.where, row.text)], refused)), None)
            if record is None or (isinstance(row, Unread) and not keeps_rules(record)):
                return None
            return record if _proves(record, checks, catalogue, verify, verified, refused, afresh) else None

        chosen = {id: history.strongest(kept[id], current[id], counted) for id in sorted(kept)}
    return {
        id: replace(c, record=replace(c.record, expected=_expected(checks[id], c.record)))
        for id, c in chosen.items()
        if c is not None
    }


def _expected(check: Judged, record: Record) -> bool:
    return record.verdict.outcome is Outcome.SKIPPED or record.verdict.outcome in check.expect


def _keeps_rules(
    record: Record, check: Judged, catalogue: Shelves[Any, Any], current: Mapping[str, str], refused: list[Refused]
) -> bool:
    """Everything but the witness, which takes time."""
    fresh = current[check.id] == record.sources
    try:
        if record.label != check.label or (fresh and record.kind != check.kind):
            raise judge.RuleBroken(f"it says that {check.id} is a {record.kind} check of {record.label}")
        judge.enforce(check, record.verdict, catalogue.claims.get(check.label), verify=_trusting, fresh=fresh)
        if not record.created:  # of a committed file: no checksum says that it stands as dpcheck wrote it
            judge.enforce_told(record.verdict)
    except DpcheckError as error:
        refused.append(Refused(_name(record), str(error)))
        return False
    return True


def _trusting(witness: Witness, /, **options: Any) -> Violation:
    return None  # type: ignore[return-value]


def _proves(
    record: Record,
    checks: Mapping[str, Judged],
    catalogue: Shelves[Any, Any],
    verify: judge.Verify,
    verified: dict[str, WitnessRejected | None],
    refused: list[Refused],
    afresh: Callable[[Witness], bool],
) -> bool:
    """Whether a record's witness verifies against today's claim; True for a record without one."""
    witness, check = record.verdict.witness, checks[record.check]
    if witness is None:
        return True
    key = f"{check.id} {witness.digest}"
    if key not in verified:
        private = check.kind == "privacy"
        asked = (witness.digest, str(private), *_of_verifying(catalogue, check.label))
        try:
            if afresh(witness) or memo.read("verified", *asked) is None:
                verify(witness, assumptions=catalogue.assumptions(check.label), private=private)
                memo.write(True, "verified", *asked)
            verified[key] = None
        except WitnessRejected as error:
            verified[key] = error
            refused.append(Refused(_name(record), f"its witness does not verify: {error}"))
    return verified[key] is None


def _of_verifying(catalogue: Shelves[Any, Any], label: str) -> tuple[str, ...]:
    """On what the verification of a witness depends, besides the witness: the claim's hypotheses, and the verifiers."""
    claim = catalogue.claims.get(label)
    return "" if claim is None else catalogue.digest(label), _verifiers(), memo.versions()


@functools.lru_cache(maxsize=1)
def _verifiers() -> str:
    here = Snapshot()
    files = here.of_modules("dpcheck.isolation") | set((PACKAGE / "witnesses").glob("*.py"))
    return memo.digest(files.union(*carried.verifiers().values()), carried_along().name)


def _name(record: Record) -> str:
    return f"the stored result of {record.check} (size {record.size}, seed {record.seed})"
