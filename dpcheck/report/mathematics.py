"""Bounds and assumptions in LaTeX for Markdown hosts and in MathML for browsers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dpcheck.claims import Claim
from dpcheck.derivations import Formula
from dpcheck.printing import escaped, latex, markdown, mathml

_RELATIONS = {"<=": (r"\leq", "≤"), ">=": (r"\geq", "≥"), "=": ("=", "="), "is": (":", ":")}
_HIDDEN = {"<=": (r"\lesssim", "≲"), ">=": (r"\gtrsim", "≳")}

_SCRIPTS = re.compile(r"(\w(?:[_^](?:\{[^_^{}]+\}|[\w+−]+?(?![\w+−])))+|[|<>])")


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
    return Display("", markdown(latex(value)), f"<math>{mathml(value)}</math>")


def line(formula: Formula) -> Display:
    """A formula of a derivation: expressions or words on its left."""
    if isinstance(formula.left, sp.Basic):
        shown = markdown(f"{latex(formula.left)} {formula.latex_sign} {latex(formula.right)}")
        sign = f"<mo>{escaped(formula.unicode_sign)}</mo>"
        return Display("", shown, f'<math display="block">{mathml(formula.left)}{sign}{mathml(formula.right)}</math>')
    return _formula("", str(formula.left), (formula.latex_sign, formula.unicode_sign), formula.right)


def _formula(caption: str, quantity: str, signs: tuple[str, str], bound: sp.Expr) -> Display:
    left = _words(quantity)
    shown = f"{signs[0]} {latex(bound)}"
    text = f"<mtext>{escaped(quantity)}&#160;</mtext>" if quantity else ""
    display = f'<math display="block">{text}<mo>{escaped(signs[1])}</mo>{mathml(bound)}</math>'
    return Display(caption, markdown(rf"{left} \ {shown}" if left else shown), display)


def _words(quantity: str) -> str:
    r"""Words as \text, `W_0` and `R^sco` between them as mathematics; "" when other signs of TeX stand in the way."""
    parts = _SCRIPTS.split(quantity)
    if not quantity or any(re.search(r"[\\{}$&#^_%~`]", words) for words in parts[::2]):
        return ""
    scripts = [re.sub(r"([_^])\{?([^_^{}]+)\}?", r"\1{\2}", part) for part in parts[1::2]]
    texts = [rf"\text{{{words}}}" if words else "" for words in parts[::2]]
    return "".join(text + script for text, script in zip(texts, [*scripts, ""], strict=True))
