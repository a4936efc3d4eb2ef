"""`timeline` and `timelines` against a timeline service in memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

import pytest
from penstock.client.cli.app import app
from penstock.client.testing import FakeIngest, FakeTimelines
from typer.testing import CliRunner, Result


@pytest.fixture
def filled(fake_timelines: FakeTimelines) -> FakeTimelines:
    fake_timelines.follow("bob", "ada")
    for number in range(150):
        fake_timelines.post("ada", f"p{number:03}", {"text": f"Post {number}"}, time_us=number + 1)
    return fake_timelines


def run(fake: FakeTimelines, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], env={"PENSTOCK_TIMELINE_SERVER": fake.address})


def ids(result: Result) -> list[str]:
    return [line.split("\t")[3] for line in result.stdout.splitlines()[1:]]


@pytest.mark.parametrize(
    ("arguments", "count"), [((), 20), (("--limit", "3"), 3), (("--limit", "120"), 120), (("--all",), 150)]
)
def test_the_newest_posts(filled: FakeTimelines, arguments: tuple[str, ...], count: int) -> None:
    result = run(filled, "timeline", "bob", *arguments)
    assert result.exit_code == 0
    assert ids(result) == [f"p{number:03}" for number in range(149, 149 - count, -1)]


def test_json_is_one_object_per_page(filled: FakeTimelines) -> None:
    pages = [
        json.loads(line) for line in run(filled, "timeline", "bob", "--limit", "120", "--json").stdout.splitlines()
    ]
    assert [(len(page["posts"]), page["more"]) for page in pages] == [(100, True), (20, True)]
    assert pages[0]["posts"][0]["attributes"] == {"text": "Post 149"}


def test_an_empty_timeline_is_an_answer(fake_timelines: FakeTimelines) -> None:
    fake_timelines.refilling.add("zed")
    result = run(fake_timelines, "timeline", "zed")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "refilling: older posts may be missing, and are on their way",
        "the timeline of zed is empty",
    ]


def test_a_token_is_waited_for_or_the_answer_is_marked(impatient_timelines: FakeTimelines) -> None:
    fake = impatient_timelines
    fake.follow("bob", "ada")
    fake.post("ada", "p1", time_us=1)
    seen = run(fake, "timeline", "bob", "--token", "timeline.deliveries.v1:0:1")
    assert (seen.exit_code, ids(seen)) == (0, ["p1"])
    ahead = ("timeline", "bob", "--token", "timeline.deliveries.v1[0]@999")
    refused = run(fake, *ahead)
    assert (refused.exit_code, refused.stderr) == (2, "penstock: the timeline does not reflect the token\n")
    stale = run(fake, *ahead, "--allow-stale")
    assert (stale.exit_code, ids(stale)) == (0, ["p1"])
    assert stale.stderr == "stale: the timeline does not reflect the token yet\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bob", "--token", "events.raw.v1"], "'events.raw.v1' is no place; write TOPIC:PARTITION:OFFSET"),
        (["bob", "--token", "no.such.topic:0:1"], "INVALID_ARGUMENT: the token names 'no.such.topic'"),
        (["bob", "--server", "127.0.0.1:1"], "cannot reach a timeline service at 127.0.0.1:1"),
        (["bob", "--server", "nowhere:7072"], "is not on this machine"),
        (["bob", "--all", "--follow"], "--all goes neither with --limit nor with --follow"),
        (["bob", "--follow", "--limit", "9999"], "limit is 9999: at most 1000 are allowed"),
        ([""], "whose timeline? the user must not be empty"),
    ],
)
def test_faults_are_one_sentence(fake_timelines: FakeTimelines, arguments: list[str], message: str) -> None:
    result = run(fake_timelines, "timeline", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_another_service_is_told_apart(fake: FakeIngest) -> None:
    result = CliRunner().invoke(app, ["timelines", "--server", fake.address])
    assert (result.exit_code, "is no timeline service" in result.stderr) == (2, True)


def test_partitions_for_programs(filled: FakeTimelines) -> None:
    headings, partition, total = (line.split("\t") for line in run(filled, "timelines", "--hash").stdout.splitlines())
    assert headings[:4] == ["partition", "users", "entries", "posts"]
    assert (partition[:4], partition[8]) == (["0", "1", "150", "150"], "0:150")
    assert total[0] == "all 1"
    assert total[1:8] == partition[1:8]
    one, all_of_them = map(json.loads, run(filled, "timelines", "--json").stdout.splitlines())
    assert (one["content_hash"], one["server"]) == (None, filled.address)
    assert (all_of_them["capacity"], all_of_them["partitions_total"]) == (800, 1)


def test_replicas_are_named_one_by_one(filled: FakeTimelines) -> None:
    result = run(filled, "timelines", "--server", filled.address, "--server", filled.address)
    assert result.exit_code == 0
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["partition", "0", "all 1"]


@pytest.fixture
def following(fake_timelines: FakeTimelines) -> Iterator[subprocess.Popen[str]]:
    fake_timelines.follow("bob", "ada")
    fake_timelines.post("ada", "p1", {"text": "One"}, time_us=1)
    command = [
        sys.executable,
        "-m",
        "penstock.command",
        "timeline",
        "bob",
        "--follow",
        "--server",
        fake_timelines.address,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    with process:
        try:
            yield process
        finally:
            process.kill()


def next_line(stream: IO[str] | None) -> list[str]:
    assert stream is not None
    return stream.readline().rstrip("\n").split("\t")


def test_follow_outlives_the_service_and_ends_with_0(
    fake_timelines: FakeTimelines, following: subprocess.Popen[str]
) -> None:
    assert next_line(following.stdout)[::4] == ["+", "p1"]
    fake_timelines.post("ada", "p2", {"text": "Two"}, time_us=2)
    assert next_line(following.stdout)[::4] == ["+", "p2"]
    with fake_timelines.down():
        fake_timelines.delete_post("ada", "p1")
        assert next_line(following.stderr)[0].startswith("penstock: reconnecting: the timeline service at ")
    assert next_line(following.stdout)[::4] == ["-", "p1"]
    assert next_line(following.stderr) == ["penstock: connected again"]
    following.send_signal(signal.SIGINT)
    assert following.wait(60) == 0
    assert following.stderr is not None
    assert following.stderr.read() == ""
