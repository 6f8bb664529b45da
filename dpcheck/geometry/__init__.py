"""Norms, convex sets with exact projections, and mirror maps."""

from dpcheck.geometry import norms
from dpcheck.geometry.cones import Cone, ConeCap, GeneratedCone, Orthant, SecondOrderCone
from dpcheck.geometry.intersections import BallIntersection
from dpcheck.geometry.mirror import Entropy, MeasuredConvexity, PowerMap, measure_strong_convexity
from dpcheck.geometry.polytopes import Polytope
from dpcheck.geometry.sets import Ball, Box, Cornered, Domain, Ellipsoid, Interval, L1Ball, LpBall, Simplex
from dpcheck.geometry.widths import Estimate, monte_carlo_width

__all__ = [
    "Ball",
    "BallIntersection",
    "Box",
    "Cone",
    "ConeCap",
    "Cornered",
    "Domain",
    "Ellipsoid",
    "Entropy",
    "Estimate",
    "GeneratedCone",
    "Interval",
    "L1Ball",
    "LpBall",
    "MeasuredConvexity",
    "Orthant",
    "Polytope",
    "PowerMap",
    "SecondOrderCone",
    "Simplex",
    "measure_strong_convexity",
    "monte_carlo_width",
    "norms",
]
