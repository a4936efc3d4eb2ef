from __future__ import annotations

from pathlib import Path

import pytest
from penstock.serving.errors import ConfigError
from penstock.serving.settings import describe
from penstock.timelines.config import PREFIX, SETTINGS, load


def test_defaults_need_no_environment() -> None:
    config = load({})
    assert config.kafka == {"bootstrap.servers": "127.0.0.1:9092"}
    assert (config.replica, config.replicas, config.peers) == (0, 1, ())
    assert (config.limit_default, config.state_folder, config.topic_map) == (50, None, None)


def test_the_state_folder_is_made(tmp_path: Path) -> None:
    wanted = tmp_path / "a" / "b"
    assert load({PREFIX + "STATE_FOLDER": str(wanted)}).state_folder == wanted
    assert wanted.is_dir()
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ConfigError, match="is no folder and cannot be made one"):
        load({PREFIX + "STATE_FOLDER": str(file)})


@pytest.mark.parametrize(("given", "number"), [("0", 0), ("2", 2), ("timeline-2", 2), ("penstock-timeline-02", 2)])
def test_a_replica_knows_its_number_from_the_name_of_its_pod(given: str, number: int) -> None:
    environment = {PREFIX + "REPLICA": given, PREFIX + "REPLICAS": "3", PREFIX + "PEERS": "a:1,b:2,c:3"}
    assert load(environment).replica == number


@pytest.mark.parametrize(
    ("peers", "addresses"),
    [
        ("a:1, b:2,c:3", ("a:1", "b:2", "c:3")),
        ("t-{replica}.t:7072", ("t-0.t:7072", "t-1.t:7072", "t-2.t:7072")),
        ("127.0.0.1:700{replica}", ("127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002")),
    ],
)
def test_peers_are_a_list_or_a_template(peers: str, addresses: tuple[str, ...]) -> None:
    assert load({PREFIX + "REPLICAS": "3", PREFIX + "PEERS": peers}).peers == addresses


@pytest.mark.parametrize(
    ("environment", "fault"),
    [
        ({"REPLICA": "timeline"}, "must be a number, or a name that ends in one"),
        ({"REPLICA": "1"}, "REPLICA is 1, but there are 1, counted from 0"),
        ({"REPLICAS": "2"}, "PEERS must be given"),
        ({"REPLICAS": "2", "PEERS": "a:1"}, "PEERS has 1 addresses, but there are 2 replicas"),
        ({"REPLICAS": "2", "PEERS": "a:1,b-{replica}:2"}, "one address with {replica} in it, or all addresses"),
        ({"REPLICAS": "2", "PEERS": "a:1,b"}, "has 'b', which is not HOST:PORT"),
        ({"LIMIT_DEFAULT": "60", "LIMIT_MAX": "59"}, "LIMIT_DEFAULT is more than"),
        ({"FAILPOINTS": "nowhere=3"}, "must be NAME=PERMILLE"),
        ({"HEARTBEET_S": "3"}, "PENSTOCK_TIMELINE_HEARTBEET_S is not a setting"),
    ],
)
def test_what_does_not_fit_is_told(environment: dict[str, str], fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({PREFIX + name: value for name, value in environment.items()})
    assert fault in str(caught.value)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load({PREFIX + "HEARTBEAT_S": "0", PREFIX + "TOPICS": "x", PREFIX + "REPLICA": "9"})
    assert len(caught.value.faults) == 3


def test_help_lists_every_setting() -> None:
    text = describe(SETTINGS)
    assert all(setting.variable in text for setting in SETTINGS.values())
