"""The commands of the embedded stack.

python -m penstock.embedded kafka      a broker to play with, until Ctrl-C
python -m penstock.embedded prepare    downloads and prepares, so that later starts are quick
python -m penstock.embedded lock       rewrites jars.lock from jars.toml (for maintainers)
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from penstock.embedded.connect import prepare_connect
from penstock.embedded.errors import EmbeddedError, StopRequestedError
from penstock.embedded.jarlock import read_wanted, write_lock
from penstock.embedded.jars import lock_set
from penstock.embedded.java import find_java
from penstock.embedded.kafka import prepare_kafka, start_kafka
from penstock.embedded.signals import stop_on_signals
from penstock.embedded.supervisor import Supervisor


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        if options.command == "kafka":
            _run_kafka(options.state, for_load=options.for_load)
        elif options.command == "prepare":
            prepare_kafka(_say)
            prepare_connect(_say)
        else:
            _lock()
    except (StopRequestedError, KeyboardInterrupt):
        return 130
    except EmbeddedError as error:
        _say(f"penstock.embedded: {error}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m penstock.embedded")
    commands = parser.add_subparsers(dest="command", required=True)
    kafka = commands.add_parser("kafka", help="run a broker until Ctrl-C")
    kafka.add_argument("--state", type=Path, help="folder for data and logs; kept (default: a temporary one)")
    kafka.add_argument("--for-load", action="store_true", help="optimise for throughput instead of start-up")
    commands.add_parser("prepare", help="download and prepare what Kafka and Kafka Connect need")
    commands.add_parser("lock", help="rewrite jars.lock from jars.toml")
    return parser


def _run_kafka(state: Path | None, *, for_load: bool) -> None:
    prepare_kafka(_say)
    with tempfile.TemporaryDirectory(prefix="penstock-") as scratch:
        supervisor = Supervisor(state or Path(scratch), _say)
        with stop_on_signals(supervisor.request_stop), supervisor:
            kafka = start_kafka(supervisor, for_load=for_load)
            sys.stdout.write(f"{kafka.bootstrap}\n")
            sys.stdout.flush()
            _say(f"log: {supervisor.log(kafka.name)} (Ctrl-C stops)")
            supervisor.wait()


def _lock() -> None:
    java = find_java()
    with tempfile.TemporaryDirectory(prefix="penstock-lock-") as scratch:
        sets = {name: lock_set(wanted, java, Path(scratch), progress=_say) for name, wanted in read_wanted().items()}
    write_lock(sets)
    _say(f"locked {', '.join(f'{name} ({len(found.jars)} jars)' for name, found in sets.items())}")


def _say(text: str) -> None:
    sys.stderr.write(f"==> {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
