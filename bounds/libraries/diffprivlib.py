"""diffprivlib: the epsilon and delta that a mechanism is made with, at the sensitivity that it is made with."""

from dpcheck.claims import Claim

from ._paper import reported

SECTION = "diffprivlib"


def made_with(label: str, name: str, what: str, **fields: str) -> Claim:
    return reported(
        label, name, f"{what}, made with ε (and δ) and a sensitivity: (ε, δ)-DP.", section=SECTION, **fields
    )


laplace = made_with("libraries/diffprivlib-laplace", "Laplace", "Laplace noise")
laplace_bits = made_with(
    "libraries/diffprivlib-laplace-bits",
    "Laplace, last bits",
    "Laplace noise to the last bit of the floating-point numbers that are returned",
    grade="refuted",
    remark="Noise summed of four draws is a floating-point number as any other: its last bits depend on the value.",
)
truncated = made_with("libraries/diffprivlib-laplace-truncated", "LaplaceTruncated", "Laplace noise, cut to bounds")
folded = made_with("libraries/diffprivlib-laplace-folded", "LaplaceFolded", "Laplace noise, folded into bounds")
domain = made_with(
    "libraries/diffprivlib-laplace-bounded-domain", "LaplaceBoundedDomain", "Laplace noise, redrawn until within bounds"
)
noise = made_with("libraries/diffprivlib-laplace-bounded-noise", "LaplaceBoundedNoise", "Laplace noise of bounded size")
snapping = made_with("libraries/diffprivlib-snapping", "Snapping", "Mironov's snapping mechanism")
snapping_bits = made_with(
    "libraries/diffprivlib-snapping-bits", "Snapping, last bits", "The snapping mechanism, to the last bit"
)
gaussian = made_with("libraries/diffprivlib-gaussian", "Gaussian", "Gaussian noise by the classic formula")
analytic = made_with(
    "libraries/diffprivlib-gaussian-analytic", "GaussianAnalytic", "Gaussian noise, calibrated exactly"
)
analytic_bits = made_with(
    "libraries/diffprivlib-gaussian-bits",
    "GaussianAnalytic, last bits",
    "Gaussian noise to the last bit of the floating-point numbers that are returned",
    grade="refuted",
    remark="As for Laplace noise: the sum of several draws hides the last bits less often, not never.",
)
discrete = made_with("libraries/diffprivlib-gaussian-discrete", "GaussianDiscrete", "Discrete Gaussian noise")
geometric = made_with("libraries/diffprivlib-geometric", "Geometric", "Two-sided geometric noise")
geometric_cut = made_with(
    "libraries/diffprivlib-geometric-truncated", "GeometricTruncated", "Geometric noise, cut to bounds"
)
geometric_folded = made_with(
    "libraries/diffprivlib-geometric-folded", "GeometricFolded", "Geometric noise, folded into bounds"
)
exponential = made_with("libraries/diffprivlib-exponential", "Exponential", "The exponential mechanism")
flip = made_with("libraries/diffprivlib-permute-and-flip", "PermuteAndFlip", "Permute-and-flip (a noisy maximum)")
categories = made_with(
    "libraries/diffprivlib-exponential-categorical",
    "ExponentialCategorical",
    "A category by its utility to the true one",
)
binary = made_with("libraries/diffprivlib-binary", "Binary", "Randomised response")
staircase = made_with("libraries/diffprivlib-staircase", "Staircase", "Staircase-shaped noise")
uniform = made_with("libraries/diffprivlib-uniform", "Uniform", "Uniform noise, with ε = 0")
