"""Faults that a user can do something about: one sentence on stderr and an exit code, without a traceback."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from penstock.client.address import host_and_port
from penstock.client.cli import screen
from penstock.client.cli.options import OptionError
from penstock.client.errors import PenstockError

_CONNECT_TIMEOUT_S = 3.0


@contextmanager
def one_sentence(*more: type[Exception], exit_code: int = 1) -> Iterator[None]:
    """Runs a command; what it raises of these kinds ends it with its text and the exit code."""
    expected: tuple[type[Exception], ...] = (PenstockError, OptionError, OSError, *more)
    try:
        yield
    except BrokenPipeError:  # whoever read the output has seen enough, as in `penstock tail … | head`
        screen.hang_up()
        raise typer.Exit(0) from None
    except expected as error:
        screen.fail(str(error), exit_code)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def check_reachable(server: str, what: str, advice: str) -> None:
    """Fails at once where waiting would not help."""
    try:
        socket.create_connection(host_and_port(server), _CONNECT_TIMEOUT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise PenstockError(f"cannot reach {what} at {server}: {reason}. {advice}") from error
