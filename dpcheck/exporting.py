"""Mechanisms written out as a plain package: what `dpcheck mutants --export` leaves for other auditors.

A mechanism is a function of NumPy alone. Its module holds its source and, before it, whatever that names: constants as
values, helper functions as source. Beside them lies a table of what is claimed and what is true.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from dpcheck.auditing.anytime import CURVE_DELTA
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.errors import InvalidInput
from dpcheck.kills import POWER, AuditKill
from dpcheck.mutants import Mutant
from dpcheck.privacy import ApproxDP, GaussianDP

LEVEL = 0.05
DELTAS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""At which the table has the exact epsilon, beside the delta that is claimed."""
READER = '''"""Broken mechanisms, and correct ones that look like them: `TABLE`, and `load(name)` for one of them.

`load(name).mechanism(data, rng, trials)` gives one output for each trial (axis 0); `data` and `neighbour` are the pair.
A row of the table has what is claimed, the smallest epsilon that is true of the pair at each delta (null: none is), and
the fewest runs, both inputs together, with which any test of level {level} refutes the claim with probability {power}.
"held_out": written after the scores of dpcheck were fixed, and not run until then.
"""

import importlib
import json
import pathlib

TABLE = json.loads(pathlib.Path(__file__).with_name("table.json").read_text(encoding="utf-8"))


def load(name):
    """The module of a mechanism: `mechanism`, `data`, `neighbour`."""
    return importlib.import_module("." + name.replace("-", "_"), __name__)
'''


def export(mutants: Iterable[Mutant], held_out: set[str], folder: Path) -> int:
    """Writes the mechanisms that are a pair of laws into a new folder, which is then a package; how many there are.

    Raises:
        InvalidInput: the folder is there already, or no package can have its name.
    """
    if not folder.name.isidentifier():
        raise InvalidInput(f"{folder.name!r} is no name of a package; end the folder in one, say mechanisms")
    if folder.exists():
        raise InvalidInput(f"{folder} is there already; name a new folder")
    written = {_file(mutant): (plain(mutant), row(mutant, mutant.name in held_out)) for mutant in told(mutants)}
    folder.mkdir(parents=True)
    for file, (text, _) in written.items():
        (folder / file).write_text(text, encoding="utf-8")
    rows = [each for _, each in written.values()]
    table = ",\n".join(json.dumps(each, ensure_ascii=False, allow_nan=False) for each in rows)
    (folder / "table.json").write_text(f"[\n{table}\n]\n", encoding="utf-8")
    (folder / "__init__.py").write_text(READER.format(level=LEVEL, power=POWER), encoding="utf-8")
    return len(written)


def told(mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """Those of which the exact privacy and, of a bug, the fewest runs are known."""
    for mutant in mutants:
        kill = mutant.kill
        if not isinstance(kill, AuditKill) or (kill.laws is None and kill.exact_epsilon is None):
            continue
        if kill.computable or mutant.lookalike:
            yield mutant


def row(mutant: Mutant, held_out: bool) -> dict[str, Any]:
    """What is claimed of a mechanism, and what is true."""
    kill = mutant.kill
    assert isinstance(kill, AuditKill)
    claim = kill.claim
    curve = isinstance(claim, GaussianDP)
    promised = {"mu": claim.mu} if curve else {"epsilon": claim.epsilon, "delta": claim.delta}  # type: ignore[attr-defined]
    return {
        "name": mutant.name,
        "module": _file(mutant).removesuffix(".py"),
        "what": mutant.bug,
        "private": mutant.lookalike,
        "held_out": held_out,
        "adjacency": kill.options.get("adjacency", "replace-one"),
        "claim": {"kind": "gaussian" if curve else "epsilon-delta", **promised},
        "exact": [[delta, epsilon if math.isfinite(epsilon) else None] for delta, epsilon in exact(kill)],
        "fewest": None if mutant.lookalike else kill.fewest(LEVEL),
    }


def exact(kill: AuditKill) -> list[tuple[float, float]]:
    """The exact epsilon at each delta where it is known: everywhere, if the laws are."""
    at = kill.claim.delta if isinstance(kill.claim, ApproxDP) else CURVE_DELTA
    if kill.laws is None:
        assert kill.exact_epsilon is not None
        return [(at, kill.exact_epsilon)]
    p, q = (np.asarray(law) / np.sum(law) for law in kill.laws())
    return [(delta, exact_epsilon(p, q, delta)) for delta in sorted({*DELTAS, at})]


def plain(mutant: Mutant) -> str:
    """The module of one mechanism."""
    kill = mutant.kill
    assert isinstance(kill, AuditKill)
    module = _Module(mutant.name)
    for name, value in (("mechanism", kill.mechanism), ("data", kill.data), ("neighbour", kill.neighbour)):
        module.define(name, value)
    imports = sorted({*module.imports, "import numpy as np"})
    text = "\n".join([json.dumps(mutant.bug, ensure_ascii=False), "", *imports, "", *module.lines])
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n"


def _file(mutant: Mutant) -> str:
    return mutant.name.replace("-", "_") + ".py"


class _Module:
    """Definitions, each after those that it needs."""

    def __init__(self, of: str) -> None:
        self.of = of
        self.imports: list[str] = []
        self.lines: list[str] = []
        self._known: dict[str, Any] = {}

    def define(self, name: str, value: Any) -> None:
        if name in self._known:
            if self._known[name] is not value:
                raise InvalidInput(f"{self.of} cannot be written out: {name} means two things; rename one of them")
            return
        self._known[name] = value
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] not in {"numpy", *sys.stdlib_module_names}:
                raise InvalidInput(f"{self.of} cannot be written out: it needs {value.__name__}; use NumPy alone")
            self.imports.append(f"import {value.__name__} as {name}".replace(f"{name} as {name}", name))
        elif isinstance(value, FunctionType):
            self._function(name, value)
        else:
            self.lines.append(f"{name} = {self._literal(value)}")

    def _function(self, name: str, function: FunctionType) -> None:
        node = _node(function)
        values = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        spoken = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} & _names(function.__code__)
        spoken |= {each.id for each in ast.walk(node.args) if isinstance(each, ast.Name)}
        for each in sorted(spoken & values.keys() - {name}):
            self.define(each, values[each])
        if isinstance(node, ast.Lambda):
            self.lines.append(f"{name} = {ast.unparse(node)}")
        else:
            node.name, node.decorator_list = name, []
            self.lines += ["", "", ast.unparse(node), "", ""]

    def _literal(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            return f"np.array({self._literal(value.tolist())}, dtype={value.dtype.str!r})"
        if isinstance(value, np.generic):
            return self._literal(value.item())
        if isinstance(value, tuple | list):
            inner = ", ".join(map(self._literal, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
        if isinstance(value, float) and not math.isfinite(value):
            return f"float({str(value)!r})"
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        raise InvalidInput(
            f"{self.of} cannot be written out: it needs {value!r}, which is no number, array or function"
        )


def _names(code: CodeType) -> set[str]:
    """What a function and those inside of it look up outside of themselves."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return {*code.co_names, *code.co_freevars}.union(*inner)


@functools.lru_cache(maxsize=64)
def _tree(path: str) -> ast.Module:
    file = Path(path)
    return ast.parse(file.read_text(encoding="utf-8") if file.is_file() else "")


def _node(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The syntax of a function; of several lambdas in one line, that whose body its instructions stand for."""
    code = function.__code__
    places = {(line, column) for line, _, column, _ in code.co_positions()}
    for node in ast.walk(_tree(code.co_filename)):
        if getattr(node, "lineno", None) != code.co_firstlineno:
            continue
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            return copy.deepcopy(node)
        if isinstance(node, ast.Lambda) and (node.body.lineno, node.body.col_offset) in places:
            return node
    raise InvalidInput(f"no source of {function.__qualname__} in {code.co_filename}; define it in a file")
