"""Bounds and assumptions in LaTeX for Markdown hosts and in MathML for browsers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

from dpcheck.claims import Claim

_RELATIONS = {"<=": (r"\leq", "≤"), ">=": (r"\geq", "≥"), "=": ("=", "="), "is": (":", ":")}
_HIDDEN = {"<=": (r"\lesssim", "≲"), ">=": (r"\gtrsim", "≳")}

# Markdown hosts take backslash + punctuation for an escape, bars for table cells and < for HTML.
_SAFE = (
    (r"\\", r"\cr "),
    (r"\{", r"\lbrace "),
    (r"\}", r"\rbrace "),
    (r"\|", r"\Vert "),
    ("\\,", r"\thinspace "),
    (r"\:", "\\ "),
    (r"\;", "\\ "),
    (r"\!", r"\negthinspace "),
    ("|", r"\vert "),
    ("<", r"\lt "),
    (">", r"\gt "),
)
_SCRIPTS = re.compile(r"(\w(?:[_^](?:\{[^_^{}]+\}|[\w+−]+?(?![\w+−])))+|[|<>])")


@dataclass(frozen=True)
class Formula:
    """One display: what it is, and its two forms."""

    caption: str
    latex: str
    mathml: str


def formulas(claim: Claim) -> list[Formula]:
    """The O-form as printed and the bound with constants, whichever the claim has."""
    found = []
    if claim.order is not None:
        signs = _HIDDEN.get(claim.relation, _RELATIONS[claim.relation])
        found.append(_formula("as an order", claim.quantity, signs, claim.order))
    if claim.explicit is not None:
        found.append(_formula("with constants", claim.quantity, _RELATIONS[claim.relation], claim.explicit))
    return found


def assumptions(claim: Claim) -> list[Formula]:
    """Each assumption by itself; a conjunction is taken apart."""
    parts = [part for one in claim.assumptions for part in (one.args if isinstance(one, sp.And) else (one,))]
    return [expression(part) for part in sorted(set(parts), key=sp.default_sort_key)]


def expression(value: Any) -> Formula:
    """A bare expression or relation."""
    return Formula("", safe(sp.latex(value)), f"<math>{mathml(value)}</math>")


def safe(latex: str) -> str:
    """LaTeX of the same meaning that survives a Markdown parser."""
    for unsafe, replacement in _SAFE:
        latex = latex.replace(unsafe, replacement)
    return re.sub(r" {2,}", " ", latex).strip()


def mathml(value: Any) -> str:
    """Presentation MathML, without the enclosing element."""
    printer = _Printer({"inv_trig_style": "abbreviated"})
    text = cast(str, printer._print(sp.sympify(value)).toxml()).replace("&InvisibleTimes;", "&#8290;")
    # SymPy leaves the signs of strict inequalities as they are, which is no XML.
    return re.sub(r">([<>])</", lambda sign: f">{_escaped(sign[1])}</", text)


def _formula(caption: str, quantity: str, signs: tuple[str, str], bound: sp.Expr) -> Formula:
    left = _words(quantity)
    latex = safe(rf"{left} \ {signs[0]} {sp.latex(bound)}" if left else f"{signs[0]} {sp.latex(bound)}")
    text = f"<mtext>{_escaped(quantity)}&#160;</mtext>" if quantity else ""
    return Formula(caption, latex, f'<math display="block">{text}<mo>{_escaped(signs[1])}</mo>{mathml(bound)}</math>')


def _words(quantity: str) -> str:
    r"""Words as \text, `W_0` and `R^sco` between them as mathematics; "" when other signs of TeX stand in the way."""
    parts = _SCRIPTS.split(quantity)
    if not quantity or any(re.search(r"[\\{}$&#^_%~`]", words) for words in parts[::2]):
        return ""
    scripts = [re.sub(r"([_^])\{?([^_^{}]+)\}?", r"\1{\2}", part) for part in parts[1::2]]
    texts = [rf"\text{{{words}}}" if words else "" for words in parts[::2]]
    return "".join(text + script for text, script in zip(texts, [*scripts, ""], strict=True))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]
    """SymPy's printer, with cases set as cases."""

    def _print_Piecewise(self, expr: Any) -> Any:
        row = self.dom.createElement("mrow")
        brace = self.dom.createElement("mo")
        brace.appendChild(self.dom.createTextNode("{"))
        table = self.dom.createElement("mtable")
        table.setAttribute("columnalign", "left")
        for value, condition in expr.args:
            line = self.dom.createElement("mtr")
            for content in (self._print(value), self._condition(condition)):
                cell = self.dom.createElement("mtd")
                cell.appendChild(content)
                line.appendChild(cell)
            table.appendChild(line)
        row.appendChild(brace)
        row.appendChild(table)
        return row

    def _condition(self, condition: Any) -> Any:
        words = self.dom.createElement("mtext")
        words.appendChild(self.dom.createTextNode("otherwise" if condition == sp.true else "if "))
        if condition == sp.true:
            return words
        row = self.dom.createElement("mrow")
        row.appendChild(words)
        row.appendChild(self._print(condition))
        return row
