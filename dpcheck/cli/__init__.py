"""The command line: all commands. Exit codes are those of `dpcheck.cli.common.Exit`, as --help tells them."""

from __future__ import annotations

import click

import dpcheck
from dpcheck.cli import (
    attacking,
    auditing,
    beginning,
    browse,
    certifying,
    comparing,
    mutating,
    planning,
    recorded,
    running,
    scaling,
    verifying,
)
from dpcheck.cli.common import Dpcheck


@click.group(cls=Dpcheck, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dpcheck.__version__, prog_name="dpcheck")
def main() -> None:
    """Holds the written claims of differentially private optimisation against what the algorithms really do.

    \b
    Exit codes:
      0  as expected
      1  an unexpected verdict: refuted, rejected, survived, infeasible
      2  what was given cannot be used
      3  a check raised, or an internal error
      4  undecided: an audit, run --strict, or what --must-detect asks for is out of reach
      5  nothing collected
      6  cells are in shards that were not given
      7  the run may be wrong with a larger probability than it promises
      8  no guarantee stands for what was planned
      130  interrupted (143 by SIGTERM); what was finished is kept
    """


for module in (
    browse, running, scaling, planning, comparing, auditing, recorded, verifying, certifying, attacking,
    mutating, beginning,
):  # fmt: skip
    for command in module.COMMANDS:
        main.add_command(command)
