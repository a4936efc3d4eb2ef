"""Who follows whom is in a database, posts are events: timelines follow both."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from enrichment_stack import PATIENT, WallOnly, until
from penstock.client import Plaintext, Publisher
from penstock.embedded.captures import Captures
from penstock.embedded.services import start_enrichment, start_ingestion
from timeline_stack import asking, pipeline, timeline_stack

CREATE = b"CREATE TABLE follows (follower text, author text, since date, PRIMARY KEY (follower, author))"
AUTHORS = ("ada", "bob", "cem")


@pytest.mark.timeout(600)
def test_timelines_follow_the_database(cdc: Captures, topic_prefix: str, tmp_path: Path) -> None:
    with cdc.postgres.connect() as connection:
        connection.execute(CREATE)
        connection.execute(b"INSERT INTO follows VALUES ('eve', 'ada')")
    cdc.capture("public.follows")
    source = f"{{debezium: {{topic: {cdc.topic('public.follows')}}}}}"
    described, bootstrap = pipeline(capacity=5, slack=2, merge_at_read_above=2, follows=source), cdc.kafka.bootstrap
    with timeline_stack(bootstrap, topic_prefix, described, tmp_path) as stack:
        ingestion = start_ingestion(stack.supervisor, bootstrap, environment=stack.environment)
        start_enrichment(stack.supervisor, bootstrap, environment=stack.environment)
        stack.start_join()
        (service,) = stack.start_service()
        with Publisher(
            ingestion.address, uuid.uuid4().hex, security=Plaintext(), clocks=WallOnly(), settings=PATIENT
        ) as publisher:
            for author in AUTHORS:
                publisher.publish("post.created", {"author": author, "post_id": f"of {author}"})
        with asking(service) as timelines, cdc.postgres.connect() as connection:

            def commit(*statements: str, **seen: list[str]) -> None:
                """In one transaction; then these authors are seen by these users."""
                with connection.transaction():
                    for statement in statements:
                        connection.execute(statement.encode())
                until(
                    lambda: {user: authors(user) for user in seen} == seen,
                    lambda: {user: authors(user) for user in seen},
                )

            def authors(user: str) -> list[str]:
                return sorted(post.author for post in timelines.get(user).posts)

            follow_and_unfollow(commit)


def follow_and_unfollow(commit: Callable[..., None]) -> None:
    commit(eve=["ada"])  # from the snapshot
    commit("INSERT INTO follows VALUES ('eve', 'bob'), ('fay', 'bob')", eve=["ada", "bob"], fay=["bob"])
    commit("DELETE FROM follows WHERE follower = 'eve' AND author = 'bob'", eve=["ada"], fay=["bob"])
    commit("UPDATE follows SET since = '2020-01-01' WHERE follower = 'eve'", eve=["ada"], fay=["bob"])
    commit("UPDATE follows SET author = 'cem' WHERE follower = 'fay'", eve=["ada"], fay=["cem"])  # another shard
    commit("UPDATE follows SET follower = 'gil' WHERE follower = 'eve'", eve=[], fay=["cem"], gil=["ada"])
    commit("TRUNCATE follows", eve=[], fay=[], gil=[])
    commit(
        "INSERT INTO follows SELECT name, 'ada' FROM unnest(ARRAY['eve', 'fay', 'gil']) AS name",
        "INSERT INTO follows VALUES ('eve', 'bob')",
        "DELETE FROM follows WHERE follower = 'fay'",
        eve=["ada", "bob"],
        fay=[],
        gil=["ada"],
    )
