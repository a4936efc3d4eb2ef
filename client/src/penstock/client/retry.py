"""Whether and when a failed attempt is tried again.

In:  a failure as the server or the network stated it, how many came before, a random number.
Out: retry or not, and the pause.
Guaranteed: what the server asks for is never undercut; without a hint the pause doubles up to
a limit and is spread by jitter, so that a thousand devices do not come back at once. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from google.rpc import code_pb2

# A resend keeps its identity, so retrying is always safe; these are the codes for which it may also help.
# INTERNAL and UNKNOWN are what proxies and broken connections answer.
_RETRIED = frozenset(
    {
        code_pb2.UNAVAILABLE,
        code_pb2.RESOURCE_EXHAUSTED,
        code_pb2.DEADLINE_EXCEEDED,
        code_pb2.ABORTED,
        code_pb2.CANCELLED,
        code_pb2.INTERNAL,
        code_pb2.UNKNOWN,
    }
)
# After these the server is not there, so a clock exchange keeps its place before the data; after others it
# is left out.
RETRIED_EXCHANGE = frozenset({code_pb2.UNAVAILABLE, code_pb2.RESOURCE_EXHAUSTED})
# The hint is a floor, and this much more at most.
_HINT_JITTER = 0.2


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed."""

    code: int
    """A google.rpc.Code, which are gRPC's numbers."""
    detail: str
    retry_after_us: int | None = None
    """What the server asked for (RetryInfo, grpc-retry-pushback-ms, BatchFailure), if anything."""
    final: bool = False
    """The server said that trying again will not help."""

    @classmethod
    def unknown(cls, detail: str) -> Failure:
        """Something answered that does not behave like a server of ours."""
        return cls(code_pb2.UNKNOWN, detail)

    @classmethod
    def overdue(cls, detail: str) -> Failure:
        """No answer in time."""
        return cls(code_pb2.DEADLINE_EXCEEDED, detail)

    @classmethod
    def disconnected(cls, detail: str) -> Failure:
        """The server ended the stream."""
        return cls(code_pb2.UNAVAILABLE, detail)

    @property
    def code_name(self) -> str:
        """As in the documentation of gRPC."""
        known: str = code_pb2.Code.Name(self.code) if self.code in code_pb2.Code.values() else f"code {self.code}"
        return known

    def __str__(self) -> str:
        return f"{self.code_name}: {self.detail}"


def may_retry(failure: Failure) -> bool:
    """False where another attempt would fail for the same reason."""
    # gRPC itself answers this code for a message above its limit, which stays above it.
    too_large = failure.code == code_pb2.RESOURCE_EXHAUSTED and "larger than max" in failure.detail
    return failure.code in _RETRIED and not failure.final and not too_large


@dataclass(frozen=True, slots=True)
class Backoff:
    """The schedule of retries."""

    initial_us: int
    max_us: int

    def pause_us(self, failures: int, hint_us: int | None, random: float) -> int:
        """The pause after so many failures in a row; `random` is in [0, 1)."""
        if hint_us is not None:
            return hint_us + int(hint_us * _HINT_JITTER * random)
        ceiling = min(self.max_us, self.initial_us << min(failures - 1, 32))
        return ceiling // 2 + int(ceiling / 2 * random)
