import dpcheck as dp

# `pytest --dpcheck-profile release`: beside dev, ci and nightly, which there are anyway.
dp.testing.register_profile("release", parent="nightly", trials=1_000_000)
