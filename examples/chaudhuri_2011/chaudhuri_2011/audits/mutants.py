"""Two seeded bugs, and a variant that looks like the second and is private where Hessians have rank one."""

from dataclasses import replace
from typing import Any

from dpcheck.mutants import seeded

from ..algorithms.chaudhuri_2011 import ObjectivePerturbation, OutputPerturbation


@seeded("chaudhuri_2011/alg-1", OutputPerturbation, "schedule")
def half_noise(original: Any, self: Any, *given: Any) -> Any:
    """Noise of scale L/(nΛε): one record moves one gradient."""
    return original(self, *given).edit("minimiser", law=lambda law: type(law)(law.scale / 2, law.d))


@seeded("chaudhuri_2011/alg-2", ObjectivePerturbation, "schedule")
def no_jacobian(original: Any, self: Any, *given: Any) -> Any:
    """ε' = ε: the determinants are forgotten."""
    return original(replace(self, jacobian=0), *given)


@seeded("chaudhuri_2011/alg-2", ObjectivePerturbation, "schedule", lookalike=True)
def one_logarithm(original: Any, self: Any, *given: Any) -> Any:
    """One logarithm taken off: rank one needs no more."""
    return original(self if self.jacobian is None else replace(self, jacobian=1), *given)
