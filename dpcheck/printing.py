"""Expressions for a terminal, a Markdown page and a browser: Unicode, LaTeX, MathML."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.numpy import SciPyPrinter
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.pretty_symbology import greek_unicode

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


def pretty(expression: Any) -> list[str]:
    """The lines of an expression drawn in Unicode."""
    printer = _Pretty({"use_unicode": True, "wrap_line": False})
    return str(printer.doprint(subscripted(sp.sympify(expression)))).splitlines()


def subscripted(expression: Any, index: str | None = None) -> Any:
    """The same with symbols `sigma_i` for the terms `sigma[i]` of sequences; all with one index where that is given."""
    terms = expression.atoms(sp.Indexed)
    said = {term: index or ", ".join(str(i).replace(" ", "") for i in term.indices) for term in terms}
    return expression.xreplace({term: sp.Symbol(f"{term.base.label}_{said[term]}", positive=True) for term in terms})


def inline(expression: Any) -> str:
    """An expression in Unicode on one line."""
    lines = pretty(expression)
    if len(lines) == 1:
        return lines[0]
    expression = subscripted(sp.sympify(expression))
    text = str(expression)
    for symbol in sorted(expression.free_symbols, key=lambda s: -len(s.name)):
        text = re.sub(rf"(?<!\w){re.escape(symbol.name)}(?!\w)", "".join(pretty(symbol)), text)
    for plain, sign in (("sqrt(", "√("), ("**", "^"), ("*", "·"), ("<=", "≤"), (">=", "≥")):
        text = text.replace(plain, sign)
    return text


def latex(expression: Any) -> str:
    return _latex(sp.sympify(expression))


@functools.lru_cache(maxsize=4096)  # the report shows a bound at several places, and printing it takes long
def _latex(value: sp.Basic) -> str:
    return str(sp.latex(value))


def markdown(text: str) -> str:
    """LaTeX of the same meaning that survives a Markdown parser."""
    for unsafe, replacement in _SAFE:
        text = text.replace(unsafe, replacement)
    return re.sub(r" {2,}", " ", text).strip()


def mathml(expression: Any) -> str:
    """Presentation MathML, without the enclosing element; markup in the name of a symbol stays text."""
    return _mathml(sp.sympify(expression))


@functools.lru_cache(maxsize=4096)
def _mathml(value: sp.Basic) -> str:
    printer = _MathML({"inv_trig_style": "abbreviated"})
    text = cast(str, printer._print(value).toxml())
    for name, sign in _NAMED:
        text = text.replace(name, sign)
    text = _DIGITS_AFTER_DIGITS.sub(r"\1<mo>&#183;</mo>", text)
    # SymPy leaves the signs of strict inequalities as they are, which is no XML.
    return re.sub(r">([<>])</", lambda sign: f">{escaped(sign[1])}</", text)


_NAMED = (("&InvisibleTimes;", "&#8290;"), ("&ExponentialE;", "e"), ("&dd;", "d"))
"""Names that XML does not know, and signs that most fonts lack."""


_DIGITS_AFTER_DIGITS = re.compile(r"(</mn>)<mo>&#8290;</mo>(?=(?:<m(?:row|sup|sub)>)*<mn>)")
"""A product that would read as one number: 2·2ⁿ, no 22ⁿ."""


def spelled(name: str) -> str:
    """A symbol's name as it is written: `R_{e}` without its braces, `H_ell` with an ℓ, δ′ for `delta_prime`."""
    base, *indices = re.sub(r"[{}]", "", name).split("_")
    signs = {"prime": "\u2032", "bar": "\u0304"}
    marks = "".join(signs.get(each, "") for each in indices)
    if marks:
        base = greek_unicode.get(base, base) + marks
    return "_".join("ℓ" if each == "ell" else each for each in (base, *indices) if each not in signs)


def escaped(text: str) -> str:
    """Plain text inside XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def stated(left: Any, signs: tuple[str, str], right: Any) -> tuple[str, str]:
    """`left sign right` as LaTeX for Markdown and as a displayed `<math>`; words, or nothing, may stand on the left.

    Args:
        signs: of the relation, in LaTeX and in Unicode.
    """
    sign = f"<mo>{escaped(signs[1])}</mo>{mathml(right)}"
    if isinstance(left, sp.Basic):
        shown, start = f"{latex(left)} {signs[0]} {latex(right)}", mathml(left)
    else:
        words = _words(left)
        shown = f"{words} \\ {signs[0]} {latex(right)}" if words else f"{signs[0]} {latex(right)}"
        start = f"<mtext>{escaped(left)}&#160;</mtext>" if left else ""
    return markdown(shown), f'<math display="block">{start}{sign}</math>'


_SCRIPTS = re.compile(r"(\w(?:[_^](?:\{[^_^{}]+\}|[\w+−]+?(?![\w+−])))+|[|<>])")


def _words(quantity: str) -> str:
    r"""Words as \text, `W_0` and `R^sco` between them as mathematics; "" when other signs of TeX stand in the way."""
    parts = _SCRIPTS.split(quantity)
    if not quantity or any(re.search(r"[\\{}$&#^_%~`]", words) for words in parts[::2]):
        return ""
    scripts = [re.sub(r"([_^])\{?([^_^{}]+)\}?", r"\1{\2}", part) for part in parts[1::2]]
    texts = [rf"\text{{{words}}}" if words else "" for words in parts[::2]]
    return "".join(text + script for text, script in zip(texts, [*scripts, ""], strict=True))


def _respelled(symbol: sp.Symbol, escape: Callable[[str], str] = str) -> sp.Symbol:
    name = escape(spelled(symbol.name))
    return symbol if name == symbol.name else sp.Symbol(name)


class _Pretty(PrettyPrinter):  # type: ignore[misc]
    """SymPy draws the arguments of Min and Max as code, and the names of a few symbols as they are typed."""

    def _print_Symbol(self, e: Any, bold_name: bool = False) -> Any:
        return super()._print_Symbol(_respelled(e), bold_name)

    def _print_Min(self, expr: Any) -> Any:
        return self._helper_print_function(expr.func, expr.args, sort=True, func_name="min")

    def _print_Max(self, expr: Any) -> Any:
        return self._helper_print_function(expr.func, expr.args, sort=True, func_name="max")


class _MathML(MathMLPresentationPrinter):  # type: ignore[misc]
    """SymPy's printer, with cases set as cases, and names of symbols as text, which it takes for markup."""

    def _print_Symbol(self, sym: Any, style: str = "plain") -> Any:
        return super()._print_Symbol(_respelled(sym, escaped), style)

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


class Positional(SciPyPrinter):  # type: ignore[misc]
    """Code in which symbols have the names of their places: `lambdify` rebuilds, and simplifies, what it renames."""

    def __init__(self, names: Mapping[sp.Symbol, str]) -> None:
        super().__init__({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})
        self.names = names

    def _print_Symbol(self, expr: sp.Symbol) -> str:
        return self.names.get(expr) or str(super()._print_Symbol(expr))  # the index of a sum has its own name

    def _print_Indexed(self, expr: sp.Indexed) -> str:
        return f"{self._print(expr.base.label)}[{', '.join(self._print(index) for index in expr.indices)}]"

    def _print_Function(self, expr: sp.Function) -> str:
        """A function that SymPy has no name for, `sp.Function("gammaincinv")`, may be one of `scipy.special`."""
        if expr.func.__name__ not in self.known_functions:
            import scipy.special  # a quarter of a second, for the few formulas that need it

            if expr.func.__name__ in scipy.special.__all__:
                self.module_imports["scipy.special"].add(expr.func.__name__)
        return str(super()._print_Function(expr))
