"""The map of topics: which there are, what they carry, who writes and who reads them.

In:  topics.yaml.
Out: a `TopicMap`. `penstock.topics.kafka` creates, verifies and describes the topics of a map.
"""

from penstock.topics.contracts import missing_keys, missing_messages
from penstock.topics.schema import Cycle, Topic
from penstock.topics.topic_map import TopicMap, load, loads

__all__ = [
    "Cycle",
    "Topic",
    "TopicMap",
    "load",
    "loads",
    "missing_keys",
    "missing_messages",
]
