"""Statements of papers as objects: quantity, relation, symbolic bound, assumptions, source label."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import sympy as sp

from dpcheck import foreign, printing
from dpcheck.displayed import Displayed
from dpcheck.errors import CollectionError, InvalidInput
from dpcheck.labels import split_label
from dpcheck.symbols import BY_NAME

if TYPE_CHECKING:
    from dpcheck.asymptotics import Comparison, Regime

Kind = Literal["assumption", "definition", "algorithm", "procedure", "lemma", "proposition", "theorem", "corollary"]
Relation = Literal["<=", ">=", "=", "is"]
"""`is` claims a property rather than an inequality ("is epsilon-DP", "is convex")."""
Reading = Literal["as-printed", "literal", "corrected", "derived"]
"""as-printed: the statement; literal: a slip taken at its word; corrected: repaired; derived: constants worked out."""
Grade = Literal["", "refuted", "slip", "proof gap"]
Measure = Literal["", "excess risk", "empirical suboptimality", "distance", "gradients", "epsilon spent"]
"""What a bound is a bound on, for programs: excess risk: population risk of an algorithm's output over the least one;
empirical suboptimality: the same of the (regularised) empirical risk; distance: of an output to the minimiser that its
solver is after; epsilon spent: exact loss of the worst pair; "": anything else."""

SEQUENCE = "[i]"
"""What the name of a sequence's terms ends with: "sigma[i]" are the sigma_i of phases, steps or leaves."""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Where claims come from."""

    key: str
    title: str
    authors: str
    reference: str

    def claim(self, label: str, title: str, statement: str, **fields: Any) -> Claim:
        """One statement; `fields` are those of `Claim`. The label is written out, so that grep finds it."""
        if split_label(label)[0] != self.key:
            raise CollectionError(f"{label} is not a statement of the paper {self.key!r}")
        return Claim(paper=self, label=label, title=title, statement=statement, **fields)


@dataclass(frozen=True, kw_only=True)
class Claim(Displayed):
    """One statement of a paper, or one reading of it.

    Attributes:
        label: `<paper>/<item>` or `<paper>/<item>@<reading>`.
        title: the item as the paper calls it ("Theorem 3.1").
        statement: what it says, in one or two plain sentences with Unicode mathematics.
        quantity: the left-hand side in words ("excess risk", "delta at epsilon"); `relation` ties it to the bound.
        measures: what kind of quantity that is; plans and comparisons go by it, never by the words of `quantity`.
        order: the O-form as printed, without its hidden constant.
        explicit: the bound with every constant, when a proof supports one.
        assumptions: what must hold for `explicit`; each a SymPy relation.
        about: labels of the algorithms that it speaks of.
        probability: of the event; None for "in expectation, or surely".
        grade: what is wrong with the printed form, when something is; `remark` says it in a sentence and the
            algebra stands in `bounds/<paper>.md` under the same label.
    """

    paper: Paper
    label: str
    title: str
    statement: str
    kind: Kind
    section: str = ""
    origin: Literal["own", "cited", "ours"] = "own"
    quantity: str = ""
    measures: Measure = ""
    relation: Relation = "is"
    order: sp.Expr | None = None
    explicit: sp.Expr | None = None
    assumptions: tuple[sp.Basic, ...] = ()
    about: tuple[str, ...] = ()
    probability: sp.Expr | float | None = None
    grade: Grade = ""
    remark: str = ""

    def __post_init__(self) -> None:
        split_label(self.label)
        if self.kind not in get_args(Kind):
            raise CollectionError(
                f"{self.label}: unknown kind {self.kind!r}; choose one of {', '.join(get_args(Kind))}"
            )
        if self.measures not in get_args(Measure):
            known = ", ".join(repr(name) for name in get_args(Measure))
            raise CollectionError(f"{self.label}: measures {self.measures!r} is not one of {known}")
        if self.relation != "is" and self.order is None and self.explicit is None:
            raise CollectionError(f"{self.label}: the relation {self.relation!r} needs `order` or `explicit`")

    def as_read(self, label: str, title: str, statement: str, **changes: Any) -> Claim:
        """Another reading of this statement: what `changes` do not name is as it is here, but for grade and remark.

        A bound is inherited whole: one that gives `order` or `explicit` has none of the other but what it gives.
        """
        if label.partition("@")[0] != self.statement_label:
            raise CollectionError(f"{label} is no reading of {self.statement_label}")
        bounds = {"order": None, "explicit": None} if {"order", "explicit"} & changes.keys() else {}
        kept: dict[str, Any] = {"grade": "", "remark": "", **bounds, **changes}
        return replace(self, label=label, title=title, statement=statement, **kept)

    @property
    def statement_label(self) -> str:
        """The label without its reading."""
        return self.label.partition("@")[0]

    @property
    def reading(self) -> str:
        return self.label.partition("@")[2] or "as-printed"

    @property
    def bound(self) -> sp.Expr | None:
        """The explicit bound where there is one, else the O-form."""
        return self.explicit if self.explicit is not None else self.order

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the values that `evaluate` asks for, of sequences as "sigma[i]"."""
        bound = sp.S.Zero if self.bound is None else self.bound
        return tuple(symbol.name for symbol in _prepared(bound, self.assumptions)[2])

    def evaluate(self, **parameters: Any) -> Any:
        """The bound at `parameters` (symbol name -> number or array; arrays broadcast).

        A symbol of `dpcheck.symbols` that the bound does not have is no error: one point may serve several bounds.

        Raises:
            InvalidInput: a name is no symbol, a symbol of the bound has no value, or an assumption fails; the message
                names it.
        """
        names = {name.rstrip("_") for name in (*self.needs, *BY_NAME)}
        unknown = [name for name in parameters if name.rstrip("_") not in names]
        if unknown and self.bound is not None:
            raise InvalidInput(
                f"{self.label} has no symbol {', '.join(unknown)}; its symbols are {', '.join(self.needs) or 'none'}"
            )
        return self.at(parameters)

    def at(self, point: Mapping[str, Any]) -> Any:
        """The bound at values of which it takes those of its symbols: `evaluate` for what a whole schedule fixes."""
        if self.bound is None:
            raise InvalidInput(f"{self.label} has no symbolic bound to evaluate; see `dpcheck show {self.label}`")
        return evaluate(self.bound, point, self.assumptions, self.label)

    def local_exponent(
        self, variable: str, at: Mapping[str, float], tied: Mapping[str, sp.Expr] | None = None
    ) -> float:
        """d log(bound) / d log(variable) at a point.

        Args:
            variable: a symbol name, "n".
            at: values of all symbols, the variable's own included.
            tied: symbols that move along with the variable, as expressions of it (`{"p": d*J/(n*epsilon)}`).
        """
        if self.bound is None:
            raise InvalidInput(f"{self.label} has no symbolic bound, so no exponent")
        bound = self.bound.subs([(BY_NAME[name], value) for name, value in (tied or {}).items()])
        return local_exponent(bound, variable, at)

    def compare(self, other: Claim | sp.Expr, regime: Regime | None = None) -> Comparison:
        """How the rate of this claim relates to another's: smaller, larger, of the same order, or incomparable.

        The O-form is compared, or the explicit bound where there is none; floors and ceilings count as their argument.

        Args:
            regime: how the variables grow together; default `Regime.usual`: sizes are at least 1, budgets and
                failure probabilities at most 1, all of them independent of each other, everything else constant.

        Raises:
            InvalidInput: a claim without a bound, or with one that has no order of growth (it holds exp, say).
        """
        from dpcheck.asymptotics import Order, Regime, compare

        first = self.rate()
        second = other.rate() if isinstance(other, Claim) else Order.of(other, ignore_rounding=True)
        return compare(first, second, regime or Regime.usual(first.symbols | second.symbols))

    def rate(self) -> Any:
        """The order of growth of the bound, an `asymptotics.Order`. Raises `InvalidInput` when it has none."""
        from dpcheck.asymptotics import Order

        bound = self.order if self.order is not None else self.explicit
        if bound is None:
            raise InvalidInput(f"{self.label} has no symbolic bound to compare; see `dpcheck show {self.label}`")
        try:
            return Order.of(bound, ignore_rounding=True)
        except InvalidInput as error:
            raise InvalidInput(f"{self.label} has no order of growth: {error}") from error

    def latex(self) -> str:
        """The bound in LaTeX, with its relation."""
        return "" if self.bound is None else f"{self._relation(latex=True)} {printing.latex(self.bound)}"

    def unicode(self) -> str:
        """The bound as a few lines of Unicode."""
        return "" if self.bound is None else "\n".join(printing.pretty(self.bound))

    def mathml(self) -> str:
        """The bound in presentation MathML, with its relation, as one `<math>` element."""
        if self.bound is None:
            return ""
        sign = printing.escaped(self._relation(latex=False))
        return f"<math><mo>{sign}</mo>{printing.mathml(self.bound)}</math>"

    def _relation(self, *, latex: bool) -> str:
        hidden = self.explicit is None
        names = {
            "<=": (r"\lesssim" if hidden else r"\leq", "≲" if hidden else "≤"),
            ">=": (r"\gtrsim" if hidden else r"\geq", "≳" if hidden else "≥"),
            "=": ("=", "="),
            "is": (r"\colon", ":"),
        }
        return names[self.relation][0 if latex else 1]


def evaluate(
    expression: sp.Expr, parameters: Mapping[str, Any], assumptions: tuple[sp.Basic, ...] = (), label: str = "bound"
) -> Any:
    """Evaluates a SymPy expression by symbol names; arrays broadcast. See `Claim.evaluate` for the errors.

    A sequence `sigma[i]` of the expression takes its terms, from i = 1 on, under the name "sigma[i]".
    """
    expression, assumptions, symbols = _prepared(expression, tuple(assumptions))
    parameters = {name.rstrip("_"): value for name, value in parameters.items()}  # `lambda_=1` for the symbol lambda
    missing = [s.name for s in symbols if s.name.rstrip("_") not in parameters]
    if missing:
        raise InvalidInput(f"{label} needs a value for {', '.join(missing)}")
    given = [_numeric(parameters[s.name.rstrip("_")], s.name, label) for s in symbols]
    import numpy as np

    # Terms are numbered from 1 on; an array, so that one formula may speak of all of them at once.
    # Floats, since integers beyond 64 bits have no root in NumPy.
    values = [
        np.array([math.nan, *v], dtype=float) if s.name.endswith(SEQUENCE) else v
        for s, v in zip(symbols, given, strict=True)
    ]
    for assumption in assumptions:
        held = _compiled(assumption, symbols)(*values)
        if not np.all(held):
            named = {s.name: parameters[s.name.rstrip("_")] for s in sorted(assumption.free_symbols, key=str)}
            raise InvalidInput(f"{label} assumes {assumption}, which fails at {_first_failure(held, named)}")
    return _compiled(expression, symbols)(*values)


def _numeric(value: Any, name: str, label: str) -> Any:
    """The value of a symbol, of a list its array. Raises `InvalidInput` of what is no number, and holds none."""
    terms = name.endswith(SEQUENCE)
    if isinstance(value, numbers.Number | sp.Expr) and not terms:
        return value
    import numpy as np

    try:
        array = np.asarray(value)
    except ValueError:  # rows of unequal length
        array = np.array(None)
    # Integers beyond 64 bits, fractions and SymPy's numbers are objects to NumPy.
    exact = array.dtype.kind == "O" and all(isinstance(each, numbers.Number | sp.Expr) for each in array.flat)
    if not (exact or array.dtype.kind in "biufc") or (terms and array.ndim != 1):
        wanted = "a list of its terms" if terms else "a number, or an array of numbers"
        raise InvalidInput(f"{label}: {name} must be {wanted}, got {foreign.shortened(value)}")
    return array if isinstance(value, list | tuple) else value


@functools.lru_cache(maxsize=512)
def _prepared(
    expression: sp.Expr, assumptions: tuple[sp.Basic, ...]
) -> tuple[sp.Expr, tuple[sp.Basic, ...], tuple[sp.Symbol, ...]]:
    """Both with sequences named apart from symbols of the same letter, and all symbols that need a value, by name."""
    bases = sp.Tuple(expression, *assumptions).atoms(sp.IndexedBase)
    named = {base: sp.IndexedBase(sp.Symbol(f"{base.label}{SEQUENCE}", positive=True)) for base in bases}
    expression, *others = (each.xreplace(named) for each in (expression, *assumptions))
    needed = expression.free_symbols.union(*(a.free_symbols for a in others))
    symbols = sorted((s for s in needed if isinstance(s, sp.Symbol)), key=lambda s: s.name)
    return expression, tuple(others), tuple(symbols)


@functools.lru_cache(maxsize=512)
def _compiled(expression: sp.Basic, symbols: tuple[sp.Symbol, ...]) -> Any:
    """The expression as a NumPy function; compiling takes a thousand times as long as a call."""
    import numpy as np

    names = {symbol: f"x{place}" for place, symbol in enumerate(symbols)}
    # The name "numpy" would load whatever NumPy and SciPy hold; the printer names what an expression takes from SciPy.
    return sp.lambdify(list(names.values()), expression, [vars(np)], printer=printing.Positional(names))


def _first_failure(held: Any, values: Mapping[str, Any]) -> str:
    """The values at which a relation fails; of arrays, those of the first entry, and how many more there are."""
    others = 0
    if getattr(held, "ndim", 0):
        import numpy as np

        failing = np.argwhere(~held)
        others = len(failing) - 1
        values = {name: np.broadcast_to(value, held.shape)[tuple(failing[0])] for name, value in values.items()}
    said = ", ".join(f"{name} = {value}" for name, value in values.items())
    return said + (f" and at {others} more of {held.size} entries" if others else "")


def local_exponent(expression: sp.Expr, variable: str, at: Mapping[str, float]) -> float:
    """The logarithmic derivative by a central difference in log space: exact to 1e-8, and safe with min and floor.

    >>> from dpcheck.symbols import n
    >>> round(local_exponent(n ** sp.Rational(-1, 2), "n", {"n": 100.0}), 9)
    -0.5
    """
    if variable not in at:
        raise InvalidInput(f"{variable} moves and has no value; `at` has {', '.join(at) or 'none'}")
    step = 1e-4
    high = evaluate(expression, {**at, variable: at[variable] * math.exp(step)})
    low = evaluate(expression, {**at, variable: at[variable] * math.exp(-step)})
    return (math.log(high) - math.log(low)) / (2 * step)
