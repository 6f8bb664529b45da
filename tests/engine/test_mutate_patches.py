"""Seeded bugs as patches: of methods of every kind, of children, and what is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpcheck.errors import InvalidInput
from dpcheck.mutants import seeded


class Thing:
    @property
    def size(self) -> int:
        return 3

    @staticmethod
    def fixed(x: int) -> int:
        return x

    @classmethod
    def named(cls, x: int) -> str:
        return f"{cls.__name__}{x}"


class Child(Thing):
    pass


@pytest.mark.parametrize(("name", "ask"), [("size", lambda t: t.size), ("fixed", lambda t: t.fixed(3))])
def test_a_patch_keeps_what_kind_of_method_it_is(name: str, ask: Callable[[Thing], int]) -> None:
    before = vars(Thing)[name]
    bug = seeded("toy/lem-1", Thing, name)(_larger)
    try:
        bug.apply()
        assert (ask(Thing()), ask(Child())) == (4, 4)
    finally:
        setattr(Thing, name, before)


def _larger(original: Callable[..., int], *rest: object) -> int:
    """One more."""
    return original(*rest) + 1


def test_a_patch_of_a_child_leaves_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "__doc__", "")
    seeded("toy/lem-1", Child, "size")(_larger).apply()
    assert (Thing().size, Child().size) == (3, 4)
    del Child.size


def test_a_bug_needs_a_function_and_a_sentence() -> None:
    with pytest.raises(InvalidInput, match=r"Thing.missing is None; seed a bug in a function"):
        seeded("toy/lem-1", Thing, "missing")(_larger)
    with pytest.raises(InvalidInput, match="docstring of one sentence"):
        seeded("toy/lem-1", Thing, "size")(lambda original, self: 1)
