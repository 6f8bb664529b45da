"""reports/certificates/index.md: what is certified, how much the printed bounds give away, and what cannot be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dpcheck.certificates import Certified, path_of
from dpcheck.certificates.families import FAMILIES
from dpcheck.certificates.games import GAMES, reached
from dpcheck.certificates.proofs import labels
from dpcheck.certificates.regions import REGIONS
from dpcheck.certificates.statements import CERTIFIED
from dpcheck.certificates.unreached import UNREACHED

INTRODUCTION = """# Certificates

Each bound below is proved for *every* function of its class, in any dimension, in exact rational arithmetic:
multipliers of the inequalities of a run, and a positive semidefinite matrix. `python dpcheck/certificates/checker.py
FILE` checks a file with Python's standard library alone; it builds the inequalities itself, from the lines of the
problem. `dpcheck verify FILE` checks as well that the problem and the claimed number are those of the statement.

*Over claimed* is what is proved over what is printed, of the squares where a distance is squared. The true worst case
lies between *at least*, which a rational function attains, and *proved*; where none is shown, a ratio of 1 does not yet
say that the printed constant cannot be improved. *For all* says that a proof with symbols
covers every number of steps, or all parameters, so that the certificate is an instance of it. *Seconds* of CPU are what
`dpcheck certify` took to find it, where that was measured; each file is checked in less than five.
"""


def page(
    shown: Sequence[Certified],
    regions: Mapping[str, Mapping[str, object]],
    times: Mapping[str, Mapping[str, float]],
) -> str:
    """The page as Markdown; `times` are the seconds that finding took, by label and run."""
    every = {label: family.every for family in FAMILIES for label in labels(family)}
    lines = [
        INTRODUCTION,
        "| Statement | Run | Outcome | Proved | Claimed | Over claimed | At least | Seconds | For all |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    games = [one for one in shown if one.label in GAMES]
    for one in shown:
        if one.label in GAMES:
            continue
        file = "/".join(path_of(one.label, Path()).parts[-2:])
        worst = "–" if one.bound is None else _number(one.bound)
        ratio = "" if one.ratio != one.ratio else f"{one.ratio:.4f}"
        lines.append(
            f"| [{one.label}]({file}) | {one.instance} | {'refuted' if one.refutes else 'certified'} | {worst} "
            f"| {_number(one.claimed)} | {ratio} | {_number(one.attained)} | {_seconds(one, times)} "
            f"| {every.get(one.label, '')} |"
        )
    lines += [
        *_games(games, times),
        *_on_regions(regions),
        "",
        "## Out of reach",
        "",
        "Of some of these a reading is certified: with its constants, on an event, for one moment or one step.",
        "",
        "| Why | Statements |",
        "| --- | --- |",
    ]
    for reason in dict.fromkeys(UNREACHED.values()):
        without = ", ".join(_with_readings(label) for label, why in UNREACHED.items() if why == reason)
        lines.append(f"| {reason} ({Counter(UNREACHED.values())[reason]}) | {without} |")
    return "\n".join(lines) + "\n"


def _with_readings(label: str) -> str:
    """A statement without a certificate, and those of its readings that have one."""
    readings = [f"`@{name.partition('@')[2]}`" for name in CERTIFIED if name.startswith(f"{label}@")]
    return f"{label} (certified: {', '.join(readings)})" if readings else label


GAMES_INTRODUCTION = """
## Lower bounds as games

A record is 0 with probability 1 − p and else names one of N laws. A private decoder's answers on all data sets obey
linear inequalities, so that the least error of *every* one of them is a linear programme; its dual is the certificate,
and a decoder that comes as near as is shown stands in the same file. With a delta, each neighbour has numbers for what
an answer is likelier than e^eps allows, and they add up to delta at most, over all answers. *From below* uses the data
sets of a single law only, or what rho-zCDP implies at some e^eps: no decoder has a smaller error, and the exponential
mechanism, which is as private, *reaches* what is shown. The ratio is the proved error over the printed one.

| Statement | Game | Least error | Reached | Printed | Over printed | Seconds |
| --- | --- | ---: | ---: | ---: | ---: | ---: |"""

CONSTANTS = """
Theorem G.6 and Proposition G.4 in the plane, k = 2: whatever an (eps, 0)-private algorithm does, its excess is at least
*constant* · D G_2 √p, and the squared error of its estimate of the mean *constant* · G_2² p, with probability zeta, p
the printed one. The printed constants are 1/128 and 1/16. A larger p than the printed one still deceives every
algorithm; answers below (2 − √2)/4 of D‖mean‖, and estimates with an error below ½‖mean‖², name their law.

| Statement | n | e^eps | zeta | p, printed | p, certified | Constant | Over printed |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""

PLANE: Mapping[str, tuple[float, float, float]] = {
    "pure_heavy_tails/thm-g-6@derived": ((2 - math.sqrt(2)) / 4, 0.5, 1 / 128),
    "pure_heavy_tails/prop-g-4@derived": (0.5, 1.0, 1 / 16),
}
"""Label -> what names a law, the power of p, and the printed constant."""


REGIONS_INTRODUCTION = """
## On whole regions

In ball arithmetic (python-flint), by subdivision: at every point of the region and not at those of a grid. The margin
is one less the left side over the right one; on no box is it below the least one.

| Statement | Inequality and region | Boxes | Least margin |
| --- | --- | ---: | ---: |"""


def _on_regions(by_name: Mapping[str, Mapping[str, object]]) -> list[str]:
    words = {region.label: region.words for region in REGIONS}
    rows = [f"| {label} | {words[label]} | {one['boxes']} | {one['least']} |" for label, one in by_name.items()]
    return [REGIONS_INTRODUCTION, *rows]


def _games(shown: Iterable[Certified], times: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What all private decoders at once cannot do, and the constants that follow."""
    lines, constants = [GAMES_INTRODUCTION], [CONSTANTS]
    for one in shown:
        (game,) = (run for run in GAMES[one.label] if run.name == one.instance)
        file = "/".join(path_of(one.label, Path()).parts[-2:])
        numbers, error = game.rationals, reached(game) if one.attained is None else -one.attained
        cells = (_number(-one.bound if one.bound else None), _number(error), _number(-one.claimed))
        row = (f"[{one.label}]({file})", one.instance, *cells, f"{one.ratio:.4f}", _seconds(one, times))
        lines.append(f"| {' | '.join(row)} |")
        if one.label in PLANE:
            names, power, stated = PLANE[one.label]
            n = int(one.instance.partition("n = ")[2].partition(",")[0])
            printed = math.log(3 / (4 * math.e * numbers["zeta"])) / (n * math.log(numbers["E"]))
            constant = names * (numbers["p"] / min(1.0, printed)) ** power
            columns = (one.label, n, numbers["E"], numbers["zeta"], f"{printed:.4f}", numbers["p"], f"{constant:.4f}")
            constants.append(f"| {' | '.join(map(str, columns))} | {constant / stated:.1f} |")
    return [*lines, *constants]


def _seconds(one: Certified, times: Mapping[str, Mapping[str, float]]) -> str:
    spent = times.get(one.label, {}).get(one.instance)
    return "" if spent is None else f"{spent:.2f}"


def _number(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 12 else f"{float(value):.8g}"  # type: ignore[arg-type]
