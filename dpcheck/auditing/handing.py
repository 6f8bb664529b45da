"""What a mechanism is handed: inputs that no call can change for the next one, nor for the caller.

Arrays are read-only; whatever else can be changed is a copy of its own for each run. A mechanism that centres, sorts or
clears its input would otherwise answer from another input the second time, and look private.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.auditing.identity import fingerprint
from dpcheck.errors import InvalidInput, MechanismError

_FROZEN = (type(None), bool, int, float, complex, str, bytes, np.generic)
CURE = "it writes into its input; one that works on a copy would not: data = data.copy()"


class Handed:
    """One input, for any number of runs.

    Args:
        name: what messages call it.
        values: the caller's object; kept to see whether it changes, never handed out.
    """

    def __init__(self, name: str, values: Any) -> None:
        self._name, self._values = name, values
        self._before = digest(values)
        self.make = maker(values, name)

    def check(self, mechanism: str) -> None:
        """Raises `MechanismError` when the caller's object, or the array handed out, is not what it was."""
        if digest(self._values) != self._before:
            raise MechanismError(
                f"{self._name} was changed while {mechanism} ran, so its outputs are not those of one input; a "
                "mechanism may use nothing but what it is handed: no global that is the same object"
            )
        if _plain(self._values) and digest(self.make()) != self._before:
            raise MechanismError(f"{mechanism} made {self._name} writable again and changed it; {CURE}")


def maker(values: Any, name: str = "data") -> Callable[[], Any]:
    """() -> the input for one more run: the same read-only array each time, else a new copy.

    Raises:
        InvalidInput: an object that cannot be copied.
    """
    if _frozen(values):
        return lambda: values
    if _plain(values):
        kept = values.copy(order="K")
        kept.flags.writeable = False
        view = kept.view()
        return lambda: view
    try:
        packed = pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
        if type(pickle.loads(packed)) is type(values) and not callable(values):
            return lambda: pickle.loads(packed)
    except Exception:  # whatever an object raises that cannot be packed
        pass
    try:
        pristine = copy.deepcopy(values)
    except Exception as error:
        raise InvalidInput(
            f"{name} is a {type(values).__name__}, which cannot be copied ({error}): every run needs an input of its "
            "own; give an array, a list, or what the mechanism can make it from (a path, say)"
        ) from error
    return lambda: copy.deepcopy(pristine)


def handed(values: Any) -> Any:
    """An input for a single run: a read-only view of an array, else a copy."""
    if _plain(values):
        view = values.view()
        view.flags.writeable = False
        return view
    return maker(values)()


def writes(error: BaseException) -> bool:
    """Whether an exception comes from an attempt to change a read-only array."""
    return isinstance(error, ValueError) and "read-only" in str(error)


def _plain(values: Any) -> bool:
    """Whether it is an array that can be made read-only through and through."""
    return type(values) is np.ndarray and not values.dtype.hasobject


def _frozen(values: Any) -> bool:
    """Whether no mechanism can change it."""
    return isinstance(values, _FROZEN) or (type(values) in (tuple, frozenset) and all(map(_frozen, values)))


def digest(values: Any) -> str:
    """Of all that a caller's object holds."""
    if _plain(values):
        content = hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16)
        return f"{values.dtype.str} {values.shape} {content.hexdigest()}"
    try:
        packed = pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
    except Exception:  # whatever an object raises that cannot be packed
        return fingerprint(values)
    said = hashlib.blake2b(packed, digest_size=16).hexdigest()
    # A function is packed as its name: what it holds is told apart by its fingerprint only.
    return f"{said} {fingerprint(values)}" if callable(values) else said
