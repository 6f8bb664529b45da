"""Tables of which some rows may still lie in files that nobody has imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Shelf(dict[str, T]):
    """A table whose rows are fetched when they are asked for.

    Args:
        fetch: imports the files that may hold a row of this name; all files for "".
    """

    def __init__(self, fetch: Callable[[str], None]) -> None:
        super().__init__()
        self._fetch = fetch

    def __contains__(self, key: object) -> bool:
        if not super().__contains__(key) and isinstance(key, str) and key:
            self._fetch(key)
        return super().__contains__(key)

    def __getitem__(self, key: str) -> T:
        if not super().__contains__(key):
            self._fetch(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, default) if key in self else default

    def __iter__(self) -> Iterator[str]:
        self._fetch("")
        return super().__iter__()

    def __len__(self) -> int:
        self._fetch("")
        return super().__len__()

    def keys(self) -> Any:
        self._fetch("")
        return super().keys()

    def values(self) -> Any:
        self._fetch("")
        return super().values()

    def items(self) -> Any:
        self._fetch("")
        return super().items()

    def reach(self, key: str) -> None:
        """Fetches the rows that bear on a label."""
        self._fetch(key)

    def here(self) -> list[T]:
        """The rows that have been imported."""
        return list(super().values())


ABOUT = "about "
"""Before a label: the rows of it, and those that are about it."""


def near(table: dict[str, T], label: str) -> list[T]:
    """The rows of a table among which are all that bear on a label."""
    if isinstance(table, Shelf):
        table.reach(label)
        return table.here()
    return list(table.values())


def imported(table: dict[str, T]) -> list[T]:
    """The rows of a table that are here without an import."""
    return table.here() if isinstance(table, Shelf) else list(table.values())


class Asked(Mapping[str, T]):
    """A table for those who ask for single rows: to look at all of it is to look at those that were asked for."""

    def __init__(self, table: dict[str, T]) -> None:
        self._table = table

    def __getitem__(self, key: str) -> T:
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return dict.__iter__(self._table)

    def __len__(self) -> int:
        return dict.__len__(self._table)
