"""The map of topics: which there are, what they carry, who writes and who reads them.

In:  topics.yaml, and the tables that a pipeline declares.
Out: a `TopicMap`. `penstock.topics.kafka` creates, verifies and describes the topics of a map.
"""

from penstock.topics.contracts import missing_keys, missing_messages
from penstock.topics.partitioning import murmur2_partition
from penstock.topics.schema import Cycle, Topic
from penstock.topics.tables import DeclaredTable
from penstock.topics.topic_map import TopicMap, load, loads

__all__ = [
    "Cycle",
    "DeclaredTable",
    "Topic",
    "TopicMap",
    "load",
    "loads",
    "missing_keys",
    "missing_messages",
    "murmur2_partition",
]
