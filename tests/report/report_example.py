"""A made-up paper with every case that a report may meet; run as a script, it writes the report to a folder."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import sys
from dataclasses import dataclass, field

import sympy as sp

from dpcheck import symbols as s
from dpcheck.checks import Check, Unchecked, check, unchecked
from dpcheck.claims import Claim, Paper
from dpcheck.derivations import (
    Derivation,
    Finding,
    Proof,
    Underived,
    derivation,
    underived,
)
from dpcheck.engine.cards import TranscriptCard
from dpcheck.engine.homes import Home
from dpcheck.engine.layout import Layout
from dpcheck.engine.records import Record
from dpcheck.errors import CollectionError, UnknownLabel
from dpcheck.panels import Contest, Panel, PanelClaim, Size
from dpcheck.unmeasured import Unmeasured, unmeasured
from dpcheck.verdicts import Outcome, Point, Verdict, Witness, holds, refuted, undecided

PAPER = Paper(
    key="example", title="Private optimisation | an example", authors="A. Author, B. Author", reference="2021"
)
EMPTY = Paper(key="blank", title="A paper without statements", authors="", reference="")

RATE = s.G_k * s.D * (s.d / (s.n * s.epsilon)) ** (1 - 1 / s.k)
CLAIMS = (
    PAPER.claim(
        "example/asm-1", "Assumption 1", "The loss is convex, and E|∇f|^k ≤ G_k^k.", kind="assumption", section="2"
    ),
    PAPER.claim(
        "example/thm-2",
        "Theorem 2",
        "The *excess risk* of `alg-1` is small_enough <always>; costs $1 | $2.",
        kind="theorem",
        section="3",
        quantity="excess risk",
        measures="excess risk",
        relation="<=",
        order=RATE,
        explicit=20 * RATE,
        assumptions=(sp.And(s.epsilon > 0, s.epsilon <= s.d), s.n > 2),
        about=("example/alg-1",),
        probability=1 - s.beta,
    ),
    PAPER.claim(
        "example/thm-10",
        "Theorem 10",
        "Algorithm 1 is ε-DP.",
        kind="theorem",
        section="4",
        quantity="δ at ε",
        relation="is",
        order=s.epsilon,
        grade="refuted",
        remark="Clipping by norm is not monotone for d ≥ 2 (S1); (S9) is nothing.",
    ),
    PAPER.claim(
        "example/thm-10@corrected",
        "Theorem 10",
        "Algorithm 1 is 2ε-DP.",
        kind="theorem",
        relation="<=",
        quantity="E_bias <of> `alg-1`",
        explicit=2 * s.epsilon,
    ),
    PAPER.claim(
        "example/lem-3",
        "Lemma 3",
        "The sum is at most what is printed.",
        kind="lemma",
        origin="cited",
        relation="<=",
        quantity="sum",
        order=sp.Piecewise((s.n, s.n > s.d), (s.d, True)) + sp.Abs(s.n - s.d),
        grade="slip",
        remark="The exponent is garbled.",
    ),
    PAPER.claim(
        "example/lem-3@literal", "Lemma 3", "Taken at its word.", kind="lemma", relation="<=", order=sp.Max(s.n, s.d)
    ),
    PAPER.claim(
        "example/lem-4",
        "Lemma 4",
        "A step fails.",
        kind="lemma",
        grade="proof gap",
        remark="Jensen goes the wrong way.",
    ),
    PAPER.claim("example/lem-5", "Lemma 5", "Nothing to see.", kind="lemma"),
)


@check("example/thm-2", "risk")
def risk_grows(context: object) -> Verdict:
    """The measured risk stays below the bound, with `pipes | in` the text.

    Further lines are not shown.
    """
    raise AssertionError


@check("example/thm-2", "rate")
def rate_many_series(context: object) -> Verdict:
    raise AssertionError


@check("example/thm-10", "privacy")
def worst_pair(context: object) -> Verdict:
    """The exact delta of the worst pair."""
    raise AssertionError


@check("example/thm-10@corrected", "privacy")
def worst_pair_again(context: object) -> Verdict:
    raise AssertionError


@check("example/lem-3@literal", "symbolic")
def sum_at_one_point(context: object) -> Verdict:
    raise AssertionError


@check("example/lem-4", "accuracy")
def not_yet(context: object) -> Verdict:
    raise AssertionError


CHECKS = (risk_grows, rate_many_series, worst_pair, worst_pair_again, sum_at_one_point, not_yet)


@derivation("example/thm-10@corrected")
def doubled(proof: Proof) -> None:
    """Two parts of <ε> each."""
    half = proof.argues("each part", "E_part", "<=", s.epsilon)
    proof.gap("the printed sum of 3 parts", 3 * half, 2 * half, {s.epsilon: 1}, "there are two")
    proof.concludes("example/thm-10@corrected", proof.equal("add up", half + half, 2 * half))


PANEL = Panel(
    key="where",
    title="One bound <alone> | one axis each",
    upper=(PanelClaim("example/thm-2", "clipping"),),
    against=(PanelClaim("example/thm-2", "itself"),),
    axes={s.d: s.n ** sp.Symbol("a"), s.epsilon: s.n ** -sp.Symbol("b")},
    ranges={"a": (0, 1), "b": (0, 1)},
    parameters={s.k: 4},
    shows="Vacuous where d > nε.",
)
BROKEN = dataclasses.replace(PANEL, key="gone", upper=(PanelClaim("example/gone-1", "nothing"),))
CONTEST = Contest(
    key="itself",
    title="A bound against itself",
    upper=PanelClaim("example/thm-2", "above"),
    lower=(PanelClaim("example/thm-2", "below"),),
    parameters={s.k: 4},
    upper_checks=("example/thm-2::risk_grows",),
)
SIZE = Size(
    key="small",
    title="Ten records",
    values={"n": 10, "d": 1, "epsilon": 1.0},
    only=("pure_heavy_tails/fact-trivial", "pure_heavy_tails/proc-localized-double-op"),
)
REASONS = (unchecked("example/lem-5", "cited; it states no constant"),)
WITNESS = Witness(
    label="example/thm-10", kind="example.pair", parameters={"n": 2, "x": "1/3"}, claimed="1", found="7/" + "3" * 60
)


def record(of: Check, verdict: Verdict, *, expected: bool = True) -> Record:
    return Record(
        check=of.id,
        label=of.label,
        kind=of.kind,
        size="smoke",
        seed=0,
        verdict=verdict,
        expected=expected,
        cells=2,
        sources="abc",
        versions={"python": "3.11.2", "numpy": "2.0"},
        created="today",
        seconds=3.2,
    )


def curve(series: str = "", scale: float = 1.0) -> list[Point]:
    sizes = [2.0**k for k in range(8, 15)]
    return [
        Point(
            x=n,
            series=series,
            value=scale * n**-0.5,
            lower=scale * 0.8 * n**-0.5,
            upper=scale * 1.2 * n**-0.5,
            bound=3 * scale * n**-0.45,
        )
        for n in sizes
    ]


ODD = (
    Point(x=1.0, value=-0.5, lower=-math.inf, upper=2.0, bound=3.0),
    Point(x=2.0, value=math.nan, bound=1.0),
    Point(x=4.0, value=0.0, lower=-1.0, upper=math.inf, bound=math.inf),
    Point(x=math.inf, value=1.0),
    Point(x=8.0, value=1e6, bound=math.nan),
)
RECORDS = (
    record(
        risk_grows,
        Verdict(
            outcome=Outcome.HOLDS,
            reason="The upper bound 0.41 | stays below 0.5 in every cell.",
            evidence="sampled",
            failure_probability=2e-6,
            points=curve(),
            axes=("n", "excess risk ($ of risk$)"),
            numbers={
                "largest ratio": 0.123456789,
                "trials": 20_000,
                "tail": math.inf,
                "sound": True,
                "law | name": "a_b",
            },
        ),
    ),
    record(
        rate_many_series,
        undecided(
            "The slope is 0.01 ± 0.1.",
            "sampled",
            failure_probability=1e-6,
            axes=("n", "risk"),
            points=[p for k in range(9) for p in curve(f"k = {k}, d = 5", 1 + k)],
        ),
    ),
    record(
        worst_pair,
        refuted("δ(1) = 2.4e-3 against 1e-5.", "exact", witness=WITNESS, points=ODD, axes=("ε", "δ")),
    ),
    record(worst_pair_again, holds("δ(2) = 0 exactly.", "exact"), expected=False),
    record(sum_at_one_point, refuted("n = 3 gives 4 against 3.", "symbolic")),
    record(check("example/gone-1", "risk")(risk_grows.function), holds("of a check that is gone.", "exact")),
)


PROSE = """**In use.** Take `thm-10@corrected`,
since R^{k−1} <is> private (S1).

| | what | carried by | grade | what stands |
|---|---|---|---|---|
| S1, S2b | clipping <by norm> | `thm-10` | refuted | 2ε |
| S3 | a row of too few | columns |
"""


class Still:
    """As far as its state goes, an algorithm."""

    def execute(self, run: object, workload: object, data: object, start: object) -> object:
        return start


@dataclass
class FakeCatalogue:
    """What the report asks of `dpcheck.engine.catalogue.Catalogue`."""

    root: pathlib.Path
    papers: dict[str, Paper] = field(default_factory=lambda: {p.key: p for p in (PAPER, EMPTY)})
    claims: dict[str, Claim] = field(default_factory=lambda: {c.label: c for c in CLAIMS})
    checks: dict[str, Check] = field(default_factory=lambda: {c.id: c for c in CHECKS})
    unchecked: dict[str, Unchecked] = field(default_factory=lambda: {u.label: u for u in REASONS})
    unmeasured: dict[str, Unmeasured] = field(
        default_factory=lambda: {"": unmeasured("example/thm-2", "n", "It would take <1e9> records.")}
    )
    underived: dict[str, Underived] = field(
        default_factory=lambda: {"example/lem-4": underived("example/lem-4", "it has no parameter to choose")}
    )
    findings: dict[str, Finding] = field(
        default_factory=lambda: {"example/thm-10": Finding("example/thm-10", "It is <twice> as private as needed.")}
    )
    derivations: dict[str, Derivation] = field(default_factory=lambda: {doubled.label: doubled})
    sizes: dict[str, Size] = field(default_factory=lambda: {SIZE.key: SIZE})
    contests: dict[str, Contest] = field(default_factory=lambda: {CONTEST.key: CONTEST})
    panels: dict[str, Panel] = field(default_factory=lambda: {PANEL.key: PANEL, BROKEN.key: BROKEN})
    algorithms: dict[str, type] = field(default_factory=lambda: {"example/alg-1": Still})
    errors: list[CollectionError] = field(default_factory=list)

    @property
    def layout(self) -> Layout:
        return Layout(self.root, (), (), self.root)

    def reached(self, label: str, base: pathlib.Path | None = None) -> str:
        return ""

    def checks_of(self, label: str) -> list[Check]:
        return [check for check in self.checks.values() if label in check.labels]

    def homes(self, label: str) -> list[Home]:
        if label == "example/alg-1":
            raise UnknownLabel(label, [])
        return [Home("bound", "bounds/example.py", 3), Home("derivation", "bounds/example.md", 3)]

    def card(self, label: str) -> TranscriptCard | None:
        if not (label.startswith("example/thm-10") and self.claims):
            return None
        return TranscriptCard.of(doubled.run(self.claims))

    def home(self, id: str) -> Home:
        return Home("audit", "audits/example.py", 2)


def lay_out(root: pathlib.Path) -> FakeCatalogue:
    """The files that the catalogue's homes name, and the catalogue."""
    for name, text in {
        "bounds/example.py": "# claims\n\n'example/thm-2'\n",
        "bounds/example.md": f"# Derivations\n\n{PROSE}\n## thm-2: the bound, with (constants)\n",
        "audits/example.py": "# checks\n'example/thm-2'\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    error = CollectionError(f"{root.resolve()}/audits/broken.py:3: does not import: NameError: name 'x' is not defined")
    return FakeCatalogue(root, errors=[error])


if __name__ == "__main__":
    from dpcheck import report

    home = pathlib.Path(sys.argv[1])
    report.write(lay_out(home), RECORDS, home / "reports", stale={risk_grows.id})  # type: ignore[arg-type]
