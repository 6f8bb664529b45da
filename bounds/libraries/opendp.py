"""OpenDP: `measurement.map(d_in)`, in the measure of each measurement."""

from ._paper import reported

SECTION = "OpenDP"

laplace = reported(
    "libraries/opendp-laplace",
    "make_laplace on floats",
    "Laplace noise of scale b on a value that moves by Δ: map(Δ)-DP, Δ/b.",
    section=SECTION,
)
laplace_bits = reported(
    "libraries/opendp-laplace-bits",
    "make_laplace, last bits",
    "The same for the floating-point numbers that are returned, to the last bit.",
    section=SECTION,
)
gaussian = reported(
    "libraries/opendp-gaussian",
    "make_gaussian on floats",
    "Gaussian noise of scale σ on a value that moves by Δ: map(Δ)-zCDP, (Δ/σ)²/2.",
    section=SECTION,
)
gaussian_bits = reported(
    "libraries/opendp-gaussian-bits",
    "make_gaussian, last bits",
    "(ε, δ)-DP of its privacy profile for the floating-point numbers that are returned, to the last bit.",
    section=SECTION,
)
discrete_laplace = reported(
    "libraries/opendp-discrete-laplace",
    "make_laplace on integers",
    "Discrete Laplace noise of scale b on a count that moves by Δ: map(Δ)-DP, Δ/b.",
    section=SECTION,
)
geometric = reported(
    "libraries/opendp-geometric-bounds",
    "make_geometric with bounds",
    "Two-sided geometric noise in near-constant time, the output clamped to bounds: map(Δ)-DP, Δ/b.",
    section=SECTION,
)
discrete_gaussian = reported(
    "libraries/opendp-discrete-gaussian",
    "make_gaussian on integers",
    "Discrete Gaussian noise of scale σ on a count that moves by Δ: map(Δ)-zCDP, (Δ/σ)²/2.",
    section=SECTION,
)
canonical = reported(
    "libraries/opendp-canonical-noise",
    "make_canonical_noise",
    "Canonical (Tulap) noise made for (ε, δ): (ε, δ)-DP.",
    section=SECTION,
)
noisy_max = reported(
    "libraries/opendp-noisy-max",
    "make_noisy_max under max-divergence",
    "The index of the largest noisy score, scores moving by Δ each: map(Δ)-DP.",
    section=SECTION,
)
noisy_max_zcdp = reported(
    "libraries/opendp-noisy-max-zcdp",
    "make_noisy_max under zero-concentrated divergence",
    "The index of the largest noisy score, scores moving by Δ each: map(Δ)-zCDP.",
    section=SECTION,
)
noisy_top = reported(
    "libraries/opendp-noisy-top-k",
    "make_noisy_top_k",
    "The indices of the k largest noisy scores, scores moving by Δ each: map(Δ)-DP.",
    section=SECTION,
)
quantile = reported(
    "libraries/opendp-private-quantile",
    "make_private_quantile",
    "A quantile chosen among candidates, one record added or removed: map(1)-DP.",
    section=SECTION,
)
response = reported(
    "libraries/opendp-randomized-response",
    "make_randomized_response",
    "A category kept with a given probability and else replaced: map(1)-DP.",
    section=SECTION,
)
candidate = reported(
    "libraries/opendp-select-private-candidate",
    "make_select_private_candidate",
    "The first invocation of an ε-DP measurement whose score reaches a threshold, stopping at random: map(Δ)-DP, 2ε.",
    section=SECTION,
)
laplace_threshold = reported(
    "libraries/opendp-laplace-threshold",
    "make_laplace_threshold on integers",
    "Laplace noise on the counts of unknown keys; counts below a threshold stay out: map(1, 1, 1) = (ε, δ)-DP.",
    section=SECTION,
    grade="refuted",
    remark="The reported δ is the tail strictly above the threshold, and a count equal to it is released as well.",
)
laplace_threshold_floats = reported(
    "libraries/opendp-laplace-threshold-floats",
    "make_laplace_threshold on floats",
    "The same for floating-point sums: map(1, 1, 1) = (ε, δ)-DP.",
    section=SECTION,
)
gaussian_threshold = reported(
    "libraries/opendp-gaussian-threshold",
    "make_gaussian_threshold on integers",
    "Gaussian noise on the counts of unknown keys; counts below a threshold stay out: map(1, 1, 1) = (ρ, δ), "
    "δ-approximate ρ-zCDP.",
    section=SECTION,
    grade="refuted",
    remark="The reported δ is below the probability that a count of one alone reaches the threshold.",
)
