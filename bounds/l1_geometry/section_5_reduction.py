"""Section 5: the reduction of strongly convex losses to convex ones."""

from __future__ import annotations

import sympy as sp

from dpcheck.symbols import index, n

from ._paper import LOG2_N, claim

proc_reduction = claim(
    "l1_geometry/proc-strongly-convex-reduction",
    "Reduction of Section 5 (FKT20)",
    "⌈log log n⌉ runs of an algorithm for convex losses, run i from the last output on n_i = 2^{i−2}n/log n "
    "fresh records.",
    kind="procedure",
    section="5",
    origin="cited",
    about=("l1_geometry/alg-2", "l1_geometry/alg-3"),
    remark="The current distance bound D_i, which sets η, is not printed: D_1 = D, D²_{i+1} = (2/λ)·bound(D_i).",
)

proc_reduction_runs = proc_reduction.as_read(
    "l1_geometry/proc-strongly-convex-reduction@runs",
    "Reduction of Section 5, number of runs",
    "⌈log log n⌉ runs, and at least one.",
    quantity="runs",
    relation="=",
    explicit=sp.Max(1, sp.ceiling(sp.log(LOG2_N, 2))),
    about=("l1_geometry/proc-strongly-convex-reduction",),
)
proc_reduction_records = proc_reduction_runs.as_read(
    "l1_geometry/proc-strongly-convex-reduction@records",
    "Reduction of Section 5, records of a run",
    "n_i = 2^{i−2}n/log n, in whole records.",
    quantity="records of run i",
    explicit=sp.floor(2 ** (index - 2) * n / LOG2_N),
)
