"""Checks the map against the protobuf contracts.

In:  a map.
Out: the topics whose message does not exist, or has no field that could be the record's key.
"""

import importlib
import pkgutil
from collections.abc import Sequence

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor
from penstock.topics.topic_map import TopicMap


def missing_messages(topic_map: TopicMap) -> list[str]:
    """Name the topics whose message is defined nowhere, each with that message."""
    return [f"{name}: {topic.message}" for name, topic in topic_map.topics.items() if descriptor(topic.message) is None]


def missing_keys(topic_map: TopicMap) -> list[str]:
    """Name the topics whose key is no field of their message, each with that field."""
    missing = []
    for name, topic in topic_map.topics.items():
        message = descriptor(topic.message)
        if message is not None and topic.key not in message.fields_by_name:
            missing.append(f"{name}: {topic.message}.{topic.key}")
    return missing


def descriptor(message: str) -> Descriptor | None:
    """Find a message by its full name; its package's generated modules are imported first."""
    for module in _generated_modules(message.rpartition(".")[0]):
        importlib.import_module(module)
    try:
        return descriptor_pool.Default().FindMessageTypeByName(message)
    except KeyError:
        return None


def _generated_modules(package: str) -> Sequence[str]:
    try:
        paths = importlib.import_module(package).__path__
    except (ModuleNotFoundError, AttributeError):
        return ()
    names = (module.name for module in pkgutil.iter_modules(paths))
    return [f"{package}.{name}" for name in names if name.endswith("_pb2")]
