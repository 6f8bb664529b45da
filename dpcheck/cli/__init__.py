"""The command line. Exit codes: 0 as expected, 1 an unexpected verdict, 2 usage, 3 internal error, 4 undecided under
--strict, 5 nothing collected, 6 shards are missing, 7 more may be wrong than a run promises."""

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
    Exit codes: 0 as expected · 1 an unexpected verdict · 2 usage · 3 internal error
                4 undecided under --strict · 5 nothing collected · 6 shards are missing
                7 the run may be wrong with a larger probability than it promises
    """


for module in (
    browse, running, scaling, planning, comparing, auditing, recorded, verifying, certifying, attacking,
    mutating, beginning,
):  # fmt: skip
    for command in module.COMMANDS:
        main.add_command(command)
