"""How sure an audit is, as it is printed."""

from dpcheck.auditing.result import percent


def test_confidence_in_few_digits_and_never_too_much():
    shown = {0.05: "95 %", 0.05 / 3: "98.33 %", 0.001: "99.9 %", 0.05 / 64: "99.9218 %", 1e-5: "99.999 %"}
    shown |= {1e-6: "99.9999 %", 0.5e-6 / 3: "1 − 1.67e-07", 1.6644e-7: "1 − 1.67e-07", 3e-17: "1 − 3e-17"}
    assert {p: percent(p) for p in shown} == shown
