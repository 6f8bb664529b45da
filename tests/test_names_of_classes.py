"""One name, one meaning: no public class name is defined in two modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from checkout import ROOT


def homes(root: Path) -> dict[str, set[str]]:
    """Public class name -> the modules that define it; re-exports define nothing."""
    defined: dict[str, set[str]] = {}
    for path in sources(root):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined.setdefault(node.name, set()).add(path.relative_to(root).as_posix())
    return defined


def sources(root: Path) -> Iterator[Path]:
    for part in ("dpcheck", "bounds", "audits"):
        yield from sorted((root / part).rglob("*.py"))


def test_a_public_class_name_stands_in_one_module() -> None:
    """Rename the one of which fewer speak, or merge them where they are the same thing."""
    defined = homes(ROOT)
    assert len(defined) > 400
    assert not {name: sorted(places) for name, places in defined.items() if len(places) > 1}


def test_a_second_home_is_noticed(tmp_path: Path) -> None:
    """Of a class inside a function too; private names and re-exports are free."""
    for path, text in {
        "dpcheck/a.py": "class Row: ...\nclass _Own: ...\n",
        "audits/b.py": "def f():\n    class Row: ...\n",
        "bounds/c.py": "from dpcheck.a import Row\nclass _Own: ...\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert homes(tmp_path) == {"Row": {"dpcheck/a.py", "audits/b.py"}}
