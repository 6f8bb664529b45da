"""Numbers, escapes and counts: what turns verdicts into cells of a table."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcheck.verdicts import Verdict

MARKER = "<!-- Written by `dpcheck report`; edits are lost. -->"
"""In the first lines of every page: a page without it is never overwritten nor removed."""

OUTCOMES = ("holds", "refuted", "differs", "consistent", "undecided", "skipped", "not run")
GRAVEST = ("refuted", "differs", "undecided", "consistent", "holds", "skipped", "not run")
SIGNS = {
    "holds": "✓",
    "refuted": "✗",
    "differs": "≠",
    "consistent": "≈",
    "undecided": "?",
    "skipped": "–",
    "not run": "·",
}
"""Colour helps and is never needed."""

_SIDES = {"left": "left side", "right": "right side", "largest left/right": "largest quotient of the sides"}
_RUNS = {
    "se": "standard error", "lower": "lower confidence limit", "upper": "upper confidence limit",
    "lower_99": "lower 99 % limit", "upper_99": "upper 99 % limit", "frequency": "relative frequency",
    "p of as many": "chance of as many", "p of as few": "chance of as few",
    "calls": "most of all runs", "fewest": "fewest of all runs", "trials": "runs", "limit": "never more than",
    "rule": "rule of the confidence limit", "best ratio": "largest quotient", "certificate": "certified quotient",
    "release": "release that moves most", "origin": "found by", "slope": "slope of R/bound, R what is measured",
    "word": "in a word", "scatter": "scatter: χ² per degree of freedom", "allowed": "claimed",
}  # fmt: skip
_AUDIT = {
    "epsilon_lower": "ε certified, at least", "epsilon_estimate": "ε estimated", "epsilon_claimed": "ε claimed",
    "delta": "δ", "detectable_epsilon": "ε that would have been refuted",
    "smallest_visible_probability": "least probability in sight", "trials": "runs asked for on each input",
    "right": "right guesses of the last stage", "wrong": "wrong guesses of the last stage",
    "samples": "runs on each input in the last stage", "tested": "runs tested in all",
    "directions": "directions tested",
    "fitted": "whether δ is charged whole",
    "runs_data": "runs on the data", "runs_neighbour": "runs on the neighbour",
    "hits_data": "runs on the data in the event", "hits_neighbour": "runs on the neighbour in the event",
    "back_data": "runs on the data in the reverse event",
    "back_neighbour": "runs on the neighbour in the reverse event",
}  # fmt: skip
"""Names of the harness and of the auditor, in words; a check's own numbers say what they are."""

_CODE = re.compile(r"`([^`]+)`")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$])")


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorting key that puts lem-2 before lem-10."""
    parts = re.split(r"(\d+)", text)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


def named(name: str, beside: Container[str]) -> str:
    """A number's name in words.

    Args:
        beside: the names of all numbers of the verdict, which tell an audit of a mechanism from the two sides of an
            inequality.
    """
    kinds = [_AUDIT, _RUNS] if "epsilon_lower" in beside else [_SIDES, _RUNS] if "left" in beside else [_RUNS]
    return next((words[name] for words in kinds if name in words), worded(name))


def number(value: object, digits: int = 5) -> str:
    """A result as a reader wants it: few significant digits, ∞, yes and no; strings as they are."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value.is_integer() and abs(value) < 1e7:
        return f"{int(value):,}".replace("-", "−")
    return f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e").replace("-", "−")


def label(value: float) -> str:
    """A tick's number: 4,096 · 0.05 · 3×10⁻⁷."""
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value):,}".replace("-", "−")
    if 1e-3 <= abs(value) < 1e6:
        return f"{float(f'{value:.4g}'):,.10g}".replace("-", "−")
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    return (power if mantissa == "1" else f"{mantissa}×{power}").replace("-", "−")


def probability(value: float) -> str:
    """A failure probability, rounded up in its second digit so that the report never understates it."""
    if value <= 0:
        return "0"
    exponent = math.floor(math.log10(value)) - 1
    up = math.ceil(value / 10.0**exponent - 1e-9)
    return f"{up * 10.0**exponent:.2g}".replace("e-0", "e-")


def worded(text: str) -> str:
    """Mathematics typed on a keyboard as readers write it: `epsilon <= 1` -> ε ≤ 1."""
    text = _TYPED.sub(lambda sign: _SIGNS[sign[0]], _multiplied(text)).replace("E_Gamma", "E_Γ").replace("sqrt(", "√(")
    text = _NORM.sub(_normed, _ROOT.sub("√", text))
    text = re.sub(r"(?<![^\W_])log2_(?=\w(?!\w))", "log₂ ", text)
    text = re.sub(r"(?<=\d) - (?=\d|[^\W\d_]\b|[(√])", " − ", text)
    return _POWER_OF_TEN.sub(_as_power, re.sub(r"(?<=[^\W\d_])_prime(?![^\W_])", "′", text))


_POWER = re.compile(r"(?<=[\w)\]])\*\*(?=[\w(√])")
_TIMES = re.compile(r"(?<=[^\W_]|[)\]])\*(?=[\w(√])")


def _multiplied(text: str) -> str:
    """`(2*n/d)**(1/k)` -> (2·n/d)^(1/k): where powers are those of Python, the products are, too."""
    return _TIMES.sub("·", _POWER.sub("^", text)) if _POWER.search(text) else text


_ROOT = re.compile(r"(?<![^\W_])sqrt (?=(?:\d+|[^\W\d_])(?![^\W_]))")
"""`sqrt d` -> √d; of a single letter or number."""
_NORM = re.compile(r"(?<![\w/.-])l(?:_?(1|2|inf|∞)|_([pq])| (inf))(?![\w/])")
"""`l1`, `l_2` and `l inf`, and no label such as `l1_geometry/thm-4`."""


def _normed(norm: re.Match[str]) -> str:
    return f"ℓ_{next(filter(None, norm.groups())).replace('inf', '∞')}"


_POWER_OF_TEN = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)e([-−+]?)0*(\d+)(?![\w.]*\w)")


def _as_power(number: re.Match[str]) -> str:
    """`1.5e-05` -> 1.5×10⁻⁵, and 1e-05 -> 10⁻⁵."""
    power = f"10{(number[2].strip('+') + number[3]).translate(_RAISED)}"
    return power if number[1] == "1" else f"{number[1]}×{power}"


_RAISED = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
_LOWERED = str.maketrans("0123456789aeijklmnprstx", "₀₁₂₃₄₅₆₇₈₉ₐₑᵢⱼₖₗₘₙₚᵣₛₜₓ")


def lined(text: str) -> str:
    """As `worded`, for a figure, which has one line: whole exponents and short indices in the letters of Unicode."""
    text = re.sub(r"(?<=[^\W\d_])_bar(?![^\W_])", "\u0304", re.sub(r"√\((\w)\)", r"√\1", worded(text)))
    text = re.sub(
        r"(?<![\u0300-\u036f])\^(?:\(([-−]?\d+)\)|([-−]?\d+))(?![\w/.])",
        lambda m: (m[1] or m[2]).translate(_RAISED),
        text,
    )
    return re.sub(
        r"(?<![^\W_]{2})(?<=[^\W\d_])_(\d?[aeijklmnprstx]|\d)(?![^\W_])", lambda m: m[1].translate(_LOWERED), text
    )


_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ",
    "eta": "η", "theta": "θ", "kappa": "κ", "lambda": "λ", "lam": "λ", "mu": "μ", "nu": "ν", "xi": "ξ",
    "pi": "π", "Phi": "Φ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω", "ell": "ℓ",
}  # fmt: skip
_SIGNS = {**_GREEK, "<=": "≤", ">=": "≥"}
_TYPED = re.compile(rf"(?<![^\W_])(?:{'|'.join(_GREEK)})(?![^\W_])|(?<![<>=])[<>]=(?![<>=])")


def escaped(text: str) -> str:
    """Plain text whose signs Markdown takes as they are."""
    return _SPECIAL.sub(r"\\\1", text)


def spoken(text: str) -> str:
    """As `hypertext`, where nothing can be raised, as in an alternative text: x^(2k), and S_(1,1)."""
    return "".join(
        part if odd % 2 else _flat(lined(part)) for odd, part in enumerate(_CODE.split(" ".join(text.split())))
    )


def _flat(text: str) -> str:
    """A script of one letter or number stands bare after its sign."""
    parts = ((sign, _flat(part) if sign else part) for sign, part in scripts(_HAT.sub("\u0302", text)))
    return "".join(f"{sign}{part}" if not sign or part.isalnum() else f"{sign}({part})" for sign, part in parts)


def markdown(text: str) -> str:
    """Plain text for a Markdown line or table cell; `code` in backticks stays code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        f"`{part.replace('|', chr(92) + '|')}`" if odd % 2 else _set(part, escaped) for odd, part in enumerate(parts)
    )


def hypertext(text: str) -> str:
    """Plain text for HTML; `code` in backticks becomes code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        f"<code>{html.escape(part)}</code>" if odd % 2 else _set(part, html.escape) for odd, part in enumerate(parts)
    )


_AFTER = "|".join(
    f"(?<={before})"
    for before in (
        r"(?<![\w:/.@-])[^\W\d_]",  # G_k, c_erm, and no part of a name such as `a_line`
        r"(?<![\w:/.@-])\d[A-Za-z]",  # 3G_1
        r"[Α-Ωα-ω\u0300-\u036f]",  # kη_k, 20Δ_1, x̂_T
        r"[²³][^\W\d_]",  # s²w_1
        r"[\d²³)]/[A-Za-z]",  # 1/L_f
        r"[α-ωΑ-Ω²³)][A-Za-z]",  # 2ρG_2
        r"(?<![A-Za-z])(?:log|inf|sup|min|max)",
        r"(?<![A-Za-z])(?:clip|diam)",
        r"(?<![A-Za-z])(?:argmin|argmax)",
        r"[‖|)\]]",  # the norm ‖x‖_p, the positive part (x)_+
    )
)
SCRIPT = re.compile(
    r"([_^])\{([^{}]+)\}"  # x^{2k}, x_{i,j}
    r"|(?<=[\w)\]|‖}'>])(\^)\(((?:[^()]|\([^()]*\))+)\)"  # n^(-1/2), n^(1/(k-1))
    r"|(?<=[\u0300-\u036f])(\^)(\(\w\))"  # the moment r̂^(2)
    r"|(?<=[\w)\]|‖}'>])(\^)([a-z]{3,6})(?![\w^])"  # R^mean
    r"|(?<=[\w)\]|‖}'>\u0300-\u036f+])(\^)"
    r"(?:([-−]?(?:\d+(?:\.\d+)?|[^\W\d_])|\*)(?!\w)"  # n^2, e^-t, F^*
    r"|([α-ω](?=[A-Za-zΑ-Ω])|[a-z](?=[Α-Ωα-ω])))"  # e^εΦ and 2^pλ are products
    rf"|(?:{_AFTER}|(?<=_[ijkt\d][A-Za-z])(?=_[ijkt\d](?![A-Za-z])))(_)"
    r"(?:(\d+)(?=[α-ω])|([ijkt\d])(?=[A-Za-z]_[ijkt\d](?![A-Za-z]))"  # m_1ε and η_in_i are products
    r"|(noise|total|[A-Za-zα-ωΑ-Ω0-9]{1,3}[\u0300-\u036f]?|[∞*+])(?![A-Za-zα-ω0-9_])"
    r"|([-−])(?=[\s,.;:)]|$))"  # P_-
)
_HAT = re.compile(r"(?<=[A-Za-zα-ω])\^(?=[_)|‖])")
"""x^ for x̂."""


def _set(text: str, escape: Callable[[str], str]) -> str:
    """Escaped words, with what stands above and below the line where it belongs."""
    done = ""
    for level, part in scripts(_HAT.sub("\u0302", worded(text))):
        tag = {"^": "sup", "_": "sub"}.get(level)
        done += f"<{tag}>{_set(part, escape)}</{tag}>" if tag else escape(part)
    return done


def scripts(text: str) -> Iterator[tuple[str, str]]:
    """Its pieces one after the other: ("", what stands on the line), ("^", what above it), ("_", what below it)."""
    end = 0
    for script in SCRIPT.finditer(text):
        sign, what = (part for part in script.groups() if part)
        yield "", text[end : script.start()]
        yield sign, what.replace("-", "−")
        end = script.end()
    yield "", text[end:]


def excess(verdict: Verdict) -> float:
    """How far a witness goes beyond what is claimed, as a quotient above 1; 0 where that is not said."""
    if verdict.witness is None:
        return 0.0
    if verdict.severity is not None and 1 < verdict.severity < math.inf:
        return verdict.severity
    try:
        ends = [abs(float(Fraction(value))) for value in (verdict.witness.claimed, verdict.witness.found)]
    except (ValueError, OverflowError, ZeroDivisionError):
        return 0.0
    return max(ends) / min(ends) if min(ends) else math.inf


STANDINGS = {
    "printed": "of printed statements",
    "reading": "of readings of them",
    "ours": "of statements of our own",
    "yours": "of statements in folders of your own",
}


def refutations(standings: Iterable[str]) -> str:
    """ "3 of printed statements, 9 of readings of them": the kinds of refutation, never added up; "" for none."""
    counts = Counter(standings)
    return ", ".join(f"{counts[kind]} {words}" for kind, words in STANDINGS.items() if counts[kind])


def counted(outcomes: Iterable[str]) -> dict[str, int]:
    """How many of each outcome, in a fixed order, zeros included."""
    counts = Counter(outcomes)
    return {name: counts[name] for name in OUTCOMES}


def summary(outcomes: Iterable[str]) -> str:
    """ "holds 2 · undecided 1"; a single verdict is named without a number."""
    counts = {name: count for name, count in counted(outcomes).items() if count}
    if len(counts) == 1 and next(iter(counts.values())) == 1:
        return next(iter(counts))
    return " · ".join(f"{name} {count}" for name, count in counts.items())
