"""Settings from the environment: one row each, read once, every fault reported at once.

In:  rows (`Setting`) and an environment. Out: parsed values, or a ConfigError that lists all faults; a text for --help.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.serving.errors import ConfigError

Parse = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Setting:
    variable: str
    default: str
    parse: Parse
    about: str


Rows = Mapping[str, Setting]


def rows(prefix: str, *table: tuple[str, str, str, Parse, str]) -> Rows:
    """(name, variable, default, parse, about): a variable that does not start with PENSTOCK_ gets the prefix."""
    return {
        name: Setting(variable if variable.startswith("PENSTOCK_") else prefix + variable, default, parse, about)
        for name, variable, default, parse, about in table
    }


def read(prefix: str, settings: Rows, environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The values that could be read, and the faults of the others. A variable with our prefix and no row is a fault."""
    values: dict[str, Any] = {}
    faults: list[str] = []
    for name, setting in settings.items():
        given = environment.get(setting.variable, setting.default)
        try:
            values[name] = setting.parse(given)
        except ValueError as error:
            faults.append(f"{setting.variable}={given!r} {error}")
    known = {setting.variable for setting in settings.values()}
    strange = [variable for variable in environment if variable.startswith(prefix) and variable not in known]
    return values, faults + [f"{variable} is not a setting" for variable in strange]


def tls_faults(prefix: str, values: Mapping[str, Any]) -> list[str]:
    """Of the settings tls_certificate, tls_key and tls_client_ca, which go together."""
    faults = []
    if bool(values.get("tls_certificate")) != bool(values.get("tls_key")):
        faults.append(f"{prefix}TLS_CERTIFICATE and {prefix}TLS_KEY must be given together")
    elif values.get("tls_certificate"):
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                values["tls_certificate"], values["tls_key"]
            )
        except ssl.SSLError as error:
            faults.append(f"{prefix}TLS_CERTIFICATE and {prefix}TLS_KEY are no PEM certificate and its key: {error}")
    if values.get("tls_client_ca") and not values.get("tls_certificate"):
        faults.append(f"{prefix}TLS_CLIENT_CA needs {prefix}TLS_CERTIFICATE")
    return faults


def raise_if(faults: list[str]) -> None:
    if faults:
        raise ConfigError(faults)


def describe(settings: Rows) -> str:
    width = max(len(setting.variable) for setting in settings.values())
    lines = [f"  {s.variable:<{width}}  {s.about} [{s.default or 'none'}]" for s in settings.values()]
    return "Settings (environment variables) [default]:\n" + "\n".join(lines)


def usage(program: str, arguments: Sequence[str], settings: Rows) -> int:
    """Answers --help, and any other argument with what is wrong; the exit code."""
    if arguments[0] in {"-h", "--help"}:
        sys.stdout.write(f"Usage: python -m {program}\n\n{describe(settings)}\n")
        return 0
    sys.stderr.write(f"unknown argument {arguments[0]!r}: settings are environment variables; --help lists them\n")
    return 2


def text(value: str) -> str:
    return value


def service_rows(port: int, metrics_port: int) -> tuple[tuple[str, str, str, Parse, str], ...]:
    """What every service of ours can be told: addresses, Kafka, the pipeline, TLS, limits of calls, and its end."""
    return (
        ("listen", "LISTEN", f"0.0.0.0:{port}", address, "where gRPC is served; port 0 takes a free one"),
        ("metrics_listen", "METRICS_LISTEN", f"0.0.0.0:{metrics_port}", address, "where Prometheus scrapes"),
        ("bootstrap", "PENSTOCK_BOOTSTRAP", "127.0.0.1:9092", text, "Kafka's bootstrap servers"),
        ("kafka_file", "PENSTOCK_KAFKA_CONFIG_FILE", "", properties_file, "librdkafka settings, NAME=VALUE per line"),
        ("topic_prefix", "PENSTOCK_TOPIC_PREFIX", "", text, "stands before the names of topics and groups"),
        ("topic_map", "PENSTOCK_TOPIC_MAP", "", existing_file, "topics.yaml; default: the map that is shipped"),
        ("topics", "TOPICS", "verify", one_of("verify", "create"), "missing topics: verify (wait for them) or create"),
        ("pipeline", "PENSTOCK_PIPELINE", "", existing_file, "pipeline.yaml; default: the social pipeline"),
        ("tls_certificate", "TLS_CERTIFICATE", "", existing_file, "PEM chain; with it, gRPC is served over TLS"),
        ("tls_key", "TLS_KEY", "", existing_file, "PEM key of the certificate"),
        ("tls_client_ca", "TLS_CLIENT_CA", "", existing_file, "PEM roots; with them, clients need certificates"),
        ("concurrent_rpcs_max", "CONCURRENT_RPCS_MAX", "4096", whole(1, 1_000_000), "calls under way per process"),
        ("connection_age_max_s", "CONNECTION_AGE_MAX_S", "300", whole(1, 86_400), "connections are renewed after this"),
        ("drain_wait_s", "DRAIN_WAIT_S", "3", whole(0, 300), "on stop: time for balancers to see NOT_SERVING"),
        ("drain_grace_s", "DRAIN_GRACE_S", "20", whole(1, 600), "on stop: time for what is under way"),
    )


def whole(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not value.lstrip("-").isdigit() or not least <= int(value) <= most:
            raise ValueError(f"must be a whole number from {least:,} to {most:,}")
        return int(value)

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return value

    return parse


def address(value: str) -> str:
    host, colon, port = value.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError("must be HOST:PORT, for example 0.0.0.0:7070")
    return value


def existing_file(value: str) -> Path | None:
    if not value:
        return None
    path = Path(value)
    if not os.access(path, os.R_OK) or not path.is_file():
        raise ValueError("names a file that does not exist or cannot be read")
    return path


def properties_file(value: str) -> dict[str, str]:
    """librdkafka's settings, NAME=VALUE per line."""
    path = existing_file(value)
    settings = {}
    for number, line in enumerate(path.read_text().splitlines() if path else (), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, setting = line.partition("=")
        if not equals:
            raise ValueError(f"names a file whose line {number} is not NAME=VALUE")
        settings[name.strip()] = setting.strip()
    return settings
