from __future__ import annotations

from pathlib import Path

import pytest
from penstock.enrichment.config import PREFIX, load
from penstock.serving.errors import ConfigError


def test_defaults_need_no_environment() -> None:
    config = load({})
    assert config.kafka == {"bootstrap.servers": "127.0.0.1:9092"}
    assert config.state_folder is None


def test_the_state_folder_is_made(tmp_path: Path) -> None:
    wanted = tmp_path / "a" / "b"
    assert load({PREFIX + "STATE_FOLDER": str(wanted)}).state_folder == wanted
    assert wanted.is_dir()


def test_another_map_of_topics_is_a_file(tmp_path: Path) -> None:
    assert load({}).topic_map is None
    path = tmp_path / "topics.yaml"
    path.write_text("version: 1")
    assert load({"PENSTOCK_TOPIC_MAP": str(path)}).topic_map == path


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load({PREFIX + "RECORDS_MAX": "0", PREFIX + "TOPICS": "x", PREFIX + "HORIZN": "1"})
    assert len(caught.value.faults) == 3
