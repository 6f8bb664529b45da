"""Everything that a root holds, by label: papers, claims, checks, algorithms, and where each of them stands."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.engine import certified_checks, collect, filling, homes, names, papers, shipped, sources
from dpcheck.engine.collect import ContentFile
from dpcheck.engine.executions import Executions
from dpcheck.engine.kept import Kept
from dpcheck.engine.own import Own
from dpcheck.engine.shelf import ABOUT, imported, near
from dpcheck.engine.shelves import Quotes, Shelves
from dpcheck.engine.sources import Snapshot
from dpcheck.errors import CollectionError, DpcheckError, InvalidInput, UnknownLabel
from dpcheck.labels import LABEL, split_label

if TYPE_CHECKING:
    from dpcheck.checks import Check, Unchecked
    from dpcheck.claims import Claim, Paper
    from dpcheck.derivations import Derivation, ExecutedDerivation, Finding, Underived
    from dpcheck.engine.cards import TranscriptCard
    from dpcheck.interfaces import Algorithm
    from dpcheck.mutants import Mutant, Seeded
    from dpcheck.panels import Contest, Panel, Size
    from dpcheck.unmeasured import Unmeasured


@dataclass
class Catalogue(Shelves["Claim", "Check"]):
    """One collection; `dpcheck.engine.loading` makes it of everything, `dpcheck.engine.fetching` of what is asked for.

    Attributes:
        papers, claims, checks, unchecked, unmeasured, mutants, seeded: by key, label, id, label, id, name, id.
        derivations, underived, findings: by label; panels, contests, sizes: by key.
        files: check id -> the content file that defines it.
        own: papers of one's own, with their algorithms; guests: keys of those that are known only because they are
            installed, which nothing runs or reports unless it is named.
        kept: what earlier commands found out of the same sources.
    """

    papers: dict[str, Paper] = field(default_factory=dict)
    unchecked: dict[str, Unchecked] = field(default_factory=dict)
    unmeasured: dict[str, Unmeasured] = field(default_factory=dict)
    mutants: dict[str, Mutant] = field(default_factory=dict)
    seeded: dict[str, Seeded] = field(default_factory=dict)
    derivations: dict[str, Derivation] = field(default_factory=dict)
    underived: dict[str, Underived] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    panels: dict[str, Panel] = field(default_factory=dict)
    contests: dict[str, Contest] = field(default_factory=dict)
    sizes: dict[str, Size] = field(default_factory=dict)
    files: dict[str, ContentFile] = field(default_factory=dict)
    own: Own = field(default_factory=Own)
    guests: set[str] = field(default_factory=set)
    kept: Kept | None = None
    _borrowed: set[str] = field(default_factory=set)
    executions: Executions = field(default_factory=Executions)
    _deriving: dict[str, list[Path]] = field(default_factory=dict)
    """Statement -> the files of its derivations, of those that were asked for."""
    _order: dict[Path, int] = field(default_factory=dict)
    _collected: dict[Path, ContentFile] = field(default_factory=dict)

    # -- what is asked of it ------------------------------------------------------------------------------------

    def claim(self, label: str) -> Claim:
        if label not in self.claims:
            raise UnknownLabel(label, self.claims)
        return self.claims[label]

    def transcript(self, label: str) -> ExecutedDerivation | None:
        """The executed derivation of a statement (of a reading, when the label names one that has its own), if any."""
        first = self._first(label)
        return None if first is None else self.executions.of(first, self)

    def executed(self, label: str) -> ExecutedDerivation:
        """`transcript` of a statement that has to have one. Raises `UnknownLabel`."""
        steps = self.transcript(label)
        if steps is None:
            raise UnknownLabel(label, self.derivations)
        return steps

    def card(self, label: str) -> TranscriptCard | None:
        """That derivation as it is shown, if any: executed before, under the same sources, or now."""
        first = self._first(label)
        return None if first is None else self.executions.card(first, self)

    def _first(self, label: str) -> Derivation | None:
        first = next(iter(self.derivations_of(label)), None)
        if first is None or not all(name in self.claims for name in first.labels):
            return None  # a derivation of nothing is among the errors
        return first

    def derivations_of(self, label: str) -> list[Derivation]:
        """Those that conclude a reading, else those of the printed one, else those of any reading of its statement."""
        statement = label.partition("@")[0]
        concluding = [self.derivations[label]] if label in self.derivations else []
        known = near(self.derivations, label)
        concluding += [d for d in known if label in d.labels and d not in concluding]
        concluding += [d for d in known if statement in d.labels and d not in concluding]
        return concluding or [d for d in known if d.label.partition("@")[0] == statement]

    def derived(self, label: str) -> list[str]:
        return [derivation.label for derivation in self.derivations_of(label)]

    def knows(self, name: str) -> bool:
        """Whether a name is a paper's key, a label or the id of a check."""
        return name in self.papers or name in self.claims or name in self.checks

    def select(self, wanted: Sequence[str]) -> list[Check]:
        """The checks that the arguments of `dpcheck run` name; all but those of guests when there are none.

        A paper's key, a label (with all its readings, unless it names one), a check id, or a file or folder.

        Raises:
            UnknownLabel: an argument names nothing here.
        """
        if not wanted:
            return [check for check in self.checks.values() if check.label.partition("/")[0] not in self.guests]
        chosen: dict[str, Check] = {}
        for argument in wanted:
            named = self._named(argument)
            if named is None:
                raise self._unknown(argument)
            chosen.update((check.id, check) for check in named)
        return self._sorted(chosen.values())

    def _named(self, argument: str) -> list[Check] | None:
        if argument in self.checks:
            return [self.checks[argument]]
        if LABEL.fullmatch(argument):
            checks = near(self.checks, argument)
        else:
            checks = imported(self.checks) if self._beside(argument) else list(self.checks.values())
        if argument in self.claims or any(argument in c.labels for c in checks):
            return [c for c in checks if any(x == argument or x.startswith(f"{argument}@") for x in c.labels)]
        if argument in self.papers:
            return [c for c in checks if c.label.startswith(f"{argument}/")]
        path = Path(argument).resolve()
        if path.exists():
            return [c for c in checks if self.files[c.id].path.is_relative_to(path)]
        return None

    def _beside(self, argument: str) -> bool:
        """Whether a path, or a key, is of what the user named besides the content: all checks of it are here."""
        places = [Path(argument).resolve(), *(place for place, keys in self.own.folders.items() if argument in keys)]
        content = self.layout.content
        return any(
            place in self.paths and not any(place.is_relative_to(f) or f.is_relative_to(place) for f in content)
            for place in places
        )

    def _unknown(self, argument: str) -> DpcheckError:
        """That an argument names nothing, in words of what it looks like: a path, a check or a label."""
        label, _, name = argument.partition("::")
        if name and (of_label := sorted(check.name for check in near(self.checks, label) if check.label == label)):
            return InvalidInput(f"{label} has no check {name!r}; it has {', '.join(of_label)}")
        if argument.endswith("/") or argument.count("/") > 1 or argument.endswith(".py"):
            return InvalidInput(f"{argument!r} is no file, folder or label; `dpcheck list` shows every label")
        return UnknownLabel(argument, [*self.claims, *self.papers, *self.checks])

    def claims_of(self, statement: str) -> list[Claim]:
        return near(self.claims, statement)

    def naming(self, names: Iterable[str]) -> list[Claim]:
        """The claims of the files that speak of these, labels or papers whose statements all count, in their order."""
        by_name: dict[str, Claim] = {}
        for name in names:
            asked = f"{ABOUT}{name.partition('@')[0]}" if "/" in name else f"{name}/"
            by_name |= {claim.label: claim for claim in near(self.claims, asked)}
        return sorted(by_name.values(), key=lambda claim: self._order[self._places[claim.label][0]])

    def checks_of(self, label: str) -> list[Check]:
        return self._sorted(check for check in near(self.checks, label) if label in check.labels)

    def _sorted(self, checks: Iterable[Check]) -> list[Check]:
        """Checks in the order of their files; those of one file stay as they are."""
        return sorted(checks, key=lambda check: self._order[self.files[check.id].path])

    def fingerprint(self, check: Check) -> str:
        """`Record.sources` as of now: a record with another one is stale. See `dpcheck.engine.sources`."""
        return self.fingerprints([check.id])[check.id]

    def fingerprints(self, ids: Iterable[str] | None = None) -> dict[str, str]:
        """Check id -> fingerprint, of these checks, or of every one; the sources are read once."""
        snapshot, by_id = Snapshot(), {}
        bugs = [file.path.resolve() for file in collect.of_no_paper(self.layout.mutants)]
        for id in self.checks if ids is None else ids:
            known = None if self.kept is None else self.kept.get(f"sources of {id}")
            if known is not None:
                by_id[id] = known
                continue
            file, label = self.files[id].path, self.checks[id].label
            options: Any = {"derivations": self._derivations, "bugs": bugs, "snapshot": snapshot}
            options["own"] = self.own.code
            if certified_checks.is_certificate(id):
                file, options["kept"] = certified_checks.CODE, [self._places[id][0]]
            by_id[id] = sources.fingerprint(file, self.claims, label, **options)
            if self.kept is not None:
                self.kept.put(f"sources of {id}", by_id[id])
        snapshot.keep()
        return by_id

    def keep(self) -> None:
        """What was found out of the sources need not be found out by the next command."""
        if self.kept is not None:
            self.kept.write()

    def digest(self, label: str) -> str:
        return sources.digest(self.claims[label])

    def assumptions(self, label: str) -> tuple[Any, ...]:
        return self.claims[label].assumptions if label in self.claims else ()

    def _derivations(self, labels: Iterable[str]) -> Iterator[Path]:
        """The files of the derivations of these labels."""
        for statement in {label.partition("@")[0] for label in labels}:
            if statement not in self._deriving:
                here = (d.label for d in near(self.derivations, statement) if d.label.partition("@")[0] == statement)
                self._deriving[statement] = [self._places[f"derivation {label}"][0].resolve() for label in here]
            yield from self._deriving[statement]

    @functools.cached_property
    def algorithms(self) -> dict[str, type[Algorithm[Any]]]:
        """Label -> class, of this package and of one's own; what does not import goes to `errors`."""
        by_name: dict[str, type[Algorithm[Any]]] = {}
        for name in shipped.modules():
            try:
                by_name |= shipped.classes(name)
            except CollectionError as error:
                self.errors.append(error)
        return by_name | self.own.algorithms

    @functools.cached_property
    def _code(self) -> Quotes:
        return homes.quoted([*homes.code_files(), *dict.fromkeys(f for each in self.own.code.values() for f in each)])

    @functools.cached_property
    def _implementing(self) -> Quotes:
        return homes.implementing([*homes.code_files(), *(file for files in self.own.code.values() for file in files)])

    def helpers(self, path: Path, line: int) -> list[Path]:
        path = path.resolve()
        return sorted(file for file in self._names.reached(path, line) - {path} if not collect.is_verifier(file))

    @functools.cached_property
    def _names(self) -> names.Reader:
        return names.Reader()

    def bugs(self) -> Iterator[ContentFile]:
        yield from super().bugs()
        yield from (file for folder in self.own.folders for file in papers.bugs(folder))

    # -- how it is filled ---------------------------------------------------------------------------------------

    def collect(self, file: ContentFile, kinds: tuple[type, ...]) -> None:
        """Adds what one file holds; an error is kept, not raised."""
        self._order.setdefault(file.path, len(self._order))
        self._collected[file.path] = file
        filling.fill(self, file, kinds)

    def conform(self, checks: Iterable[Check] | None = None) -> None:
        """Adds an error for every check of an unknown claim, malformed grid, and bound without its derivation.

        Args:
            checks: look at these alone.
        """
        if checks is not None:
            self._conform_alone(list(checks))
            return
        for check in self.checks.values():
            self._conform(check)
        for label in self.unchecked:
            self._known(label, self._places[f"unchecked {label}"])
        for key, one in self.unmeasured.items():
            self._known(one.label, self._places[f"unmeasured {key}"])
        for label in self.underived:
            self._known(label, self._places[f"underived {label}"])
        for label in self.findings:
            self._known(label, self._places[f"finding {label}"])
        for claim in self.claims.values():
            why = _needs_section(claim)
            if why and self.derivation(claim.statement_label) is None:
                paper, item, _ = split_label(claim.statement_label)
                self.errors.append(
                    CollectionError(
                        f"{self.home(claim.label)}: {claim.label} has {why} but no section in {paper}.md; "
                        f"write one under a heading such as '## {item}'"
                    )
                )

    def _conform_alone(self, checks: list[Check]) -> None:
        """What has conformed since the last edit is not asked again: claims of other files need no import for it."""
        asked = f"{', '.join(check.id for check in checks)} conform"
        if self.kept is not None and self.kept.get(asked):
            return
        for check in checks:
            self._conform(check)
        if self.kept is not None and not self.errors:
            self.kept.put(asked, True)

    def _conform(self, check: Check) -> None:
        """Adds an error where a check names an unknown claim, or its grid is malformed."""
        for label in check.labels:
            self._known(label, self._places[check.id])
        try:
            _check_grid(check)
        except CollectionError as error:
            self.errors.append(CollectionError(f"{self.home(check.id)}: {error}"))

    def _known(self, label: str, place: tuple[Path, int]) -> None:
        if label not in self.claims:
            where = self._home("audit", *place)
            self.errors.append(CollectionError(f"{where}: {UnknownLabel(label, self.claims)}"))


def _needs_section(claim: Claim) -> str:
    if claim.grade:
        return f"the grade {claim.grade!r}"
    if claim.reading in ("corrected", "derived"):
        return f"the reading {claim.reading!r}"
    return "an explicit bound" if claim.explicit is not None else ""


def _check_grid(check: Check) -> None:
    """A grid may be empty at the smaller sizes, where the check is then skipped."""
    begun = False
    for size in ("smoke", "standard", "full"):
        keys = [cell_key(cell) for cell in check.cells(size)]
        if not keys and (begun or size == "full"):
            raise CollectionError(
                f"the grid of {check.id} is empty at size {size}; give every axis a value, but at smaller sizes"
            )
        begun = begun or bool(keys)
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise CollectionError(f"the grid of {check.id} holds the cell {twice} twice at size {size}")


def cell_key(cell: Mapping[str, Any]) -> str:
    """A cell's name in the store and in its random stream.

    Raises:
        CollectionError: a value has no name that lasts (a function, an object).
    """
    text = json.dumps(dict(cell), sort_keys=True, default=str)
    if " at 0x" in text:
        raise CollectionError(f"the cell {text} holds an object; a grid takes numbers, strings, and lists of them")
    return text
