"""Bounds and assumptions in LaTeX for Markdown hosts and in MathML for browsers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp
from markupsafe import Markup

from dpcheck.claims import Claim
from dpcheck.printing import latex, markdown, mathml, stated

_RELATIONS = {"<=": (r"\leq", "≤"), ">=": (r"\geq", "≥"), "=": ("=", "="), "is": (":", ":")}
_HIDDEN = {"<=": (r"\lesssim", "≲"), ">=": (r"\gtrsim", "≳")}


@dataclass(frozen=True)
class Display:
    """One display: what it is, and its two forms."""

    caption: str
    latex: str
    mathml: str


def formulas(claim: Claim) -> list[Display]:
    """The O-form as printed and the bound with constants, whichever the claim has."""
    displays = []
    if claim.order is not None:
        signs = _HIDDEN.get(claim.relation, _RELATIONS[claim.relation])
        displays.append(_formula("as an order", claim.quantity, signs, claim.order))
    if claim.explicit is not None:
        displays.append(_formula("with constants", claim.quantity, _RELATIONS[claim.relation], claim.explicit))
    return displays


def assumptions(claim: Claim) -> list[Display]:
    """Each assumption by itself; a conjunction is taken apart."""
    parts = [part for one in claim.assumptions for part in (one.args if isinstance(one, sp.And) else (one,))]
    return [expression(part) for part in sorted(set(parts), key=sp.default_sort_key)]


def expression(value: Any) -> Display:
    """A bare expression or relation."""
    return Display("", markdown(latex(value)), _told(f"<math>{mathml(value)}</math>", latex(value)))


def _formula(caption: str, quantity: str, signs: tuple[str, str], bound: sp.Expr) -> Display:
    tex, html = stated(quantity, signs, bound)
    return Display(caption, tex, _told(html, tex))


def _told(html: str, tex: str) -> str:
    """With its LaTeX for readers that know no MathML."""
    return html.replace("<math", str(Markup('<math alttext="{}"').format(tex)), 1)
