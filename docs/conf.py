"""`make docs`: Sphinx with MyST; every warning is an error, and tests run every block of code of the pages."""

from __future__ import annotations

import re

import dpcheck

project = "dpcheck"
author = "the authors of dpcheck"
version = release = dpcheck.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"dpcheck {release}"
html_copy_source = False
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
autodoc_default_options = {"members": True, "undoc-members": False, "exclude-members": "to_dict"}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_use_ivar = True

_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def _as_restructured_text(app, what, name, obj, options, lines) -> None:
    """Docstrings are written as people read them: `code` in single backticks, |x| and x_ as they stand."""
    in_doctest = False
    for number, line in enumerate(lines):
        in_doctest = line.lstrip().startswith(">>>") or (in_doctest and bool(line.strip()))
        if in_doctest or line.lstrip().startswith((":", "..")):
            continue
        parts = _CODE.split(line)
        parts[::2] = [re.sub(r"([|*]|_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
        parts[1::2] = [f"``{part}``" for part in parts[1::2]]
        lines[number] = "".join(parts)


def setup(app) -> None:
    # Before napoleon, which makes markup of its own out of the sections.
    app.connect("autodoc-process-docstring", _as_restructured_text, priority=400)
