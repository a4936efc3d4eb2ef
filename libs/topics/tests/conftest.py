import pytest

SMALL = """\
version: 1
steps:
  maker: Makes things.
  taker: Takes things.
topics:
  things.made.v1:
    about: A thing.
    message: penstock.events.v1.Event
    key: key
    partitions: 4
    cleanup: delete
    retention: 7d
    max_message_bytes: 2048
    producers: [maker]
    consumers: [taker]
    dead_letters: things.odd.v1
  things.odd.v1:
    about: An odd thing.
    message: penstock.events.v1.RejectedBatch
    key: device_id
    partitions: 1
    cleanup: delete
    retention: unlimited
    max_message_bytes: 4096
    producers: [taker]
    consumers: []
    dead_letters: none
"""


@pytest.fixture
def small() -> str:
    """A sound map with two topics, to be spoilt line by line."""
    return SMALL
