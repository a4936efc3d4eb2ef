from __future__ import annotations

from pathlib import Path

import pytest
from penstock.jobs.config import load
from penstock.jobs.session import spark_settings
from penstock.serving.errors import ConfigError


def test_that_without_settings_it_runs_here() -> None:
    config = load({})
    assert (config.master, config.kafka, config.jars) == ("local[2,4]", {"bootstrap.servers": "127.0.0.1:9092"}, ())


def test_that_all_faults_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load({"PENSTOCK_JOBS_STATE_PARTITIONS": "0", "PENSTOCK_JOBS_RECORD_MAX": "5", "PENSTOCK_JOBS_TOPICS": "maybe"})
    text = str(caught.value)
    for fault in ("STATE_PARTITIONS='0' must be", "RECORD_MAX is not a setting", "TOPICS='maybe' must be one of"):
        assert fault in text


def test_that_sparks_own_settings_win(tmp_path: Path) -> None:
    file = tmp_path / "spark.conf"
    file.write_text("spark.ui.enabled=true\nspark.executor.instances=2\n")
    jars = [tmp_path / "a.jar", tmp_path / "b.jar"]
    for jar in jars:
        jar.touch()
    config = load({"PENSTOCK_JOBS_SPARK_CONFIG_FILE": str(file), "PENSTOCK_JOBS_JARS": ", ".join(map(str, jars))})
    settings = spark_settings(config)
    assert (settings["spark.ui.enabled"], settings["spark.executor.instances"]) == ("true", "2")
    assert settings["spark.jars"] == f"{jars[0]},{jars[1]}"
    assert settings["spark.sql.shuffle.partitions"] == "2"
