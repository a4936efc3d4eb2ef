from __future__ import annotations

from pathlib import Path

import pytest
from penstock.jobs.connector import connector_jars
from penstock.serving.errors import ConfigError


def test_that_jars_that_are_named_are_used(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.touch()
    assert connector_jars([str(jar), "local:///opt/b.jar"]) == [str(jar), "local:///opt/b.jar"]


def test_that_a_jar_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigError, match=r"names nowhere\.jar, which does not exist"):
        connector_jars(["nowhere.jar"])


def test_that_a_developers_machine_has_them_in_the_cache() -> None:
    assert any("spark-sql-kafka" in jar for jar in connector_jars([]))
