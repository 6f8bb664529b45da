"""The papers' algorithms, one package a paper.

Each package exports its classes as `ALGORITHMS: tuple[type[Algorithm], ...]`.
"""
