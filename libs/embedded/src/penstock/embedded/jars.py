"""The jars of a set, on disk, exactly as locked.

In:  the name of a set in jars.lock.
Out: its jars in class-path order. Each is the one whose SHA-256 is in the lock
     file, and the folder holds no other jar, or JarsError names those at fault.
Nothing is downloaded while the cache is whole; then a start costs one `stat` per
jar, because sizes and times of the last full check are kept beside them.
"""

import json
import shutil
from pathlib import Path

from penstock.embedded.cache import Progress, cache_folder, only_one, quiet
from penstock.embedded.errors import JarsError
from penstock.embedded.ivy import Ivy, jars_below
from penstock.embedded.jarlock import Jar, JarSet, Wanted, find_faults, read_set, sha256_of
from penstock.embedded.java import Java

TOLD_EVERY = 10  # jars


def ensure(name: str, java: Java, *, progress: Progress = quiet, cache: Path | None = None) -> list[Path]:
    """The paths of the set's jars, downloading those that are missing or damaged."""
    return ensure_set(read_set(name), java, progress=progress, cache=cache)


def ensure_set(jar_set: JarSet, java: Java, *, progress: Progress = quiet, cache: Path | None = None) -> list[Path]:
    shelf = (cache or cache_folder()) / "jars"
    folder = shelf / f"{jar_set.name}-{jar_set.digest}"
    if not _is_verified(jar_set, folder):
        with only_one(shelf / f"{jar_set.name}.lock", progress):
            # Whoever held the lock before us may have done the work.
            if not _is_verified(jar_set, folder):
                _complete(jar_set, folder, Ivy(java.executable, shelf / f"{jar_set.name}.ivy"), progress)
    return [folder / jar.file for jar in jar_set.jars]


def lock_set(wanted: Wanted, java: Java, scratch: Path, *, progress: Progress = quiet) -> JarSet:
    """Resolves a set anew and pins what came: what `jars.lock` is written from."""
    into = scratch / wanted.name
    Ivy(java.executable, scratch / "ivy").resolve(wanted, into, lambda file: progress(f"found {file}"))
    jars = [Jar(coordinates, path.name, sha256_of(path)) for coordinates, path in jars_below(into)]
    return JarSet(wanted.name, wanted.roots, tuple(sorted(jars, key=lambda jar: jar.file)))


def _complete(jar_set: JarSet, folder: Path, ivy: Ivy, progress: Progress) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    faults = find_faults(jar_set.jars, folder)
    wrong = [jar for jar in jar_set.jars if jar.file in faults]
    for jar in wrong:
        if faults[jar.file] != "missing":
            progress(f"{folder / jar.file} is {faults[jar.file]}; fetching it again")
    if wrong:
        _download(jar_set, wrong, folder, ivy, progress)
    _refuse(find_faults(jar_set.jars, folder), folder)
    _stamp(folder).write_text(json.dumps(_sizes_and_times(folder)))


def _download(jar_set: JarSet, wrong: list[Jar], folder: Path, ivy: Ivy, progress: Progress) -> None:
    """Fetches into a folder beside, checks there, and only then moves each jar into its place."""
    total = len(wrong)
    arrived = 0

    def count(_: str) -> None:
        nonlocal arrived
        arrived += 1
        if arrived % TOLD_EVERY == 0 or arrived == total:
            progress(f"{arrived} of {total} jars for {jar_set.name}")

    progress(f"downloading {total} jars for {jar_set.name} into {folder}")
    incoming = ivy.work / "incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    ivy.fetch(wrong, incoming, count)
    flat = ivy.work / "checked"
    shutil.rmtree(flat, ignore_errors=True)
    flat.mkdir()
    for _, path in jars_below(incoming):
        path.rename(flat / path.name)
    faults = find_faults(wrong, flat)
    if not faults:
        for jar in wrong:
            (flat / jar.file).rename(folder / jar.file)
    shutil.rmtree(ivy.work)  # also after a fault: a wrong jar must not come out of Ivy's cache next time
    _refuse(faults, folder)


def _refuse(faults: dict[str, str], folder: Path) -> None:
    if faults:
        lines = "".join(f"\n  {file}: {fault}" for file, fault in sorted(faults.items()))
        raise JarsError(
            f"these jars are not the ones in jars.lock:{lines}\nNothing was started with them. "
            f"Delete {folder} to fetch the set again; if that does not help, the repository or "
            "your network changed a jar."
        )


def _is_verified(jar_set: JarSet, folder: Path) -> bool:
    try:
        stamped = json.loads(_stamp(folder).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return False
    found = _sizes_and_times(folder)
    return bool(stamped == found) and found.keys() == {jar.file for jar in jar_set.jars}


def _sizes_and_times(folder: Path) -> dict[str, list[int]]:
    stats = {path.name: path.stat() for path in folder.glob("*.jar")}
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}


def _stamp(folder: Path) -> Path:
    return folder / "verified.json"
