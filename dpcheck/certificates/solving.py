"""Finds certificates: a semidefinite programme in floats, then multipliers that are exactly right.

The programme is the dual of the worst case: multipliers y >= 0 of the inequalities of a run, and the least bound for
which the matrix of `checker` is positive semidefinite. Its floats are rounded, the linear equations repaired exactly,
and the bound is what exact elimination leaves in the unit's corner. Rounding to small denominators finds multipliers
that have a closed form; where none comes near the optimum, the programme is solved once more for a point well inside of
its feasible set at a slightly larger bound, from which rounding does not lead out.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dpcheck.certificates import checker
from dpcheck.errors import InvalidInput, MissingExtra

Parameters = Mapping[str, Fraction]
Cost = Literal["bound", "sum", "any"]
Kernel = Sequence[Mapping[int, Fraction]]
"""Vectors, each by its entries."""
UNBOUNDED = 1e6
"""Bounds are smaller than this, as parameters are of the order of one."""
TOGETHER = 1e4
"""The multipliers of a point inside add up to no more."""
CLOSE = 1e-8
"""A proof is taken at once where its bound is as near as this, relatively, to the optimum in floats."""


@dataclass(frozen=True)
class Dual:
    """The programme's matrices: columns are the bound and the multipliers.

    Attributes:
        run: the problem.
        keys: what must cancel: values, and pairings in spaces without an inner product.
        inner: the indices of vectors with an inner product, the unit first.
    """

    run: Any
    keys: tuple[tuple[int, int], ...]
    inner: tuple[int, ...]

    @classmethod
    def of(cls, problem: Sequence[str], parameters: Parameters, longest: Fraction | None = None) -> Dual:
        """The programme of a problem, with bounds on the lengths of vectors that have none where `longest` says so."""
        run = checker.ExactRun(problem, parameters)
        if longest is not None:
            squared = {i for form in (run.quantity, *run.rows) for i, j in form if i == j}
            for i in set(range(1, run.size)) - squared - run.free:
                run.rows.append(checker.Form({(i, i): Fraction(1), (0, 0): -longest}))
        forms = (run.quantity, *run.rows)
        # A vector whose square is in no inequality has a zero on the diagonal, so its products must cancel as well.
        squared = {0, *(i for form in forms for i, j in form if i == j)}
        apart = {i for i in range(run.size) if i in run.free or i not in squared}
        keys = {key for form in forms for key in form if apart.intersection(key)}
        return cls(run, tuple(sorted(keys)), tuple(i for i in range(run.size) if i not in apart))

    def solved(
        self,
        cost: Cost = "bound",
        most: float = 0.0,
        only: Sequence[int] | None = None,
        least: float = 0.0,
        kernel: Kernel = (),
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Bound, multipliers, and the dual solution, which holds the Gram matrix of a worst case.

        Args:
            cost: the least bound; among bounds of at most `most` the smallest sum of multipliers, which tends to their
                closed form; or any point of these, which is one well inside.
            only: the inequalities that may be used; default all.
            least: of each multiplier, so that rounding leaves it positive.
            kernel: vectors that the matrix must take to zero.
        """
        try:
            import clarabel
        except ImportError as error:
            raise MissingExtra("finding a certificate", "certificates") from error
        from scipy import sparse

        rows, size, corner = len(self.run.rows), len(self.inner), len(self.keys)
        equations = self.equations(kernel)[corner:]
        zero = corner + len(equations)
        cap = zero + rows + (cost == "any")  # where multipliers of opposites grow together
        place = {key: i for i, key in enumerate(self.keys)}
        for i, name in enumerate(self.inner):
            for j, other in enumerate(self.inner[i:], start=i):
                place[name, other] = cap + 1 + j * (j + 1) // 2 + i
        entries = [(cap, 0, 1.0), (cap + 1, 0, -1.0)]
        right = np.zeros(cap + 1 + size * (size + 1) // 2)
        right[zero : zero + rows] = -least
        right[cap] = most if cost != "bound" else UNBOUNDED
        right[zero + rows] = TOGETHER if cost == "any" else right[zero + rows]

        def scaled(form: Any) -> Iterator[tuple[int, float]]:
            for key, c in form.items():
                at = place[key]
                yield at, float(c) if at < corner else -float(c) / (1.0 if key[0] == key[1] else math.sqrt(2.0))
            for line, equation in enumerate(equations, start=corner):
                if value := sum(c * form[key] for key, c in equation.items() if key in form):
                    yield line, float(value)

        for at, value in scaled(self.run.quantity):
            right[at] = value
        for column, row in enumerate(self.run.rows, start=1):
            entries.append((zero + column - 1, column, -1.0))
            entries += [(zero + rows, column, 1.0)] if cost == "any" else []
            if only is None or column - 1 in only:
                entries += [(at, column, value) for at, value in scaled(row)]
        lines, columns, values = zip(*entries, strict=True)
        matrix = sparse.csc_matrix((values, (lines, columns)), shape=(len(right), 1 + rows))
        signs = clarabel.NonnegativeConeT(cap - zero + 1)
        cones = [clarabel.ZeroConeT(zero), signs, clarabel.PSDTriangleConeT(size)]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        goal = np.array([cost == "bound", *[cost == "sum"] * rows], dtype=float)
        nothing = sparse.csc_matrix((1 + rows, 1 + rows))
        if only is not None:
            goal[[i + 1 for i in range(rows) if i not in only]] = 1.0
        try:
            solution = clarabel.DefaultSolver(nothing, goal, matrix, right, cones, settings).solve()
        except BaseException as error:  # what a panic of the solver is, which no `except Exception` sees
            if type(error).__name__ != "PanicException":
                raise
            raise InvalidInput(f"the solver gave up: {error}; choose a smaller problem") from error
        if "Infeasible" in str(solution.status) or not np.isfinite(solution.x).all():
            raise InvalidInput(f"the semidefinite programme ended {solution.status}; choose a smaller problem")
        x = np.asarray(solution.x)
        return float(x[0]), x[1:], np.asarray(solution.z)

    def equations(self, kernel: Kernel = ()) -> list[dict[tuple[int, int], Fraction]]:
        """What cancels, as sums of entries of a form: the free keys, and the matrix's products with the vectors."""
        rows = [{key: Fraction(1)} for key in self.keys]
        for vector in kernel:
            for i in self.inner:
                half = {j: c if i == j else c / 2 for j, c in vector.items()}
                rows.append({(min(i, j), max(i, j)): c for j, c in half.items()})
        return rows

    def repaired(self, y: Sequence[Fraction], kernel: Kernel = ()) -> list[Fraction] | None:
        """Multipliers that cancel the free keys exactly; the largest ones give way. None where that cannot be.

        Args:
            kernel: vectors, each by its entries, that the matrix must take to zero.
        """
        equations = self.equations(kernel)
        lines: list[dict[int, Fraction]] = [{} for _ in equations]
        right: list[Fraction] = []
        for line, equation in zip(lines, equations, strict=True):
            right.append(sum((c * self.run.quantity.get(key, 0) for key, c in equation.items()), Fraction(0)))
            for i, row in enumerate(self.run.rows):
                if value := sum((c * row[key] for key, c in equation.items() if key in row), Fraction(0)):
                    line[i] = value
                    right[-1] -= value * y[i]
        entries, active = list(y), list(range(len(lines)))
        chosen: dict[int, int] = {}
        for i in sorted(range(len(y)), key=lambda i: -y[i]):
            here = next((n for n in active if lines[n].get(i)), None)
            if here is None:
                continue
            scale = lines[here][i]
            lines[here] = {k: c / scale for k, c in lines[here].items() if c}
            right[here] /= scale
            for n, line in enumerate(lines):
                if n != here and (factor := line.get(i)):
                    for k, c in lines[here].items():
                        line[k] = line.get(k, Fraction(0)) - factor * c
                    right[n] -= factor * right[here]
            active.remove(here)
            chosen[here] = i
            if not active:
                break
        if any(right[n] for n in active):
            return None
        for n, i in chosen.items():
            entries[i] += right[n]
        return entries if min(entries, default=Fraction(0)) >= 0 else None

    def kernel(self, y: np.ndarray, small: float) -> list[dict[int, Fraction]]:
        """Simple vectors that the matrix takes nearly to zero; at multipliers inside, so does every proof's."""
        if len(self.inner) == 1:  # a linear programme
            return []
        index = {name: i for i, name in enumerate(self.inner)}
        matrix = np.zeros((len(self.inner),) * 2)
        for form, factor in ((self.run.quantity, -1.0), *zip(self.run.rows, y, strict=True)):
            for (i, j), c in form.items():
                if i in index and j in index:
                    matrix[index[i], index[j]] += factor * float(c) / 2
                    matrix[index[j], index[i]] += factor * float(c) / 2
        values, vectors = np.linalg.eigh(matrix[1:, 1:])
        basis = vectors[:, values < small * max(1.0, float(np.median(values)))].T.copy()
        for n, row in enumerate(basis):  # reduced by its largest entries, so that the entries become simple
            at = int(np.argmax(np.abs(row)))
            row /= row[at]
            for m in range(len(basis)):
                if m != n:
                    basis[m] -= basis[m, at] * row
        simple = [[Fraction(v).limit_denominator(60) for v in row] for row in basis]
        if np.abs(basis - np.array(simple, dtype=float).reshape(basis.shape)).max(initial=0.0) > 1e-3:
            return []
        return [{self.inner[i + 1]: v for i, v in enumerate(row) if v} for row in simple]

    def proved(self, y: Sequence[Fraction] | None) -> DualProof | None:
        """The least bound that these multipliers prove, or None."""
        if y is None:
            return None
        form = self.run.quantity * -1
        y = [multiplier if row else Fraction(0) for multiplier, row in zip(y, self.run.rows, strict=True)]  # 0 <= 0
        for multiplier, row in zip(y, self.run.rows, strict=True):
            if multiplier:
                form = form + row * multiplier
        if any(self.run.free.intersection(key) for key in form):
            return None
        # Any bound is large enough for elimination to reach the unit, which comes last; what is left is too much.
        bound = Fraction(10) ** 9
        try:
            indices = [i for i in range(self.run.size) if i not in self.run.free]
            *others, corner = (form + bound).pivots(indices)
        except ValueError:
            return None
        return DualProof(bound - corner, tuple(y), (*others, Fraction(0)))


@dataclass(frozen=True)
class DualProof:
    """Multipliers, the bound that they prove, and the pivots of the matrix."""

    bound: Fraction
    multipliers: tuple[Fraction, ...]
    pivots: tuple[Fraction, ...]


def prove(problem: Sequence[str], parameters: Parameters, target: Fraction | None = None) -> tuple[DualProof, float]:
    """A certificate's proof, the exact optimum where rounding finds its closed form, and the optimum in floats.

    Args:
        target: the bound that is wanted; the search goes on while what is proved is larger.

    Raises:
        InvalidInput: no proof was found; the message says what to try.
        MissingExtra: the extra 'certificates' is not installed.
    """
    dual = Dual.of(problem, parameters)
    optimum, multipliers, _ = dual.solved()
    best: DualProof | None = None
    for proof in _rounded(dual, optimum, multipliers, target):
        if proof is not None and (best is None or proof.bound < best.bound):
            best = proof
        near = best is not None and best.bound <= optimum + CLOSE * max(1.0, abs(optimum))
        if best is not None and near and (target is None or best.bound <= target):
            break
    if best is None:
        raise InvalidInput(f"no rational certificate near {optimum:.9g} was found; choose a smaller problem")
    return best, optimum


def _rounded(
    dual: Dual, optimum: float, multipliers: np.ndarray, target: Fraction | None
) -> Iterator[DualProof | None]:
    """Proofs by rounding, closed forms first, then from points further and further inside, up to the target."""
    scale = max(1.0, abs(optimum))
    tried = []
    with contextlib.suppress(InvalidInput):
        few = dual.solved("sum", optimum + 1e-8 * scale)[1]
        tried.append(few)
        tried.append(dual.solved(only=[i for i, v in enumerate(few) if v > 1e-4 * max(few)])[1])
    for y in (*reversed(tried), multipliers):
        for most in (12, 120, 1000, 10**4):
            yield dual.proved(dual.repaired([Fraction(v if v > 1e-6 else 0.0).limit_denominator(most) for v in y]))
        # Where a worst case is simple, the matrix of the best proof takes its coordinates to zero.
        yield dual.proved(dual.repaired(_decimals(y), dual.kernel(y, 1e-4)))
    room = () if target is None else (part * (float(target) - optimum) / scale for part in (0.1, 0.5))
    for slack in (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, *(slack for slack in room if slack > 1e-3)):
        with contextlib.suppress(InvalidInput):
            inside = dual.solved("any", optimum + slack * scale, least=slack * 1e-3)[1]
            proof = dual.proved(dual.repaired(_decimals(inside)))
            kernel = dual.kernel(inside, 1e-6)
            yield proof or dual.proved(dual.repaired(_decimals(inside), kernel))
            if not proof and kernel:
                inside = dual.solved("any", optimum + slack * scale, least=slack * 1e-3, kernel=kernel)[1]
                yield dual.proved(dual.repaired(_decimals(inside), kernel))


def _decimals(y: np.ndarray) -> list[Fraction]:
    return [Fraction(round(max(0.0, v) * 10**10), 10**10) for v in y]
