"""Harnesses: what is measured of an algorithm, a workload and a problem, and what may be concluded from it.

Each module measures one kind of claim and ends in functions that take plain arrays and return a `Verdict`. None of
them knows any particular algorithm: all arrive as arguments, through `dpcheck.interfaces`.

* `replay`, `search`: one past and two cores; the pair of neighbours that moves them most.
* `sensitivity`, `stability`, `noise`: what releases, maps and noise are claimed to do, pair by pair.
* `losses`, `privacy`, `selection`: exact compositions, the slack between claimed and real privacy, exact laws.
* `budget`: what the accountant certifies of a run, the least noise that it certifies, and the verdict on an account.
* `accuracy`, `domain`: inequalities of lemmas, on instances and on whole boxes; events with a probability.
* `risk`, `rate`, `controls`, `runtime`: bounds with constants, O-forms, outputs that read no data, counted calls.
* `symbolic`, `refutation`: identities by SymPy; witnesses that are verified before anything is refuted.
* `lower_bound`, `hard_instances`, `optimal_tests`: constructions in exact arithmetic, and algorithms against them.
"""
