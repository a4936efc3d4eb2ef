"""Checks pipelines, shows examples, exports the schema.

python -m penstock.pipeline check FILE      says that the file is sound, or lists every fault; exit code 0 or 1
python -m penstock.pipeline example NAME    prints a pipeline to start from: social or shop
python -m penstock.pipeline schema          prints the JSON schema
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.document import InvalidDocumentError
from penstock.pipeline.pipeline import EXAMPLES, Pipeline, example, json_schema, load


def main(arguments: Sequence[str]) -> int:
    """Run one command and return the exit code."""
    chosen = _parser().parse_args(arguments)
    if chosen.command == "check":
        return _check(chosen.file)
    sys.stdout.write(
        example(chosen.name) if chosen.command == "example" else json.dumps(json_schema(), indent=2) + "\n"
    )
    return 0


def _check(path: Path) -> int:
    try:
        pipeline = load(path)
    except InvalidDocumentError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"cannot read {path}: {error.strerror}\n")
        return 1
    sys.stdout.write(f"{path} is sound: {_summary(pipeline)}\n")
    return 0


def _summary(pipeline: Pipeline) -> str:
    counts = {
        "event type": len(pipeline.event_types),
        "table": len(pipeline.tables),
        "enrichment": len(pipeline.enrichments),
    }
    said = [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items()]
    return ", ".join(said if pipeline.timeline is None else (*said, "timelines"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock.pipeline", description="Pipelines as configuration.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="list every fault of a pipeline.yaml")
    check.add_argument("file", type=Path, help="the file to check")
    shown = commands.add_parser("example", help="print a pipeline to start from")
    shown.add_argument("name", choices=EXAMPLES, help="which one")
    commands.add_parser("schema", help="print the JSON schema of pipeline.yaml")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
