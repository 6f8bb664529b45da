"""Section 7: what the figures of the experiments show, and their baseline."""

from __future__ import annotations

from ._paper import claim

exp_l4 = claim(
    "tsybakov/exp-l4",
    "Section 7, l4 regression",
    "In the figures of l4 regression LNC-GM is at least as good as DP-SGD on a8a, a9a and w7a.",
    kind="proposition",
    section="7",
    remark="Neither k, p, T, steps, clip levels nor error bars are given, and the tables come with no package.",
)

exp_logistic = claim(
    "tsybakov/exp-logistic",
    "Section 7, logistic regression",
    "In the figures of ridge logistic regression DP-SGD is better on a8a and a9a, LNC-GM and PNCA-SGD on w7a.",
    kind="proposition",
    section="7",
    remark="As `exp-l4`. The ridge is outside the family for which the printed noise of LNC-GM is proved to be enough.",
)

proc_dpsgd = claim(
    "tsybakov/proc-dpsgd",
    "DP-SGD baseline",
    "Minibatches by Poisson sampling, clipped at C, Gaussian noise, T steps: the baseline of Section 7.",
    kind="procedure",
    section="7",
    origin="cited",
)
