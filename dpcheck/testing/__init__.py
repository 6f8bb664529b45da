"""For users' own test suites: `assert_private`, worst-case pairs, profiles, Hypothesis strategies and properties."""

from __future__ import annotations

from dpcheck.kills import POWER, AuditKill, kill_by_attack, kill_by_audit, kill_by_number
from dpcheck.profiles import Profile, get_profile, load_profile, register_profile
from dpcheck.testing.asserting import WITNESSES, assert_private, explain, worst_pairs
from dpcheck.testing.properties import assert_moves_at_most, assert_sensitivity, assert_stability
from dpcheck.testing.strategies import budgets, domains, epsilons, guarantees, neighbouring_pairs, workloads

__all__ = [
    "POWER",
    "WITNESSES",
    "AuditKill",
    "Profile",
    "assert_moves_at_most",
    "assert_private",
    "assert_sensitivity",
    "assert_stability",
    "budgets",
    "domains",
    "epsilons",
    "explain",
    "get_profile",
    "guarantees",
    "kill_by_attack",
    "kill_by_audit",
    "kill_by_number",
    "load_profile",
    "neighbouring_pairs",
    "register_profile",
    "workloads",
    "worst_pairs",
]
