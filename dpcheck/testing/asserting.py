"""`assert_private`: a claim of privacy as an assertion of a test."""

from __future__ import annotations

import math
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import sessions
from dpcheck.auditing.audit import AuditResult, audit
from dpcheck.auditing.identity import identity
from dpcheck.auditing.inputs import check_must_detect, check_path, is_number, is_whole
from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.foreign import shortened
from dpcheck.privacy import Guarantee
from dpcheck.verdicts import Outcome

Array = NDArray[np.float64]
MOST = 10**8
"""Of records, and of entries of one."""
WITNESSES = ".dpcheck"
"""Folder, under the working directory, where refutations leave their witness."""


def assert_private(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    trials: int | None = None,
    failure_probability: float | None = None,
    seed: int | None = None,
    witnesses: pathlib.Path | str = WITNESSES,
    must_detect: float | None = None,
    workers: int | None = None,
    **options: Any,
) -> AuditResult:
    """Audits a mechanism and raises `AssertionError` when its claim is refuted, or its trials are not independent.

    Under pytest the session answers for what is not given here: its profile, its seed, and this audit's share of its
    failure probability; and it shows the result in its summary, `--dpcheck-json` and the JUnit report.

    Args:
        mechanism: `mechanism(data, rng, trials)`; wrap a per-call function in `dp.vectorize`.
        data, neighbour: the pair, for example from `worst_pairs`.
        claim: such as `dp.PureDP(epsilon=1.0)`.
        trials: runs on each input; 12,000 outside of pytest.
        failure_probability: chance that a private mechanism fails the test; 1e-4 outside of pytest. One that is given
            here comes on top of what the session splits.
        seed: 0 outside of pytest.
        witnesses: folder for the witness of a refutation.
        must_detect: true epsilon, above the claimed one, that the audit has to be able to refute with 95 % power; one
            that could not fails. None: one that could have refuted nothing at all warns.
        workers: processes that run it, as in `dp.in_workers`; None: this one.
        options: further arguments of `dp.audit`.

    Returns:
        The `AuditResult`, which says what it could have found.

    Raises:
        AssertionError: the claim is refuted, and the message names the event, the pair and how to reproduce; or nothing
            can be concluded: trials depend on each other, or `must_detect` is out of reach.
        InvalidInput, MechanismError: as `dp.audit`.
    """
    __tracebackhide__ = True

    def what(failure_probability: float, seed: int) -> sessions.Identity:
        try:
            score = options.get("score", "auto")
            return identity(mechanism, (data, neighbour), claim, score, seed, failure_probability)
        except Exception:  # of code without a source, say; then no later session takes it for the same
            return {}

    folder = check_path("the folder of witnesses", witnesses)
    asked = {"trials": trials, "failure_probability": failure_probability, "seed": seed, "must_detect": must_detect}
    session = sessions.current()
    given = {name: value for name, value in asked.items() if value is not None}
    settings = session.settle(given, what, own_mode="mode" in options)
    check_must_detect(settings.must_detect, claim)
    chosen: dict[str, Any] = {name: getattr(settings, name) for name in ("trials", "failure_probability", "seed")}

    def run(**more: Any) -> AuditResult:
        __tracebackhide__ = True
        rest = {**settings.more, **more, **options}
        return audit(mechanism, data, neighbour, claim, workers=workers, **chosen, **rest)

    try:
        try:
            result = run()
        except InvalidInput:
            if settings.more.get("resume") is None:
                raise
            # It is not what it was: it draws from something else than its generator, say. Nothing adds up, then.
            result = run(resume=None, max_samples=None)
    except (InvalidInput, MechanismError) as error:
        raise error.with_traceback(None)  # noqa: B904 - what caused it stays; the frames of the auditor help nobody
    message, saved = _judged(result, settings, folder)
    session.hear(settings, result, message, saved, what(settings.failure_probability, settings.seed))
    if message:
        raise AssertionError(message)
    if result.outcome is Outcome.UNDECIDED:
        warnings.warn(f"assert_private passed without power: {result.reason()}", stacklevel=2)
    return result


def _judged(result: AuditResult, settings: sessions.Settings, folder: pathlib.Path) -> tuple[str, str]:
    """Why the test fails, "" where it does not; and where the witness of a refutation was saved."""
    least = settings.must_detect
    if result.outcome is Outcome.REFUTED:
        message, saved = _explained(result, folder)
        again = "; it failed before, and nothing it depends on was changed" if settings.replayed == "again" else ""
        return message.replace(".\n", f"{again}.\n", 1), saved
    if result.dependence:
        return f"nothing can be concluded: {result.reason()}", ""
    if lacks := result.lacks(least):
        return f"nothing is shown at ε = {least:g}: {result.reason()}; {lacks}", ""
    if settings.require_power and result.outcome is Outcome.UNDECIDED:
        return f"nothing is shown at any ε: {result.reason()}; take more than trials={result.trials}", ""
    return "", ""


def explain(result: AuditResult, folder: pathlib.Path) -> str:
    """The message of a refutation; saves its witness in `folder`. Raises `InvalidInput`."""
    if not isinstance(result, AuditResult):
        raise InvalidInput(f"what is explained is the result of dp.audit, got {shortened(result)}")
    return _explained(result, check_path("the folder of witnesses", folder))[0]


def _explained(result: AuditResult, folder: pathlib.Path) -> tuple[str, str]:
    rows, saved = result.rows(), ""
    witness = result.witness
    if witness is not None:
        saved = str(witness.save(folder / f"witness-{witness.digest[:8]}.json"))
        rows.append(("reproduce", f"dpcheck verify {saved}"))
    else:
        asked = f"trials={result.trials}, seed={result.seed}, failure_probability={result.failure_probability:g}"
        rows.append(("reproduce", f"dp.audit(…, {asked}, mode={result.mode!r})"))
    return "\n".join([f"{result.reason()}.", *(f"{name:<12} {text}" for name, text in rows)]), saved


def worst_pairs(n: int, low: float = 0.0, high: float = 1.0, d: int | None = None) -> tuple[Array, Array]:
    """A pair at which bounded mechanisms leak most: all records at `low`, and one of them moved to `high`.

    Args:
        n: records; low, high: ends of their range; d: length of a record, None for scalars.

    Returns:
        (data, neighbour) of shape (n,) or (n, d), one record apart.

    >>> worst_pairs(3)[1]
    array([0., 1., 0.])
    """
    for name, value in (("n", n), *([] if d is None else [("d", d)])):
        if not is_whole(value, 1):
            raise InvalidInput(f"{name} must be an integer >= 1, got {value!r}")
        if value > MOST:
            raise InvalidInput(f"{name} must be at most {MOST:,}, got {value:,}")
    if not (is_number(low) and is_number(high) and math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"low and high must be finite with low < high, got {low!r} and {high!r}")
    data = np.full((n,) if d is None else (n, d), float(low))
    neighbour = data.copy()
    neighbour[n // 2] = high
    return data, neighbour
