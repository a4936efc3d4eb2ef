from collections.abc import Callable

import pytest
from penstock.document import InvalidDocumentError
from penstock.pipeline import loads

SMALL = """\
version: 1
event_types:
  post.made:
    about: A post.
    required: [author, post_id]
    optional: [text]
    upserts: {table: posts}
  post.gone:
    about: No post.
    required: [author, post_id]
    deletes: {table: posts}
tables:
  posts:
    source: events
    key: post_id
    columns: [author, text]
    partitioned_by: author
    history: {versions: 5, age: 12h}
  users:
    source: {debezium: {topic: cdc.app.users}}
    key: [realm, name]
    columns: [country, plan]
    partitioned_by: realm
enrichments:
  - event_type: post.made
    table: users
    on: [author, post_id]
    as: writer
    columns: [country]
    wait_for_table: 500ms
  - {event_type: post.made, table: posts, on: post_id, as: post}
"""


@pytest.fixture
def small() -> str:
    """A sound pipeline with every key, to be spoilt line by line."""
    return SMALL


@pytest.fixture
def faults() -> Callable[[str], list[str]]:
    """What is wrong with a pipeline."""

    def found(text: str) -> list[str]:
        with pytest.raises(InvalidDocumentError) as caught:
            loads(text, "p")
        return [str(fault) for fault in caught.value.faults]

    return found
