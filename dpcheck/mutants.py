"""Seeded bugs: what is broken on purpose, and some check must notice; and correct look-alikes that none may refute.

`mutants.py` beside the checks of a paper holds `@seeded` changes of its algorithms: `dpcheck mutate --family seeded`
makes each of them and runs the checks that execute what it changes. The files under `tests/mutants/` hold `Mutant`
instances, mechanisms of no paper that find their own check: `dpcheck mutants` runs them.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from dpcheck.checks import Context
from dpcheck.errors import InvalidInput
from dpcheck.labels import split_label


@dataclass(frozen=True, kw_only=True)
class Kill:
    """What one check made of one mutant.

    Attributes:
        killed: whether the bug was found.
        by: the check or tool that ran ("audit", "accountant", "exact law", "replayed-noise attack", …).
        samples: mechanism runs (both inputs together) that it took; 0 when nothing was sampled.
        minimum: fewest samples that any valid test could do with (the limit of theory), or None when not computable.
        exact_epsilon: privacy of the mutant, when it can be computed: inf when it is not private at all.
        claim: the promise that the mutant makes, in words.
    """

    killed: bool
    by: str
    samples: int
    claim: str
    minimum: int | None = None
    exact_epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One seeded bug, or one look-alike that is correct.

    Attributes:
        name: unique over the catalogue ("laplace-half-sensitivity").
        about: label of the algorithm that it mutates; "" for a mechanism of no paper.
        bug: one sentence: what was changed, or why the look-alike is correct after all.
        kill: runs the check that must find the bug, at the size and the failure probability of the context.
        lookalike: correct: being flagged is a false alarm.
    """

    name: str
    bug: str
    kill: Callable[[Context], Kill]
    about: str = ""
    lookalike: bool = False

    def __post_init__(self) -> None:
        if not self.name or not self.bug:
            raise InvalidInput(f"a mutant needs a name and one sentence on its bug, got {self.name!r}, {self.bug!r}")


Replacement = Callable[..., Any]
"""Takes what stood there before, then the arguments of the call."""


@dataclass(frozen=True)
class Patch:
    """A function, method or property, and what is called in its place.

    Attributes:
        owner: the class or module that holds it.
        name: its name there.
        replacement: `replacement(original, *arguments)`; of a method, the arguments begin with its object.
    """

    owner: type | ModuleType
    name: str
    replacement: Replacement

    def __post_init__(self) -> None:
        if not isinstance(_plain(self._found), FunctionType):
            raise InvalidInput(
                f"{self.owner.__name__}.{self.name} is {self._found!r}; seed a bug in a function, method or property"
            )

    @property
    def _found(self) -> Any:
        return inspect.getattr_static(self.owner, self.name, None)

    @property
    def original(self) -> FunctionType:
        """The plain function that is replaced, below its decorators."""
        function: FunctionType = _plain(self._found)
        return function

    def apply(self) -> None:
        """Makes the change in this process, for good."""
        original = self._found
        inner = original if isinstance(original, FunctionType) or hasattr(original, "__wrapped__") else _plain(original)

        @functools.wraps(inner)
        def changed(*arguments: Any, **named: Any) -> Any:
            return self.replacement(inner, *arguments, **named)

        if isinstance(self.owner, ModuleType):
            _exchange(original, changed, but=self.replacement.__module__)
            return
        descriptor = isinstance(original, property | staticmethod | classmethod | functools.cached_property)
        new: Any = type(original)(changed) if descriptor else changed
        setattr(self.owner, self.name, new)
        if isinstance(new, functools.cached_property):
            new.__set_name__(self.owner, self.name)


def _plain(first: Any) -> Any:
    """The plain function inside of a method, a property, or a function that is cached; None where there is none."""
    while not isinstance(first, FunctionType) or hasattr(first, "__wrapped__"):
        inner = (getattr(first, name, None) for name in ("__wrapped__", "__func__", "fget", "func"))
        first = next((each for each in inner if each is not None), None)
        if first is None:
            return None
    return first


def _exchange(old: Any, new: Any, *, but: str) -> None:
    """Every global name that means the one means the other, in all modules that are loaded but the one that asks."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is old and module.__name__ != but:
                setattr(module, name, new)


@dataclass(frozen=True, eq=False)
class Seeded:
    """One bug in the algorithms of a paper, or a look-alike: what `@seeded` makes of a function.

    Attributes:
        label: the algorithm, or the procedure, that it breaks.
        name: that of the function, with hyphens.
        bug: one sentence: what was changed, or why the look-alike is correct after all.
        patches: all that is changed at once.
        lookalike: correct: a check that refutes it raises a false alarm.
    """

    label: str
    name: str
    bug: str
    patches: list[Patch]
    lookalike: bool = False

    @property
    def id(self) -> str:
        return f"{self.label}::{self.name}"

    @property
    def function(self) -> Replacement:
        return self.patches[0].replacement

    def also(self, owner: type | ModuleType, name: str) -> Callable[[Replacement], Seeded]:
        """Decorates a further replacement that belongs to the same bug."""

        def decorate(replacement: Replacement) -> Seeded:
            self.patches.append(Patch(owner, name, replacement))
            return self

        return decorate

    def apply(self) -> None:
        """Makes all of its changes in this process, for good."""
        for patch in self.patches:
            patch.apply()


def seeded(
    label: str, owner: type | ModuleType, name: str, *, lookalike: bool = False
) -> Callable[[Replacement], Seeded]:
    """Makes a function a seeded bug: it is called in the place of another, which it is given first.

        @seeded("tsybakov/alg-3", LocalisedClipped, "descend")
        def unclipped(original, self, phase, *rest):
            \"""The gradients are averaged as they are.\"""
            return original(self, replace(phase, level=1e9), *rest)

    Args:
        label: the algorithm, or the procedure, that it breaks.
        owner: the class of the method or property, or the module of the function, that is replaced. A method is
            replaced in this class and in those that inherit it; a function wherever a loaded module refers to it.
        name: the name of the method, property or function.
        lookalike: the change is correct, though it may not look so.
    """
    split_label(label)

    def decorate(replacement: Replacement) -> Seeded:
        said = inspect.getdoc(replacement) or ""
        if not said:
            raise InvalidInput(f"the seeded bug {replacement.__name__} of {label} needs a docstring of one sentence")
        bug = " ".join(said.partition("\n\n")[0].split())
        return Seeded(label, replacement.__name__.replace("_", "-"), bug, [Patch(owner, name, replacement)], lookalike)

    return decorate
