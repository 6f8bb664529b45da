"""How often something happens over many seeds, asked of no more seeds than decide it.

The answer is that of all seeds: counting stops once those that are left cannot change it.
"""

from __future__ import annotations

from collections.abc import Callable


def at_least(least: int, of: int, happens: Callable[[int], object]) -> bool:
    """Whether it happens with at least so many of the seeds 0, 1, …, of - 1."""
    seen = 0
    for seed in range(of):
        if seen >= least or seen + of - seed < least:
            break
        seen += bool(happens(seed))
    return seen >= least


def at_most(most: int, of: int, happens: Callable[[int], object]) -> bool:
    """Whether it happens with at most so many of them."""
    return not at_least(most + 1, of, happens)
