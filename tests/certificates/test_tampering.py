"""A stored certificate of each label loses each of its fields, kinds of numbers and lines, or claims more.

With --nightly all of them do.

`dpcheck verify` refuses what was changed, unless what is left shows the same two numbers of the same problem; and the
second checker concludes what the first does.
"""

from __future__ import annotations

import collections
import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from checkout import ROOT, collected

from dpcheck import certificates
from dpcheck.certificates import checker
from dpcheck.certificates.statements import CERTIFIED
from dpcheck.errors import WitnessRejected

SHOWN = ("problem", "parameters", "bound", "attained", "multipliers", "pivots", "vectors")
pytestmark = pytest.mark.xdist_group("tampering")  # attempts are made, and the first checker asked, once
Attempt = tuple[str, str, str, dict[str, Any], dict[str, Any]]
"""Label, run, what was done, the certificate before and after."""


def concluded(check: Any, certificate: dict[str, Any]) -> Any:
    try:
        return check(certificate)
    except Exception:
        return None


def numbers(part: Any) -> list[tuple[Any, Any]]:
    """Where the numbers of a field are: each a container and a key."""
    found = []
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        found += [(part, key)] if isinstance(value, str) else numbers(value)
    return found


def tampered(certificate: dict[str, Any], rng: np.random.Generator) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field gone, without a part of it or with another number, and a bound and a size that claim more."""
    for name in (name for name in SHOWN if name in certificate):
        yield f"no {name}", {key: value for key, value in certificate.items() if key != name}
        if name in ("bound", "attained"):
            more = Fraction(certificate[name]) + Fraction(1, 1000) * (-1 if name == "bound" else 1)
            yield f"better {name}", {**certificate, name: str(more)}
            continue
        for way in ("dropped", "changed"):
            other = copy.deepcopy(certificate)
            places = numbers(other[name])
            if not places or (name == "problem" and way == "changed"):
                continue
            container, key = places[rng.integers(len(places))]
            if way == "dropped":
                del container[key]
            else:
                container[key] = str(Fraction(container[key]) + Fraction(int(rng.choice([-1, 1])), 7))
            yield f"{name} {way}", other


def taken(label: str, run: str, certificate: dict[str, Any]) -> bool:
    """Whether `dpcheck verify` takes it for a certificate of this run of the statement."""
    (instance,) = (each for each in CERTIFIED[label] if each.name == run)
    try:
        certificates.proved(collected().claims[label], instance, certificate)
    except WitnessRejected:
        return False
    return True


@pytest.fixture(scope="module")
def attempts(pytestconfig: pytest.Config) -> list[Attempt]:
    rng = np.random.default_rng(20)
    kept = slice(None, None, 1 if pytestconfig.getoption("--nightly") else 4)
    return [
        (label, one["instance"], kind, one, other)
        for label in sorted(CERTIFIED)
        for one in json.loads(certificates.path_of(label, ROOT / "reports").read_text())["certificates"][kept]
        for kind, other in tampered(one, rng)
    ]


def test_what_was_tampered_with_shows_no_more(attempts: list[Attempt]):
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    for label, run, kind, before, after in attempts:
        accepted = concluded(checker.check, after) is not None and taken(label, run, after)
        counts[kind, not accepted] += 1
        assert not accepted or checker.check(after) == checker.check(before), (label, run, kind)
    left = {kind: n for (kind, refused), n in counts.items() if not refused}
    assert left.keys() <= {"vectors changed", "vectors dropped"}, left  # of a function that is as bad
    assert sum(left.values()) < 10 < 1_000 < sum(counts.values())


def test_the_second_checker_concludes_the_same(attempts: list[Attempt], pytestconfig: pytest.Config) -> None:
    """Of a third of them; of all with --nightly."""
    pytest.importorskip("flint", reason="python-flint comes with the extras 'certificates' and 'second'")
    from dpcheck.certificates import second

    some = attempts[:: 1 if pytestconfig.getoption("--nightly") else 3]
    assert all({each[i] for each in some} == {each[i] for each in attempts} for i in (0, 2)), (
        "every label, every change"
    )
    for label, run, kind, _, after in some:
        assert concluded(second.check, after) == concluded(checker.check, after), (label, run, kind)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["x = vector()", "y = 00 - x", "bound y@y"], None),  # a number from which a vector is taken
        (["x = vector()", "bound distance(00, x)@unit"], None),
        (["f = convex(L=1, x=2)", "x = zero", "bound gradient(f, x)@zero"], None),
        (["x = vector()", "f = convex(L=x)", "bound gradient(f, zero)@zero"], None),
        (["x = vector()", "f = vector(x)", "bound x@zero"], None),
        (["x = vector()", "assume 0 <=  1", "bound x@zero"], None),  # two spaces
        (["x = vector()", "assume x@x <= 4", "bound x@x"], "4"),  # the same with nothing amiss
    ],
)
def test_what_is_no_problem(lines: list[str], said: str | None):
    """Found by changing characters: the second checker took a number for a vector, or what it did not know."""
    pytest.importorskip("flint", reason="python-flint comes with the extras 'certificates' and 'second'")
    from dpcheck.certificates import second

    certificate = {"problem": lines, "parameters": {}, "bound": said or "0", "multipliers": {}, "pivots": ["0", "0"]}
    if said:
        certificate |= {"multipliers": {"0": "1"}}
    for check in (checker.check, second.check):
        assert concluded(check, certificate) == ((Fraction(said), None) if said else None)
        if not said:
            with pytest.raises((TypeError, AttributeError, ValueError, SyntaxError, WitnessRejected)):
                check(certificate)
