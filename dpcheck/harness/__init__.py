"""Harnesses: what is measured of an algorithm, a workload and a problem, and what may be concluded from it.

Each module measures one kind of claim and ends in functions that take plain arrays and return a `Verdict`. None of
them knows any particular algorithm: all arrive as arguments, through `dpcheck.interfaces`.
"""
