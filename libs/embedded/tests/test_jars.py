"""Jars arrive once, exactly as locked, whatever happened to the cache or the repository.

A program stands in for `java -jar ivy.jar`: it copies from a folder what the module description asks for.
"""

import hashlib
import os
import sys
from pathlib import Path
from threading import Thread

import pytest
from penstock.embedded.errors import JarsError
from penstock.embedded.jarlock import Jar, JarSet
from penstock.embedded.jars import ensure_set
from penstock.embedded.java import Java

FAKE = """#!{python}
import pathlib, shutil, sys
from xml.etree import ElementTree
arguments = dict(zip(sys.argv[3::2], sys.argv[4::2]))
into = pathlib.Path(arguments["-retrieve"].partition("/[")[0])
repository = pathlib.Path({repository!r})
with open(repository / "runs", "a") as runs: runs.write("x")
for dependency in ElementTree.parse(arguments["-ivy"]).iter("dependency"):
    org, name, rev = (dependency.get(key) for key in ("org", "name", "rev"))
    if not (repository / f"{{name}}-{{rev}}.jar").exists():
        sys.exit(f":: {{org}}#{{name}};{{rev}}: not found")
    (into / org / name / rev).mkdir(parents=True)
    shutil.copy(repository / f"{{name}}-{{rev}}.jar", into / org / name / rev)
    print(f"[SUCCESSFUL ] {{org}}#{{name}};{{rev}}!{{name}}.jar (1ms)")
"""
NAMES = ("alpha", "beta", "gamma")


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.said: list[str] = []
        fake = folder / "java"
        fake.write_text(FAKE.format(python=sys.executable, repository=str(folder)))
        fake.chmod(0o755)
        self.java = Java(fake, folder, 17, "fake")
        for name in NAMES:
            (folder / f"{name}-1.jar").write_text(name)
        jars = [
            Jar(f"org.{name}:{name}:1", f"{name}-1.jar", hashlib.sha256(name.encode()).hexdigest()) for name in NAMES
        ]
        self.set = JarSet("letters", ("org.alpha:alpha:1",), tuple(jars))

    def ensure(self) -> list[Path]:
        return ensure_set(self.set, self.java, progress=self.said.append, cache=self.cache)

    @property
    def runs(self) -> int:
        path = self.folder / "runs"
        return len(path.read_text()) if path.exists() else 0


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_jars_arrive_once_in_the_locked_order(repository: Repository) -> None:
    first = repository.ensure()
    assert [path.name for path in first] == ["alpha-1.jar", "beta-1.jar", "gamma-1.jar"]
    assert [path.read_text() for path in first] == list(NAMES)
    assert "3 of 3 jars for letters" in repository.said
    assert repository.ensure() == first
    assert repository.runs == 1


def test_a_touched_jar_is_hashed_again_but_not_fetched(repository: Repository) -> None:
    [first, *_] = repository.ensure()
    os.utime(first, (1, 1))
    repository.ensure()
    assert repository.runs == 1


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("ALPHA")])
def test_a_missing_or_damaged_jar_is_fetched_again(repository: Repository, damage: object) -> None:
    [first, *_] = repository.ensure()
    assert callable(damage)
    damage(first)
    repository.ensure()
    assert first.read_text() == "alpha"
    assert repository.runs == 2
    assert "downloading 1 jars for letters" in " ".join(repository.said)


def test_a_jar_that_was_replaced_in_the_repository_is_refused_by_name(repository: Repository) -> None:
    (repository.folder / "beta-1.jar").write_text("something else")
    with pytest.raises(JarsError, match=r"beta-1\.jar: not the jar that was locked"):
        repository.ensure()
    (repository.folder / "beta-1.jar").write_text("beta")
    assert len(repository.ensure()) == 3


def test_a_jar_too_many_is_refused_by_name(repository: Repository) -> None:
    [first, *_] = repository.ensure()
    (first.parent / "stowaway.jar").touch()
    with pytest.raises(JarsError, match=r"stowaway\.jar: not in jars\.lock"):
        repository.ensure()


def test_a_jar_that_is_not_served(repository: Repository) -> None:
    (repository.folder / "gamma-1.jar").unlink()
    with pytest.raises(JarsError, match=r"could not download(.|\n)*gamma;1: not found"):
        repository.ensure()


def test_one_of_two_downloads_and_the_other_waits(repository: Repository) -> None:
    threads = [Thread(target=repository.ensure) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert repository.runs == 1
    assert len(repository.ensure()) == 3
