"""One SymPy symbol for each name of the field, with its assumptions; papers' letters are mapped once, here."""

from __future__ import annotations

import sympy as sp


def positive(names: str) -> tuple[sp.Symbol, ...]:
    """Positive real symbols, one for each blank-separated name."""
    return tuple(sp.symbols(names, positive=True, seq=True))


# Sizes: records (users), samples of a block or of a user, dimension, blocks, phases, steps.
n, m, d, J, T, B, b = positive("n m d J T B b")
# Privacy and failure probabilities (the papers overload δ: `delta` is a privacy δ, `beta` a failure probability).
epsilon, delta, rho, beta, zeta, mu = positive("epsilon delta rho beta zeta mu")
# Geometry and losses: diameter, Lipschitz constant, smoothness, strong convexity, domain radius.
D, L, H, lambda_, R = positive("D L H lambda R")
# Moments: k-th moment bounds of the gradient (as printed) and their order.
k, G, G_1, G_2, G_k = positive("k G G_1 G_2 G_k")
r_2, r_k, r_2k = positive("r_2 r_k r_2k")
# Tsybakov noise condition, non-Euclidean exponents, regularity.
theta, p, q, kappa, omega = positive("theta p q kappa omega")
# Clip level, noise scale, step size, accuracy, tail parameter, auxiliary constants.
C, sigma, eta, gamma, tau, alpha, xi, t = positive("C sigma eta gamma tau alpha xi t")

# Phases, steps or leaves: numbered by i from 1 on; l is the number of the last one.
index, last = sp.Symbol("i", integer=True, positive=True), sp.Symbol("l", integer=True, positive=True)


def sequences(names: str) -> tuple[sp.IndexedBase, ...]:
    """One sequence of positive numbers for each blank-separated name: `sigma[index]`, `sigma[last]`."""
    return tuple(sp.IndexedBase(sp.Symbol(name, positive=True)) for name in names.split())


BY_NAME: dict[str, sp.Symbol] = {s.name: s for s in list(globals().values()) if isinstance(s, sp.Symbol)}
"""`BY_NAME["epsilon"] is epsilon`: how command-line options and `Claim.evaluate` find their symbols."""
