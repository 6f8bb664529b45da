"""Every statement of l1_geometry and lp_spaces has each kind of check that its row in the list below asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import collected

ROOT = Path(__file__).parents[2]
WANTED = """
l1_geometry/asm-geometry: sensitivity
l1_geometry/def-2-1: accuracy
l1_geometry/def-2-2: accuracy
l1_geometry/def-2-3: accuracy
l1_geometry/def-2-4: accuracy
l1_geometry/def-2-5: privacy
l1_geometry/lem-2-1: privacy symbolic
l1_geometry/lem-2-2: privacy symbolic
l1_geometry/thm-1: symbolic
l1_geometry/thm-2: symbolic
l1_geometry/alg-1: privacy sensitivity accuracy runtime
l1_geometry/thm-3: symbolic privacy risk runtime
l1_geometry/lem-3-1: accuracy
l1_geometry/lem-3-2: accuracy
l1_geometry/alg-2: privacy sensitivity stability risk runtime
l1_geometry/thm-4: symbolic risk runtime
l1_geometry/lem-3-3: symbolic accuracy
l1_geometry/lem-3-4: stability accuracy
l1_geometry/thm-5: symbolic risk runtime
l1_geometry/alg-3: privacy sensitivity risk runtime
l1_geometry/thm-6: symbolic privacy risk runtime
l1_geometry/asm-thm6: symbolic
l1_geometry/lem-4-1: privacy sensitivity accuracy
l1_geometry/lem-4-2: accuracy
l1_geometry/lem-4-3: accuracy
l1_geometry/thm-7: symbolic privacy risk runtime
l1_geometry/asm-thm7: symbolic
l1_geometry/lem-4-4: privacy sensitivity accuracy
l1_geometry/lem-4-5: privacy symbolic
l1_geometry/thm-8: symbolic risk
l1_geometry/thm-9: symbolic risk
l1_geometry/lem-6-1: lower-bound symbolic
l1_geometry/thm-10: lower-bound symbolic
l1_geometry/thm-11: lower-bound symbolic
l1_geometry/lem-a1: stability
l1_geometry/lem-a2: stability
l1_geometry/alg-4: stability
l1_geometry/alg-5: privacy sensitivity accuracy runtime
l1_geometry/thm-12: symbolic privacy risk
l1_geometry/thm-13: symbolic risk runtime
l1_geometry/alg-6: privacy sensitivity risk runtime
l1_geometry/prop-1: lower-bound symbolic
l1_geometry/lem-d1: lower-bound
l1_geometry/lem-d2: lower-bound
l1_geometry/lem-d3: lower-bound
l1_geometry/lem-d4: lower-bound symbolic
l1_geometry/lem-d5: lower-bound privacy
l1_geometry/lem-d6: lower-bound symbolic
l1_geometry/proc-report-noisy-max: privacy sensitivity accuracy
l1_geometry/proc-strongly-convex-reduction: risk
l1_geometry/proc-pad-and-copy: privacy lower-bound
l1_geometry/proc-shuffled-allocation: privacy
l1_geometry/proc-bootstrap: lower-bound
l1_geometry/proc-eg-step: accuracy
l1_geometry/fact-moments-accountant: privacy
l1_geometry/fact-norm-ratio: accuracy
l1_geometry/fact-l2-lq: sensitivity
l1_geometry/fact-vertex: accuracy
l1_geometry/fact-group-privacy: privacy
l1_geometry/fact-hoeffding-mgf: accuracy
l1_geometry/fact-sssss: stability
l1_geometry/fact-one-step: accuracy
l1_geometry/fact-gauss-max: accuracy
l1_geometry/fact-fkt-5-1: accuracy
lp_spaces/def-1: privacy
lp_spaces/lem-1: symbolic
lp_spaces/def-2: none
lp_spaces/def-3: accuracy
lp_spaces/lem-2: privacy
lp_spaces/def-4: accuracy
lp_spaces/lem-3: privacy
lp_spaces/lem-4: accuracy
lp_spaces/def-5: accuracy
lp_spaces/def-6: accuracy
lp_spaces/def-7: accuracy
lp_spaces/def-8: accuracy
lp_spaces/def-9: accuracy
lp_spaces/def-10: accuracy
lp_spaces/def-11: accuracy
lp_spaces/def-12: accuracy symbolic
lp_spaces/asm-1: none
lp_spaces/alg-1: privacy sensitivity stability accuracy risk runtime
lp_spaces/thm-1: privacy symbolic
lp_spaces/thm-2: symbolic accuracy risk
lp_spaces/claim-rem-1: transcription accuracy
lp_spaces/asm-2: none
lp_spaces/alg-2: sensitivity stability accuracy risk runtime
lp_spaces/thm-3: privacy
lp_spaces/thm-4: symbolic stability accuracy risk
lp_spaces/claim-rem-2: symbolic
lp_spaces/thm-5: transcription lower-bound
lp_spaces/claim-after-thm-5: symbolic
lp_spaces/asm-3: none
lp_spaces/alg-3: privacy sensitivity accuracy risk runtime
lp_spaces/thm-6: privacy
lp_spaces/thm-7: symbolic stability accuracy risk
lp_spaces/claim-rem-3: symbolic
lp_spaces/thm-8: symbolic privacy risk
lp_spaces/claim-after-thm-8: symbolic
lp_spaces/asm-4: none
lp_spaces/alg-4: privacy sensitivity accuracy risk runtime
lp_spaces/thm-9: privacy sensitivity
lp_spaces/thm-10: symbolic accuracy risk
lp_spaces/claim-rem-4: transcription
lp_spaces/claim-app10-general-eps: symbolic risk
lp_spaces/claim-app10-p-ge-2: symbolic
lp_spaces/claim-contrib-1: transcription
lp_spaces/claim-contrib-2: transcription
lp_spaces/claim-contrib-3: symbolic
lp_spaces/claim-table-1: transcription
lp_spaces/claim-table-2: transcription
lp_spaces/proc-optimizer: accuracy runtime
lp_spaces/proc-gg: accuracy privacy
lp_spaces/proc-mirror-map: accuracy
lp_spaces/proc-phased-sgd: privacy sensitivity risk runtime
lp_spaces/proc-batched-md: privacy sensitivity risk
lp_spaces/proc-heavy-euclid: symbolic
lp_spaces/proc-shuffle: privacy
lp_spaces/proc-exact-objpert: privacy risk
lp_spaces/proc-bassily21: transcription
lp_spaces/proc-lower-instance: lower-bound
"""
"""Label: kinds; `none` asks for nothing."""
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(label, kind) that no check has: why."""
ROWS = [tuple(line.split(": ")) for line in WANTED.strip().splitlines()]


@pytest.fixture(scope="module")
def kinds() -> dict[str, set[str]]:
    """Statement -> kinds of its checks, those of its readings among them; a rate is a kind of risk."""
    found: dict[str, set[str]] = {}
    for check in collected().checks.values():
        for label in check.labels:
            here = found.setdefault(label.partition("@")[0], set())
            here |= {check.kind, "risk"} if check.kind == "rate" else {check.kind}
    return found


@pytest.mark.parametrize(("label", "wanted"), ROWS, ids=[label for label, _ in ROWS])
def test_kinds_of_a_statement(kinds: dict[str, set[str]], label: str, wanted: str) -> None:
    missing = set(wanted.split()) - {"none"} - kinds.get(label, set())
    assert missing == {kind for name, kind in EXCEPTIONS if name == label}


def test_every_statement_has_a_row() -> None:
    claims = collected().claims
    stated = {label.partition("@")[0] for label in claims if label.startswith(("l1_geometry/", "lp_spaces/"))}
    assert stated == {label for label, _ in ROWS}
