"""Waits for Kafka and the topics that a service needs, as long as it takes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Literal

from penstock.topics import TopicMap
from penstock.topics.errors import KafkaUnreachableError, TopicsMissingError
from penstock.topics.kafka import ensure, verify

logger = logging.getLogger(__name__)

RETRY_S = 2.0
# A question under way cannot be cut short, so a stop waits for it: keep it well within anybody's grace.
ASK_TIMEOUT_S = 5.0


async def topics_are_there(
    kafka: Mapping[str, str], topics: TopicMap, names: Sequence[str], *, missing: Literal["verify", "create"]
) -> None:
    """Returns when they are; raises if one is not as the map says. Missing ones are waited for, or created."""
    settle = ensure if missing == "create" else verify
    while True:
        try:
            await asyncio.to_thread(settle, dict(kafka), topics, names=names, timeout_s=ASK_TIMEOUT_S)
        except (KafkaUnreachableError, TopicsMissingError) as error:
            logger.warning("not serving yet: %s; trying again", error)
            await asyncio.sleep(RETRY_S)
        else:
            return
