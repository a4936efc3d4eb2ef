"""Finds the Java that the whole stack runs on.

In:  the environment (JAVA_HOME, then PATH).
Out: the first Java that is new enough and has the module Spark needs, or one
     sentence that says what was found and what to install.
`bootstrap.sh` makes the same choice before Python is set up.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded.errors import JavaMissingError

MAJOR_MIN = 17
MODULE = "jdk.incubator.vector"
ANSWER_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Java:
    executable: Path
    home: Path
    major: int
    build: str  # vendor, runtime version and architecture: what a class-data archive depends on


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first usable Java of JAVA_HOME and PATH; JavaMissingError says why there is none."""
    environment = os.environ if environment is None else environment
    refused = []
    for executable in _candidates(environment):
        answer = _ask(executable)
        fault = fault_of(answer)
        if fault is None:
            return _read(executable, answer)
        refused.append(f"{executable} {fault}")
    found = "; ".join(refused) or "no java in JAVA_HOME or on PATH"
    raise JavaMissingError(
        f"Penstock needs Java {MAJOR_MIN} or newer with the module {MODULE} ({found}): "
        "install your system's full headless JRE, for example openjdk-17-jre-headless."
    )


def fault_of(answer: str) -> str | None:
    """What is wrong with a Java that answered so, None when nothing is."""
    major = _major(answer)
    if major is None:
        return "did not say its version"
    if major < MAJOR_MIN:
        return f"is Java {major}"
    if not re.search(rf"^{re.escape(MODULE)}\b", answer, re.MULTILINE):
        return f"lacks the module {MODULE}"
    return None


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        executable = Path(home) / "bin" / "java"
        if os.access(executable, os.X_OK):
            yield executable
    path = environment.get("PATH", "")
    if found := shutil.which("java", path=path):
        yield Path(found)
    if brew := shutil.which("brew", path=path):  # which keeps its Java off the PATH
        executable = Path(brew).parent.parent / "opt" / "openjdk@21" / "bin" / "java"
        if os.access(executable, os.X_OK):
            yield executable


def _ask(executable: Path) -> str:
    """Settings and modules in one start of the JVM; Java 8 answers only the settings."""
    try:
        answer = subprocess.run(
            [str(executable), "-XshowSettings:properties", "--list-modules"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no answer: {error}"
    return answer.stdout


def _read(executable: Path, answer: str) -> Java:
    def named(name: str) -> str:
        return _setting(answer, name) or "unknown"

    return Java(
        executable=executable,
        home=Path(named("java.home")),
        major=_major(answer) or 0,
        build=" ".join(named(name) for name in ("java.vendor", "java.runtime.version", "os.arch")),
    )


def _major(answer: str) -> int | None:
    version = _setting(answer, "java.version") or ""
    number = re.match(r"(?:1\.)?(\d+)", version)
    return int(number.group(1)) if number else None


def _setting(answer: str, name: str) -> str | None:
    line = re.search(rf"^\s*{re.escape(name)} = (.+)$", answer, re.MULTILINE)
    return line.group(1).strip() if line else None
