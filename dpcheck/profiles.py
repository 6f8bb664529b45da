"""Named settings for the audits of a test suite, registered and loaded as Hypothesis's are.

In `conftest.py`: `dp.testing.register_profile("release", parent="nightly", trials=1_000_000)`, then
`pytest --dpcheck-profile release`, or `dp.testing.load_profile("release")`. What a test says itself goes before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from dpcheck.errors import InvalidInput

SIZES = ("smoke", "standard", "full")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What the audits of a session take where neither they nor the command line say otherwise.

    Attributes:
        trials: runs on each input.
        failure_probability: of all verdicts of the session together.
        seed: root of all randomness.
        size: of collected audits.
        must_detect: true epsilon that every audit has to be able to refute with 95 % power; None: whatever it can.
        require_power: an audit that could have refuted nothing at all fails; otherwise it warns.
        accumulate: audits go on, by anytime, where the last session with the same mechanism stopped.
    """

    trials: int = 12_000
    failure_probability: float = 1e-3
    seed: int = 0
    size: str = "smoke"
    must_detect: float | None = None
    require_power: bool = False
    accumulate: bool = False

    def __post_init__(self) -> None:
        _whole("trials", self.trials, 50)
        _whole("seed", self.seed, 0)
        _number("failure_probability", self.failure_probability, 1.0)
        if self.must_detect is not None:
            _number("must_detect", self.must_detect, math.inf)
        if self.size not in SIZES:
            raise InvalidInput(f"size must be one of {', '.join(SIZES)}, got {self.size!r}")
        for name in ("require_power", "accumulate"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be True or False, got {getattr(self, name)!r}")


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise InvalidInput(f"{name} must be an integer in [{least}, 2^63), got {value!r}")


def _number(name: str, value: Any, below: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < below:
        raise InvalidInput(f"{name} must be a number in (0, {below:g}), got {value!r}")


_REGISTERED: dict[str, Profile] = {
    "dev": Profile(trials=5_000),
    "ci": Profile(),
    "nightly": Profile(trials=100_000, size="standard", require_power=True, accumulate=True),
}
DEFAULT = "ci"
_loaded = DEFAULT


def register_profile(name: str, parent: str = DEFAULT, **settings: Any) -> Profile:
    """Makes a profile known by name: that of its parent, but for these settings.

    Raises:
        InvalidInput: no such parent or setting, or a value out of range.
    """
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"a profile is known by its name, got {name!r}")
    _REGISTERED[name] = derived(parent, **settings)
    return _REGISTERED[name]


def derived(parent: str, **settings: Any) -> Profile:
    """The profile of that name but for these settings. Raises `InvalidInput`."""
    known = [field.name for field in fields(Profile)]
    for setting in settings:
        if setting not in known:
            raise InvalidInput(f"a profile has no setting {setting!r}; it has {', '.join(known)}")
    return replace(get_profile(parent), **settings)


def get_profile(name: str | None = None) -> Profile:
    """The profile of that name; None: the one that is loaded. Raises `InvalidInput`."""
    name = _loaded if name is None else name
    if not isinstance(name, str) or name not in _REGISTERED:
        raise InvalidInput(f"no profile {name!r} is registered; there are {', '.join(_REGISTERED)}")
    return _REGISTERED[name]


def load_profile(name: str) -> None:
    """Makes a profile the one that sessions take unless `--dpcheck-profile` names another. Raises `InvalidInput`."""
    global _loaded
    get_profile(name)
    _loaded = name


def loaded() -> str:
    """The name of the loaded profile."""
    return _loaded
