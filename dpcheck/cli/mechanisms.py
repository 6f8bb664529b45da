"""What commands on a user's own mechanism share: FILE:NAME, the two inputs, and the claim."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.foreign import plain

if TYPE_CHECKING:
    from dpcheck.privacy import Guarantee

F = TypeVar("F", bound=Callable[..., Any])


def pair_options(command: F, required: bool = True) -> F:
    """--data, --neighbour, --adjacency, --halts and --per-call."""
    options = (
        click.option("--data", required=required, metavar="FILE.npy", help="Axis 0 counts records."),
        click.option("--neighbour", required=required, metavar="FILE.npy", help="The same data, one record changed."),
        click.option(
            "--adjacency",
            type=click.Choice(["replace-one", "add-remove", "user-level", "none"]),
            default="replace-one",
            show_default=True,
            help="What neighbours are; none takes any pair.",
        ),
        click.option("--halts", is_flag=True, help="NaN outputs mean: stopped without an output."),
        click.option(
            "--per-call",
            is_flag=True,
            help="MECHANISM is (data, rng) -> one output, not (data, rng, trials) -> all.",
        ),
    )
    return _with(options, command)


def claim_options(command: F) -> F:
    """--epsilon, --delta, --alpha, --rho, --mu and --curve; `claim_of` makes a claim of their values."""
    options = (
        click.option("--epsilon", type=float, help="Claim: ε-DP; (ε, δ)-DP with --delta; Rényi DP with --alpha."),
        click.option("--delta", type=float, help="δ of the claim.  [default: 0]"),
        click.option("--alpha", type=float, help="Order of a Rényi claim."),
        click.option("--rho", type=float, help="Claim: ρ-zCDP."),
        click.option("--mu", type=float, help="Claim: μ-Gaussian DP."),
        click.option(
            "--curve", metavar="FILE:FUNCTION", help="Claim: f-DP; FUNCTION maps type-I to type-II errors (arrays)."
        ),
    )
    return _with(options, command)


def _with(options: tuple[Callable[[F], F], ...], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def claim_of(
    epsilon: float | None,
    delta: float | None,
    alpha: float | None,
    rho: float | None,
    mu: float | None,
    curve: str | None,
) -> Guarantee:
    """The claim that the options name; exactly one of --epsilon, --rho, --mu and --curve decides its kind."""
    from dpcheck import privacy

    kinds = {"--epsilon": epsilon, "--rho": rho, "--mu": mu, "--curve": curve}
    given = [f"{option} {value}" for option, value in kinds.items() if value is not None]
    for option, value in (("--delta", delta), ("--alpha", alpha)):
        if value is not None and epsilon is None:
            raise click.UsageError(f"{option} {value} needs --epsilon" + (f", got {given[0]}" if given else ""))
    if not given:
        raise click.UsageError("no claim; name it by one of --epsilon, --rho, --mu and --curve")
    if len(given) > 1:
        raise click.UsageError(f"got {len(given)} claims, {' and '.join(given)}; give one of them")
    if delta is not None and alpha is not None:
        raise click.UsageError(
            f"--delta {delta} makes an (ε, δ) claim, --alpha {alpha} a Rényi claim; give one of them"
        )
    with in_options():
        if rho is not None:
            return privacy.ZCDP(rho)
        if mu is not None:
            return privacy.GaussianDP(mu)
        if curve is not None:
            return privacy.TradeOff(function_of(curve))
        assert epsilon is not None
        if alpha is not None:
            return privacy.RenyiDP(alpha, epsilon)
        return privacy.ApproxDP(epsilon, delta) if delta else privacy.PureDP(epsilon)


def array_of(option: str, path: str) -> Any:
    """The array of a .npy file. Raises `InvalidInput` that names the option."""
    from dpcheck.recorded.files import load_array

    return load_array(f"{option} {plain(path)}", path)


def refuse_bad(pair: tuple[Any, Any], adjacency: str | None) -> None:
    """Raises `InvalidInput` for a pair that no audit takes, before a mechanism says what it made of it."""
    from dpcheck.auditing.inputs import describe_pair

    with in_options():
        describe_pair(*pair, adjacency)


@contextlib.contextmanager
def in_options() -> Iterator[None]:
    """Errors of the library, their advice in the words of the command line."""
    try:
        yield
    except (InvalidInput, MechanismError) as error:
        raise type(error)(worded(str(error))) from error


def worded(text: str) -> str:
    """What the library says, its arguments by the names of their options."""
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


_OPTIONS = {
    "use adjacency=None to audit": "use --adjacency none to audit",
    'adjacency="add-remove"': "--adjacency add-remove",
    "adjacency=None": "--adjacency none",
    "pass halts=True": "pass --halts",
    "epsilon must be": "--epsilon must be",
    "delta must": "--delta must",
    "order alpha must be": "order --alpha must be",
    "rho must be": "--rho must be",
    "mu must be": "--mu must be",
    "trials must be": "--trials must be",
    "trials must lie": "--trials must lie",
    "among must be": "--among must be",
    "guesses must lie": "--guesses must lie",
    "pass ordered=False": "pass --unordered",
    "must_detect must be": "--must-detect must be",
    "take more than trials=": "take more than --trials ",
    "needs among=k": "needs --among k",
    "seed must be": "--seed must be",
    "max_samples must be": "--max-samples must be",
    "max_samples >": "--max-samples >",
    "workers must be": "--workers must be",
    "power must lie": "--power must lie",
    'mode="anytime"': "--mode anytime",
    "sensitivity must be": "--sensitivity must be",
    "failure_probability must": "--failure-probability must",
    "through dp.vectorize (--per-call)": "with --per-call",
    "without dp.vectorize (--per-call)": "without --per-call",
    "(wrap a function that runs once a call in dp.vectorize)": "(--per-call for a function that runs once a call)",
    "`dpcheck attack --only state` (dp.attacks.state)": "`dpcheck attack --only state`",
}


def function_of(reference: str) -> Callable[..., Any]:
    """The function behind FILE:NAME; the file may import its neighbours, as a script does.

    Raises:
        InvalidInput: no such file or name, or the file does not import.
    """
    path, colon, name = reference.rpartition(":")
    if not colon or not name.isidentifier():
        raise InvalidInput(f"got {reference!r}; name a function of a Python file as mymechanisms.py:noisy_mean")
    file = Path(path).resolve()
    if not file.is_file():
        raise InvalidInput(f"there is no file {path}; FILE:MECHANISM names a Python file")
    spec = importlib.util.spec_from_file_location(f"dpcheck_user_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{path} does not import: {type(error).__name__}: {error}") from error
    ability = getattr(module, name, None)
    if not callable(ability):
        known = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise InvalidInput(f"{path} has no function {name!r}; it has {', '.join(known[:8]) or 'none'}")
    function: Callable[..., Any] = ability
    return function
