"""One failure probability for all verdicts of a session, split before the first test runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import pytest

ASSERTION = "assert_private"


@runtime_checkable
class Declaring(Protocol):
    """A test item that declares what its verdicts may be wrong with together."""

    may_spend: float


@dataclass(frozen=True)
class BudgetSplit:
    """What every test may spend: it depends on what was collected, so on no worker and on no result.

    Attributes:
        total: of the session; declared: what collected checks declare for themselves, which goes off first.
        asking: node ids of the tests that are known to ask: an equal share of the rest each.
        checks: of the collected checks, which have what they declare.
        others: number of the other tests. One more share is theirs together, for what audits unannounced.
    """

    total: float
    declared: float
    asking: tuple[str, ...]
    checks: tuple[str, ...]
    others: int

    @classmethod
    def of(cls, items: Sequence[pytest.Item], total: float) -> BudgetSplit:
        declared = {item.nodeid: item.may_spend for item in items if isinstance(item, Declaring)}
        asking = tuple(item.nodeid for item in items if item.nodeid not in declared and asks(item))
        others = len(items) - len(asking) - len(declared)
        return cls(total, math.fsum(declared.values()), asking, tuple(declared), others)

    @property
    def exceeded(self) -> str:
        """Why nothing can be split, in a sentence; "" when it can."""
        if self.declared < self.total:
            return ""
        return (
            f"the {len(self.checks)} collected checks declare a failure probability of {self.declared:.3g}, and the "
            f"session may spend {self.total:g} in all, so nothing is run; collect fewer, or raise "
            "--dpcheck-failure-probability"
        )

    @property
    def share(self) -> float:
        """Of each test that asks."""
        return (self.total - self.declared) / max(1, len(self.asking) + (self.others > 0))

    def of_test(self, test: str) -> float:
        return self.share if test in self.asking else self.share / max(1, self.others)

    def of_audit(self, test: str, number: int, times: float = 1.0) -> float:
        """Of the audits of a test the k-th has 1/(k(k+1)) of its share: however many there are, the sum is at most 1.

        Rounded down to two digits, for it is printed.

        Args:
            times: what an audit spends for every unit of the failure probability that it is given.
        """
        part = self.of_test(test) / (number * (number + 1)) / times
        last = math.floor(math.log10(part)) - 1
        return float(f"{math.floor(part / 10.0**last)}e{last}")

    @property
    def sent(self) -> dict[str, Any]:
        """As pytest-xdist can carry it."""
        return asdict(self)

    @classmethod
    def received(cls, sent: Mapping[str, Any]) -> BudgetSplit:
        return cls(**{**sent, "asking": tuple(sent["asking"]), "checks": tuple(sent["checks"])})


def asks(item: pytest.Item) -> bool:
    """Whether a test is known to audit something: by fixture, by marker, or as its code names `assert_private`."""
    code = getattr(getattr(item, "function", None), "__code__", None)
    fixture = "dp_audit" in getattr(item, "fixturenames", ())
    return fixture or item.get_closest_marker("dpcheck") is not None or ASSERTION in getattr(code, "co_names", ())
