"""Where a record is: a topic, a partition, an offset. Pure.

Written topic:partition:offset, which no shell takes for a pattern; read also as topic[partition]@offset, which is how
receipts and logs show it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.client.excerpt import excerpt

_PLACE = re.compile(r"([A-Za-z0-9._-]{1,249})(?::([0-9]{1,10}):([0-9]{1,19})|\[([0-9]{1,10})\]@([0-9]{1,19}))")
_PARTITION_LIMIT, _OFFSET_LIMIT = 1 << 31, 1 << 63


class Place(NamedTuple):
    """A record of a topic."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}"


def place_of(text: str) -> Place:
    """Raises ValueError where the text is none."""
    found = _PLACE.fullmatch(text)
    if found is not None:
        topic, partition, offset = found[1], int(found[2] or found[4]), int(found[3] or found[5])
        if partition < _PARTITION_LIMIT and offset < _OFFSET_LIMIT:
            return Place(topic, partition, offset)
    raise ValueError(f"{excerpt(text, 100)!r} is no place; write TOPIC:PARTITION:OFFSET, as in events.raw.v1:3:17")
