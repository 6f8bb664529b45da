"""Checks certificates of dpcheck exactly, with nothing but Python's standard library: python checker.py FILE.json…

Each proves a bound for every function of a class, in any dimension. Its problem is a run: classes (`f = convex(L=1)`),
what is computed (`x1 = x0 - eta*gradient(f, x0)`), hypotheses (`assume`), the number in question (`bound`). What holds
in it whatever the functions, r <= 0, is written down here; the file only gives multipliers y >= 0. If the quadratic
form bound - quantity + sum y r in the unknown vectors is positive semidefinite, by exact elimination, the bound holds.
`attained` is the quantity at vectors that satisfy every r <= 0: by interpolation functions have these."""

import ast
import json
import re
import sys
from fractions import Fraction
from itertools import combinations_with_replacement, product
from operator import add, matmul, mul, sub

SIGNS = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.MatMult: matmul, ast.Div: lambda a, b: a * (1 / b)}


def require(truth, otherwise):
    if not truth:
        raise ValueError(otherwise)


class Form(dict):
    """A vector {i: c}, or a number {(i, j): c} made of products of vectors; (0, 0), a unit's square, is 1."""

    def __add__(self, other):
        other = other if isinstance(other, dict) else {(0, 0): other}
        total = {key: self.get(key, 0) + other.get(key, 0) for key in {**self, **other}}
        require(len({type(key) for key in total}) < 2, "a vector and a number are added")
        return Form({key: c for key, c in total.items() if c != 0})

    def __mul__(self, c):
        require(not isinstance(c, dict), "the product of two unknowns is @")
        return Form({key: own * c for key, own in self.items() if c != 0})

    def __matmul__(self, other):
        require(all(isinstance(i, int) for i in (*self, *other)), "@ takes two vectors")
        total = Form()
        for (i, a), (j, b) in product(self.items(), other.items()):
            total[min(i, j), max(i, j)] = total.get((min(i, j), max(i, j)), 0) + a * b
        return total

    def __sub__(self, other):
        return self + other * -1

    __rmul__, __radd__ = __mul__, __add__

    def pivots(self, indices):
        """Those of exact elimination, the last unknown first: none is negative, and a zero has a row of zeros."""
        pivots, left = [], dict(self)
        for i in reversed(indices):
            row = {j: c / 2 for j in indices if j < i and (c := left.get((j, i)))}
            pivots.append(pivot := left.get((i, i), Fraction(0)))
            require(pivot > 0 or (pivot == 0 and not row), "the matrix is not positive semidefinite")
            for (j, a), (k, b) in combinations_with_replacement(row.items(), 2):
                left[j, k] = left.get((j, k), 0) - a * b / pivot * (1 if j == k else 2)
        return pivots

    def at(self, given):
        """A number where vectors (a value is one of length one) are given; the shorter of two ends in zeros."""
        given = {**given, 0: [1]}
        return sum((c * sum(map(mul, given[i], given[j])) for (i, j), c in self.items()), Fraction(0))


class Function:
    def __init__(self, run, any_norm=False, L=None, mu=Fraction(0), s=Fraction(0)):
        """Convex, `mu` strongly so, 1/s-smooth if s > 0, L-Lipschitz if L is given; in any norm, or the Euclidean."""
        require(mu >= 0 and s >= 0 and mu * s < 1 and not (any_norm and s), "mu, s >= 0, mu*s < 1, in any norm s = 0")
        self.run, self.any, self.L, self.mu, self.s, self.known = run, any_norm, L, mu, s, []
        run.classes.append(self)

    def at(self, x, g=None):
        """The subgradient that is answered at x (or g, which is one there) and the value."""
        if g is None and (known := [known for known in self.known if known[0] == x]):
            return known[0]
        new = (x, self.run.vector(self.any) if g is None else g, self.run.calls["number"]())
        if self.L is not None and not self.any:
            self.run.le(new[1] @ new[1] + -self.L * self.L)
        for (u, p, e), (v, q, f) in (pair for old in self.known for pair in ((old, new), (new, old))):
            if self.any:
                length = self.run.distance(u, v)
                bent = length @ length * self.mu
                for way in (u - v, v - u) if self.L is not None else ():
                    self.run.le(p @ way - self.run.unit @ length * self.L)
            else:
                bent = (p - q) @ (p - q) * self.s + (u - v) @ (u - v) * self.mu
                bent = (bent - (p - q) @ (u - v) * (2 * self.mu * self.s)) * (1 / (1 - self.mu * self.s))
            self.run.le(e + p @ (v - u) + bent * Fraction(1, 2) - f)
        self.known.append(new)
        return new


class ExactRun:
    def __init__(self, lines, parameters):
        """The unknowns of a problem and, in order, the inequalities r <= 0 that hold of them."""
        self.size, self.free, self.rows, self.classes, self.lengths = 1, set(), [], [], {}
        self.unit, self.quantity = Form({0: Fraction(1)}), None
        self.names = {"zero": Form(), "unit": self.unit, **parameters}
        self.calls = {
            "vector": lambda: self.vector(), "point": lambda: self.vector(True), "distance": self.distance,
            "number": lambda: self.unit @ self.vector(True), "inside": self.inside, "value": lambda f, x: f.at(x)[2],
            "convex": lambda **kind: Function(self, **kind), "convex_any": lambda **kind: Function(self, True, **kind),
            "gradient": lambda f, x: f.at(x)[1], "subgradient": lambda f, x, g: f.at(x, g)[2], "region": list,
            "project": lambda region, y: self.inside(region, y - (normal := self.vector()), normal),
        }  # fmt: skip
        for line in lines:
            require(len(line) <= 5000 and self.size <= 1000 and self.quantity is None, "too long, or past `bound`")
            if match := re.fullmatch(r"assume (.*) <= (.*)", line):
                self.le(Form() + self.evaluate(match[1]) - (Form() + self.evaluate(match[2])))
            elif match := re.fullmatch(r"bound (.*)", line):
                self.quantity = self.evaluate(match[1])
            elif (match := re.fullmatch(r"([A-Za-z]\w*) = (.*)", line)) and match[1] not in self.names:
                self.names[match[1]] = self.evaluate(match[2])
            else:
                raise ValueError(f"not a line of a problem, or a name given twice: {line[:80]!r}")

    def evaluate(self, node):
        match node if isinstance(node, ast.AST) else ast.parse(node, mode="eval").body:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return Fraction(number)
            case ast.Name(id=name):
                return self.names[name]
            case ast.BinOp(left=left, op=sign, right=right):
                return SIGNS[type(sign)](self.evaluate(left), self.evaluate(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=more):
                return self.calls[name](*map(self.evaluate, args), **{k.arg: self.evaluate(k.value) for k in more})
        raise ValueError(f"not an expression of a problem: {ast.unparse(node)[:80]}")

    def vector(self, free=False):
        """An unknown vector; `free` where there is no inner product (any norm), only pairings."""
        self.size, self.free = self.size + 1, self.free | {self.size} if free else self.free
        return Form({self.size - 1: Fraction(1)})

    def distance(self, x, y):
        """The length of x - y in the norm of the problem, as a multiple of the unit."""
        one, other = (tuple(sorted(z.items())) for z in (x - y, y - x))
        if one not in self.lengths:
            self.lengths[one] = self.lengths[other] = self.vector()
            self.le(self.unit @ self.lengths[one] * -1)
        return self.lengths[one]

    def inside(self, region, x, normal=Form()):  # noqa: B008
        """x lies in a closed convex set, and `normal` is normal to it there."""
        for y, other in region:
            self.le(normal @ (y - x))
            self.le(other @ (x - y))
        region.append((x, normal))
        return x

    def le(self, row):
        require(all(isinstance(key, tuple) for key in row), "an inequality is between numbers")
        self.rows.append(row)


def rational(text):
    if not re.fullmatch(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?", text) or str(Fraction(text)) != text:
        raise ValueError(f"not a rational in lowest terms: {text[:40]!r}")
    return Fraction(text)


def check(certificate):
    """The bound that is proved and the size that is attained, None where none is given; raises for anything else."""
    run = ExactRun(certificate["problem"], {name: rational(text) for name, text in certificate["parameters"].items()})
    bound = attained = None
    if "multipliers" in certificate:
        bound, form = rational(certificate["bound"]), rational(certificate["bound"]) + run.quantity * -1
        for number, text in certificate["multipliers"].items():
            require((y := rational(text)) > 0 and re.fullmatch("0|[1-9][0-9]*", number), "not a positive multiplier")
            form += run.rows[int(number)] * y
        require(run.free.isdisjoint(i for key in form for i in key), "the multipliers do not cancel the values")
        pivots = form.pivots([i for i in range(run.size) if i not in run.free])
        require(pivots == [*map(rational, certificate["pivots"])], "the pivots are others")
    if "attained" in certificate:
        given = {int(i): [*map(rational, row)] for i, row in certificate["vectors"].items()}
        require(not any(f.any or (f.mu and f.L is not None) for f in run.classes), "these rows do not make a function")
        require({*given} == {*range(1, run.size)} and all(given.values()), "an unknown is not given")
        require(all(row.at(given) <= 0 for row in run.rows), "the vectors break an inequality")
        require(run.quantity.at(given) == (attained := rational(certificate["attained"])), "they attain another number")
    require((bound, attained) != (None, None), "there is neither a bound nor a function that attains one")
    return bound, attained


def main(paths):
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:  # what is longer than a mebibyte is no document
                checked = [(check(each), each) for each in json.loads(file.read(2**20))["certificates"]]
        except Exception as error:  # whatever is amiss, nothing is proved
            return print(f"{path}: REJECTED: {type(error).__name__}: {error}") or 1
        for (bound, attained), certificate in checked:
            print(f"{path}: proved that in", certificate["parameters"], *certificate["problem"], sep="\n    ")
            sizes = {f"at most {bound} for every function": bound, f"{attained} for one": attained}
            print("  what is to be bounded is", " and ".join(text for text, size in sizes.items() if size is not None))
    return 0 if paths else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
