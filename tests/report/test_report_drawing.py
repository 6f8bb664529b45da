"""Figures drawn by several processes are those that one draws."""

from __future__ import annotations

import os
from functools import cached_property

import pytest

from dpcheck.report import drawing


class View:
    """Its figure says who drew it."""

    def __init__(self, place: int) -> None:
        self.place = place

    @cached_property
    def svg(self) -> str:
        if self.place < 0:
            raise ValueError(f"no figure {self.place}")
        return f"{self.place} {os.getpid()}"


def test_every_figure_is_its_own_and_drawn_elsewhere() -> None:
    views = [View(place) for place in range(drawing.FEW + 7)]
    with drawing.beside(views, workers=2) as drawn:
        drawn()
    assert [int(view.svg.split()[0]) for view in views] == [*range(drawing.FEW + 7)]
    assert str(os.getpid()) not in {view.svg.split()[1] for view in views}


def test_few_figures_are_drawn_when_they_are_asked_for() -> None:
    views = [View(place) for place in range(drawing.FEW - 1)]
    with drawing.beside(views, workers=2) as drawn:
        drawn()
    assert "svg" not in vars(views[0])
    assert views[0].svg == f"0 {os.getpid()}"


def test_what_goes_wrong_there_is_raised_here() -> None:
    views = [View(place) for place in range(-1, drawing.FEW)]
    with pytest.raises(ValueError, match="no figure -1"), drawing.beside(views, workers=2) as drawn:
        drawn()
