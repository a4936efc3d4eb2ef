"""What one process is made of, put together: everything but gRPC's server and the order of its life.

In:  settings, the pipeline's section `timeline`, the map of topics. Out: the parts.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import grpc
from penstock.pipeline import Pipeline, Timeline, fingerprint
from penstock.serving.topics import topics_are_there
from penstock.timelines.applier import Applier
from penstock.timelines.bell import Bell
from penstock.timelines.config import Config
from penstock.timelines.consistency import DELIVERIES, RAW, Consistency, Sources
from penstock.timelines.description import Description
from penstock.timelines.failpoints import failpoint
from penstock.timelines.forwarding import Forwarding
from penstock.timelines.held import Holdings
from penstock.timelines.log import Log
from penstock.timelines.metrics import Metrics
from penstock.timelines.ownership import Ownership
from penstock.timelines.pages import Limits
from penstock.timelines.progress import Progress
from penstock.timelines.questions import Committed, Ends, Shared
from penstock.timelines.recovery import Recovery
from penstock.timelines.refilling import Refilling
from penstock.timelines.saving import Saving
from penstock.timelines.servicer import SERVICE, TimelineServicer
from penstock.timelines.snapshot import Origin
from penstock.timelines.store import IMAGE_FORMAT, Shape
from penstock.timelines.subscriptions import Rules, Subscriptions
from penstock.topics import TopicMap
from penstock.topics.admin import Admin

REFILLS = "timeline.refills.v1"
PROGRESS = "timeline.progress.v1"
ASK_TIMEOUT_S = 30.0


class Replica:
    """Everything that one process is made of. `timeline` is the pipeline's section."""

    def __init__(
        self, config: Config, pipeline: Pipeline, timeline: Timeline, topics: TopicMap, metrics: Metrics
    ) -> None:
        self._config = config
        self._topics = topics
        self._metrics = metrics
        self._kafka = dict(config.kafka)
        self._tables = {name: pipeline.tables[name] for name in (timeline.posts.table, timeline.follows.table)}
        self._timeline = timeline
        self._failpoint = failpoint(config.failpoints)
        partitions = topics[DELIVERIES].partitions
        self.shape = Shape(timeline.capacity, timeline.slack, partitions, topics[REFILLS].partitions)
        self.ownership = Ownership(replica=config.replica, replicas=config.replicas, partitions=partitions)
        self.progress = Progress(DELIVERIES, topics.prefix)
        self.log = Log(self._kafka, topics.kafka_name(DELIVERIES), topics.kafka_name(PROGRESS))

    @property
    def _table_topics(self) -> list[str]:
        return [self._topics.tables[name] for name in self._tables]

    async def topics_are_there(self) -> None:
        names = [DELIVERIES, REFILLS, PROGRESS, *self._table_topics]
        await topics_are_there(self._kafka, self._topics, names, missing=self._config.topics)

    def recovered(self) -> tuple[Holdings, dict[int, int]]:
        """Our partitions as they are on disk, and where each one's log ends. May take a while."""
        spans = self.log.spans(self.ownership.own)
        recovery = Recovery(self._config.state_folder, self.shape, secrets.randbits(63))
        held = recovery.recover(self._origins(), spans)
        self._metrics.snapshots.labels("refused").inc(len(recovery.refused))
        return Holdings(held), {number: end for number, (_, end) in spans.items()}

    def _origins(self) -> list[Origin]:
        topic = self._topics.kafka_name(DELIVERIES)
        topic_id = Admin(self._kafka, ASK_TIMEOUT_S).ids([topic])[topic]
        posts, follows = (fingerprint(name, table) for name, table in self._tables.items())
        return [
            Origin(
                topic=topic,
                topic_id=topic_id,
                partition=number,
                partitions=self.shape.partitions,
                shards=self.shape.shards,
                capacity=self.shape.capacity,
                slack=self.shape.slack,
                posts=posts,
                follows=follows,
                image_format=IMAGE_FORMAT,
            )
            for number in self.ownership.own
        ]

    def applier(self, holdings: Holdings, bell: Bell) -> Applier:
        config = self._config
        refilling = Refilling(
            self._kafka,
            self._topics.kafka_name(REFILLS),
            self._metrics,
            outstanding_max=config.refills_max,
            retry_s=config.refill_retry_s,
            record_bytes_max=self._topics[REFILLS].max_message_bytes,
            failpoint=self._failpoint,
        )
        saving = Saving(
            config.state_folder,
            self._metrics,
            entries=config.snapshot_entries,
            age_s=config.snapshot_age_s,
            failpoint=self._failpoint,
        )
        return Applier(
            self.log,
            holdings,
            self.progress,
            refilling,
            saving,
            self._metrics,
            ring=bell.ring,
            failpoint=self._failpoint,
        )

    def consistency(self, holdings: Holdings) -> Consistency:
        topics, names = self._topics, [DELIVERIES, *self._table_topics]
        own_names = {topics.kafka_name(name): name for name in names}
        ask = Ends(self._kafka, {topics.kafka_name(name): topics[name].partitions for name in names})
        group = self._config.topic_prefix + self._config.enrichment_group

        def ends() -> Mapping[tuple[str, int], int]:
            return {(own_names[topic], number): end for (topic, number), end in ask().items()}

        return Consistency(
            Sources(
                partitions={name: topics[name].partitions for name in (RAW, *names)},
                progress=self.progress,
                position=holdings.position,
                committed=Shared(Committed(self._kafka, group, topics.kafka_name(RAW), topics[RAW].partitions)).answer,
                ends=Shared(ends).answer,
            )
        )

    def subscriptions(self) -> Subscriptions:
        config = self._config
        rules = Rules(config.subscribers_max, config.subscriber_queue, config.heartbeat_s, config.connection_age_max_s)
        return Subscriptions(rules, self._metrics)

    def forwarding(self) -> Forwarding:
        return Forwarding(
            self.ownership,
            self._config.peers,
            self._metrics,
            service=SERVICE,
            credentials=_peer_credentials(self._config),
            patience_s=self._config.patience_s,
        )

    def servicer(
        self,
        holdings: Holdings,
        applier: Applier,
        consistency: Consistency,
        subscriptions: Subscriptions,
        forwarding: Forwarding,
    ) -> TimelineServicer:
        config = self._config

        def loading() -> str | None:
            if applier.loaded.is_set():
                return None
            return f"timelines are loading: {applier.load.done} of {applier.load.total} deliveries are applied"

        return TimelineServicer(
            holdings=holdings,
            ownership=self.ownership,
            consistency=consistency,
            subscriptions=subscriptions,
            forwarding=forwarding,
            description=Description(holdings, self.shape, applier.image),
            metrics=self._metrics,
            limits=Limits(config.limit_default, config.limit_max),
            batch_reads_max=config.batch_reads_max,
            patience_s=config.patience_s,
            loading=loading,
        )


def _peer_credentials(config: Config) -> grpc.ChannelCredentials | None:
    """TLS where we serve it ourselves; with our certificate, in case that replicas ask for one."""
    if config.tls_certificate is None or config.tls_key is None:
        return None
    roots = config.peer_ca.read_bytes() if config.peer_ca else None
    return grpc.ssl_channel_credentials(roots, config.tls_key.read_bytes(), config.tls_certificate.read_bytes())
