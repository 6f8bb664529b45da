"""Dominance for every value of a parameter: a proof at one value is lifted to the cell of values where it still works.

At a value the simplex method gives multipliers with a small support. On that support the equations of Motzkin's theorem
have a unique solution in rational functions of the parameter. It proves the claim for all values at which no multiplier
is negative and the logs still favour the same side; real roots cut the range there, and what is left is tried anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import sympy as sp

from dpcheck.asymptotics.decision import (
    Dominance,
    Evaluator,
    Evidence,
    Leaf,
    Pairs,
    ParametricDominance,
    Path,
    Question,
    Ray,
    Signs,
    Split,
    Tree,
    Undecided,
    Unresolved,
    path_rows,
)
from dpcheck.asymptotics.intervals import ParameterCell, Range, cells, constant_sign, roots, sample, sign_at, subdivide
from dpcheck.asymptotics.linear import Inequality, Number
from dpcheck.asymptotics.orders import Order

Values = Mapping[sp.Symbol, sp.Expr]
MOST_CELLS = 200
FRACTIONS = (sp.Rational(3, 7), sp.Rational(5, 11), sp.Rational(11, 17))


def evidence(question: Question) -> Evidence:
    """Answers a question for all values of its parameters.

    With one parameter the answer is exact, but for accidents at irrational values. With several, and with parameters
    inside logs, a counterexample on a small grid or one proof that works throughout decides; else it is undecided.
    """
    parameters = question.parameters
    if not parameters:
        return question.at({})
    inside = question.rate.log_parameters | question.other.log_parameters
    if question.regime.open_parameters and _has_logs(question):
        inside = inside | question.regime.open_parameters
    if inside:
        names = ", ".join(sorted(s.name for s in inside))
        return _on_grid(question) or Undecided(f"the argument of a log depends on {names}; give it a value")
    if len(parameters) == 1:
        return _for_all(question, parameters[0])
    names = " and ".join(s.name for s in parameters)
    return (
        _on_grid(question)
        or _throughout(question)
        or Undecided(f"the exponents depend on {names} and no proof works for all of them; give all but one a value")
    )


def _has_logs(question: Question) -> bool:
    groups = (*question.upper, *question.lower)
    return any(m.logs for group in groups for m in group)


def _on_grid(question: Question) -> Ray | None:
    """A counterexample at some of a few values of each parameter."""
    ranges = question.regime.ranges
    axes = [
        [v for cell in cells(ranges[s]) for f in FRACTIONS if (v := sample(cell, f)) is not None]
        for s in question.parameters
    ]
    for values in itertools.product(*(dict.fromkeys(axis) for axis in axes)):
        answer = question.at(dict(zip(question.parameters, values, strict=True)))
        if isinstance(answer, Ray):
            return answer
    return None


def _throughout(question: Question) -> ParametricDominance | None:
    """One proof for the whole box of parameters."""
    lifter, ranges = _Lifter(question), question.regime.ranges
    for fraction in FRACTIONS:
        values = {s: sample(cells(ranges[s])[-1], fraction) for s in question.parameters}
        answer = question.at(values)
        lifted = lifter.lift(answer, values) if isinstance(answer, Dominance) else None
        if lifted is not None and lifted.holds_throughout(ranges):
            return ParametricDominance(question.parameters, ((None, lifted.dominance),), question.inclusive)
    return None


def _for_all(question: Question, parameter: sp.Symbol) -> Evidence:
    lifter = _Lifter(question)
    queue, pieces, proofs = (
        cells(question.regime.ranges[parameter]),
        list[tuple[ParameterCell, Dominance]](),
        list[_Lifted](),
    )
    while queue:
        cell = queue.pop(0)
        if len(pieces) + len(queue) > MOST_CELLS:
            return Undecided(f"the range of {parameter} falls into more than {MOST_CELLS} cells; give it a value")
        if cell.is_point and cell.low.is_Rational:
            answer = question.at({parameter: cell.low})
            if isinstance(answer, Ray):
                return answer
            pieces.append((cell, answer))
        elif cell.is_point and any(not c.is_point for c in queue):
            queue.append(cell)  # irrational: a proof of a cell still to come may reach it
        elif cell.is_point:
            proof = next((p for p in proofs if p.holds(parameter, cell.low)), None)
            if proof is None:
                return Undecided(f"no proof was found at the irrational value {parameter} = {cell.low}")
            pieces.append((cell, proof.dominance))
        else:
            step = _one_step(question, lifter, parameter, cell)
            if not isinstance(step, _Lifted):
                return step
            proofs.append(step)
            for part in subdivide(cell, roots(step.expressions(), parameter)):
                value = sample(part)
                if value is not None and not part.is_point and step.holds(parameter, value):
                    pieces.append((part, step.dominance))
                else:
                    queue.append(part)
    return ParametricDominance((parameter,), tuple(pieces), question.inclusive)


def _one_step(
    question: Question, lifter: _Lifter, parameter: sp.Symbol, cell: ParameterCell
) -> _Lifted | Ray | Undecided:
    """A lifted proof that works near some value of an open cell, or a counterexample."""
    for fraction in FRACTIONS:
        value = sample(cell, fraction)
        answer = question.at({parameter: value})
        if isinstance(answer, Ray):
            return answer
        lifted = lifter.lift(answer, {parameter: value})
        if lifted is not None and value not in roots(lifted.expressions(), parameter):
            return lifted
    return Undecided(f"no proof at one value of {parameter} in {cell} extends to its neighbours")


@dataclass
class _Lifted:
    """A proof whose multipliers are functions of the parameters, and what must hold for it to be one."""

    dominance: Dominance
    multipliers: list[sp.Expr] = field(default_factory=list)
    log_gaps: list[tuple[sp.Expr, sp.Expr]] = field(default_factory=list)

    def expressions(self) -> list[sp.Expr]:
        """Everything whose sign matters."""
        return [*self.multipliers, *(x for gap in self.log_gaps for x in gap)]

    def holds(self, parameter: sp.Symbol, value: sp.Expr) -> bool:
        """Whether it is a proof at this value of the only parameter."""
        return self._holds(lambda x: sign_at(x, parameter, value))

    def holds_throughout(self, ranges: Mapping[sp.Symbol, Range]) -> bool:
        """Whether it is a proof for all values; False may mean that the signs could not be settled."""
        return self._holds(lambda x: constant_sign(x, ranges))

    def _holds(self, sign_of: Callable[[sp.Expr], int | None]) -> bool:
        if any(sign_of(y) not in (0, 1) for y in self.multipliers):
            return False
        return all(_weak(tuple(map(sign_of, gap)), self.dominance.inclusive) for gap in self.log_gaps)


def _weak(signs: tuple[int | None, ...], inclusive: bool) -> bool:
    """Whether logs with these signs of differences do not favour the first monomial."""
    sign = next((s for s in signs if s != 0), 0)
    return sign is not None and (sign < 0 or (sign == 0 and not inclusive))


class _Lifter:
    def __init__(self, question: Question) -> None:
        self.evaluator = Evaluator(question.space({}))
        self.pairs = list(question.pairs({}))

    def lift(self, dominance: Dominance, values: Values) -> _Lifted | None:
        """The proof with multipliers as functions; None when its support is an accident of these values."""
        lifted, trees = _Lifted(dominance), []
        for pairs, tree in zip(self.pairs, dominance.cases, strict=True):
            new = self._tree(tree, pairs, (), values, lifted)
            if new is None:
                return None
            trees.append(new)
        lifted.dominance = Dominance(tuple(trees), dominance.inclusive)
        return lifted

    def _tree(self, tree: Tree, pairs: Pairs, path: Path, values: Values, lifted: _Lifted) -> Tree | None:
        if isinstance(tree, Leaf):
            return self._leaf(tree, pairs, path, values, lifted)
        branches = []
        for sign, branch in ((-1, tree.negative), (0, tree.zero), (1, tree.positive)):
            new = self._tree(branch, pairs, (*path, (tree.form, sign)), values, lifted)
            if new is None:
                return None
            branches.append(new)
        return Split(tree.form, *branches)

    def _leaf(self, leaf: Leaf, pairs: Pairs, path: Path, values: Values, lifted: _Lifted) -> Leaf | None:
        rows = [*self.evaluator.space.rows, *path_rows(path)]
        before, used = len(rows), {index for index, _ in leaf.multipliers}
        for index, (first, second) in enumerate(pairs, start=before):
            gap = self._log_gap(first, second, Signs(path))
            strict = gap is not None and _weak(
                tuple(int(sp.sign(x.subs(values))) for x in gap), lifted.dominance.inclusive
            )
            if strict and gap is not None and index in used:
                lifted.log_gaps.append(gap)
            form = self.evaluator.powers(first).form - self.evaluator.powers(second).form
            rows.append(Inequality(form, strict))
        solution = _solve(rows, self.evaluator.space.dimension, [index for index, _ in leaf.multipliers])
        if solution is None:
            return None
        lifted.multipliers += solution.values()
        return Leaf(tuple(solution.items()))

    def _log_gap(self, first: Order, second: Order, signs: Signs) -> tuple[sp.Expr, sp.Expr] | None:
        try:
            pairs = zip(self.evaluator.logs(first, signs), self.evaluator.logs(second, signs), strict=True)
        except Unresolved:
            return None
        log, loglog = (sp.cancel(sp.sympify(x - y)) for x, y in pairs)
        return log, loglog


def _solve(rows: Sequence[Inequality], dimension: int, support: Sequence[int]) -> Mapping[int, Number] | None:
    """Multipliers on the support as rational functions: forms cancel, the strict rows' multipliers add up to one."""
    unknowns = sp.symbols(f"y:{len(support)}", seq=True)
    totals: list[sp.Expr] = [sp.Integer(0)] * (dimension + 1)
    weight: sp.Expr = sp.Integer(-1)
    for y, index in zip(unknowns, support, strict=True):
        if index == len(rows):  # 1 > 0
            totals[-1] += y
            weight += y
            continue
        form = rows[index].form
        for j, c in enumerate((*form.coefficients, form.constant)):
            totals[j] += y * sp.sympify(c)
        weight += y if rows[index].strict else 0
    solutions = sp.linsolve([*totals, weight], *unknowns)
    if not isinstance(solutions, sp.FiniteSet) or not solutions:
        return None
    values = [sp.cancel(sp.together(v)) for v in next(iter(solutions))]
    if any(v.free_symbols & set(unknowns) for v in values):
        return None
    return dict(zip(support, values, strict=True))
