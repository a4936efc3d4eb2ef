"""What is wanted and what is pinned: `data/jars.toml` and `data/jars.lock`.

In:  jars.toml, written by people: per set, the coordinates to start from.
Out: per set, every jar with coordinates, file name and SHA-256, in the order of
     the class path. A set whose roots changed since it was locked is an error.
A new set is a new section in jars.toml and a run of `python -m penstock.embedded lock`.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.embedded.errors import JarsError

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Jar:
    coordinates: str  # group:artifact:version[:classifier]
    file: str
    sha256: str

    @property
    def parts(self) -> tuple[str, str, str, str | None]:
        group, artifact, version, *classifier = self.coordinates.split(":")
        return group, artifact, version, classifier[0] if classifier else None


@dataclass(frozen=True)
class Wanted:
    """A set as people write it. Roots win over any other version of the same jar."""

    name: str
    roots: tuple[str, ...]
    exclude: tuple[str, ...] = ()  # group:artifact


@dataclass(frozen=True)
class JarSet:
    name: str
    roots: tuple[str, ...]
    jars: tuple[Jar, ...]

    @property
    def digest(self) -> str:
        """Names the contents of the set: another jar, order or hash gives another digest."""
        lines = "\n".join(f"{jar.file} {jar.sha256}" for jar in self.jars)
        return hashlib.sha256(lines.encode()).hexdigest()[:12]


def read_wanted(path: Path = DATA / "jars.toml") -> dict[str, Wanted]:
    sections = tomllib.loads(path.read_text())
    return {
        name: Wanted(name, tuple(section["roots"]), tuple(section.get("exclude", ())))
        for name, section in sections.items()
    }


def read_set(name: str, folder: Path = DATA) -> JarSet:
    """The pinned jars of one set."""
    wanted = read_wanted(folder / "jars.toml").get(name)
    locked = json.loads((folder / "jars.lock").read_text()).get(name)
    if wanted is None or locked is None:
        raise JarsError(f"there is no jar set {name!r} in {folder}; add it to jars.toml and lock it")
    if list(wanted.roots) != locked["roots"]:
        raise JarsError(
            f"the roots of jar set {name!r} changed in {folder / 'jars.toml'}: "
            "run `python -m penstock.embedded lock` and commit jars.lock"
        )
    return JarSet(name, wanted.roots, tuple(Jar(**jar) for jar in locked["jars"]))


def write_lock(sets: Mapping[str, JarSet], path: Path = DATA / "jars.lock") -> None:
    content = {
        name: {"roots": list(jar_set.roots), "jars": [asdict(jar) for jar in jar_set.jars]}
        for name, jar_set in sorted(sets.items())
    }
    path.write_text(json.dumps(content, indent=2) + "\n")


def sha256_of(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def find_faults(jars: Sequence[Jar], folder: Path) -> dict[str, str]:
    """File name → what is wrong with it: missing, replaced, or not in the lock file."""
    faults = {}
    for jar in jars:
        path = folder / jar.file
        if not path.is_file():
            faults[jar.file] = "missing"
        elif sha256_of(path) != jar.sha256:
            faults[jar.file] = "not the jar that was locked (SHA-256 differs)"
    locked = {jar.file for jar in jars}
    faults.update({path.name: "not in jars.lock" for path in folder.glob("*.jar") if path.name not in locked})
    return faults
