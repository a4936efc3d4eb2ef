"""Kafka's settings for Java clients, from those of librdkafka that all of our services take.

In:  librdkafka's names (PENSTOCK_KAFKA_CONFIG_FILE). Out: the Java clients' names for the same.
What Java clients have no counterpart for, and what is secret and would be lost on the way, is a fault, not a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.serving.errors import ConfigError

# The same in both.
_SAME: Final = {
    "bootstrap.servers",
    "client.id",
    "security.protocol",
    "ssl.endpoint.identification.algorithm",
    "request.timeout.ms",
    "retries",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "metadata.max.age.ms",
    "socket.connection.setup.timeout.ms",
}
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_SASL: Final = {"sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"}
# Of librdkafka only, and nothing that a Java client would need to be told.
_IGNORED: Final = {"log.connection.close", "socket.keepalive.enable", "broker.address.family", "statistics.interval.ms"}


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """ConfigError names every setting that cannot be carried over."""
    java = {name: value for name, value in settings.items() if name in _SAME}
    if "security.protocol" in java:
        java["security.protocol"] = java["security.protocol"].upper()
    faults = [
        f"{name} of PENSTOCK_KAFKA_CONFIG_FILE has no counterpart in Spark's Kafka client"
        for name in settings
        if name not in _SAME | _SASL | _IGNORED and not name.startswith("ssl.")
    ]
    if any(name in settings for name in _SASL):
        java |= _sasl(settings, faults)
    java |= _tls(settings, faults)
    if faults:
        raise ConfigError(faults)
    return java


def _sasl(settings: Mapping[str, str], faults: list[str]) -> dict[str, str]:
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", ""))
    module = _MODULES.get(mechanism)
    if module is None:
        faults.append(f"sasl.mechanism={mechanism!r} must be one of {', '.join(_MODULES)}")
        return {}
    user, password = (_quoted(settings.get(f"sasl.{name}", "")) for name in ("username", "password"))
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{module} required username={user} password={password};",
    }


def _tls(settings: Mapping[str, str], faults: list[str]) -> dict[str, str]:
    java: dict[str, str] = {}
    for name, value in settings.items():
        if name == "ssl.ca.location":
            java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": value}
        elif name == "ssl.keystore.location":
            java |= {"ssl.keystore.location": value, "ssl.keystore.type": "PKCS12"}
        elif name in {"ssl.keystore.password", "ssl.key.password"}:
            java[name] = value
        elif name.startswith("ssl.") and name not in _SAME:
            faults.append(f"{name} of PENSTOCK_KAFKA_CONFIG_FILE has no counterpart in Spark's Kafka client")
    return java


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
