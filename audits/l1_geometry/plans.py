"""What is planned, what is refused and from which size on, and what is promised: by conditions that are typed here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dpcheck.engine.catalogue import claim
from dpcheck.errors import DpcheckError, Infeasible
from dpcheck.interfaces import Algorithm, Problem
from dpcheck.running import Fixed
from dpcheck.verdicts import Verdict, differs, holds

Asked = tuple[str, Callable[[], object], bool]
"""What is asked for, what asks for it, and whether it is to be had."""
FARTHEST = 2**12
"""Up to which the least size that is legal is looked for, size by size."""
EACH_SIDE = ((99.9, False), (100.0, True), (101.0, True))
"""Constants of the noise on both sides of the printed one, and whether the theorem speaks of them."""


def wrongly_answered(asked: Iterable[Asked]) -> list[str]:
    """What is refused though it is legal, and what is granted though it is not."""
    wrong = []
    for said, ask, legal in asked:
        try:
            ask()
        except DpcheckError as error:
            wrong += [f"{said} is refused: {error}"] if legal else []
        else:
            wrong += [] if legal else [f"{said} is granted"]
    return wrong


def planned(algorithm: Algorithm[Any], told: Problem, n: int) -> bool:
    """Whether there is a plan for n records."""
    return not wrongly_answered([("", lambda: algorithm.schedule(told, n), True)])


def wrong_sizes(
    algorithm: Algorithm[Any], told: Problem, sizes: Iterable[int], fits: Callable[[int], bool]
) -> list[str]:
    """Sizes that are refused though they fit, or planned though they do not; and least larger ones that are not."""
    wrong = []
    for n in sizes:
        try:
            algorithm.schedule(told, n)
        except Infeasible as error:
            least = next((size for size in range(n + 1, FARTHEST) if fits(size)), None)
            if fits(n) or error.smallest_n != least:
                wrong.append(f"n = {n} is refused, and {error.smallest_n} named for {least}")
        else:
            wrong += [] if fits(n) else [f"n = {n} is planned"]
    return wrong


def wrong_promises(algorithms: Iterable[Algorithm[Any]], told: Problem, n: int, promised: Sequence[bool]) -> list[str]:
    """Plans that claim what no theorem says, or not what one does."""
    wrong = []
    for algorithm, legal in zip(algorithms, promised, strict=True):
        claimed = algorithm.schedule(told, n).claimed
        wrong += [] if claimed == (told.privacy if legal else None) else [f"{algorithm} claims {claimed}"]
    return wrong


def answered(wrong: Sequence[str], said: str) -> Verdict:
    """Whether nothing is wrong with what was asked for."""
    if wrong:
        return differs(f"{len(wrong)} answers are wrong: {'; '.join(wrong[:3])}", "exact")
    return holds(said, "exact")


def run_of(algorithm: Algorithm[Any], work: Any, told: Problem, n: int) -> Callable[[], object]:
    """A small run on zeros."""
    data = Fixed(np.zeros((1, n, *work.record_shape)))
    return lambda: algorithm.fit(work, data, told, rng=np.random.default_rng(0), trials=2)


def phases_that_run(kind: type[Any], told: Problem, **fields: Any) -> Verdict:
    """Algorithm 2 or 6: planned from the size on at which the first phase makes two steps; promised at the printed
    constant; refused as printed at the first phase whose records are no whole number, or that makes no step; and with
    the noise of Algorithm 1 on F_i, which is 5L-Lipschitz, where that is asked for.
    """
    n, d, epsilon = 256, told.constants.d, told.privacy.epsilon  # type: ignore[attr-defined]

    def batch(records: float, part: float) -> float:
        return math.sqrt(max(records / math.log2(d), d / part))

    def fits(size: int) -> bool:
        records = size // 2
        b = min(records, math.ceil(batch(size / 2, epsilon / 2)))
        return records > 0 and records**2 // b**2 >= 2

    def one_step_less(size: int) -> int:
        return next(i for i in range(1, 60) if size % 2**i or size / 2**i < batch(size / 2**i, epsilon / 2**i))

    wrong = wrong_sizes(kind(**fields), told, (2, 3, 4, 5, 9, 20, 21, 22, 40, 64), fits)
    dials = [kind(c_sigma=c, **fields) for c, _ in EACH_SIDE]
    wrong += wrong_promises(dials, told, n, [legal for _, legal in EACH_SIDE])
    for size in (96, 256, 2**12):
        try:
            kind(rounding="printed", **fields).schedule(told, size)
            wrong.append(f"n = {size} is planned as printed")
        except Infeasible as error:
            if not error.needs.endswith(f"phase {one_step_less(size)}"):
                wrong.append(f"n = {size} as printed needs {error.needs}")
    plain, steeper = (kind(noise=noise, **fields).schedule(told, n).phases for noise in ("gradient", "objective"))
    stated = claim(f"{kind.label.partition('/')[0]}/{'alg-5' if 'p' in fields else 'alg-1'}")
    norm = fields.get("p", 1.0)
    at = {"L": 5 * told.constants.lipschitz(norm), "d": d, "delta": told.privacy.delta}  # type: ignore[attr-defined]
    at |= {"q": norm / (norm - 1)} if norm > 1 else {}
    for one, other in zip(plain, steeper, strict=True):
        wanted = float(stated.evaluate(**at, b=one.b, epsilon=epsilon / 2**one.i))
        if not math.isclose(other.sigma, wanted) or other.sensitivity != one.sensitivity:
            wrong.append(f"the noise of phase {one.i} on F_i is {other.sigma:.6g}, that of Algorithm 1 {wanted:.6g}")
    return answered(wrong, f"10 sizes, 3 constants, 3 sizes as printed and {len(plain)} phases are as they are to be")
