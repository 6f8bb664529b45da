"""What makes two audits the same: the mechanism's source, the values of the pair, the claim, the score and the seed.

An audit that is resumed must be the one that was stopped: bets placed on one mechanism say nothing of another.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import sysconfig
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.privacy import Guarantee

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def identity(
    mechanism: Any, pair: tuple[Any, Any], claim: Guarantee, score: Any, seed: int, failure_probability: float
) -> dict[str, str]:
    """The parts of an audit's identity, JSON-able; sources and values as fingerprints.

    Args:
        score: as it was asked for: "auto", a function, a `Score`, or a list of these.
    """
    return {
        "source": fingerprint(mechanism),
        "pair": fingerprint(pair),
        "claim": f"{claim} ({fingerprint(vars(claim))})",
        "score": f"{_score_name(score)} ({fingerprint(score)})",
        "seed": str(seed),
        "failure probability": repr(failure_probability),
    }


def check_same(stored: Any, now: Mapping[str, str], name: str) -> None:
    """Raises `InvalidInput` that says what differs from the audit of which a state was stored."""
    if not (isinstance(stored, Mapping) and set(stored) == set(now)):
        raise InvalidInput("not the state of an anytime audit: its identity is missing; pass what `result.state` held")
    changed = [part for part in now if stored[part] != now[part]]
    if not changed:
        return
    said = {"source": f"the source of {name} was changed", "pair": "the pair has other values"}
    differences = [said.get(p, f"the {p} was {_short(stored[p])}, now it is {_short(now[p])}") for p in changed]
    raise InvalidInput(f"the state to resume belongs to another audit: {'; '.join(differences)}; start anew")


def _score_name(score: Any) -> str:
    if isinstance(score, list | tuple):
        return " or ".join(map(_score_name, score))
    return str(getattr(score, "__name__", score if isinstance(score, str) else getattr(score, "name", "a score")))


def _short(part: str) -> str:
    return part.rpartition(" (")[0] or part


def fingerprint(value: Any) -> str:
    """16 hexadecimal digits of all that a value says: array values, sources of functions with what they refer to."""
    return hashlib.sha256(json.dumps(_said(value, frozenset())).encode()).hexdigest()[:16]


def _said(value: Any, above: frozenset[int]) -> Any:
    """A JSON-able account of a value, without addresses; `above`: objects that it is part of."""
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if id(value) in above:
        return "recursive"
    inside = above | {id(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ["array", str(value.dtype), list(value.shape), content]
    if isinstance(value, np.ndarray | list | tuple):
        return [type(value).__name__, *(_said(item, inside) for item in list(value))]
    if isinstance(value, Mapping):
        return ["mapping", *sorted(([repr(key), _said(item, inside)] for key, item in value.items()), key=repr)]
    if isinstance(value, set | frozenset):
        return ["set", *sorted((_said(item, inside) for item in value), key=repr)]
    if isinstance(value, functools.partial):
        return ["partial", *(_said(part, inside) for part in (value.func, value.args, value.keywords))]
    if isinstance(value, types.MethodType):
        return ["method", _said(value.__func__, inside), _said(value.__self__, inside)]
    if isinstance(value, types.FunctionType):
        return _function(value, inside)
    if isinstance(value, types.ModuleType):
        return ["module", value.__name__, hashlib.sha256(Path(str(value.__file__)).read_bytes()).hexdigest()]
    if isinstance(value, type):
        return ["class", value.__qualname__, _source(value)]
    state = getattr(value, "__dict__", None)
    return [_said(type(value), inside), _said(state, inside) if state is not None else _named(value)]


def _function(function: types.FunctionType, inside: frozenset[int]) -> Any:
    """Source, defaults, captured values, and the functions, constants and neighbouring modules that it names."""
    code = function.__code__
    source = _source(function) or [code.co_code.hex(), repr(code.co_names)]
    captured = inspect.getclosurevars(function)
    named = {name: value for name, value in captured.globals.items() if _of_user(value, code.co_filename)}
    parts = (function.__defaults__, function.__kwdefaults__, captured.nonlocals, named)
    afar = sorted({_whole(home) for name, value in captured.globals.items() if (home := _afar(value, name, named))})
    return ["function", source, *(_said(part, inside) for part in parts), *afar]


def _afar(value: Any, name: str, named: Mapping[str, Any]) -> Path | None:
    """File of a global that is neither beside the mechanism's nor of a library: of another folder of its project."""
    if name in named or isinstance(value, (*_PLAIN, np.ndarray)):
        return None
    home = _home(value)
    return None if home is None or any(home.is_relative_to(library) for library in _libraries()) else home


def _home(value: Any) -> Path | None:
    try:
        file = inspect.getsourcefile(value)
    except TypeError:  # of a built-in, or no code at all
        return None
    return Path(file) if file else None


@functools.lru_cache(maxsize=1)
def _libraries() -> tuple[Path, ...]:
    """Folders whose contents have a version of their own: Python's, installed packages and dpcheck itself."""
    paths = sysconfig.get_paths()
    return (*(Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")), Path(__file__).parents[1])


def _whole(file: Path) -> str:
    """Fingerprint of a whole file: enough to see that it was changed."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _of_user(value: Any, file: str) -> bool:
    """Whether a global belongs to the mechanism's own project: constants, and code that lies beside its file."""
    if isinstance(value, (*_PLAIN, np.ndarray, list, tuple, Mapping)):
        return True
    home, here = _home(value), Path(file).parent
    return home is not None and home.is_relative_to(here) and "site-packages" not in home.parts


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return ""


def _named(value: Any) -> str:
    text = repr(value)
    return "" if " at 0x" in text else text
