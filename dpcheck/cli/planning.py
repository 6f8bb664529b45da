"""`dpcheck plan`: what an algorithm would do at a size, in one table, before any data is seen."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dpcheck.cli import completion
from dpcheck.cli.common import (
    Exit,
    WholeNumber,
    also_option,
    complain,
    complain_of,
    echo_json,
    json_option,
    lazily,
    leave,
    no_such_algorithm,
    root_option,
    table,
)
from dpcheck.errors import DpcheckError, Infeasible, InvalidInput, UnknownLabel
from dpcheck.excerpts import excerpt

if TYPE_CHECKING:
    from dpcheck.claims import Claim
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.planning import AlgorithmPlan, BoundRow, ReleaseRow
    from dpcheck.engine.setting import Setting
    from dpcheck.interfaces import Family
    from dpcheck.privacy import Guarantee

SCHEMA = 2
"""Version of the JSON of a plan."""
Readings = Sequence[tuple[str, "Guarantee"]]
ROWS = 24
"""Most lines of a table."""
PATIENCE = 10.0
"""CPU seconds for a schedule, and as many for the bounds beside it."""


SETTING = (
    click.option("--n", type=WholeNumber(), help="Records; users under --m.  [required]"),
    click.option("--d", type=WholeNumber(), default=1, show_default=True, help="Dimension of the parameter."),
    click.option("--epsilon", type=float, help="Budget: ε-DP, or (ε, δ)-DP with --delta."),
    click.option("--delta", type=float, default=0.0, help="δ of the budget.  [default: 0]"),
    click.option("--rho", type=float, help="Budget: ρ-zCDP."),
    click.option("--m", type=WholeNumber(), default=0, help="Samples of each user, for user-level privacy."),
    click.option("--k", type=float, help="Order of the moment bound."),
    click.option("--D", "D", type=float, default=1.0, show_default=True, help="Diameter of the domain."),
    click.option(
        "--L", "L", type=float, help="Lipschitz constant of the losses.  [default: 1, or inf beside --moment]"
    ),
    click.option(
        "--H", "H", type=float, default=1.0, show_default=True, help="Smoothness of the losses; inf for none."
    ),
    click.option("--G_k", "G_k", type=float, help="Moment bound of order --k."),
    click.option("--moment", multiple=True, metavar="K=VALUE", help="Moment bound of another order; may be repeated."),
    click.option("--theta", type=float, help="Exponent of the Tsybakov noise condition."),
    click.option("--lambda", "lambda_", type=float, help="Constant of the Tsybakov noise condition."),
    click.option("--hessian-rank", type=int, help="Rank of the Hessian, for losses of low rank."),
    click.option(
        "--losses",
        "family",
        type=click.Choice(["linear", "generalised linear", "isotropic quadratic"]),
        help="What every loss is as a function of the parameter, where it is known: some sensitivities rest on it.",
    ),
    click.option(
        "--constant", multiple=True, metavar="NAME=VALUE", help="A further constant that the algorithm asks for."
    ),
    click.option(
        "--failure-probability", "beta", type=float, default=0.05, show_default=True, help="Of risk statements."
    ),
)


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that make a `Setting`; `setting_of` reads them."""
    for option in reversed(SETTING):
        command = option(command)
    return command


def setting_of(
    *,
    L: float | None,
    G_k: float | None,
    moment: tuple[str, ...],
    theta: float | None,
    lambda_: float | None,
    constant: tuple[str, ...],
    family: Family | None,
    **sizes: Any,
) -> Setting:
    """The setting of the command line's options. Raises `click.UsageError`, `InvalidInput`."""
    from dpcheck.engine.setting import Setting

    if sizes["n"] is None:
        raise click.UsageError("Missing option '--n', the number of records")
    moments = {_number("--moment", key): value for key, value in _pairs("--moment", moment).items()}
    if G_k is not None:
        order = sizes["k"]
        if order is None:
            raise click.UsageError("--G_k needs its order --k")
        if order in moments:
            raise click.UsageError(
                f"--moment {order:g}={moments[order]:g} and --G_k {G_k:g} at --k {order:g} bound one moment; "
                "give one of them"
            )
        moments[order] = G_k
    if (theta is None) != (lambda_ is None):
        raise click.UsageError("--theta and --lambda go together")
    _check_numbers({"--theta": theta, "--lambda": lambda_}, sizes["hessian_rank"], sizes["d"])
    extra = _pairs("--constant", constant)
    for name, value in extra.items():
        if not math.isfinite(value):
            raise click.BadParameter(f"{name} must be a finite number, got {value}", param_hint="--constant")
    with _in_options():
        return Setting(
            L=L if L is not None else math.inf if moments else 1.0,
            moments=moments,
            growth=None if theta is None or lambda_ is None else (theta, lambda_),
            extra=extra,
            family=family or "",
            **sizes,
        )


def _check_numbers(positive: Mapping[str, float | None], rank: int | None, d: int) -> None:
    """Raises `InvalidInput` of numbers that no algorithm looks at before it needs them."""
    for option, value in positive.items():
        if value is not None and not 0 < value < math.inf:
            raise InvalidInput(f"{option} must be a finite number > 0, got {value}")
    if rank is not None and not 0 <= rank <= d:
        raise InvalidInput(f"--hessian-rank must lie between 0 and d = {d}, got {rank}")


_NAMES = re.compile(r"^(n|d|m|k|D|L|H|epsilon|delta|rho)(?=,| must)")
_BUDGET = "name the budget by epsilon (and delta), or by rho"


@contextlib.contextmanager
def _in_options() -> Iterator[None]:
    """What a setting refuses, in the words of the command line."""
    try:
        yield
    except InvalidInput as error:
        text = str(error).replace(_BUDGET, "name the budget by --epsilon (and --delta), or by --rho")
        raise InvalidInput(_NAMES.sub(r"--\1", text)) from error


@click.command("plan")
@click.argument("algorithm", shell_complete=completion.algorithms)
@setting_options
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE", help="A field of the algorithm.")
@root_option
@also_option
@json_option
def plan_command(
    algorithm: str, settings: tuple[str, ...], root: str | None, also: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """The schedule of ALGORITHM (LABEL or LABEL@READING): phases, noise, privacy, gradients, bounds on its risk.

    What is claimed, what the accountant certifies from proved sensitivities, and what is refuted stand apart.

    \b
    Exit codes:
      0  planned; its guarantee is certified, or claimed by statements that nobody refuted
      1  it cannot be run at this size; the smallest n that would do is named
      8  no guarantee stands: a statement that it rests on is refuted, or nothing is promised or certified at all
    """
    from dpcheck.engine import planning
    from dpcheck.engine.algorithms import algorithm as known
    from dpcheck.engine.patience import within

    catalogue = opened(root, also) if root or also else None  # without which one's own algorithms are not known
    try:
        known(algorithm)  # an unknown one is told before anything else
    except UnknownLabel:
        _planned_instead(algorithm, catalogue or opened(root))
    setting = setting_of(**options)
    fields: dict[str, Any] = {}
    for name, value in map(planning.parse, settings):
        _refuse_twice("--set", fields, name, value)
        fields[name] = value
    catalogue = catalogue or opened(root)
    try:
        with _of_its_own(algorithm), within(PATIENCE, algorithm, setting.n):
            names = planning.speaking_of(algorithm, setting, fields)
        claims = claims_of(catalogue, names)
        with within(PATIENCE, algorithm, setting.n):
            planned = planning.plan(algorithm, setting, fields, claims)
    except Infeasible as error:
        _infeasible(error, algorithm, setting, catalogue, as_json)
        return
    for name, value in setting.extra.items():
        if name not in planned.constants:
            told = f"it reads {', '.join(planned.constants)}" if planned.constants else "it reads no such constant"
            raise InvalidInput(f"nothing in the plan of {algorithm} reads --constant {name}={value:g}; {told}")
    readings = [] if planned.privacy.keeps else planning.private_readings(algorithm, setting, fields)
    if as_json:
        echo_json(_as_dict(planned, setting, readings))
    else:
        _screen(planned, setting, readings)
    if not planned.privacy.stands:
        leave(Exit.NO_GUARANTEE)


def _planned_instead(label: str, catalogue: Catalogue | None) -> NoReturn:
    """What to plan in place of a statement; of what nobody knows, the algorithms."""
    claim = catalogue and catalogue.claims.get(label)
    if not claim:
        raise no_such_algorithm(label)
    from dpcheck.engine.algorithms import algorithms

    about = [f"`dpcheck plan {each}`" for each in claim.about if each in algorithms()]
    cure = f"it speaks of what can be: {', '.join(about)}" if about else f"`dpcheck show {label}` says what it states"
    raise InvalidInput(f"{label} is a statement, which cannot be planned; {cure}")


@contextlib.contextmanager
def _of_its_own(algorithm: str) -> Iterator[None]:
    """What the code of a user's own algorithm raises is no bug of dpcheck."""
    try:
        yield
    except DpcheckError:
        raise
    except Exception as error:
        from dpcheck.auditing.runner import raised_at

        if place := raised_at(error):
            raise InvalidInput(
                f"the schedule of {algorithm} raised {type(error).__name__}: {excerpt(str(error))} ({place}); "
                "where it cannot be run, let it raise InvalidInput"
            ) from error
        raise


def _pairs(option: str, texts: Sequence[str]) -> dict[str, float]:
    by_name: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.strip()):
            raise click.BadParameter(f"got {text!r}; write NAME=VALUE", param_hint=option)
        _refuse_twice(option, by_name, name, value)
        by_name[name] = _number(option, value)
    return by_name


def _refuse_twice(option: str, given: Mapping[str, Any], name: str, value: Any) -> None:
    if name in given:
        before = f"{given[name]:g}" if isinstance(given[name], float) else given[name]
        raise click.BadParameter(f"{name} is given twice, as {before} and {value}", param_hint=option)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number", param_hint=option) from None


def opened(root: str | None, also: Sequence[str] = ()) -> Catalogue | None:
    """The catalogue, in force; none where no content folder is found, which a plan does not need, and says."""
    try:
        return lazily(root, also)
    except DpcheckError as error:
        if root is not None or also:
            raise
        complain(f"no risk bounds: {error}")
        return None


def claims_of(catalogue: Catalogue | None, names: Iterable[str]) -> list[Claim]:
    """Claims that may speak of these labels, or papers; those of a paper that it does not hold are dpcheck's own."""
    from dpcheck.engine import fetching

    if catalogue is None:
        return []
    names = list(names)
    own = catalogue.naming(names)
    complain_of(catalogue)
    return fetching.with_packaged(own, names)


def _infeasible(error: Infeasible, label: str, setting: Setting, catalogue: Catalogue | None, as_json: bool) -> None:
    from dpcheck.engine import planning

    claims_on = functools.partial(claims_of, catalogue)
    others = planning.alternatives(label.partition("@")[0], setting, claims_on)
    if as_json:
        echo_json(
            {
                "schema_version": SCHEMA,
                "label": error.label,
                "feasible": False,
                "needs": error.needs,
                "got": error.got,
                "smallest_n": error.smallest_n,
                "consider": [{"label": other, "when": when} for other, when in others],
            }
        )
    else:
        click.echo(f"Infeasible: {error}")
        if others:
            click.echo(f"  consider  {', '.join(f'{other} ({when})' for other, when in others)}")
    leave(Exit.UNEXPECTED)


# -- the screen ------------------------------------------------------------------------------------------------------


def figure(value: Any) -> str:
    """A number in at most four significant digits."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{value.item():.4g}" if hasattr(value, "item") else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def _screen(plan: AlgorithmPlan, setting: Setting, readings: Readings) -> None:
    if warning := plan.privacy.warning():
        click.echo(warning)
    click.echo(f"{plan.label}{'' if plan.reading == 'as-printed' else ', ' + plan.reading} · {_given(plan, setting)}")
    if plan.phases:
        names = list(dict.fromkeys(name for phase in plan.phases for name in phase))
        names = [name for name in names if any(p.get(name) not in (0, None, "") for p in plan.phases)]
        rows = [["" if name not in p else figure(p[name]) for name in names] for p in plan.phases]
        numbered = [[f"{i}", *row] for i, row in enumerate(rows, 1)]
        _cut(numbered, ["phase", *names], "phases")
    if plan.releases:
        click.echo()
        deltas = {release.delta for release in plan.releases if release.delta}
        head = f"ε (δ = {max(deltas):g})" if deltas else "ε"
        names = ["release", "", "law", "records", "sensitivity", "noise", "noise/diameter", head, "ρ"]
        _cut([_release(release) for release in plan.releases], names, "releases")
        if plan.privacy.rests_on:
            click.echo("? claimed, not proved; what follows from it, ε and ρ of the row, is not certified either")
        click.echo()
    for what, said in plan.privacy.said().items():
        click.echo(f"{what:13} {said}")
    for label, certified in readings:
        click.echo(f"{'consider':13} {label}: {certified} certified")
    click.echo(f"{'gradients':13} {plan.gradients:,}")
    for bound in plan.bounds:
        value = "no number here" if bound.value is None else f"≤ {figure(bound.value)}"
        click.echo(f"{bound.what:13} {value}  {bound.source}: {bound.note}{_beyond(bound, setting)}")
    if not any(bound.what in ("risk", "distance") for bound in plan.bounds):
        click.echo(f"{'risk':13} no bound with constants is known for this algorithm")


def _beyond(bound: BoundRow, setting: Setting) -> str:
    """That a bound on a distance says nothing, as no two points of the domain are further apart."""
    if bound.what != "distance" or bound.value is None or bound.value < setting.D:
        return ""
    return f"; vacuous here: the domain has diameter D = {figure(setting.D)}"


def _release(release: ReleaseRow) -> list[str]:
    number = f"× {release.number:,}" if release.number > 1 else ""
    uses = f"{release.count:,} uses" if release.count > 1 else ""
    numbers = (release.sensitivity, release.noise, release.relative, release.epsilon, release.rho)
    shown = [figure(number) for number in numbers]
    shown[0] += " ?" if release.rests_on else ""
    return [release.name, ", ".join(filter(None, (number, uses))), release.law, release.reads, *shown]


def _cut(rows: list[list[str]], head: list[str], what: str) -> None:
    table(rows[:ROWS], head, right=range(1, len(head)) if what == "phases" else (1, 3, 4, 5, 6, 7, 8))
    if len(rows) > ROWS:
        click.echo(f"… and {len(rows) - ROWS:,} more {what}; --json has them all")


def _given(plan: AlgorithmPlan, setting: Setting) -> str:
    """Everything that the numbers rest on, defaults included."""
    parts = [f"n = {setting.n:,}", f"d = {setting.d:,}", str(setting.privacy)]
    parts += [f"m = {setting.m:,}"] * bool(setting.m)
    parts += [f"{name} = {figure(getattr(setting, name))}" for name in ("D", "L", "H")]
    parts += [f"G_{order:g} = {figure(value)}" for order, value in sorted(setting.moments.items())]
    if setting.growth is not None:
        parts.append(f"θ = {setting.growth[0]:g}, λ = {setting.growth[1]:g}")
    parts += [f"{name} = {figure(value)}" for name, value in setting.extra.items()]
    parts += [f"{name}={value}" for name, value in plan.settings.items()]
    return ", ".join(parts)


def _as_dict(plan: AlgorithmPlan, setting: Setting, readings: Readings) -> dict[str, Any]:
    given = {name: value for name, value in dataclasses.asdict(setting).items() if name != "constants"}
    given["moments"] = {f"{order:g}": value for order, value in setting.moments.items()}
    return {
        "schema_version": SCHEMA,
        "label": plan.label,
        "reading": plan.reading,
        "feasible": True,
        "setting": given,
        "fields": dict(plan.settings),
        "phases": [dict(phase) for phase in plan.phases],
        "releases": [dataclasses.asdict(release) for release in plan.releases],
        "gradients": plan.gradients,
        "floats_per_trial": plan.floats_per_trial,
        "privacy": plan.privacy.to_dict(),
        "private_readings": [{"label": label, "certified": str(certified)} for label, certified in readings],
        "bounds": [dataclasses.asdict(bound) for bound in plan.bounds],
    }


COMMANDS = (plan_command,)
