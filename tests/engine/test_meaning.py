"""What a source says does not depend on who formatted it, nor on what its functions call their local variables."""

import ast
from pathlib import Path

import pytest

import dpcheck
from dpcheck.engine.meaning import meaning

TEXT = '''
"""Module."""
import numpy as np

class Sums:
    """Class."""

    total = 0.0

    def best(self, rows, *, size=1):
        """Method."""
        kept = [row for row in rows if (last := row.value) > size]
        first, second = kept[0], kept[-1]  # two of them

        def shifted(by):
            return [by + each for each in kept if each is not second]

        try:
            total = sum(shifted(first))
        except ValueError as error:
            raise KeyError(str(error)) from error
        match kept:
            case [single, *others]:
                return lambda power: single**power, others
            case {"a": value, **further}:
                return value, further
            case other:
                del other
        with open(total) as file:
            import math as calculus

            return {name: number for name, number in zip(kept, file)}, last, np, calculus.pi
'''


def said(text: str) -> str:
    return meaning(ast.parse(text))


@pytest.mark.parametrize(
    "name",
    [
        "kept",
        "row",
        "last",
        "first",
        "second",
        "each",
        "error",
        "single",
        "others",
        "value",
        "further",
        "other",
        "file",
        "number",
    ],
)
def test_a_local_variable_by_another_name(name: str) -> None:
    assert said(renamed(TEXT, name)) == said(TEXT)


@pytest.mark.parametrize("name", ["rows", "size", "by", "power", "np", "Sums", "best", "shifted", "sum", "open"])
def test_a_name_that_others_can_ask_for(name: str) -> None:
    assert said(renamed(TEXT, name)) != said(TEXT)


def test_an_attribute_of_a_class_is_no_local_variable_of_its_methods() -> None:
    before = "class A:\n    x = 1\n    def f(self):\n        return x\n"
    assert said(before.replace("    x = 1", "    y = 1")) != said(before)
    inside = f"def g():\n    x = 0\n    {before.replace(chr(10), chr(10) + '    ')}"
    assert said(inside.replace("return x", "return y").replace("\n    x = 0", "\n    y = 0")) == said(inside)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("first, second = kept[0]", "second, first = kept[0]"),
        ("each is not second", "each is not first"),
        ("by + each", "by - each"),
        ("sum(shifted(first))", "sum(shifted(second))"),
        ("single**power, others", "others**power, single"),
        ("{name: number", "{number: name"),
        ("last, np", "np, last"),
        ("total = 0.0", "total = 0"),
        ("[0]", "[False]"),
        ("(last := row.value)", "row.value"),
    ],
)
def test_whatever_says_something_else(before: str, after: str) -> None:
    assert before in TEXT
    assert said(TEXT.replace(before, after)) != said(TEXT)


@pytest.mark.parametrize("before", ["# two of them", '"""Module."""', '    """Class."""', '        """Method."""'])
def test_comments_and_docstrings(before: str) -> None:
    assert before in TEXT
    assert said(TEXT.replace(before, "")) == said(TEXT)


def test_formatting() -> None:
    assert said(ast.unparse(ast.parse(TEXT))) == said(TEXT)


@pytest.mark.parametrize("look", ["locals()", "vars()", "dir()", "eval('a')", "exec('a')", "sys._getframe(0)"])
def test_where_the_code_may_see_the_names_they_count(look: str) -> None:
    text = f"def f():\n    a = 1\n    return {look}\n"
    assert said(text.replace("a = 1", "b = 1")) != said(text)


def test_variables_of_the_functions_around_and_of_the_module() -> None:
    text = "x = 1\ndef f():\n    global x\n    x = 2\n    def g():\n        return x\n    return g\n"
    assert said(text.replace("x = 2", "y = 2").replace("global x", "global y")) != said(text)
    shadowed = "x = 1\ndef f():\n    x = 2\n    def g():\n        global x\n        return x\n    return g\n"
    assert said(shadowed.replace("    x = 2", "    y = 2")) == said(shadowed)
    assert said(shadowed.replace("        global x\n", "")) != said(shadowed)
    bound = "def f():\n    x = y = 2\n    def g():\n        nonlocal x\n        x = 3\n    return x, y\n"
    assert said(renamed(bound, "y")) == said(bound) != said(bound.replace("return x, y", "return y, x"))
    assert said(bound.replace("x", "z")) != said(bound)
    comprehended = "x = [x for x in x]\n"
    assert said("x = [y for y in x]\n") == said(comprehended) != said("x = [y for y in y]\n")


def test_every_function_of_the_package_keeps_its_bytecode_under_other_names() -> None:
    """The numbers, put for the names: what is compiled then differs in the names of local variables only."""
    folder = Path(dpcheck.__file__).parent
    for file in sorted((folder / "statistics").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        for name in sorted({node.id for node in ast.walk(ast.parse(text)) if _is_stored(node)}):
            other = renamed(text, name)
            if said(other) == said(text):
                assert list(_instructions(other)) == list(_instructions(text)), (file.name, name)


def renamed(text: str, name: str) -> str:
    """Every variable, parameter, function or import of that name gets another; attributes and texts do not."""

    class Renaming(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            for key in ("id", "name", "rest", "arg", "asname"):
                if getattr(node, key, None) == name and not isinstance(node, ast.keyword):
                    setattr(node, key, f"{name}_2")
            return super().generic_visit(node)

    return ast.unparse(Renaming().visit(ast.parse(text)))


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _instructions(text: str):
    waiting = [compile(ast.unparse(ast.parse(text)), "text", "exec")]
    while waiting:
        code = waiting.pop()
        yield code.co_code, code.co_names, code.co_argcount, code.co_name
        waiting += [each for each in code.co_consts if hasattr(each, "co_code")]
