"""What comes from a file is not believed: numbers, text and JSON of bounded size, or one clear sentence.

Witnesses, records, stores and states all read through here, so that no file can make dpcheck compare with NaN, build a
number of a million digits, or write to a terminal what looks like a sentence of dpcheck.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcheck.errors import InvalidInput

DIGITS = 4_000
"""Most digits of a number, in all its parts together."""
EXPONENT = 100_000
"""Largest decimal exponent, either way."""
DEPTH = 40
"""Most brackets inside each other."""
ITEMS = 1_000_000
"""Most values in one document."""
BYTES = 4 * 2**20
"""Largest file that is read as one document."""

_DECIMAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?"
_NUMBER = re.compile(rf"{_DECIMAL}(?:/{_DECIMAL})?", re.ASCII)
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def fraction(value: Any) -> Fraction:
    """The exact value of an integer, a finite float, or a decimal or rational in text ("-1/3", "2.5e-7").

    Raises:
        InvalidInput: anything else: infinite, not a number, more than 4,000 digits, an exponent beyond 100,000.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidInput(f"{shortened(value)} is not a number; write integers, decimals or rationals such as 1/3")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{value!r} is not a finite number")
        return Fraction(repr(value))
    return _rational(value) if isinstance(value, str) else Fraction(integer(value))


def _rational(text: str) -> Fraction:
    match = _NUMBER.fullmatch(text) if len(text) <= DIGITS + 20 else None
    if match is None:
        raise InvalidInput(f"{shortened(text)} is not a number; write integers, decimals or rationals such as 1/3")
    if any(power and (len(power) > 8 or abs(int(power)) > EXPONENT) for power in match.groups()):
        raise InvalidInput(f"{shortened(text)} has an exponent beyond {EXPONENT:,}")
    above, _, below = text.partition("/")
    under = Fraction(below) if below else Fraction(1)
    if not under:
        raise InvalidInput(f"{shortened(text)} divides by zero")
    return Fraction(above) / under


def integer(value: Any) -> int:
    """An integer of at most 4,000 digits. Raises `InvalidInput` for anything else, True and 1.0 included."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{shortened(value)} is not an integer")
    if value.bit_length() > DIGITS * 3.33:
        raise InvalidInput(f"an integer of more than {DIGITS:,} digits")
    return value


def probability(value: Any, most: Fraction = Fraction(1)) -> Fraction:
    """An exact number in (0, most], without 1 itself. Raises `InvalidInput`."""
    measured = fraction(value)
    if not (0 < measured <= most and measured < 1):
        raise InvalidInput(f"{shortened(value)} is not a probability above 0 and at most {most}")
    return measured


def number(value: Any) -> Any:
    """A scalar as dpcheck writes it: text, bool, integer, finite float, or {"float": "inf"} for what JSON cannot say.

    Raises:
        InvalidInput: anything else.
    """
    if isinstance(value, Mapping):
        if set(value) != {"float"} or value["float"] not in _SPECIAL:
            raise InvalidInput(f"{shortened(value)} is not a number")
        return _SPECIAL[value["float"]]
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return integer(value)


def check(value: Any, depth: int = 0) -> int:
    """The number of values in what JSON gave, once none of them is out of bounds; what looks like a number is one.

    Raises:
        InvalidInput: too deep, too many, a number that `fraction` refuses, a key that is no text.
    """
    if depth > DEPTH:
        raise InvalidInput(f"more than {DEPTH} brackets inside each other")
    if isinstance(value, str):
        head = value[: DIGITS + 20]
        if value[:1] in tuple("+-.0123456789") and _NUMBER.fullmatch(head):
            _rational(value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{value!r} is not a finite number")
    elif isinstance(value, int) and not isinstance(value, bool):
        integer(value)
    elif isinstance(value, Mapping | list | tuple):
        if isinstance(value, Mapping) and not all(isinstance(key, str) for key in value):
            raise InvalidInput("a key that is no text")
        total = 1 + sum(check(each, depth + 1) for each in (value.values() if isinstance(value, Mapping) else value))
        if total > ITEMS:
            raise InvalidInput(f"more than {ITEMS:,} values")
        return total
    elif value is not None and not isinstance(value, bool):
        raise InvalidInput(f"{shortened(value)} is nothing that JSON can say")
    return 1


def parsed(text: str | bytes) -> Any:
    """JSON without NaN, infinities, repeated keys, and numbers or nesting out of bounds.

    Raises:
        InvalidInput: in one sentence, whatever is wrong with it.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        content = json.loads(
            text,
            parse_constant=lambda name: _refuse(f"{name} is not a number"),
            parse_int=_whole,
            parse_float=_float,
            object_pairs_hook=_object,
        )
        check(content)
    except RecursionError:
        raise InvalidInput(f"more than {DEPTH} brackets inside each other") from None
    except InvalidInput:
        raise
    except ValueError as error:
        raise InvalidInput(f"not JSON: {plain(str(error))}") from error
    return content


def document(path: Path | str, most: int = BYTES) -> Any:
    """The JSON of one file. Raises `InvalidInput` that names the file."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read {shown(path)}: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > most:
        raise InvalidInput(f"{shown(path)} is larger than {most:,} bytes")
    try:
        return parsed(content)
    except InvalidInput as error:
        raise InvalidInput(f"{shown(path)}: {error}") from error


def _refuse(reason: str) -> Any:
    raise InvalidInput(reason)


def _whole(text: str) -> int:
    return int(text) if len(text) <= DIGITS else _refuse(f"an integer of more than {DIGITS:,} digits")


def _float(text: str) -> float:
    value = float(text) if len(text) <= DIGITS else math.inf
    return value if math.isfinite(value) else _refuse(f"{shortened(text)} is out of range")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _refuse("a key stands twice")


def plain(text: str) -> str:
    r"""Text in which every control character, line break, reversed direction and lone surrogate is spelled out (\x1b).

    So foreign text stays within its line, moves no cursor, and can be encoded.
    """
    if text.isprintable():
        return text
    return "".join(_spelled(each) if unicodedata.category(each) in _UNSAFE else each for each in text)


def encodable(text: str) -> str:
    """Text whose lone surrogates are spelled out; all else stays."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _spelled(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def shortened(value: Any, most: int = 80) -> str:
    """A value as a message can hold it; never raises."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = plain(repr(value))
    except Exception:
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown(path: Path | str) -> str:
    """A path without control characters."""
    return plain(str(path))
