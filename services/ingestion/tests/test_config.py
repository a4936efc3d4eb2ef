from __future__ import annotations

import base64
from pathlib import Path

import pytest
from penstock.ingestion.config import PREFIX, SETTINGS, load
from penstock.serving.errors import ConfigError
from penstock.serving.settings import describe


def test_defaults_need_no_environment() -> None:
    config = load({})
    assert config.listen == "0.0.0.0:7070"
    assert config.limits.events_max == 5_000
    assert config.clock_keys_are_random
    assert config.kafka == {"bootstrap.servers": "127.0.0.1:9092"}


def test_all_faults_are_told_at_once() -> None:
    environment = {
        PREFIX + "WORKERS": "many",
        PREFIX + "LISTEN": "7070",
        PREFIX + "TLS_CERTIFICATE": "/no/such/file",
        PREFIX + "WORKRES": "2",
        PREFIX + "DRIFT_PPM_MAX": "0",
        PREFIX + "TOPICS": "maybe",
    }
    with pytest.raises(ConfigError) as caught:
        load(environment)
    for words in (
        "WORKERS='many' must be a whole number from 0 to 256",
        "LISTEN='7070' must be HOST:PORT",
        "TLS_CERTIFICATE='/no/such/file' names a file that does not exist",
        "WORKRES is not a setting",
        "DRIFT_PPM_MAX='0' must be a whole number from 1",
        "TOPICS='maybe' must be one of verify, create",
    ):
        assert sum(words in fault for fault in caught.value.faults) == 1, words


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    certificate = tmp_path / "tls.crt"
    certificate.write_text("x")
    with pytest.raises(ConfigError, match="must be given together"):
        load({PREFIX + "TLS_CERTIFICATE": str(certificate)})


def test_keys_rotate_by_lines_of_a_file(tmp_path: Path) -> None:
    keys = [b"n" * 32, b"o" * 16]
    path = tmp_path / "keys"
    path.write_text("\n".join(base64.b64encode(key).decode() for key in keys) + "\n")
    config = load({PREFIX + "CLOCK_KEY_FILE": str(path)})
    assert config.clock_keys == tuple(keys)
    assert not config.clock_keys_are_random
    path.write_text("c2hvcnQ=")
    with pytest.raises(ConfigError, match="key 1 has 5 bytes"):
        load({PREFIX + "CLOCK_KEY_FILE": str(path)})
    path.write_text("no base64!")
    with pytest.raises(ConfigError, match="is not base64"):
        load({PREFIX + "CLOCK_KEY_FILE": str(path)})


def test_kafka_settings_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "kafka.properties"
    path.write_text("# secure\nsecurity.protocol = SASL_SSL\n\nsasl.username=me\n")
    kafka = load({"PENSTOCK_KAFKA_CONFIG_FILE": str(path), "PENSTOCK_BOOTSTRAP": "k:1"}).kafka
    assert kafka == {"bootstrap.servers": "k:1", "security.protocol": "SASL_SSL", "sasl.username": "me"}
    path.write_text("nonsense")
    with pytest.raises(ConfigError, match="line 1 is not NAME=VALUE"):
        load({"PENSTOCK_KAFKA_CONFIG_FILE": str(path)})


def test_another_map_of_topics_is_a_file(tmp_path: Path) -> None:
    assert load({}).topic_map is None
    path = tmp_path / "topics.yaml"
    path.write_text("version: 1")
    assert load({"PENSTOCK_TOPIC_MAP": str(path)}).topic_map == path
    with pytest.raises(ConfigError, match="PENSTOCK_TOPIC_MAP='/no/such' names a file that does not exist"):
        load({"PENSTOCK_TOPIC_MAP": "/no/such"})


def test_help_lists_every_setting() -> None:
    text = describe(SETTINGS)
    assert all(setting.variable in text for setting in SETTINGS.values())
