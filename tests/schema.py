"""A validator of JSON Schema, as far as ours go; an unknown keyword is an error, so that none is passed over."""

from __future__ import annotations

import math
from typing import Any

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
_SILENT = {"$schema", "$id", "title", "description", "$defs", "additionalProperties"}


def breaches(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, at: str = "$") -> list[str]:
    """Where a document breaks a schema; empty where it does not."""
    root = root or schema
    found: list[str] = []
    for keyword, rule in schema.items():
        if keyword in _SILENT:
            continue
        if keyword == "$ref":
            found += breaches(value, root["$defs"][rule.removeprefix("#/$defs/")], root, at)
        elif keyword == "type":
            if not any(_is(value, name) for name in ([rule] if isinstance(rule, str) else rule)):
                found.append(f"{at} is {value!r}, not {rule}")
        elif keyword == "const":
            found += [] if value == rule else [f"{at} is {value!r}, not {rule!r}"]
        elif keyword == "enum":
            found += [] if value in rule else [f"{at} is {value!r}, none of {rule}"]
        elif keyword == "required":
            found += [f"{at} lacks {name}" for name in rule if isinstance(value, dict) and name not in value]
        elif keyword == "properties":
            found += [
                b
                for k, v in rule.items()
                if isinstance(value, dict) and k in value
                for b in breaches(value[k], v, root, f"{at}.{k}")
            ]
        elif keyword == "items":
            found += [b for i, each in enumerate(value) for b in breaches(each, rule, root, f"{at}[{i}]")]
        else:
            raise NotImplementedError(keyword)
    more = schema.get("additionalProperties", True)
    for name in set(value if isinstance(value, dict) else ()) - set(schema.get("properties", {})):
        if more is False:
            found.append(f"{at} has {name}, which the schema does not know")
        elif isinstance(more, dict):
            found += breaches(value[name], more, root, f"{at}.{name}")
    return found


def _is(value: Any, name: str) -> bool:
    if name in ("number", "integer"):
        kinds = (int,) if name == "integer" else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, _TYPES[name])
