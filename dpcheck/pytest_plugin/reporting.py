"""What a session found: one row a verdict, whoever asked; the summary on the terminal, and the file for machines."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpcheck import __version__

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult
    from dpcheck.pytest_plugin.session import Plugin
    from dpcheck.sessions import Identity, Settings
    from dpcheck.verdicts import Verdict

SCHEMA_VERSION = 2
SCHEMA = Path(__file__).with_name("report.schema.json")
GRAVITY = ("refuted", "differs", "undecided", "consistent", "holds", "skipped")
LINES = 40
"""Most lines of the summary, but for those of failed tests."""
TELLING = 20.0
"""An e-value that is shown of every audit that reaches it."""
Row = dict[str, Any]


def schema_text() -> str:
    """The JSON Schema of what `--dpcheck-json` writes."""
    return SCHEMA.read_text(encoding="utf-8")


# -- rows --------------------------------------------------------------------------------------------------------------


def of_verdict(verdict: Verdict, **fields: Any) -> Row:
    """The one shape of all results. Numbers are finite: an infinite one, such as the ε that would have been refuted
    where none would, is None."""
    return {
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "evidence": verdict.evidence,
        "notices": verdict.notices,
        "failure_probability": verdict.failure_probability,
        "premise_failure_probability": 0.0,
        "numbers": {name: _finite(value) for name, value in verdict.numbers.items()},
        "claim": "",
        "pair": "",
        "mode": "fixed",
        "runs": 0,
        "size": None,
        "on_top": False,
        "witness": None,
        "replayed": "",
        "account": None,
        **fields,
    }


def of_audit(
    test: str, settings: Settings, result: AuditResult, witness: str, identity: Identity, *, passed: bool
) -> Row:
    return of_verdict(
        result.verdict(),
        test=test,
        number=settings.number,
        kind="audit",
        subject=result.mechanism,
        claim=str(result.claim),
        pair=result.pair,
        mode=result.mode,
        # Those that an anytime audit took before, too: what a replay needs to see as much.
        runs=max(result.trials, result.counts["tested"] // 2),
        seed=result.seed,
        failure_probability=result.failure_probability,
        premise_failure_probability=result.premise_failure,
        witness=witness or None,
        replayed=settings.replayed,
        identity=dict(identity),
        passed=passed,
        seconds=result.seconds + result.mechanism_seconds,
    )


def _finite(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


# -- the file ----------------------------------------------------------------------------------------------------------


def document(plugin: Plugin) -> dict[str, Any]:
    """All of a session, as `report.schema.json` says."""
    rows, split = ordered(plugin), plugin.split
    return {
        "schema_version": SCHEMA_VERSION,
        "dpcheck": __version__,
        "session": {
            "profile": plugin.name,
            "seed": plugin.profile.seed,
            "failure_probability": plugin.profile.failure_probability,
            "spent": spent(rows),
            "on_top": on_top(rows),
            "share": None if split is None else split.share,
            "asking": 0 if split is None else len(split.asking),
            "checks": 0 if split is None else len(split.checks),
            "others": 0 if split is None else split.others,
            "unanswered": unanswered(plugin),
            "e_value": e_value(rows),
        },
        "audits": rows,
    }


def check_path(path: str) -> None:
    """Makes the folder of the file. Raises `pytest.UsageError` where no file can be written, before a test runs."""
    file = Path(path)
    if file.is_dir():
        raise pytest.UsageError(f"dpcheck: --dpcheck-json {path} is a folder; name a file")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"dpcheck: cannot write --dpcheck-json {path}: {error.strerror}") from error
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise pytest.UsageError(f"dpcheck: cannot write --dpcheck-json {path}: Permission denied")


def write(path: str, plugin: Plugin) -> None:
    text = json.dumps(document(plugin), indent=1, ensure_ascii=False, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def ordered(plugin: Plugin) -> list[Row]:
    """The rows in the order of their tests, whichever worker ran them."""
    split = plugin.split
    places = {} if split is None else {test: place for place, test in enumerate((*split.asking, *split.checks))}
    return sorted(plugin.results.values(), key=lambda r: (places.get(r["test"], len(places)), r["test"], r["number"]))


def unanswered(plugin: Plugin) -> list[str]:
    """Tests that had a share and told nothing: skipped, broken off, or lost with their worker."""
    answered = {test for test, _ in plugin.results}
    split = plugin.split
    return [] if split is None else [test for test in (*split.asking, *split.checks) if test not in answered]


def spent(rows: list[Row]) -> float:
    """By new audits: one that was run again, and is refuted again, claims nothing new."""
    new = (row for row in rows if (row["replayed"], row["outcome"]) != ("again", "refuted"))
    return _together(row for row in new if not row["on_top"])


def on_top(rows: list[Row]) -> float:
    """By audits whose test chose its own failure probability."""
    return _together(row for row in rows if row["on_top"])


def e_value(rows: list[Row]) -> float | None:
    """The mean of what audits that add up say: an e-value too, against "all of these kept what they claim"."""
    said = [row["account"]["product"] for row in rows if row["account"]]
    return math.fsum(each / len(said) for each in said) if said else None


def _together(rows: Iterable[Row]) -> float:
    return math.fsum(row[name] for row in rows for name in ("failure_probability", "premise_failure_probability"))


# -- the summary -------------------------------------------------------------------------------------------------------


def summary(terminal: Any, plugin: Plugin) -> None:
    """Refuted first; a line each, and what they may be wrong with together."""
    rows = sorted(ordered(plugin), key=lambda row: (row["passed"], GRAVITY.index(row["outcome"])))
    if not rows and not plugin.failures.remarks:
        return
    terminal.section("dpcheck")
    shown = [row for row in rows if not row["passed"]]
    shown += rows[len(shown) :][: max(0, LINES - len(shown))]
    for row in shown:
        number = f" #{row['number']}" if row["number"] > 1 else ""
        expected = " (expected)" if row["passed"] and row["outcome"] == "refuted" else ""
        before = {"again": " [failed before, unchanged]", "anew": " [failed before]"}.get(row["replayed"], "")
        lacking = _lacks_power(row, plugin)
        word = "NO POWER" if lacking else row["outcome"].upper()
        asked = "; not enough for what the test must detect" if lacking else ""
        said = f"{word:<11} {row['test']}{number}: {row['reason']}{asked}{expected}{before}"
        terminal.write_line(said, **({} if row["passed"] else {"red": True}))
        if row["witness"] and not row["passed"]:
            terminal.write_line(f"{'':<11} reproduce: dpcheck verify {row['witness']}")
    if len(shown) < len(rows):
        terminal.write_line(f"… and {len(rows) - len(shown)} more that failed no test; --dpcheck-json has all")
    for line in plugin.failures.remarks:
        terminal.write_line(line)
    _silent(terminal, plugin)
    _added_up(terminal, rows)
    terminal.write_line(_counted(rows, plugin))
    terminal.write_line(_spent(rows, plugin))


def _silent(terminal: Any, plugin: Plugin) -> None:
    silent = unanswered(plugin)
    if silent:
        more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
        terminal.write_line(f"no result from {', '.join(silent[:3])}{more}", yellow=True)


def _added_up(terminal: Any, rows: list[Row]) -> None:
    """What adds up over versions, the most telling first."""
    said = sorted((row for row in rows if row["account"]), key=lambda row: -row["account"]["product"])
    for row in [row for row in said if row["account"]["product"] >= TELLING] or said[:1]:
        product, versions = row["account"]["product"], row["account"]["versions"]
        chance = f"; while all keep it, it ever gets there with probability at most {1 / product:.2g}"
        terminal.write_line(
            f"{'EVIDENCE':<11} {row['test']}: e-value {product:.3g} against {row['claim']} from "
            f"{_many(versions, 'version')}{chance if product > 1 else ''}",
            **({"red": True} if product >= TELLING else {}),
        )
    if len(said) > 1:
        terminal.write_line(f"{'':<11} {len(said)} audits that add up, e-value of all together {e_value(rows):.3g}")


def _lacks_power(row: Row, plugin: Plugin) -> bool:
    """Whether a test failed because its audit, of which no more is to be said, could not have seen what it must."""
    if row["passed"] or row["outcome"] not in ("consistent", "undecided"):
        return False
    if str(row["numbers"].get("premise", "")).endswith((": they are not", ": it does not")):
        return False
    # A test may ask for more power than the profile does: its audit is consistent and fails for nothing else.
    own = row["kind"] == "audit" and row["outcome"] == "consistent"
    return own or wanting(row["numbers"], plugin.profile.must_detect)


def _counted(rows: list[Row], plugin: Plugin) -> str:
    counts = Counter(row["outcome"] for row in rows)
    said = " · ".join(f"{counts[outcome]} {outcome}" for outcome in GRAVITY if counts[outcome])
    if lacking := sum(_lacks_power(row, plugin) for row in rows):
        said += f" ({lacking} without the power that was asked for)"
    return f"{said or 'nothing audited'}; seconds {math.fsum(row['seconds'] for row in rows):.1f}"


def _spent(rows: list[Row], plugin: Plugin) -> str:
    """How sure all of it is together, and how that was split."""
    total, split = plugin.profile.failure_probability, plugin.split
    said = f"profile {plugin.name}, seed {plugin.profile.seed}; all wrong together with probability at most {total:g}"
    if split is None:
        return said
    parts = [f"{split.share:.3g} for each of {len(split.asking)} that ask"] if split.asking else []
    if split.checks:
        parts.append(f"{split.declared:.3g} declared by {_many(len(split.checks), 'collected check')}")
    if split.others:
        parts.append(f"{split.share:.3g} for {_many(split.others, 'other test')} together")
    own = on_top(rows)
    beyond = f"; on top of it {own:.3g} that tests chose themselves" if own else ""
    return f"{said}: {', '.join(parts)} (half of it for a test's first audit){beyond}"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def wanting(numbers: Mapping[str, Any], must_detect: float | None) -> bool:
    """Whether an audit that is one could not have refuted what it was to."""
    if must_detect is None or "detectable_epsilon" not in numbers:
        return False
    number = numbers["detectable_epsilon"]
    return number is None or number > must_detect
