"""What `dp.audit` promises of itself: statements about this project, tested like those of papers."""

import sympy as sp

from dpcheck.claims import Paper

PAPER = Paper(
    key="auditor",
    title="The privacy auditor of dpcheck",
    authors="this project",
    reference="docstrings of dpcheck.auditing and dpcheck.statistics",
)
claim = PAPER.claim

level = claim(
    "auditor/prop-level",
    "Level of a fixed audit",
    "With failure probability α a fixed audit refutes a true claim with probability at most α, whatever the mechanism; "
    "at a claim that is tight whatever rule is learned it spends at least four fifths of α.",
    kind="proposition",
    origin="ours",
    quantity="chance of a false alarm",
    relation="<=",
    explicit=sp.Rational(1, 20),
    remark="At α = 0.05, of which 0.98 is for the bound that refutes and 0.02 for the band of the trade-off curve. "
    "Where only the best rule meets the claim with equality, a learned one spends less.",
)
learned = claim(
    "auditor/prop-level-learned",
    "Level with a learned score",
    "The same when the score is a classifier, or cells, learned from the held-out part.",
    kind="proposition",
    origin="ours",
    quantity="chance of a false alarm",
    relation="<=",
    explicit=sp.Rational(1, 20),
)
anytime = claim(
    "auditor/prop-level-anytime",
    "Level under optional stopping",
    "An anytime audit that is watched at all its looks, goes on beyond its horizon and is stopped at the first look "
    "that refutes a true claim does so with probability at most α; its bound and band hold at all looks together.",
    kind="proposition",
    origin="ours",
    quantity="chance of a false alarm",
    relation="<=",
    explicit=sp.Rational(1, 20),
)
power = claim(
    "auditor/prop-power",
    "Power at a multiple of the fewest samples",
    "A fixed audit refutes with probability at least 0.95 from four times the runs that the best test of all needs for "
    "it, and from three times as many when the densities are known.",
    kind="proposition",
    origin="ours",
    quantity="chance of a refutation",
    relation=">=",
    explicit=sp.Rational(19, 20),
    remark="A goal rather than a theorem: it is measured, mechanism by mechanism, and some seeded bugs miss it: those "
    "with few runs, tiny atoms, or outputs of an index and a number.",
)
lookalikes = claim(
    "auditor/prop-lookalikes",
    "Look-alikes are left alone",
    "Mechanisms that are correct and look like seeded bugs are flagged in none of the audits of each, at the failure "
    "probability of a check.",
    kind="proposition",
    origin="ours",
    quantity="look-alikes flagged",
    relation="=",
    explicit=sp.Integer(0),
    remark="The rate of flags that would have shown stands with the count.",
)
visible = claim(
    "auditor/prop-visible",
    "What is out of sight",
    "A mechanism that leaks only on an event of probability 1e-9 is not refuted, and every result says below which "
    "probability, 3/N for N runs on each input, an event was out of sight.",
    kind="proposition",
    origin="ours",
    quantity="refutations of a leak that no sample can see",
    relation="=",
    explicit=sp.Integer(0),
)
premise = claim(
    "auditor/prop-premise",
    "Trials that are not independent",
    "A mechanism that never looks at its data is refuted with probability at most α even if its outputs depend on the "
    "calls before, on each other within a call, or on the time; independent trials of any law are called dependent "
    "with probability at most α/50.",
    kind="proposition",
    origin="ours",
    quantity="chance of a false alarm",
    relation="<=",
    explicit=sp.Rational(1, 20),
    remark="A theorem for independent trials, and for functions of one run under `dp.vectorize`. For dependence within "
    "calls it is measured on thirteen mechanisms: what is too faint for the check still adds to a count's variance.",
)
