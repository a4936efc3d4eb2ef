"""Places in a timeline, and what a reader holds of it, as one value that can be kept as text. Pure.

In:  a cursor as the timeline service wrote it, or a text that a caller stored.
Out: the same cursor. ValueError where a text is none: one that was cut or changed on its way is noticed, because a
     subscription that resumed from half of it would tell posts twice.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from penstock.client.excerpt import excerpt
from penstock.timeline.v1 import timeline_pb2

_CHECK_BYTES = 4
_TEXT_CHARS_MAX = 1 << 20  # a hundred times what the longest timeline takes


@dataclass(frozen=True, slots=True, repr=False)
class Cursor:
    """Opaque: what is in it is the service's business. `text` is for storing, `parse` reads it back."""

    message: bytes
    """As it is sent."""

    @property
    def text(self) -> str:
        """Letters, digits, - and _: fit for files, databases and addresses of web pages."""
        checked = zlib.crc32(self.message).to_bytes(_CHECK_BYTES, "big") + self.message
        return base64.urlsafe_b64encode(checked).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """From `text`. Raises ValueError where it is none, or not all of one."""
        try:
            checked = base64.b64decode(_padded(text), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise _not_a_cursor(text) from error
        message = checked[_CHECK_BYTES:]
        if zlib.crc32(message).to_bytes(_CHECK_BYTES, "big") != checked[:_CHECK_BYTES]:
            raise _not_a_cursor(text)
        try:
            timeline_pb2.Cursor.FromString(message)
        except DecodeError as error:
            raise _not_a_cursor(text) from error
        return cls(message)

    def for_all(self) -> Cursor:
        """Of a subscription: the same for the whole timeline. Resuming here tells the posts, too, that are older."""
        said = to_wire(self)
        whole = timeline_pb2.Cursor(seen=said.seen, held=said.held)
        return Cursor(whole.SerializeToString())

    def __repr__(self) -> str:
        return f"Cursor.parse({excerpt(self.text)!r})"


def from_wire(message: timeline_pb2.Cursor) -> Cursor:
    """What the service said."""
    return Cursor(message.SerializeToString(deterministic=True))


def to_wire(cursor: Cursor) -> timeline_pb2.Cursor:
    """As requests carry it."""
    return timeline_pb2.Cursor.FromString(cursor.message)


def _padded(text: str) -> bytes:
    if len(text) > _TEXT_CHARS_MAX:
        raise ValueError(f"{len(text):,} characters")
    return text.encode("ascii") + b"=" * (-len(text) % 4)


def _not_a_cursor(text: str) -> ValueError:
    size = f"{len(text):,} characters"
    return ValueError(f"{excerpt(text)!r} ({size}) is no cursor, or only a part of one; give all that `text` gave")
