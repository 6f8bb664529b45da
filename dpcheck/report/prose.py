"""What `bounds/<paper>.md` tells a reader of the report: what the findings mean in use, and its numbered errata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import markupsafe

from dpcheck.report import tables

CODES = re.compile(r"\b(S\d+[a-z]?)\b")
_USE = re.compile(r"^\*\*In use\.\*\* (.+?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\| (S\d+[a-z]?(?:, S\d+[a-z]?)*) \| (.+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Erratum:
    """A row of the errata: its codes, what is wrong, which labels carry it, its grade, and what stands."""

    codes: tuple[str, ...]
    what: str
    carried: str
    grade: str
    stands: str


@dataclass(frozen=True)
class Prose:
    """Of one paper.

    Attributes:
        use: two sentences for whoever uses the result; "" where none are written.
    """

    use: str = ""
    errata: tuple[Erratum, ...] = ()

    @classmethod
    def read(cls, text: str) -> Prose:
        """Of a file of derivations; a row of the errata that is not of four columns is left out."""
        use = _USE.search(text)
        rows = [(codes, cells.split(" | ")) for codes, cells in _ROW.findall(text)]
        errata = (Erratum(tuple(codes.split(", ")), *cells) for codes, cells in rows if len(cells) == 4)
        return cls(" ".join(use[1].split()) if use else "", tuple(errata))

    @property
    def told(self) -> dict[str, str]:
        """What each code of the errata stands for."""
        return {code: erratum.what for erratum in self.errata for code in erratum.codes}


NO_PROSE = Prose()


def linked(text: str, paper: str, known: Mapping[str, Mapping[str, str]]) -> markupsafe.Markup:
    """HTML in which every code of an erratum of the paper says what it is and leads to it: "(erratum S1)"."""
    told = known.get(paper, {})
    leads = markupsafe.Markup('<a href="#{}-{}" title="{}">erratum {}</a>')

    def link(match: re.Match[str]) -> str:
        code = match[1]
        return leads.format(paper, code, tables.spoken(told[code]), code) if code in told else code

    return markupsafe.Markup(CODES.sub(link, text))
