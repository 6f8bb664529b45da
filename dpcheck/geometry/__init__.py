"""Norms, convex sets with exact projections, and mirror maps."""

from dpcheck.geometry import norms
from dpcheck.geometry.intersections import BallIntersection, Intersection
from dpcheck.geometry.mirror import Entropy, Measured, PowerMap, measure_strong_convexity
from dpcheck.geometry.polytopes import Polytope
from dpcheck.geometry.sets import Ball, Box, Domain, Ellipsoid, Interval, L1Ball, LpBall, Simplex
from dpcheck.geometry.widths import Estimate, monte_carlo_width

__all__ = [
    "Ball",
    "BallIntersection",
    "Box",
    "Domain",
    "Ellipsoid",
    "Entropy",
    "Estimate",
    "Intersection",
    "Interval",
    "L1Ball",
    "LpBall",
    "Measured",
    "Polytope",
    "PowerMap",
    "Simplex",
    "measure_strong_convexity",
    "monte_carlo_width",
    "norms",
]
