"""Moved to `dpcheck.solvers.extension`; goes once no audit imports it from here."""

from dpcheck.solvers.extension import *  # noqa: F403
