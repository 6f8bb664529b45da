"""Sensitivity and privacy, exactly on the worst pairs and by sampling; risk where the best point is known."""

import numpy as np
from scipy.stats import kstest

import dpcheck as dp
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.harness import privacy, risk
from dpcheck.harness.losses import compose
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Axis, Drawn, Family, Instance, scaling
from dpcheck.interfaces import Array, Problem, Rng
from dpcheck.running import Fixed
from dpcheck.verdicts import Verdict, consistent, differs

from ..algorithms import chaudhuri_2011 as paper

LINKS = {"linear": paper.LINEAR, "logistic": paper.LOGISTIC, "Huber": paper.HUBER}


def noise_behind(link: paper.Link, records: Array, points: Array, stage: paper.Stage) -> Array:
    """b = -n∇J(f): the noise without which f would not be the minimiser, records (n, d), points (k, d) -> (k, d)."""
    return np.asarray(-(link.slope(points @ records.T) @ records) - len(records) * stage.weight * points)


def log_density(link: paper.Link, records: Array, points: Array, stage: paper.Stage) -> Array:
    """log p(f | records) up to a constant: records (n, d), points (k, d) -> (k,)."""
    n, d = records.shape
    b, bend = noise_behind(link, records, points, stage), link.bend(points @ records.T)
    jacobian = np.einsum("kr,ri,rj->kij", bend, records, records) + n * stage.weight * np.eye(d)
    return np.asarray(-np.linalg.norm(b, axis=1) / stage.scale + np.linalg.slogdet(jacobian)[1])


def largest_loss(link: paper.Link, stage: paper.Stage, d: int) -> float:
    """Over a grid of outputs and both orders of neighbours of two records: one -e_1, one a unit vector or 0."""
    line = np.append(np.linspace(-8, 8, 101), paper.CORNER)
    points = np.stack(np.meshgrid(*[line] * d), axis=-1).reshape(-1, d)
    first = np.eye(d)[0]
    changed = [first, 0 * first, -first, *([np.array([-0.96, 0.28])] if d == 2 else [])]
    logs = [log_density(link, np.array([v, -first]), points, stage) for v in changed]
    return max(float((p - q).max()) for p in logs for q in logs)


@check("chaudhuri_2011/cor-8", "sensitivity", grid={"link": ["linear", "logistic"]}, expect="consistent")
def minimisers_move_by_at_most_the_bound(context: Context, link: str) -> Verdict:
    """Minimisers of random records, one of them replaced by its opposite; the linear loss attains the bound."""
    work = paper.Directions(2, link=LINKS[link])
    data = context.rng().normal(size=(200, 5, 2))
    data /= np.linalg.norm(data, axis=2, keepdims=True)
    other = np.concatenate([-data[:, :1], data[:, 1:]], axis=1)
    case = Case(paper.OutputPerturbation(0.3), work, context.problem(work, dp.PureDP(1.0)))
    moved = case.replay(data, other, 200).movements[0].distance.max()
    bound = stated(context.label, L=1, n=5, lambda_=0.3)
    said = f"moved by {moved:.6g}, {moved / bound:.6g} of the bound"
    if moved > bound * (1 + 1e-9) or (link == "linear" and moved < bound * (1 - 1e-9)):
        return differs(said)
    return consistent(said, "exact", notices="a movement above the bound on these pairs", severity=moved / bound)


@check("chaudhuri_2011/thm-6", "privacy", grid={"d": [1, 3], "epsilon": [0.5, 2.0]})
def output_perturbation_exactly(context: Context, d: int, epsilon: float) -> Verdict:
    """The exact law of the noise at the distance of Corollary 8."""
    schedule = paper.OutputPerturbation(0.3).schedule(context.problem(paper.Directions(d), dp.PureDP(epsilon)), 50)
    distance = stated("chaudhuri_2011/cor-8", L=1, n=50, lambda_=0.3)
    return privacy.judge(compose(schedule, {"minimiser": distance}), dp.PureDP(epsilon), covers="Corollary 8 bounds it")


@check("chaudhuri_2011/thm-6", "privacy", also=["chaudhuri_2011/thm-9"], grid={"algorithm": [1, 2]})
def audited(context: Context, algorithm: int) -> Verdict:
    """Both mechanisms: Algorithm 1 on the pair that spends all of ε, Algorithm 2 where it needs Δ."""
    chosen = paper.OutputPerturbation(0.3) if algorithm == 1 else paper.ObjectivePerturbation(0.05)
    work = paper.Directions(1, link=paper.LINEAR if algorithm == 1 else paper.LOGISTIC)
    problem = context.problem(work, dp.PureDP(1.0))

    def mechanism(data: Array, rng: Rng, trials: int) -> Array:
        return chosen.fit(work, Fixed(data[None]), problem, rng=rng, trials=trials)

    return context.audit(mechanism, np.ones((4, 1)), np.array([[-1.0], [1.0], [1.0], [1.0]]), dp.PureDP(1.0))


@check(
    "chaudhuri_2011/thm-9@derived", "privacy", also=["chaudhuri_2011/thm-9", "chaudhuri_2011/thm-9@corrected"],
    grid={"link": list(LINKS), "weight": [0.1, 1.0], "d": [1, 2], "epsilon": [0.5, 2.0]}, expect="consistent",
)  # fmt: skip
def objective_perturbation_exactly(context: Context, link: str, weight: float, d: int, epsilon: float) -> Verdict:
    """The largest loss over outputs and neighbours, from the change of variables; Huber's hinge attains the bound."""
    work = paper.Directions(d, link=LINKS[link])
    (stage,) = paper.ObjectivePerturbation(weight).schedule(context.problem(work, dp.PureDP(epsilon)), 2).phases
    found = largest_loss(work.link, stage, d)
    bound = stated(context.label, epsilon_1=stage.epsilon, H=work.link.curvature, n=2, lambda_=stage.weight, r=1)
    said = f"a loss of {found:.6g}, {found / bound:.4g} of ε' + log(1 + H/(nλ)), of ε = {epsilon:g}"
    if not found <= bound * (1 + 1e-9) <= epsilon * (1 + 2e-9) or (link == "Huber" and found < bound * (1 - 1e-9)):
        return differs(said)
    return consistent(said, "exact", notices=f"a loss above {bound:.4g} on these pairs", severity=found / bound)


@check("chaudhuri_2011/thm-9@derived", "accuracy", grid={"weight": [0.05, 1.0]}, expect="consistent")
def outputs_have_that_density(context: Context, weight: float) -> Verdict:
    """The noise behind outputs of the algorithm itself is Laplace, d = 1: what the exact losses rest on."""
    work, data, trials = paper.Directions(1), np.array([[1.0], [-1.0], [0.5], [1.0]]), context.scale(20_000, 200_000)
    problem, algorithm = context.problem(work, dp.PureDP(1.0)), paper.ObjectivePerturbation(weight)
    (stage,), spent = algorithm.schedule(problem, 4).phases, context.failure_probability
    points = algorithm.fit(work, Fixed(data[None]), problem, rng=context.rng(), trials=trials)
    gap = kstest(noise_behind(work.link, data, points, stage)[:, 0] / stage.scale, "laplace").statistic
    allowed = float(np.sqrt(np.log(2 / spent) / (2 * trials)))
    said = f"distribution functions {gap:.3g} apart over {trials:,} outputs, by chance up to {allowed:.3g}"
    if gap > allowed:
        return differs(said, "sampled", failure_probability=spent)
    notices = f"distribution functions {2 * allowed:.2g} apart"
    return consistent(said, "sampled", notices=notices, failure_probability=spent, severity=gap / allowed)


@check("chaudhuri_2011/rem-any-rank", "privacy", expect="refuted")
def full_rank_breaks_it(context: Context) -> Verdict:
    """One loss of full rank in ten dimensions."""
    return refuted_by(context.label, "full_rank", d=10, n=100, epsilon="1", weight="1/50", H="1/2")


def sizes(work: paper.Directions, n: int) -> dict[str, float]:
    """What the bounds on the risk take, at ε = 2."""
    return {"n": n, "d": work.d, "epsilon": 2.0, "L": 1, "R": work.constants.diameter(2.0)}


@check("chaudhuri_2011/prop-output-risk", "risk", also=["chaudhuri_2011/prop-objective-risk"],
       grid={"algorithm": [1, 2], "n": [2_000, 20_000], "d": [1, 3]})  # fmt: skip
def risk_within_its_bound(context: Context, algorithm: int, n: int, d: int) -> Verdict:
    """Mean excess risk at ε = 2, at its own Λ and at sizes where the bound excludes the start."""
    chosen, name = [(paper.OutputPerturbation(), "output"), (paper.ObjectivePerturbation(), "objective")][algorithm - 1]
    work, label, trials = paper.Directions(d), f"chaudhuri_2011/prop-{name}-risk", context.scale(2_000, 8_000)
    problem = context.problem(work, dp.PureDP(2.0))
    values = risk.excess_risks(chosen, work, problem, n, trials, context.seed, label, d, n)
    bound = stated(label, **sizes(work, n), **chosen.terms(problem, n))
    if not bound < (still := float(work.excess_risk(np.zeros((1, d)))[0])):
        return differs(f"the bound {bound:.3g} is not below {still:.3g}, the excess risk of the start: take a larger n")
    return risk.expectation(values, bound, context.failure_probability, seed=context.seed, x=n, series=f"d = {d}")


@scaling(
    "chaudhuri_2011/prop-output-risk@balanced", variable="n",
    sizes=by_size([2_000 * 2**k for k in range(10)], [2_000 * 2**k for k in (*range(10), 11)]),
    family=Family.of(p=Axis((0.6, 0.75, 0.9), closed=(False, True))), engine=by_size(Drawn(1_000), Drawn(4_000)),
    mutants={"Λ of the order n^(-1/4)": lambda one: one.running(paper.OutputPerturbation(0.5 * one.n**-0.25))},
)  # fmt: skip
def risk_follows_its_rate(*, n: int, p: float) -> Instance:
    """Algorithm 1 in n at d = 3 and ε = 2, where every coordinate is at most logit(0.9)."""
    work = paper.Directions(3, p)
    return Instance(paper.OutputPerturbation(), work, Problem.of(work, dp.PureDP(2.0)), n, sizes(work, n))
