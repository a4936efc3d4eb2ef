import json
from dataclasses import replace
from pathlib import Path

import pytest
from penstock.embedded.errors import JarsError
from penstock.embedded.jarlock import Jar, JarSet, read_set, read_wanted, write_lock

SET = JarSet("letters", ("org.a:a:1",), (Jar("org.a:a:1", "a-1.jar", "00"), Jar("org.b:b:2:x", "b-2-x.jar", "11")))
WANTED = '[letters]\nroots = ["org.a:a:1"]\n'


def test_every_committed_set_is_locked_and_pinned() -> None:
    for name, wanted in read_wanted().items():
        locked = read_set(name)
        assert set(wanted.roots) <= {jar.coordinates for jar in locked.jars}
        assert all(len(jar.sha256) == 64 for jar in locked.jars)
        assert len({jar.file for jar in locked.jars}) == len(locked.jars)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (tmp_path / "jars.toml").write_text(WANTED)
    write_lock({"letters": SET}, tmp_path / "jars.lock")
    assert read_set("letters", tmp_path) == SET


def test_changed_roots_must_be_locked_again(tmp_path: Path) -> None:
    (tmp_path / "jars.toml").write_text(WANTED.replace(":1", ":2"))
    write_lock({"letters": SET}, tmp_path / "jars.lock")
    with pytest.raises(JarsError, match=r"roots of jar set 'letters' changed.*embedded lock"):
        read_set("letters", tmp_path)


def test_a_set_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "jars.toml").write_text(WANTED)
    (tmp_path / "jars.lock").write_text(json.dumps({}))
    with pytest.raises(JarsError, match="no jar set 'letters'"):
        read_set("letters", tmp_path)


def test_the_digest_names_contents_and_order() -> None:
    assert SET.digest != replace(SET, jars=SET.jars[::-1]).digest
    assert SET.digest != replace(SET, jars=(replace(SET.jars[0], sha256="22"), SET.jars[1])).digest


def test_coordinates_have_an_optional_classifier() -> None:
    assert [jar.parts for jar in SET.jars] == [("org.a", "a", "1", None), ("org.b", "b", "2", "x")]
