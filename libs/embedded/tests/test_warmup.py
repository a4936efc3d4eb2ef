"""When a warm-up is used, and when it is made again; the JVM is a stub here, the real one starts every broker."""

import os
import subprocess
from pathlib import Path

import pytest
from penstock.embedded.jarlock import read_set
from penstock.embedded.java import Java, find_java
from penstock.embedded.jvm import Jvm
from penstock.embedded.warmup import Warmup, key_of, make_room


@pytest.fixture
def warmup(tmp_path: Path) -> Warmup:
    made = Warmup(tmp_path)
    made.archive.write_bytes(b"classes" * 10_000)
    made.checkpoint.write_bytes(b"levels")
    made.seal()
    return made


def test_a_sealed_one_is_whole(warmup: Warmup) -> None:
    assert warmup.is_whole()


def test_one_that_was_cut_short_or_discarded_is_not(warmup: Warmup) -> None:
    warmup.archive.write_bytes(b"class")
    assert not warmup.is_whole()
    warmup.seal()
    assert warmup.is_whole()
    warmup.discard()
    assert not warmup.is_whole()


def test_what_was_never_made_is_not_whole(tmp_path: Path) -> None:
    assert not Warmup(tmp_path / "nowhere").is_whole()


def test_one_that_was_changed_is_not(warmup: Warmup) -> None:
    warmup.archive.write_bytes(b"CLASSES")
    os.utime(warmup.archive, ns=(1, 1))
    assert not warmup.is_whole()


def test_the_real_jvm_reports_whether_it_took_the_archive(warmup: Warmup, tmp_path: Path) -> None:
    java = find_java().executable
    for name, archive in (("refused", warmup.flags(tmp_path / "refused")), ("taken", _system_archive(tmp_path))):
        subprocess.run([java, *archive, "-version"], capture_output=True, check=True, timeout=60)
        assert warmup.was_refused(tmp_path / name) is (name == "refused")


def _system_archive(folder: Path) -> tuple[str, ...]:
    return (f"-Xlog:cds=info:file={folder / 'taken'}",)


def test_another_java_or_jar_needs_another_one(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_text("a")
    jvm = Jvm(Java(Path("java"), Path("home"), 17, "Debian 17.0.1"), (jar,))
    newer = Jvm(Java(Path("java"), Path("home"), 17, "Debian 17.0.2"), (jar,))
    keys = {key_of(jvm), key_of(newer)}
    jar.write_text("ab")
    keys.add(key_of(jvm))
    assert len(keys) == 3
    assert key_of(jvm) == key_of(jvm.tuned(512, for_load=True))


def test_old_ones_and_half_made_ones_make_room(tmp_path: Path) -> None:
    for age, name in enumerate(("newest", "newer", "older", "oldest", ".making-x")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    make_room(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["newer", "newest"]


def test_the_jar_set_has_a_logging_binding() -> None:
    assert any(jar.file.startswith("slf4j-reload4j") for jar in read_set("kafka").jars)
