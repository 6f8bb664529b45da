"""What all commands share: errors and exit codes, tables and colours, the catalogue and its results."""

from __future__ import annotations

import atexit
import contextlib
import enum
import errno
import gc
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from dpcheck.carried import PACKAGE
from dpcheck.cli.signals import stoppable
from dpcheck.cli.silence import doing, never_silent, shows_unicode
from dpcheck.errors import DpcheckError, InvalidInput, MechanismError, UnknownLabel, Unreadable, WitnessRejected
from dpcheck.excerpts import excerpt
from dpcheck.foreign import plain, shortened

if TYPE_CHECKING:
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.history import Chosen
    from dpcheck.engine.index import Index
    from dpcheck.engine.records import Record
    from dpcheck.engine.shelves import Shelves
    from dpcheck.engine.store import Failure
    from dpcheck.verdicts import Witness

F = TypeVar("F", bound=Callable[..., Any])
_ALSO = "--also FOLDER names a paper of your own"


class Exit(enum.IntEnum):
    """Exit codes. WAITING: cells are in other shards, so not every verdict was reached; UNKEPT: the verdicts of the run
    may be wrong together with a larger probability than a run promises."""

    EXPECTED = 0
    UNEXPECTED = 1
    USAGE = 2
    INTERNAL = 3
    UNDECIDED = 4
    NOTHING = 5
    WAITING = 6
    UNKEPT = 7
    NO_GUARANTEE = 8
    """What was planned is not private as promised, as far as is known: see `dpcheck plan --help`."""
    INTERRUPTED = 130
    """By Ctrl-C; 143 by SIGTERM."""


_OF_THE_SYSTEM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""What a disk or its owner refuses is no bug."""
_OF_THE_NAME = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP})
"""Nor is a name that nothing can have, unless dpcheck looks for a file of its own."""


_NO_NUMBER = re.compile(r"is not a valid (integer|float)(?: range)?(?=\.$|$)")
_NUMBERS = {"integer": "is not a whole number", "float": "is not a number"}
"""What Click says of a word in place of a number, in words."""


class Dpcheck(click.Group):
    """The group of all commands: an error of dpcheck is one line on stderr, anything else is a bug and says so."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)  # type: ignore[call-overload]
        # A shell that asks what completes a word hands its terminal over, with the line that is being typed on it.
        with stoppable() as came, contextlib.nullcontext() if "_DPCHECK_COMPLETE" in os.environ else never_silent():
            code = self._code(*args, **extra)
        if came and code == Exit.INTERRUPTED:
            code = 128 + came[0]
        sys.exit(int(code or 0))

    def _code(self, *args: Any, **extra: Any) -> Any:
        """The exit code of a command, its errors said."""
        code: Any
        try:
            code = super().main(*args, standalone_mode=False, **extra)  # type: ignore[call-overload]
        except click.ClickException as error:
            vars(error)["message"] = _NO_NUMBER.sub(lambda told: _NUMBERS[told[1]], error.message)
            error.show()
            code = Exit.USAGE
        except (click.Abort, KeyboardInterrupt):
            complain("interrupted")
            code = Exit.INTERRUPTED
        except WitnessRejected as error:
            complain(str(error))
            code = Exit.UNEXPECTED
        except Unreadable as error:
            complain(f"unreadable: {error}")
            code = Exit.USAGE
        except DpcheckError as error:
            complain(excerpt(str(error)) if isinstance(error, MechanismError) else str(error))
            code = Exit.USAGE
        except OSError as error:
            if error.errno == errno.EPIPE:  # `dpcheck list | head`
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                code = Exit.EXPECTED
            elif error.errno in _OF_THE_NAME and _is_given(error.filename):
                complain(f"cannot use {shortened(error.filename)}: {error.strerror}; give another name or folder")
                code = Exit.USAGE
            elif error.errno in _OF_THE_SYSTEM:
                where = f" {plain(str(error.filename))}" if error.filename else ""
                complain(f"cannot use{where}: {error.strerror}; make room, or name a folder that can be written")
                code = Exit.USAGE
            else:
                code = _bug(error)
        except Exception as error:
            code = _bug(error)
        return code

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        _refuse_nothing(rest)
        doing(name or "")
        if name in _AT_ONCE:
            gc.set_threshold(50_000, *_COLLECTING[1:])
            ctx.call_on_close(collect_as_ever)
            atexit.register(gc.freeze)  # Python looks through everything once more before it ends
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with the first sentence of its help, whole: click's own would end it after 45 letters."""
        rows = [(name, _sentence(self.commands[name].help or "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


_AT_ONCE = ("list", "show", "plan", "run")
"""What these import stays: to look through all of it for garbage, time and again, takes a sixth of their time."""
_COLLECTING = gc.get_threshold()


def collect_as_ever() -> None:
    """From here on something is computed."""
    gc.set_threshold(*_COLLECTING)


def _is_given(name: Any) -> bool:
    """Whether a file lies outside of dpcheck, as those do that users name."""
    return isinstance(name, str) and not Path(name).is_relative_to(PACKAGE)


def _refuse_nothing(words: Sequence[str]) -> None:
    """Raises a usage error of an empty word: a command would take it for the folder here, or for the default."""
    for before, word in zip(("", *words), words, strict=False):
        if not word:
            where = f"after {before}" if before.startswith("--") else "for an argument, ''"
        elif word.startswith("--") and word.endswith("="):
            where = f"after {word[:-1]}"
        else:
            continue
        raise click.UsageError(
            f"got nothing {where}; an unset variable of the shell leaves that behind: set it, or leave it out"
        )


def _sentence(text: str) -> str:
    """The first sentence of a help."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.?]) (?=[A-Z])", paragraph)[0]


def _bug(error: BaseException) -> Exit:
    traceback.print_exception(error)
    complain(f"internal error: {type(error).__name__}: {error}; this is a bug of dpcheck, please report it")
    return Exit.INTERNAL


def leave(code: Exit) -> NoReturn:
    """Ends the command with an exit code."""
    raise click.exceptions.Exit(int(code))


def complain(text: str) -> None:
    """One line on stderr."""
    click.echo(f"dpcheck: {plain(' '.join(text.split()))}", err=True)


# -- options ---------------------------------------------------------------------------------------------------------


LARGEST = 1e100
"""Above it, formulas leave the range of floating-point numbers."""


class WholeNumber(click.ParamType):  # type: ignore[type-arg]
    """A whole number, also as 1e5."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = float(value)
            if number != int(number):
                raise ValueError(value)
            if abs(number) > LARGEST:
                self.fail(f"{value} is beyond {LARGEST:g}, the largest number that is planned for", param, ctx)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a whole number", param, ctx)
        return int(number) if "e" in str(value).lower() else int(value)


MOST = 1e9
"""Seconds, or GiB, beyond which neither a timer nor the system can count."""


class Amount(click.ParamType):  # type: ignore[type-arg]
    """How much there may be of a unit, above 0."""

    name = "number"

    def __init__(self, unit: str) -> None:
        self.unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            amount = float(value)
        except ValueError:
            amount = math.nan
        if not 0 < amount <= MOST:
            self.fail(f"{value} is not a number of {self.unit} above 0 and at most {MOST:g}", param, ctx)
        return amount


def root_option(command: F) -> F:
    return click.option(
        "--root", metavar="DIR", help="Folder with the content; default: the nearest parent that has it."
    )(command)


def _existing(context: click.Context, parameter: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Paths that are there: one that is not would be passed over in silence."""
    for path in paths:
        if not Path(path).exists():
            raise click.BadParameter(f"there is no file or folder {path!r}")
    return paths


def also_option(command: F) -> F:
    return click.option(
        "--also",
        multiple=True,
        metavar="PATH",
        callback=_existing,
        help="Your own paper's folder, or other files and folders, besides the root's.",
    )(command)


def store_option(command: F) -> F:
    return click.option("--store", metavar="FILE", help="Default: .dpcheck/store.db under the root.")(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


# -- content and results ---------------------------------------------------------------------------------------------


def catalogue_of(root: str | None, paths: Iterable[str] = (), *, with_mutants: bool = False) -> Catalogue:
    """The catalogue, in force until the command ends.

    What could not be collected is said on stderr at once, and `finish` turns it into exit code 2.
    """
    from dpcheck.engine import catalogue

    loaded = catalogue.load(root, paths=list(paths), with_mutants=with_mutants)
    complain_of(loaded)
    if context := click.get_current_context(silent=True):
        context.with_resource(catalogue.in_force(loaded))
    return loaded


def lazily(root: str | None, paths: Sequence[str] = ()) -> Catalogue:
    """The catalogue, of which only what is asked for and what is the user's own is imported, and said to be amiss."""
    from dpcheck.engine import catalogue, fetching, kept, layout

    here = layout.find(root)
    collected = fetching.beside(here, paths, kept.Kept(here, paths))
    complain_of(collected)
    if context := click.get_current_context(silent=True):
        context.with_resource(catalogue.in_force(collected))
        context.call_on_close(collected.keep)
    return collected


def complain_of(catalogue: Shelves[Any, Any]) -> None:
    """Says what could not be collected, once."""
    context = click.get_current_context(silent=True)
    said: set[str] = context.meta.setdefault("dpcheck.said", set()) if context else set()
    for text in map(str, catalogue.errors):
        if text not in said:
            complain(text)
            said.add(text)


def index_of(root: str | None, paths: Iterable[str] = (), *, label: str = "") -> Index:
    """Cards of everything, or of what bears on a label; what could not be collected is said as by `catalogue_of`."""
    from dpcheck.engine import index, layout

    here = layout.find(root)
    known = index.of_label(here, label, list(paths)) if label else index.whole(here, list(paths))
    complain_of(known)
    return known


def finish(catalogue: Shelves[Any, Any], code: Exit = Exit.EXPECTED) -> None:
    """Ends a command; content that could not be collected counts as wrong usage."""
    complain_of(catalogue)
    if catalogue.errors and code is not Exit.INTERNAL:
        code = Exit.USAGE
    if code is not Exit.EXPECTED:
        leave(code)


def results_of(
    catalogue: Shelves[Any, Any],
    store: str | None,
    *committed: Path,
    only: Collection[str] | None = None,
    anew: bool = False,
) -> dict[str, Chosen]:
    """Check id -> the record that speaks for it, from the store and committed records (default: those of the root).

    What does not count is named on stderr: rows that are no records, and records that break a rule.

    Args:
        only: ids of the checks that matter.
        anew: verify every witness now, whatever was verified here before.
    """
    from dpcheck.engine import history
    from dpcheck.engine.admission import admitted
    from dpcheck.engine.records import Refused, Unread, told
    from dpcheck.engine.store import glance

    records: list[Record | Unread] = []
    refused: list[Refused] = []
    for path in dict.fromkeys(file.resolve() for file in committed or catalogue.layout.records):
        if path.is_file():
            records += history.read_jsonl(path, refused)
    path = Path(store) if store else catalogue.layout.store
    if store or path.is_file():
        records += glance(path, refused)
    results = admitted(records, catalogue, refused, only=only, anew=anew) if records else {}
    for line in told(refused):
        complain(line)
    return results


def errors_of(catalogue: Shelves[Any, Any], store: str | None, results: Mapping[str, Chosen]) -> dict[str, Failure]:
    """Check id -> what it raised, where that is the last that is known of its current sources."""
    from dpcheck.engine.store import read_failures

    path = Path(store) if store else catalogue.layout.store
    last = {failure.key.check: failure for failure in (read_failures(path) if path.is_file() else [])}
    return {
        id: failure
        for id, failure in last.items()
        if id in catalogue.checks
        and failure.key.sources == catalogue.fingerprints([id])[id]
        and (id not in results or results[id].stale or results[id].record.created < failure.created)
    }


def witness_path(store: Path, witness: Witness) -> Path:
    """Where a run leaves the witness of a refutation: beside its store."""
    return store.parent / f"witness-{witness.digest[:8]}.json"


def kept_witness(witness: Witness, path: Path) -> Path | None:
    """Where the witness is now; None, and why, where it cannot be written: the verdict is told all the same."""
    try:
        return witness.save(path)
    except OSError as error:
        complain(
            f"no witness is kept: cannot write {shown(path)}: {error.strerror}; work in a folder that can be written"
        )
        return None


def shown(path: Path) -> str:
    """A path as the user would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def kinds_of_refutation(catalogue: Shelves[Any, Any], labels: Iterable[str]) -> str:
    """ " (refuted: 2 of printed statements, 9 of readings of them)": never added up; "" when nothing is refuted."""
    from dpcheck.report.tables import refutations

    said = refutations(map(catalogue.standing, labels))
    return f" (refuted: {said})" if said else ""


# -- output ----------------------------------------------------------------------------------------------------------

_COLOURS = {
    "holds": "green",
    "refuted": "red",
    "consistent": "cyan",
    "undecided": "yellow",
    "differs": "magenta",
    "error": "magenta",
    "survived": "red",
}


def candidates(name: str, known: Iterable[str]) -> str:
    """What was meant instead of a name that nothing has: what is near, else all that there are, labels by paper."""
    known = list(known)
    if near := UnknownLabel(name, known).near:
        return f"did you mean {', '.join(near)}?"
    by_paper: dict[str, list[str]] = {}
    for each in known:
        paper, slash, item = each.rpartition("/")
        by_paper.setdefault(paper + slash, []).append(item)
    return f"there are {'; '.join(paper + ', '.join(items) for paper, items in by_paper.items()) or 'none'}"


def no_such_paper(key: str, papers: Iterable[str]) -> InvalidInput:
    return InvalidInput(f"no paper has the key {key!r}; {candidates(key, papers)}; {_ALSO}")


def no_such_algorithm(label: str) -> InvalidInput:
    from dpcheck.engine.algorithms import algorithms

    return InvalidInput(f"no algorithm has the label {label!r}; {candidates(label, algorithms())}; {_ALSO}")


def coloured(text: str, word: str | None = None) -> str:
    """The text in the colour of an outcome; click drops colours where there is no terminal."""
    colour = _COLOURS.get((word or text).strip().lower())
    return click.style(text, fg=colour) if colour and "NO_COLOR" not in os.environ else text


def width(stream: Any = None) -> int | None:
    """Columns of the terminal; None where output goes to a file or a pipe, which is never cut."""
    stream = stream or sys.stdout
    return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else None


def table(
    rows: Sequence[Sequence[str]], head: Sequence[str] = (), right: Iterable[int] = (), err: bool = False
) -> None:
    """Columns side by side without the empty ones, the last cut at a terminal's edge; `right`: set flush right."""
    everything = [list(head)] * bool(head) + [[plain(text) for text in row] for row in rows]
    if not everything:
        return
    used = [i for i in range(len(everything[0])) if any(row[i] for row in everything)]
    everything = [[row[i] for i in used] for row in everything]
    flush = {place for place, i in enumerate(used) if i in set(right)}
    widths = [max(len(row[i]) for row in everything) for i in range(len(everything[0]))]
    edge = width(sys.stderr if err else sys.stdout)
    room = None if edge is None else edge - sum(widths[:-1]) - 2 * (len(widths) - 1)
    for number, row in enumerate(everything):
        if room is not None and len(row[-1]) > max(room, 8):
            row[-1] = row[-1][: max(room, 8) - 1] + "…"
        padded = [t.rjust(w) if i in flush else t.ljust(w) for i, (t, w) in enumerate(zip(row, widths, strict=True))]
        padded[-1] = padded[-1].rstrip()
        words = row if number or not head else [""] * len(row)
        click.echo("  ".join(map(coloured, padded, words)).rstrip(), err=err)


def count(number: int, noun: str) -> str:
    """ "1 check", "1,200 checks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_plain(value: Any) -> Any:
    """What JSON can say of a value: NumPy numbers as numbers, infinities and NaN as strings, the rest by `str`."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not (float("-inf") < value < float("inf")):
        return repr(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_plain(item) for item in value]
    return str(value)


def echo_json(value: Any) -> None:
    escaped = not shows_unicode(sys.stdout)
    click.echo(json.dumps(as_plain(value), indent=2, ensure_ascii=escaped, allow_nan=False))
