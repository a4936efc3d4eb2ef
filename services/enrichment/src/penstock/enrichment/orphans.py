"""Partitions that nobody reads, though the group is at rest.

A cooperative rebalance has two halves: members give partitions up, then others get them. Who dies in between and comes
back by its name (static membership) is given what it had kept, and Kafka sees no reason for the second half: what was
given up belongs to nobody until the next rebalance. So whoever reads least looks now and then, leaves and joins again.
Use from one thread.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from time import monotonic
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
ASK_TIMEOUT_S = 5.0

Places = set[tuple[str, int]]


class Orphans:
    def __init__(self, *, kafka: Mapping[str, str], group: str, member: str, topics: Sequence[str]) -> None:
        self._admin = AdminClient({**kafka, "log.connection.close": False}, logger=logger)
        self._group = group
        self._member = member
        self._topics = topics
        self._seen: Places = set()
        self._looked = monotonic()

    def must_rejoin(self) -> bool:
        """Whether partitions have been nobody's for two looks, and it is this member that should do something."""
        if monotonic() - self._looked < LOOK_EVERY_S:
            return False
        self._looked = monotonic()
        try:
            readers, existing = self._readers(), self._existing()
        except KafkaException as error:
            logger.warning("cannot ask who reads %s: %s", ", ".join(self._topics), error.args[0].str())
            return False
        orphans = existing.difference(*readers.values()) if readers else set()
        lasting, self._seen = orphans & self._seen, orphans
        if not lasting or self._member != least(readers):
            return False
        logger.warning("nobody reads %s: joining the group again", sorted(lasting))
        self._seen = set()
        return True

    def _readers(self) -> dict[str, Places]:
        """What each member reads; empty while the group is not at rest."""
        described = self._admin.describe_consumer_groups([self._group], request_timeout=ASK_TIMEOUT_S)
        group: Any = described[self._group].result()
        if group.state != ConsumerGroupState.STABLE:
            return {}
        return {
            one.group_instance_id or one.member_id: {
                (place.topic, place.partition) for place in one.assignment.topic_partitions
            }
            for one in group.members
        }

    def _existing(self) -> Places:
        topics = self._admin.list_topics(timeout=ASK_TIMEOUT_S).topics
        return {(name, number) for name in self._topics if name in topics for number in topics[name].partitions}


def least(readers: Mapping[str, Collection[tuple[str, int]]]) -> str:
    """Of those who read least, the first by name: all agree on it."""
    return min(readers, key=lambda member: (len(readers[member]), member))
