"""What a broker child consists of: settings, storage, command, and how to ask it.

In:  a JVM with Kafka's jars, the checkpoint of a formatted storage, a state folder.
Out: a `Child` for the supervisor, and the address that clients will need.
The ports are chosen here, once, so that every restart of the child has the same ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded.child import Child
from penstock.embedded.jvm import Jvm
from penstock.embedded.ports import HOST, free_ports
from penstock.embedded.readiness import answers
from penstock.embedded.storage import is_formatted, write_storage

SETTINGS: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "BROKER",
    "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    # A misspelt topic is an error, not a new topic.
    "auto.create.topics.enable": "false",
    # One node: nothing to replicate to, and few partitions make few files.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    # Nobody waits three seconds for further consumers that will not come.
    "group.initial.rebalance.delay.ms": "0",
    # A broker that was killed may register again only when the session of its last life has expired:
    # with the default of 9 s a restart takes 11 s, with this 3 to 4 s.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "400",
    # The default of 128 MB does not fit a small heap.
    "log.cleaner.dedupe.buffer.size": "16777216",
}


@dataclass(frozen=True)
class Kafka:
    """A running broker: what clients need, and its name for `supervisor.kill` and `restart`."""

    bootstrap: str
    name: str


def describe(state: Path, name: str, jvm: Jvm, checkpoint: Path, settings: Mapping[str, str]) -> tuple[Child, Kafka]:
    """Writes the broker's settings, and its storage where there is none yet."""
    folder = state / name
    data = folder / "data"
    client_port, controller_port = free_ports(2)
    places = {**addresses(client_port, controller_port), "log.dirs": str(data)}
    properties = write_properties(folder / "server.properties", {**SETTINGS, **places, **settings})
    if not is_formatted(data):
        write_storage(data, checkpoint)
    child = Child(name, jvm.command("kafka.Kafka", str(properties)), answers(client_port))
    return child, Kafka(f"{HOST}:{client_port}", name)


def addresses(client_port: int, controller_port: int) -> dict[str, str]:
    broker = f"BROKER://{HOST}:{client_port}"
    return {
        "listeners": f"{broker},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": broker,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
    }


def write_properties(path: Path, settings: Mapping[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path
