"""Asks a broker whether it is ready for clients, in the ways that clients use it.

In:  its port on the loopback interface.
Out: None when it is ready, else what is missing. Ready means: it has joined its
     cluster, has a coordinator for consumer groups, and gives ids to idempotent
     producers. Left to the first client, the last two cost it three seconds and a warning.
"""

import logging
import socket
import struct

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from penstock.embedded.child import Probe
from penstock.embedded.ports import HOST

ANSWER_TIMEOUT_S = 2.0
GROUP = "penstock-readiness"
NOT_YET = frozenset(
    {
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
    }
)


def answers(port: int) -> Probe:
    """The probe for a broker on this port."""

    def probe() -> str | None:
        address = f"{HOST}:{port}"
        try:
            return _ids_missing(port) or _cluster_missing(quiet_admin(address))
        except OSError:
            return f"nothing listens on {address} yet"
        except KafkaException as error:
            return f"no answer on {address}: {error}"

    return probe


def quiet_admin(bootstrap: str) -> AdminClient:
    """A client whose complaints about a broker that is not there yet stay off the terminal."""
    silent = logging.Logger("penstock.embedded.librdkafka")
    silent.addHandler(logging.NullHandler())
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}, logger=silent)


def _cluster_missing(admin: AdminClient) -> str | None:
    if not admin.list_topics(timeout=ANSWER_TIMEOUT_S).brokers:
        return "the broker has not joined its cluster yet"
    described = admin.describe_consumer_groups([GROUP], request_timeout=ANSWER_TIMEOUT_S)
    try:
        described[GROUP].result(ANSWER_TIMEOUT_S * 2)
    except KafkaException as error:
        # That there is no such group is an answer too.
        if error.args[0].code() in NOT_YET:
            return "there is no coordinator for consumer groups yet"
    return None


def _ids_missing(port: int) -> str | None:
    """InitProducerId, version 0. No client library asks for an id without retrying slowly by itself."""
    client = b"penstock"
    request = struct.pack(f">hhih{len(client)}shi", 22, 0, 1, len(client), client, -1, 60_000)
    with socket.create_connection((HOST, port), ANSWER_TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answer:
            content = answer.read(4 + 4 + 4 + 2)  # length, correlation, throttle time, error
    error = struct.unpack(">iiih", content)[3] if len(content) == 14 else -1
    return None if error == 0 else f"the broker gives no producer ids yet (error {error})"
