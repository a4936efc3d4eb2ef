from pathlib import Path

import pytest
from penstock.embedded.errors import JavaMissingError
from penstock.embedded.java import fault_of, find_java

ANSWER = """Property settings:
    java.home = /opt/java
    java.runtime.version = {version}+6
    java.vendor = Someone
    java.version = {version}
    os.arch = amd64
java.base@{version}
{modules}
"""


@pytest.mark.parametrize(
    ("version", "modules", "fault"),
    [
        ("17.0.15", "jdk.incubator.vector@17.0.15", None),
        ("25", "jdk.incubator.vector@25", None),
        ("11.0.2", "jdk.incubator.vector@11", "is Java 11"),
        ("1.8.0_292", "", "is Java 8"),
        ("21", "jdk.incubator.vectors.of.another.kind@21", "lacks the module jdk.incubator.vector"),
    ],
)
def test_faults(version: str, modules: str, fault: str | None) -> None:
    answer = ANSWER.format(version=version, modules=modules)
    found = fault_of(answer)
    assert found == fault


def test_an_answer_that_is_none() -> None:
    assert fault_of("Unable to locate a Java Runtime.") == "did not say its version"


def _install(folder: Path, version: str, modules: str) -> Path:
    folder.mkdir(parents=True)
    executable = folder / "java"
    executable.write_text(f"#!/bin/sh\ncat <<'END'\n{ANSWER.format(version=version, modules=modules)}END\n")
    executable.chmod(0o755)
    return executable


def test_the_first_that_will_do_is_taken(tmp_path: Path) -> None:
    _install(tmp_path / "home" / "bin", "11", "")
    good = _install(tmp_path / "bin", "21", "jdk.incubator.vector@21")
    java = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": f"{tmp_path / 'bin'}:/bin:/usr/bin"})
    assert (java.executable, java.major, java.home) == (good, 21, Path("/opt/java"))
    assert java.build == "Someone 21+6 amd64"


def test_none_will_do(tmp_path: Path) -> None:
    old = _install(tmp_path / "bin", "11", "")
    with pytest.raises(JavaMissingError, match=f"{old} is Java 11.*install your system's full headless JRE"):
        find_java({"PATH": str(tmp_path / "bin")})


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(JavaMissingError, match="no java in JAVA_HOME or on PATH"):
        find_java({"PATH": str(tmp_path)})
