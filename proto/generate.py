"""Writes the Python of every .proto into proto/src; with --check, only says whether what is there is current.

In:  proto/penstock/**/*.proto. Out: proto/src/penstock/**/*_pb2*.py[i], byte for byte the same for the same input.
"""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

PROTO = Path(__file__).resolve().parent
COMMITTED = PROTO / "src"


def sources() -> list[str]:
    return sorted(str(path.relative_to(PROTO)) for path in (PROTO / "penstock").rglob("*.proto"))


def generate(into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    # grpc_tools runs the plugins beside this interpreter; naming them keeps PATH out of it.
    plugins = Path(sys.executable).parent
    arguments = [
        "protoc",
        f"--proto_path={PROTO}",
        f"--plugin=protoc-gen-mypy={plugins / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={plugins / 'protoc-gen-mypy_grpc'}",
        f"--python_out={into}",
        f"--grpc_python_out={into}",
        f"--mypy_out=quiet:{into}",
        f"--mypy_grpc_out=quiet:{into}",
        *sources(),
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc failed; its message is above")
    for source in sources():
        if "\nservice " not in (PROTO / source).read_text():
            # The gRPC plugins write a file for every .proto; without a service it is empty.
            stem = into / source.removesuffix(".proto")
            for suffix in ("_pb2_grpc.py", "_pb2_grpc.pyi"):
                stem.with_name(stem.name + suffix).unlink()


def generated(under: Path) -> list[Path]:
    return sorted(path for path in under.rglob("*_pb2*") if path.suffix in {".py", ".pyi"})


def drift(fresh: Path) -> list[str]:
    new = {path.relative_to(fresh) for path in generated(fresh)}
    old = {path.relative_to(COMMITTED) for path in generated(COMMITTED)}
    faults = [f"missing: {path}" for path in sorted(new - old)] + [f"left over: {path}" for path in sorted(old - new)]
    faults += [
        f"differs: {path}"
        for path in sorted(new & old)
        if not filecmp.cmp(fresh / path, COMMITTED / path, shallow=False)
    ]
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the committed files differ")
    if not parser.parse_args().check:
        for path in generated(COMMITTED):
            path.unlink()
        generate(COMMITTED)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        faults = drift(Path(folder))
    for fault in faults:
        print(f"{fault} (run `make gen` and commit the result)", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
