"""python -m penstock.demo: the pipeline, a few hundred devices, a database, and what becomes of their events.

Exit code 0: every promise of the summary was kept. 1: one was not, or a process died. 130: ended while starting, or by
a second Ctrl-C before all was judged.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import psycopg
from penstock.client import PenstockError
from penstock.demo.failure import last_words, told_at_once
from penstock.demo.joins import Joins
from penstock.demo.plain import PlainView
from penstock.demo.population import DEVICES_MAX
from penstock.demo.profiles import Profiles, seed
from penstock.demo.run import Cast, run
from penstock.demo.scene import Scene
from penstock.demo.screen import LiveView
from penstock.demo.society import first_follows
from penstock.demo.stack import Beginnings, prepare, start, state_folder
from penstock.demo.stop import Stop
from penstock.demo.summary import is_good, summary
from penstock.demo.truth import Truth
from penstock.embedded.errors import ChildError, EmbeddedError, StopRequestedError
from penstock.embedded.signals import stop_on_signals
from penstock.embedded.supervisor import Supervisor
from penstock.pipeline import load
from penstock.topics.errors import TopicsError
from rich.console import Console

DEVICES = 150
STYLES = {"✓": "green", "✗": "bold red"}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    try:
        prepare(_say)
        with state_folder() as state:
            supervisor = Supervisor(state, _say)
            stop = Stop(supervisor)
            with stop_on_signals(stop.request), supervisor, told_at_once(supervisor.request_stop, _write):
                scene = _demo(options, stop, console)
    except StopRequestedError as error:
        _say(str(error))
        return 130
    except KeyboardInterrupt:
        _say("stopped before it began")
        return 130
    except ChildError as error:
        for line in last_words(error, console.width if console.is_terminal else None):
            _write(f"{line}\n")
        return 1
    except psycopg.OperationalError as error:
        _write(f"penstock demo: PostgreSQL: {error}\n")
        return 1
    except (EmbeddedError, TopicsError, PenstockError) as error:
        _write(f"penstock demo: {error}\n")
        return 1
    for line in summary(scene):
        console.print(line, style=_style(line), markup=False)
    return 0 if is_good(scene) else 1


def _demo(options: argparse.Namespace, stop: Stop, console: Console) -> Scene:
    truth, rows = Truth(), seed(Random(f"{options.seed}/seed"), options.devices)
    follows = first_follows(Random(f"{options.seed}/follows"), options.devices)
    stack = start(stop.supervisor, Beginnings(options.devices, rows, follows), truth, _write)
    pipeline = load(Path(stack.environment["PENSTOCK_PIPELINE"]))
    scene = Scene(options.devices, options.duration, stack, _command(), pipeline, truth, Joins(pipeline, truth))
    cast = Cast(options.seed, Profiles(Random(f"{options.seed}/profiles"), rows), follows)
    _say(f"{scene.devices:,} devices go online; Ctrl-C ends it. Meanwhile, in a second terminal:")
    for hint in scene.hints:
        _write(f"    {hint}\n")
    with PlainView(_write) if options.plain or not console.is_terminal else LiveView(console) as view:
        asyncio.run(run(scene, cast, stop, view))
    _say("stopping everything; the summary follows")
    return scene


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m penstock.demo", description="The pipeline on this machine, live.")
    parser.add_argument("--duration", type=_seconds, metavar="S", help="end after so many seconds (default: Ctrl-C)")
    parser.add_argument("--devices", type=_devices, metavar="N", default=DEVICES, help=f"default: {DEVICES}")
    parser.add_argument("--seed", type=int, metavar="N", default=1, help="chooses the devices and their fate")
    parser.add_argument("--plain", action="store_true", help="lines instead of a live view")
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, such as 30") from None
    if not 0 < seconds <= 31_536_000:
        raise argparse.ArgumentTypeError("must be more than 0 seconds, and at most a year")
    return seconds


def _devices(text: str) -> int:
    try:
        devices = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, such as {DEVICES}") from None
    if not 1 <= devices <= DEVICES_MAX:
        raise argparse.ArgumentTypeError(f"must be from 1 to {DEVICES_MAX:,}")
    return devices


def _command() -> str:
    """The penstock command of this environment, as one would type it here."""
    command = Path(sys.executable).with_name("penstock")
    return str(command.relative_to(Path.cwd())) if command.is_relative_to(Path.cwd()) else str(command)


def _style(line: str) -> str:
    return STYLES.get(line[:1], "")


def _say(text: str) -> None:
    _write(f"==> {text}\n")


def _write(text: str) -> None:
    with suppress(OSError):  # nobody reads any more; what has to be stopped is stopped all the same
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
