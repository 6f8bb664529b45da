"""Long text of others, such as an exception's, as a message can hold it."""

from __future__ import annotations

HEAD, TAIL = 900, 500
"""Characters of its beginning, which says what went wrong, and of its end, where dpcheck's advice stands."""


def excerpt(text: str) -> str:
    """The text; of a long one its head and tail, with the number of characters left out."""
    left = len(text) - HEAD - TAIL
    return text if left <= 100 else f"{text[:HEAD]} […{left:,} characters left out…] {text[-TAIL:]}"
