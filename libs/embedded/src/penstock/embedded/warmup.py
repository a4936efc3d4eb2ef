"""What makes a broker start quickly, made once per Java and jar set.

In:  a Java and the jars of the set "kafka".
Out: in the cache, a class-data archive (classes parsed and verified ahead) and the
     `bootstrap.checkpoint` of a formatted storage. Its folder is named by all that
     the archive depends on, so another Java or jar gets another one; a damaged or
     refused one is thrown away and made again.
"""

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.embedded.broker import SETTINGS, addresses, describe, write_properties
from penstock.embedded.cache import Progress, cache_folder, only_one
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.exercise import exercise
from penstock.embedded.jvm import Jvm
from penstock.embedded.storage import CHECKPOINT, new_id
from penstock.embedded.supervisor import Supervisor

FORMAT_TIMEOUT_S = 120.0
ARCHIVED_WITHIN_S = 120.0
KEPT_MAX = 3  # of 50 MB each: one per Java and jar set in use
REFUSALS = ("Unable to map shared spaces", "shared class paths mismatch")  # in the words of the JVM


@dataclass(frozen=True)
class Warmup:
    folder: Path

    @property
    def archive(self) -> Path:
        return self.folder / "kafka.jsa"

    @property
    def checkpoint(self) -> Path:
        return self.folder / CHECKPOINT

    def flags(self, report: Path) -> tuple[str, ...]:
        """For the JVM: use the archive, and tell into the report what became of it."""
        return (f"-XX:SharedArchiveFile={self.archive}", f"-Xlog:cds=info:file={report}")

    def is_whole(self) -> bool:
        try:
            return self._seal.read_text() == self._state() and self.checkpoint.is_file()
        except FileNotFoundError:
            return False

    def seal(self) -> None:
        """Notes the archive as it is now: the JVM would go on, slowly and silently, with a damaged one."""
        self._seal.write_text(self._state())

    def discard(self) -> None:
        self._seal.unlink(missing_ok=True)

    def was_refused(self, report: Path) -> bool:
        return any(word in report.read_text(errors="replace") for word in REFUSALS)

    @property
    def _seal(self) -> Path:
        return self.folder / "seal"

    def _state(self) -> str:
        stat = self.archive.stat()
        return f"{stat.st_size} {stat.st_mtime_ns}"


def prepare(jvm: Jvm, progress: Progress, cache: Path | None = None) -> Warmup:
    """The warm-up for this Java and these jars, made now if there is none."""
    shelf = (cache or cache_folder()) / "warmup"
    warmup = Warmup(shelf / key_of(jvm))
    if not warmup.is_whole():
        with only_one(shelf / "lock", progress):
            if not warmup.is_whole():
                progress("preparing Kafka for quick starts (once, about ten seconds)")
                _make(jvm, warmup)
    return warmup


def key_of(jvm: Jvm) -> str:
    """The JVM compares paths, sizes and times of the jars with those that the archive was made of."""
    stats = ((path, path.stat()) for path in jvm.jars)
    lines = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats]
    return hashlib.sha256("\n".join([jvm.java.build, *lines]).encode()).hexdigest()[:16]


def _make(jvm: Jvm, warmup: Warmup) -> None:
    """Built in a folder beside and moved when complete, so that nobody sees half of it."""
    make_room(warmup.folder.parent)
    with tempfile.TemporaryDirectory(dir=warmup.folder.parent, prefix=".making-") as scratch:
        made = Warmup(Path(scratch) / "made")
        made.folder.mkdir()
        _format(jvm, Path(scratch) / "format", made.checkpoint)
        _archive(jvm, Path(scratch) / "run", made)
        made.seal()
        shutil.rmtree(warmup.folder, ignore_errors=True)
        made.folder.rename(warmup.folder)


def make_room(shelf: Path) -> None:
    """Only the holder of the lock makes anything: what is half made was left by one that was killed."""
    whole = [path for path in shelf.iterdir() if path.is_dir() and not path.name.startswith(".")]
    by_age = sorted(whole, key=lambda path: path.stat().st_mtime)
    for old in (*shelf.glob(".making-*"), *by_age[: -KEPT_MAX + 1]):
        shutil.rmtree(old)


def _format(jvm: Jvm, folder: Path, checkpoint: Path) -> None:
    properties = write_properties(
        folder / "server.properties", {**SETTINGS, **addresses(1, 2), "log.dirs": f"{folder}/data"}
    )
    command = jvm.command("kafka.tools.StorageTool", "format", "-t", new_id(), "-c", str(properties))
    done = subprocess.run(command, capture_output=True, text=True, timeout=FORMAT_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise EmbeddedError(f"Kafka's StorageTool could not format {folder}:\n{done.stdout}{done.stderr}")
    shutil.move(folder / "data" / CHECKPOINT, checkpoint)


def _archive(jvm: Jvm, state: Path, made: Warmup) -> None:
    """One broker, used once and stopped: on its way out the JVM writes what it had loaded."""
    recording = jvm.with_flags(f"-XX:ArchiveClassesAtExit={made.archive}")
    with Supervisor(state) as supervisor:
        child, kafka = describe(state, "kafka", recording, made.checkpoint, {})
        supervisor.start(replace(child, stop_grace_s=ARCHIVED_WITHIN_S))
        exercise(kafka.bootstrap)
    if not made.archive.is_file():
        raise EmbeddedError("Java wrote no class-data archive:\n" + supervisor.log("kafka").read_text()[-2000:])
