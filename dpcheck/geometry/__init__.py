"""Norms, convex sets with exact projections, and mirror maps."""

from dpcheck.geometry import norms
from dpcheck.geometry.sets import Ball, Box, Domain, Ellipsoid, Interval, L1Ball, LpBall, Simplex

__all__ = [
    "Ball",
    "Box",
    "Domain",
    "Ellipsoid",
    "Interval",
    "L1Ball",
    "LpBall",
    "Simplex",
    "norms",
]
