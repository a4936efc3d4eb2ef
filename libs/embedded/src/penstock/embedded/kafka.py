"""A real single-node Kafka (KRaft: broker and controller in one JVM) as a child.

In:  a supervisor, and whether the broker is for tests and demos or for load.
Out: a broker that answers on a loopback port which it keeps over restarts, with
     its data below the supervisor's state folder.
Guaranteed: a record acknowledged with acks=all is there after kill -9 and restart;
     topics exist only where somebody created them.
"""

from collections.abc import Mapping

from penstock.embedded.broker import Kafka, describe
from penstock.embedded.cache import Progress
from penstock.embedded.jars import ensure
from penstock.embedded.java import find_java
from penstock.embedded.jvm import Jvm
from penstock.embedded.supervisor import Supervisor
from penstock.embedded.warmup import Warmup, prepare

HEAP_MB = 256


def start_kafka(
    supervisor: Supervisor,
    *,
    name: str = "kafka",
    for_load: bool = False,
    heap_mb: int = HEAP_MB,
    settings: Mapping[str, str] | None = None,
) -> Kafka:
    """Starts a broker and returns when it answers.

    `for_load` leaves the optimising compiler on: slower to start, faster under load.
    `settings` are broker properties that win over ours.
    """
    jvm, warmup = prepare_kafka(supervisor.progress)
    report = supervisor.state / name / "archive.log"
    fast = jvm.tuned(heap_mb, for_load=for_load).with_flags(*warmup.flags(report))
    child, kafka = describe(supervisor.state, name, fast, warmup.checkpoint, settings or {})
    supervisor.start(child)
    if warmup.was_refused(report):
        supervisor.progress("Java did not accept the class-data archive; the next start makes a new one")
        warmup.discard()
    return kafka


def prepare_kafka(progress: Progress) -> tuple[Jvm, Warmup]:
    """What takes long, once per machine: jars and warm-up.

    Call it before `stop_on_signals`, so that Ctrl-C ends a download at once.
    """
    java = find_java()
    jvm = Jvm(java, tuple(ensure("kafka", java, progress=progress)))
    return jvm, prepare(jvm, progress)
