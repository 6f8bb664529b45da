"""Certificates of comparisons: they add up by hand, and no tampered one is accepted."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
import sympy as sp
from two_rates import R, a, e, heavy, light, plane

from dpcheck.asymptotics import (
    Dominance,
    ParametricDominance,
    Ray,
    Regime,
    compare,
    verify,
)
from dpcheck.asymptotics.decision import Leaf
from dpcheck.errors import WitnessRejected
from dpcheck.symbols import k


def proved():
    regime = Regime(ties=plane, where=[a + e >= R(1, 3), e >= 0], constants="D G_2 G_k", parameters={k: 4})
    return compare(light, heavy, regime)


def with_evidence(comparison, **evidence):
    return dataclasses.replace(comparison, certificate=dataclasses.replace(comparison.certificate, **evidence))


def test_a_proof_adds_up_by_hand():
    """light - heavy in exponents: -1/2 - 3/4 (a + e - 1) > 0 contradicts a + e >= 1/3."""
    proof = proved().certificate.at_most
    (tree,) = proof.cases
    weights = dict(tree.multipliers)
    assert weights == {0: Fraction(3, 4), 2: Fraction(1)}  # 3/4 (a + e - 1/3) + (1/4 - 3/4 (a + e)) = 0
    assert isinstance(proof, Dominance)


def test_tampered_proofs_are_rejected():
    comparison = proved()
    verify(comparison)
    (tree,) = comparison.certificate.at_most.cases
    (i, x), (j, y) = tree.multipliers
    forgeries = [
        ((i, x), (j, y * 2)),
        ((i, -x), (j, -y)),
        ((i, x),),
        (),
        ((i, x), (99, y)),
        ((i, Fraction(0)), (j, Fraction(0))),
        ((1, x), (j, y)),
    ]
    for forged in forgeries:
        with pytest.raises(WitnessRejected):
            verify(with_evidence(comparison, at_most=Dominance((Leaf(forged),), inclusive=False)))
    for cases, inclusive in (((), False), ((tree, tree), False), ((tree,), True)):
        with pytest.raises(WitnessRejected):
            verify(with_evidence(comparison, at_most=Dominance(cases, inclusive)))


def test_negative_multipliers_and_weak_rows_prove_nothing():
    comparison = proved()
    forged = Dominance((Leaf(((0, Fraction(-3, 4)), (2, Fraction(1)))),), inclusive=False)
    with pytest.raises(WitnessRejected, match="negative"):  # it adds up, and would "prove" heavy <= light
        verify(with_evidence(comparison, at_least=forged))
    borrowed = dataclasses.replace(comparison.certificate.at_most, inclusive=True)
    claimed = dataclasses.replace(with_evidence(comparison, strictly=borrowed), everywhere=True)
    with pytest.raises(WitnessRejected, match="no strict inequality"):  # equal on the border
        verify(claimed)


def test_tampered_rays_and_relations_are_rejected():
    comparison = proved()
    ray = comparison.certificate.at_least
    assert isinstance(ray, Ray)
    for exponents in ({"a": Fraction(1, 3), "e": Fraction(0)}, {"a": Fraction(9), "e": Fraction(-8)}):
        with pytest.raises(WitnessRejected):
            verify(with_evidence(comparison, at_least=dataclasses.replace(ray, exponents=exponents)))
    for relation_ in ("same order", "larger", "incomparable", "undecided"):
        with pytest.raises(WitnessRejected):
            verify(dataclasses.replace(comparison, relation=relation_))
    with pytest.raises(WitnessRejected):
        verify(dataclasses.replace(comparison, everywhere=True))


def test_a_proof_for_another_regime_is_rejected():
    comparison = proved()
    wider = Regime(ties=plane, where=[a + e >= R(1, 4), e >= 0], constants="D G_2 G_k", parameters={k: 4})
    with pytest.raises(WitnessRejected):
        verify(dataclasses.replace(comparison, regime=wider))
    with pytest.raises(WitnessRejected):
        verify(dataclasses.replace(comparison, rate=comparison.other, other=comparison.rate))


def parametric():
    border = (k - 2) / (2 * (k - 1))
    return compare(light, heavy, Regime(ties=plane, where=[a + e >= border], constants="D G_2 G_k"))


def test_tampered_parametric_proofs_are_rejected():
    comparison = parametric()
    verify(comparison)
    proof = comparison.certificate.at_most
    assert isinstance(proof, ParametricDominance)
    for pieces in (proof.pieces[1:], proof.pieces[:-1], ()):
        with pytest.raises(WitnessRejected):
            verify(with_evidence(comparison, at_most=dataclasses.replace(proof, pieces=pieces)))
    cell, dominance = next((c, x) for c, x in proof.pieces if not c.is_point)
    (tree,) = dominance.cases
    for factor in (k - 1, 3 - k, -1):  # a multiple is fine only where it is positive
        forged = Dominance((Leaf(tuple((i, y * factor) for i, y in tree.multipliers)),), inclusive=False)
        pieces = tuple((c, forged if c == cell else x) for c, x in proof.pieces)
        changed = with_evidence(comparison, at_most=dataclasses.replace(proof, pieces=pieces))
        if factor == k - 1:
            verify(changed)
        else:
            with pytest.raises(WitnessRejected):
                verify(changed)
    narrower = comparison.regime.with_parameters(k=sp.Interval(3, 4))
    with pytest.raises(WitnessRejected):
        verify(dataclasses.replace(comparison, regime=narrower))
