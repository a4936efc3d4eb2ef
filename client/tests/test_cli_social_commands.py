"""`post`, `delete-post`, `follow` and `unfollow` against services in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

import grpc
import pytest
from penstock.client.cli.app import app
from penstock.client.testing import FakeIngest, FakeTimelines
from typer.testing import CliRunner, Result

SOCIAL = frozenset({"post.created", "post.deleted", "follow.created", "follow.deleted"})


@pytest.fixture
def social() -> Iterator[FakeIngest]:
    with FakeIngest(types=SOCIAL) as fake:
        yield fake


def run(ingest: FakeIngest, timelines: FakeTimelines, *arguments: str) -> Result:
    servers = {"PENSTOCK_SERVER": ingest.address, "PENSTOCK_TIMELINE_SERVER": timelines.address}
    return CliRunner().invoke(app, [*arguments], env=servers)


@pytest.mark.parametrize(
    ("arguments", "event_type", "attributes", "sentence", "reader"),
    [
        (
            ["post", "ada", "Hello", "--id", "p1"],
            "post.created",
            {"author": "ada", "post_id": "p1", "text": "Hello"},
            "ada posted p1",
            "FOLLOWER",
        ),
        (
            ["delete-post", "ada", "p1"],
            "post.deleted",
            {"author": "ada", "post_id": "p1"},
            "ada deleted p1",
            "FOLLOWER",
        ),
        (
            ["follow", "bob b", "ada"],
            "follow.created",
            {"follower": "bob b", "author": "ada"},
            "bob b follows ada",
            "'bob b'",
        ),
        (
            ["unfollow", "bob", "ada"],
            "follow.deleted",
            {"follower": "bob", "author": "ada"},
            "bob no longer follows ada",
            "bob",
        ),
    ],
)
def test_an_event_is_published_and_its_token_said(
    social: FakeIngest,
    fake_timelines: FakeTimelines,
    arguments: list[str],
    event_type: str,
    attributes: dict[str, str],
    sentence: str,
    reader: str,
) -> None:
    result = run(social, fake_timelines, *arguments, "--device", "d")
    assert result.exit_code == 0, result.output
    event = social.batches[0].events[0]
    assert (event.type, dict(event.attributes), social.batches[0].device_id) == (event_type, attributes, "d")
    said, token, hint, clock = result.stdout.splitlines()
    assert (said, token) == (sentence, "token events.raw.v1:0:2")
    assert hint == f"  penstock timeline {reader} --token events.raw.v1:0:2 waits for it"
    assert clock.startswith("times of this device are known")


def test_the_token_is_what_other_commands_take(social: FakeIngest, fake_timelines: FakeTimelines) -> None:
    said = run(social, fake_timelines, "follow", "bob", "ada").stdout.splitlines()[1]
    option, place = said.split()
    assert run(social, fake_timelines, "timeline", "bob", f"--{option}", place).exit_code == 0


def test_a_post_has_an_id_of_its_own(social: FakeIngest, fake_timelines: FakeTimelines) -> None:
    for _ in range(2):
        assert run(social, fake_timelines, "post", "ada", "Hello").exit_code == 0
    ids = {batch.events[0].attributes["post_id"] for batch in social.batches}
    assert (len(ids), {len(one) for one in ids}) == (2, {16})


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["post", "ada", "Hello"], "ada"),
        (["post", "ada", "Hello", "--reader", "bob"], "bob"),
        (["follow", "bob", "ada"], "bob"),
    ],
)
def test_waiting_says_how_long_it_took(
    social: FakeIngest, fake_timelines: FakeTimelines, arguments: list[str], asked: str
) -> None:
    result = run(social, fake_timelines, *arguments, "--wait")
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("visible after ")]
    assert line.endswith(f"s (by the timeline of {asked})")


def test_for_programs_it_is_one_object(social: FakeIngest, fake_timelines: FakeTimelines) -> None:
    fields = json.loads(run(social, fake_timelines, "post", "ada", "Hi", "--id", "p1", "--json", "--wait").stdout)
    assert fields["attributes"] == {"author": "ada", "post_id": "p1", "text": "Hi"}
    assert (fields["type"], fields["status"], fields["token"]) == ("post.created", "accepted", ["events.raw.v1:0:2"])
    assert fields["visible_after_us"] > 0
    assert json.loads(run(social, fake_timelines, "follow", "b", "a", "--json").stdout)["visible_after_us"] is None


def test_what_is_not_visible_in_time_is_still_said_to_be_published(
    social: FakeIngest, impatient_timelines: FakeTimelines
) -> None:
    with impatient_timelines.hold():
        result = run(social, impatient_timelines, "post", "ada", "Hello", "--id", "p1", "--wait")
    assert (result.exit_code, len(social.log)) == (1, 1)
    assert result.stderr.startswith("penstock: ada posted p1 (token events.raw.v1:0:2), but it was not visible in time")


def test_a_timeline_service_that_fails_meanwhile(social: FakeIngest, fake_timelines: FakeTimelines) -> None:
    fake_timelines.fail_next(grpc.StatusCode.UNAVAILABLE, "restarting")
    result = run(social, fake_timelines, "follow", "bob", "ada", "--wait")
    assert result.exit_code == 1
    assert "bob follows ada (token events.raw.v1:0:2), but whether it is visible nobody could say" in result.stderr


def test_without_anybody_to_ask_nothing_is_published(social: FakeIngest, fake_timelines: FakeTimelines) -> None:
    result = run(social, fake_timelines, "follow", "bob", "ada", "--wait", "--timeline-server", "127.0.0.1:1")
    assert (result.exit_code, social.log) == (1, [])
    assert "Name one with --timeline-server or PENSTOCK_TIMELINE_SERVER" in result.stderr


def test_another_pipeline_is_told_apart(fake_timelines: FakeTimelines) -> None:
    with FakeIngest(types=frozenset({"order.placed"})) as shop:
        result = run(shop, fake_timelines, "delete-post", "ada", "p1")
    assert result.exit_code == 1
    assert result.stderr == (
        "penstock: refused post.deleted: UNKNOWN_TYPE: type 'post.deleted' is not declared. `penstock delete-post` is"
        " for the social pipeline, and another one runs there: publish its events with `penstock publish TYPE"
        " KEY=VALUE…`\n"
    )


def test_an_answer_that_was_lost_has_no_token(social: FakeIngest, fake_timelines: FakeTimelines) -> None:
    social.lose_replies()
    result = run(social, fake_timelines, "follow", "bob", "ada")
    assert (result.exit_code, "token" in result.stdout) == (0, False)
    social.lose_replies()
    waiting = run(social, fake_timelines, "follow", "bob", "ada", "--wait")
    assert waiting.exit_code == 1
    assert "the answer that had the token was lost" in waiting.stderr
