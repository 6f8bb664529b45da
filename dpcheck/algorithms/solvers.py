"""Moved to `dpcheck.solvers`; goes once no audit imports it from here."""

from dpcheck.solvers import *  # noqa: F403
