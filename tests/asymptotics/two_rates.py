"""A private and a statistical rate with heavy tails, in the plane of d = n^a and epsilon = n^-e."""

import sympy as sp

from dpcheck.symbols import G_2, D, G_k, d, epsilon, k, n

R = sp.Rational
a, e = sp.symbols("a e")
heavy = G_k * D * (d / (n * epsilon)) ** (1 - 1 / k)
light = G_2 * D / sp.sqrt(n)
plane = {d: n**a, epsilon: n**-e}
