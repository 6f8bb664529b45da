"""Moved to `dpcheck.solvers.conic`; goes once no audit imports it from here."""

from dpcheck.solvers.conic import *  # noqa: F403
