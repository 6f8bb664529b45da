"""Moved to `dpcheck.geometry.norms`; goes once no audit imports it from here."""

from dpcheck.geometry.norms import *  # noqa: F403
