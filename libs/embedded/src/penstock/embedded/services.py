"""Our own services as children: started by their command line, ready when their gRPC health says SERVING.

In:  a supervisor and the address of a Kafka. Out: where the service answers.
The ports are free ones and stay the same over restarts.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from penstock.embedded.child import Child, Probe
from penstock.embedded.ports import free_ports
from penstock.embedded.supervisor import Supervisor

ASK_TIMEOUT_S = 1.0


@dataclass(frozen=True)
class Service:
    """`address` is gRPC's, `metrics` a URL; both on loopback."""

    name: str
    address: str
    metrics: str


def start_ingestion(
    supervisor: Supervisor,
    bootstrap: str,
    *,
    name: str = "ingestion",
    workers: int = 1,
    environment: Mapping[str, str] | None = None,
) -> Service:
    """Starts ingestion and returns when it serves. It creates its topics; `environment` wins over ours."""
    own = {"PENSTOCK_INGESTION_WORKERS": str(workers)}
    return _start(supervisor, bootstrap, "ingestion", name, own | dict(environment or {}))


def start_enrichment(
    supervisor: Supervisor,
    bootstrap: str,
    *,
    name: str = "enrichment",
    environment: Mapping[str, str] | None = None,
) -> Service:
    """Starts an instance of enrichment and returns when its tables are complete; `environment` wins over ours."""
    own = {"PENSTOCK_ENRICHMENT_INSTANCE": name}
    return _start(supervisor, bootstrap, "enrichment", name, own | dict(environment or {}))


def start_timeline(
    supervisor: Supervisor,
    bootstrap: str,
    *,
    name: str = "timeline",
    replica: int = 0,
    peers: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Service:
    """Starts a replica of the timeline service and returns when it serves; `environment` wins over ours.

    With several, `peers` are the addresses of all of them, in order (`timeline_addresses` finds some).
    """
    own = {"PENSTOCK_TIMELINE_REPLICA": str(replica)}
    address = None
    if peers:
        own |= {"PENSTOCK_TIMELINE_REPLICAS": str(len(peers)), "PENSTOCK_TIMELINE_PEERS": ",".join(peers)}
        address = peers[replica]
    settings = own | dict(environment or {})
    return _start(supervisor, bootstrap, "timeline", name, settings, module="penstock.timelines", address=address)


def timeline_addresses(replicas: int) -> list[str]:
    """For as many replicas of the timeline service, each of which must know all."""
    return [f"127.0.0.1:{port}" for port in free_ports(replicas)]


def _start(
    supervisor: Supervisor,
    bootstrap: str,
    service: str,
    name: str,
    environment: Mapping[str, str],
    *,
    module: str | None = None,
    address: str | None = None,
) -> Service:
    """`module` is penstock.<service> unless said otherwise; `address` a free one."""
    port, metrics_port = free_ports(2)
    address, metrics = address or f"127.0.0.1:{port}", f"127.0.0.1:{metrics_port}"
    prefix = f"PENSTOCK_{service.upper()}_"
    settings = {
        "PENSTOCK_BOOTSTRAP": bootstrap,
        f"{prefix}LISTEN": address,
        f"{prefix}METRICS_LISTEN": metrics,
        f"{prefix}TOPICS": "create",
        f"{prefix}DRAIN_WAIT_S": "0",  # nobody balances load here
        **environment,
    }
    command = (sys.executable, "-m", module or f"penstock.{service}")
    supervisor.start(Child(name, command, ready=serving(address), environment=settings, stop_grace_s=60))
    return Service(name, address, f"http://{metrics}/metrics")


def serving(address: str) -> Probe:
    """Asks gRPC health."""

    def probe() -> str | None:
        with grpc.insecure_channel(address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            try:
                answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=ASK_TIMEOUT_S)
            except grpc.RpcError as error:
                return f"gRPC on {address} answers {error.code().name}"
        return None if answer.status == health_pb2.HealthCheckResponse.SERVING else "health says NOT_SERVING"

    return probe
