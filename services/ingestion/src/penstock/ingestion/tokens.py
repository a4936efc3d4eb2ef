"""Seals what is known about a device's clock into a token that the device carries, and opens it again.

In:  a `ClockState`, the device and the boot it belongs to; later, whatever bytes a request has for a token.
Out: `TOKEN_BYTES` opaque bytes; later, the state, or the reason why the bytes are of no use.
Guaranteed: opening never raises, whatever the bytes, and takes no token but one that was made with one of our
keys for this very device. A token is neither a secret nor a credential: it tells what a clock is like, no more.
"""

import hmac
from collections.abc import Sequence
from enum import Enum
from hashlib import sha256
from struct import Struct

from penstock.clock import ClockState, Domain, Floor, Prior

# Version, key, device, boot, flags, domain; sent, received, replied, delay, quickest, least and greatest
# offset; prior (3), floor (3), suspect.
_LAYOUT = Struct(">B4s8s8sBB7q3qQ2qq")
_MAC_BYTES = 16
_VERSION = 1
_KEY_BYTES_MIN = 16
_FUTURE_US_MAX = 60_000_000
_HAS_DELAY, _HAS_LEAST, _HAS_PRIOR, _HAS_FLOOR, _HAS_SUSPECT, _RAN_BACK = 1, 2, 4, 8, 16, 32

TOKEN_BYTES = _LAYOUT.size + _MAC_BYTES


class TokenRefusal(Enum):
    """Why a token is of no use. The request goes on without it."""

    MALFORMED = "malformed"
    UNKNOWN_KEY = "unknown_key"
    FORGED = "forged"
    OTHER_DEVICE = "other_device"
    OTHER_BOOT = "other_boot"
    EXPIRED = "expired"
    FROM_THE_FUTURE = "from_the_future"


class TokenSealer:
    """Seals with the first key, opens with any of them: rotate by putting a new key in front."""

    def __init__(self, keys: Sequence[bytes], *, expiry_us: int = 14 * 86_400_000_000) -> None:
        short = [index for index, key in enumerate(keys) if len(key) < _KEY_BYTES_MIN]
        if not keys or short:
            raise ValueError(
                f"clock token keys: give at least one, each of {_KEY_BYTES_MIN} bytes or more"
                + (f"; too short: number {', '.join(str(index + 1) for index in short)}" if short else "")
            )
        self._keys = {_short_hash(b"key", key)[:4]: key for key in reversed(keys)}
        self._current = _short_hash(b"key", keys[0])[:4]
        self._expiry_us = expiry_us

    def seal(self, state: ClockState, device_id: str, boot_id: str) -> bytes:
        """The token for the reply that leaves at `state.replied_us`."""
        body = _pack(state, self._current, _name_hash(device_id), _name_hash(boot_id))
        return body + self._mac(self._current, body)

    def open(self, token: bytes, device_id: str, boot_id: str, now_us: int) -> ClockState | TokenRefusal:
        """What the token holds, if it is ours, this device's, of this boot where that matters, and fresh."""
        if len(token) != TOKEN_BYTES or token[0] != _VERSION:
            return TokenRefusal.MALFORMED
        body, key_id = token[:-_MAC_BYTES], token[1:5]
        if key_id not in self._keys:
            return TokenRefusal.UNKNOWN_KEY
        if not hmac.compare_digest(self._mac(key_id, body), token[-_MAC_BYTES:]):
            return TokenRefusal.FORGED
        if token[5:13] != _name_hash(device_id):
            return TokenRefusal.OTHER_DEVICE
        state = _unpack(body)
        if token[13:21] != _name_hash(boot_id):
            if state.domain is Domain.STEADY:
                return TokenRefusal.OTHER_BOOT
            # A wall clock outlives the boot; sequence numbers do not.
            state = state._replace(floor=None, ran_back=False)
        if now_us - state.replied_us > self._expiry_us:
            return TokenRefusal.EXPIRED
        if state.replied_us - now_us > _FUTURE_US_MAX:
            return TokenRefusal.FROM_THE_FUTURE
        return state

    def _mac(self, key_id: bytes, body: bytes) -> bytes:
        return hmac.digest(self._keys[key_id], body, "sha256")[:_MAC_BYTES]


def _short_hash(kind: bytes, value: bytes) -> bytes:
    return sha256(b"penstock clock token " + kind + b"\0" + value).digest()[:8]


def _name_hash(name: str) -> bytes:
    return _short_hash(b"name", name.encode("utf-8", "surrogatepass"))


def _pack(state: ClockState, key_id: bytes, device: bytes, boot: bytes) -> bytes:
    flags = (
        _HAS_DELAY * (state.delay_us is not None)
        | _HAS_LEAST * (state.offset_min_us is not None)
        | _HAS_PRIOR * (state.prior is not None)
        | _HAS_FLOOR * (state.floor is not None)
        | _HAS_SUSPECT * (state.suspect_us is not None)
        | _RAN_BACK * state.ran_back
    )
    floor = state.floor or Floor(0, 0, 0)
    return _LAYOUT.pack(
        _VERSION, key_id, device, boot, flags, state.domain,
        state.sent_us, state.received_us, state.replied_us, state.delay_us or 0, state.quickest_us,
        state.offset_min_us or 0, state.offset_max_us,
        *(state.prior or (0, 0, 0)), *floor, state.suspect_us or 0,
    )  # fmt: skip


def _unpack(body: bytes) -> ClockState:
    (
        _, _, _, _, flags, domain, sent, received, replied, delay, quickest, least, greatest,
        prior_least, prior_greatest, set_before, seq, device, corrected, suspect,
    ) = _LAYOUT.unpack(body)  # fmt: skip
    return ClockState(
        domain=Domain(domain),
        sent_us=sent,
        received_us=received,
        replied_us=replied,
        delay_us=delay if flags & _HAS_DELAY else None,
        quickest_us=quickest,
        offset_min_us=least if flags & _HAS_LEAST else None,
        offset_max_us=greatest,
        prior=Prior(prior_least, prior_greatest, set_before) if flags & _HAS_PRIOR else None,
        floor=Floor(seq, device, corrected) if flags & _HAS_FLOOR else None,
        ran_back=bool(flags & _RAN_BACK),
        suspect_us=suspect if flags & _HAS_SUSPECT else None,
    )
