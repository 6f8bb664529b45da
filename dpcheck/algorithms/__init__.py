"""The papers' algorithms, one package a paper, and the parts that they share.

Each package exports its classes as `ALGORITHMS: tuple[type[Algorithm], ...]`.
"""
