"""A real Kafka Connect, with Debezium's connector for PostgreSQL, as a child.

In:  a supervisor, the address of a Kafka, connectors.
Out: a worker that answers on a loopback port which it keeps over restarts, with its connectors running. A connector
     that fails later is a ChildFailedError of the supervisor, with the trace of its task.
Guaranteed: how far a connector has read survives kill -9, since it is kept in Kafka, acknowledged by all.

Distributed mode with one worker: it starts as quickly as standalone mode, whose file of offsets is truncated before it
is written. A kill -9 in between would lose the position, and with it the deletes that came after it.
"""

import uuid
from collections.abc import Mapping
from types import MappingProxyType

from penstock.embedded.broker import write_properties
from penstock.embedded.cache import Progress
from penstock.embedded.child import Child
from penstock.embedded.connectors import Connect
from penstock.embedded.jars import ensure
from penstock.embedded.java import find_java
from penstock.embedded.jvm import Jvm
from penstock.embedded.ports import HOST, free_ports
from penstock.embedded.supervisor import Supervisor

HEAP_MB = 384
MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
JSON = "org.apache.kafka.connect.json.JsonConverter"
NONE: Mapping[str, Mapping[str, str]] = MappingProxyType({})

# Each life of the worker is a group of its own: Connect's group would otherwise wait until the session of the life
# before has expired. It is also the host name it reports, so that states of an earlier life are not taken for its own.
LIFE = 'CONNECT_LIFE=life-$$ exec "$0" "$@"'

SETTINGS: Mapping[str, str] = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "group.id": "${env:CONNECT_LIFE}",
    "rest.advertised.host.name": "${env:CONNECT_LIFE}",
    "key.converter": JSON,
    "key.converter.schemas.enable": "false",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    # All plugins are on the class path, by name. Scanning for others takes 8 s and 350 MB.
    "plugin.discovery": "service_load",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "config.storage.replication.factor": "-1",
    "offset.storage.replication.factor": "-1",
    "status.storage.replication.factor": "-1",
    # Bounds what is sent again after a kill -9.
    "offset.flush.interval.ms": "500",
    # A change arrives when it is made, not with the next hundred.
    "producer.linger.ms": "0",
    "producer.max.request.size": "4259840",
}


def start_connect(
    supervisor: Supervisor,
    bootstrap: str,
    connectors: Mapping[str, Mapping[str, str]] = NONE,
    *,
    name: str = "connect",
    topic_prefix: str = "",
    heap_mb: int = HEAP_MB,
    settings: Mapping[str, str] | None = None,
) -> Connect:
    """Starts a worker, then the connectors (by name), and returns when all of them run.

    `topic_prefix` is for the topics that Connect keeps for itself. `settings` are worker properties that win over ours.
    """
    jvm = prepare_connect(supervisor.progress).tuned(heap_mb, for_load=False)
    [port] = free_ports(1)
    connect = Connect(f"http://{HOST}:{port}", name)
    worker = {
        **SETTINGS,
        **_topics(f"{topic_prefix}{name}"),
        "bootstrap.servers": bootstrap,
        "listeners": connect.rest_url,
        **(settings or {}),
    }
    properties = write_properties(supervisor.state / name / "worker.properties", worker)

    def life() -> str:
        return f"life-{supervisor.pid(name)}"

    supervisor.start(
        Child(
            name,
            ("/bin/sh", "-c", LIFE, *jvm.command(MAIN, str(properties))),
            ready=lambda: connect.missing(life()),
            fault=lambda: connect.fault(life()),
        )
    )
    for connector, configuration in connectors.items():
        connect.add(connector, configuration)
    return connect


def prepare_connect(progress: Progress) -> Jvm:
    """What takes long, once per machine. Call it before `stop_on_signals`, so that Ctrl-C ends a download at once."""
    java = find_java()
    connect, debezium = (ensure(jars, java, progress=progress) for jars in ("connect", "debezium"))
    known = {jar.name for jar in connect}
    return Jvm(java, (*connect, *(jar for jar in debezium if jar.name not in known)))


def _topics(name: str) -> dict[str, str]:
    """Offsets outlive a start. Connectors and their states do not: what runs is what this start was asked for."""
    start = uuid.uuid4().hex[:8]
    return {
        "offset.storage.topic": f"{name}-offsets",
        "config.storage.topic": f"{name}-connectors-{start}",
        "status.storage.topic": f"{name}-states-{start}",
    }
