"""Violations that others reported in released libraries: each statement is what one promises, and does not keep.

The thread that reported it stands in the remark, as owner/project#number. The versions stand in the checks, which are
run in environments of their own (`make libraries`).
"""

from ._paper import reported

SECTION = "Known violations"

linear_regression = reported(
    "libraries/known-diffprivlib-linear-regression",
    "LinearRegression of diffprivlib 0.6.6",
    "The coefficients of a linear regression, made with ε and bounds of features and targets: ε-DP.",
    section=SECTION,
    grade="refuted",
    remark="Reported in IBM/differential-privacy-library#105 (and #104): the sensitivity of a squared feature is the "
    "square of its lower bound, twice; for features in [0, b] it is zero, and their sum of squares is used as it is.",
)
logistic_regression = reported(
    "libraries/known-diffprivlib-logistic-regression",
    "LogisticRegression of diffprivlib 0.6.6",
    "The coefficients of a logistic regression, made with ε and the norm of the data: ε-DP.",
    section=SECTION,
    grade="refuted",
    remark="Reported in IBM/differential-privacy-library#106: the classes are the labels that occur in the data, so "
    "that a label that one person alone has shows in the shape of the coefficients.",
)
synthesizer = reported(
    "libraries/known-datasynthesizer-distribution",
    "Noisy joint distributions of DataSynthesizer 0.1.4",
    "The joint counts of two attributes with the Laplace noise of PrivBayes: ε-DP.",
    section=SECTION,
    grade="refuted",
    remark="Reported in DataResponsibly/DataSynthesizer#34: noise for frequencies, of scale 2/(nε), is added to "
    "counts, which move by 1 whatever n is.",
)
covariance = reported(
    "libraries/known-smartnoise-covariance",
    "DPcovariance of smartnoise-synth 1.0.5",
    "The covariances of columns within bounds, made with a global ε: ε-DP.",
    section=SECTION,
    grade="refuted",
    remark="Reported in opendp/smartnoise-sdk#622: the data are clipped to the bounds, and the covariances are those "
    "of the data as they were.",
)
accountant = reported(
    "libraries/known-dp-accounting-replace-one",
    "GaussianDpEvent of dp-accounting under replacement, by Rényi orders",
    "A sum of values of norm at most C with Gaussian noise of deviation zC, one value replaced: (ε, δ)-DP by "
    "RdpAccountant(REPLACE_ONE).",
    section=SECTION,
    grade="refuted",
    remark="Reported in google/differential-privacy#378: a replaced value moves the sum by 2C, and the account is that "
    "of C. The library's own PLDAccountant says 2.32 where the Rényi one says 1.13 (z = 2, δ = 0.01).",
)
batch = reported(
    "libraries/known-opacus-batch-size",
    "One step of Opacus 1.5.4",
    "A step of private gradient descent on batches drawn from n records: (ε, δ)-DP by the engine's accountant, one "
    "record removed.",
    section=SECTION,
    grade="refuted",
    remark="Reported in meta-pytorch/opacus#571 and #819: gradients and noise are divided by the expected size of a "
    "batch, which is computed from n; with many parameters the size of the noise tells whether n is 4 or 3.",
)
