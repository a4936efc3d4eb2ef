"""Where the command line writes: results to stdout, everything else to stderr, plain where there is no terminal."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer
from rich.console import Console


def stdout() -> Console:
    """For results. Long lines stay whole, so that they can be piped."""
    return Console(soft_wrap=True, highlight=False, emoji=False)


def stderr() -> Console:
    """For progress, faults and summaries."""
    return Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)


def write_line(out: Console, line: str) -> None:
    """A line for programs: exactly this, at once."""
    out.file.write(f"{line}\n")
    out.file.flush()


def hang_up() -> None:
    """Nobody reads stdout any more: what is left in its buffer must not raise at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str, exit_code: int = 1) -> NoReturn:
    """Ends the command with one sentence."""
    sys.stdout.flush()
    stderr().print(f"penstock: {message}", style="red", markup=False)
    raise typer.Exit(exit_code)
