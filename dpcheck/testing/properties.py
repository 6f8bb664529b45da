"""Sensitivity and stability as properties: Hypothesis looks for the pair that moves the output most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened
from dpcheck.testing.strategies import Array, count, hypothesis, neighbouring_pairs

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

EXAMPLES = 200
ROUNDING = 1e-9


def assert_moves_at_most(
    function: Callable[[Array], Any], pair: tuple[Array, Array], bound: float, norm: float = 2
) -> float:
    """Asserts that a function moves by at most `bound` between the two data sets; returns how far it moves.

    Inside of a test with `@given`, Hypothesis is told the ratio, as a target, and climbs.

    Args:
        norm: 1, 2 or `math.inf`, of the difference as one vector.

    Raises:
        AssertionError: it moves further, beyond rounding.
        InvalidInput: a bound or norm that makes no sense, or outputs that are not finite or of two shapes.
    """
    __tracebackhide__ = True
    _check(function, bound, norm)
    if not (isinstance(pair, Sequence) and len(pair) == 2 and all(isinstance(each, np.ndarray) for each in pair)):
        raise InvalidInput(f"a pair is two arrays, data and neighbour, such as `worst_pairs(5)`; got {shortened(pair)}")
    one, two = (np.asarray(function(values.copy()), dtype=float) for values in pair)
    if one.shape != two.shape:
        raise InvalidInput(f"the outputs differ in shape: {one.shape} and {two.shape}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InvalidInput(f"an output is not finite: {one} and {two}")
    moved = float(np.linalg.norm(np.atleast_1d(one - two).ravel(), ord=norm))
    library = hypothesis()
    if library.currently_in_test_context():
        library.target(moved / bound, label="movement over bound")
    slack = ROUNDING * max(1.0, bound, float(np.abs(one).max(initial=0)))
    assert moved <= bound + slack, (
        f"one record moves {_name(function)} by {moved:.6g} in l_{norm:g}, and {bound:.6g} is claimed "
        f"({moved / bound:.4g} times as far): from {_short(one)} to {_short(two)}"
    )
    return moved


def assert_sensitivity(
    function: Callable[[Array], Any],
    bound: float,
    pairs: SearchStrategy[tuple[Array, Array]] | None = None,
    *,
    norm: float = 2,
    examples: int = EXAMPLES,
) -> None:
    """Asserts that no pair of neighbours moves `function(data)` by more than `bound`.

    It searches and proves nothing; what it finds, Hypothesis makes small and replays in the next run.

    Args:
        pairs: of `neighbouring_pairs`; None: its default, replaced numbers in [0, 1].

    Raises:
        AssertionError: with the smallest pair that was found.
    """
    __tracebackhide__ = True
    _check(function, bound, norm)

    def moves_at_most(pair: tuple[Array, Array]) -> None:
        __tracebackhide__ = True
        assert_moves_at_most(function, pair, bound, norm)

    _search(moves_at_most, function, examples, neighbouring_pairs() if pairs is None else pairs)


def assert_stability(
    algorithm: Callable[[Array, np.random.Generator], Any],
    bound: float,
    pairs: SearchStrategy[tuple[Array, Array]] | None = None,
    *,
    norm: float = 2,
    examples: int = EXAMPLES,
) -> None:
    """Asserts uniform argument stability: with the same randomness, `algorithm(data, rng)` moves by at most `bound`.

    As `assert_sensitivity`, over pairs and seeds.
    """
    __tracebackhide__ = True
    _check(algorithm, bound, norm)

    def moves_at_most(pair: tuple[Array, Array], seed: int) -> None:
        __tracebackhide__ = True

        def run(data: Array) -> Any:
            return algorithm(data, np.random.default_rng(seed))

        run.__name__ = _name(algorithm)
        assert_moves_at_most(run, pair, bound, norm)

    seeds = hypothesis().strategies.integers(0, 2**32 - 1)
    _search(moves_at_most, algorithm, examples, neighbouring_pairs() if pairs is None else pairs, seeds)


def _search(moves_at_most: Callable[..., None], function: Any, examples: int, *strategies: SearchStrategy[Any]) -> None:
    """Runs a property under the loaded Hypothesis profile, which keeps examples by the name of the property."""
    __tracebackhide__ = True
    library = hypothesis()
    named = f"moves_at_most_{_name(function)}"
    moves_at_most.__name__ = named if named.isidentifier() else "moves_at_most"
    # What Hypothesis explains is lines of this file.
    phases = [phase for phase in library.Phase if phase is not library.Phase.explain]
    chosen = library.settings(max_examples=count("examples", examples), deadline=None, phases=phases)
    try:
        chosen(library.given(*strategies)(moves_at_most))()
    except (AssertionError, InvalidInput) as error:
        raise error.with_traceback(None)  # noqa: B904 - the notes of Hypothesis stay, with the pair in them


def _check(function: Any, bound: Any, norm: Any) -> None:
    if not callable(function):
        raise InvalidInput(f"what is checked must be a function of the data, got {shortened(function)}")
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.number) or not 0 < bound < np.inf:
        raise InvalidInput(f"the bound must be a finite number > 0, got {bound!r}")
    if np.ndim(norm) or norm not in (1, 2, np.inf):
        raise InvalidInput(f"norm must be 1, 2 or inf, got {shortened(norm)}")


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _short(value: Array) -> str:
    return np.array2string(value, precision=6, threshold=8)
