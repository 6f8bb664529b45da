"""Losses, data laws and domains with the truth in closed form: risk, minimiser, moments, and what solvers need."""

from dpcheck.workloads.amplitudes import Amplitude, Pareto, Spike
from dpcheck.workloads.base import BaseWorkload, Bounded, Extended, Minimised, OfUsers, Placed
from dpcheck.workloads.coordinates import CoordinateHuber
from dpcheck.workloads.crosspolytope import EqualRecords, L1Location, LassoPopulation, SignLasso, SignLinear
from dpcheck.workloads.heavy_coordinates import HeavyCoordinates
from dpcheck.workloads.hinge import HeavyHinge
from dpcheck.workloads.linear import LinearWorkload, RareSpikes, SparseDirection, TwoPoint
from dpcheck.workloads.links import LINKS, Absolute, Hinge, Huber, Linear, Link, Squared
from dpcheck.workloads.mean import HeavyMean
from dpcheck.workloads.median import WeightedMedian
from dpcheck.workloads.population import FinitePopulation, diabetes, fair, randhie
from dpcheck.workloads.power_well import PowerWell, rare_spikes
from dpcheck.workloads.radial import RadialHeavyTail
from dpcheck.workloads.regularised import RegularisedPopulation
from dpcheck.workloads.ridge import BallRidge, RidgeWorkload
from dpcheck.workloads.sign_huber import SignHuber
from dpcheck.workloads.signs import LinearMean, QuadraticMean, signs_on
from dpcheck.workloads.sparse_designs import census_like, doctor_visits, marriages, web_like
from dpcheck.workloads.users import Users

__all__ = [
    "LINKS",
    "Absolute",
    "Amplitude",
    "BallRidge",
    "BaseWorkload",
    "Bounded",
    "CoordinateHuber",
    "EqualRecords",
    "Extended",
    "FinitePopulation",
    "HeavyCoordinates",
    "HeavyHinge",
    "HeavyMean",
    "Hinge",
    "Huber",
    "L1Location",
    "LassoPopulation",
    "Linear",
    "LinearMean",
    "LinearWorkload",
    "Link",
    "Minimised",
    "OfUsers",
    "Pareto",
    "Placed",
    "PowerWell",
    "QuadraticMean",
    "RadialHeavyTail",
    "RareSpikes",
    "RegularisedPopulation",
    "RidgeWorkload",
    "SignHuber",
    "SignLasso",
    "SignLinear",
    "SparseDirection",
    "Spike",
    "Squared",
    "TwoPoint",
    "Users",
    "WeightedMedian",
    "census_like",
    "diabetes",
    "doctor_visits",
    "fair",
    "marriages",
    "randhie",
    "rare_spikes",
    "signs_on",
    "web_like",
]
