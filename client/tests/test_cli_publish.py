from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from penstock.client.cli.app import app
from penstock.client.testing import FakeIngest
from typer.testing import CliRunner, Result

GOOD = '{"type": "page.viewed", "attributes": {"user": "ada", "page": "/"}}'


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, [*arguments], input=stdin)


def test_publishes_one_event(fake: FakeIngest) -> None:
    result = run(
        "publish", "page.viewed", "user=ada", "page=/a=b", "--data", "hi", "--server", fake.address, "--device", "d"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("accepted page.viewed as d/")
    assert "in events.raw.v1[0]@" in result.stdout
    event = fake.batches[0].events[0]
    assert (dict(event.attributes), event.data) == ({"user": "ada", "page": "/a=b"}, b"hi")


def test_data_may_come_from_a_file(fake: FakeIngest, tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\x89PNG")
    arguments = ("--data", f"@{tmp_path / 'picture'}", "--content-type", "image/png", "--server", fake.address)
    assert run("publish", "page.viewed", *arguments).exit_code == 0
    event = fake.batches[0].events[0]
    assert (event.data, event.content_type) == (b"\x89PNG", "image/png")


def test_refused_event_is_exit_code_1(fake: FakeIngest) -> None:
    result = run("publish", "no.such.type", "--server", fake.address)
    assert result.exit_code == 1
    assert "refused no.such.type: UNKNOWN_TYPE: type 'no.such.type' is not declared" in result.stdout


def test_lines_from_stdin(fake: FakeIngest) -> None:
    lines = [GOOD, "", "nonsense", '{"type": "no.such.type"}', GOOD]
    result = run("publish", "--jsonl", "-", "--server", fake.address, "--device", "d", stdin="\n".join(lines))
    assert result.exit_code == 1
    assert "line 3: not JSON: Expecting value at column 1" in result.stderr
    assert "line 4: refused: UNKNOWN_TYPE" in result.stderr
    assert "2 accepted, 1 refused, 1 bad lines" in result.stderr
    assert [seq for _, seq in fake.identities("d")] == [1, 3]


def test_lines_from_a_file(fake: FakeIngest, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join([GOOD] * 1200))
    result = run("publish", "--jsonl", str(path), "--server", fake.address, "--device", "d")
    assert result.exit_code == 0, result.output
    assert "1200 accepted, 0 refused, 0 bad lines" in result.stderr
    assert len(fake.log) == 1200


def test_server_that_goes_away_leaves_the_counts(fake: FakeIngest, tmp_path: Path) -> None:
    fake.fail_next(grpc.StatusCode.UNAVAILABLE, "Kafka is gone", times=1000, retry_after_ms=50)
    arguments = ("--server", fake.address, "--timeout", "0.3")
    result = run("publish", "--jsonl", "-", *arguments, stdin=f"{GOOD}\n{GOOD}\n")
    assert result.exit_code == 1
    assert "0 accepted, 0 refused, 0 bad lines" in result.stderr
    assert "stopped after line 2: 2 events were not delivered; first: not acknowledged within" in result.stderr
    assert "UNAVAILABLE: Kafka is gone" in result.stderr


def test_many_bad_lines_do_not_flood(fake: FakeIngest) -> None:
    result = run("publish", "--jsonl", "-", "--server", fake.address, stdin="x\n" * 100)
    assert result.stderr.count("not JSON") == 20
    assert "0 accepted, 0 refused, 100 bad lines" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["publish", "page.viewed", "--server", "127.0.0.1:1"], "cannot reach an ingestion service at 127.0.0.1:1"),
        (["publish", "page.viewed", "--server", "nowhere:7070"], "is not on this machine"),
        (["publish", "page.viewed", "--server", "localhost.example.com:7070"], "is not on this machine"),
        (["publish", "page.viewed", "--server", "http://127.0.0.1:1"], "leave out http:// and write 127.0.0.1:1"),
        (["publish", "page.viewed", "--server", "127.0.0.1"], "is not an address; write HOST:PORT"),
        (["publish", "page.viewed", "user", "--server", "127.0.0.1:1"], "'user' is not an attribute; write KEY=VALUE"),
        (["publish", "page.viewed", "--tls", "--plaintext"], "exclude each other"),
        (["publish", "page.viewed", "--data", "@/no/such/file"], "No such file"),
        (["publish", "--server", "127.0.0.1:1"], "say what happened"),
        (["publish", "page.viewed", "--jsonl", "-"], "a TYPE or --jsonl, not both"),
        (["tail", "events.row.v1"], "the map of topics has no 'events.row.v1'; did you mean events.raw.v1?"),
        (["tail", "zzz"], "`penstock topics` lists them"),
    ],
)
def test_faults_are_one_sentence(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.startswith("penstock: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("source", [["page.viewed"], ["--jsonl", "-"]])
def test_long_device_id_is_one_short_sentence(fake: FakeIngest, source: list[str]) -> None:
    result = run("publish", *source, "--server", fake.address, "--device", "x" * 5000)
    assert result.exit_code == 1
    said = f"penstock: device_id must have 1 to 128 bytes, and '{'x' * 40}…' has 5000"
    assert result.stderr.splitlines() == [said]


def test_event_that_cannot_be_encoded_is_one_sentence(fake: FakeIngest) -> None:
    result = run("publish", "page.viewed", "user=\udcff", "--server", fake.address)
    assert result.exit_code == 1
    assert result.stderr.startswith("penstock: page.viewed: ")


def test_unclosed_line_names_its_own_column(fake: FakeIngest) -> None:
    result = run("publish", "--jsonl", "-", "--server", fake.address, stdin=f"{GOOD}\n{GOOD[:-1]}\n{GOOD}\n")
    assert f"line 2: not JSON: Expecting ',' delimiter at column {len(GOOD)}\n" in result.stderr
    assert "2 accepted, 0 refused, 1 bad lines" in result.stderr


def test_environment_names_the_server(fake: FakeIngest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SERVER", fake.address)
    monkeypatch.setenv("PENSTOCK_DEVICE", "from-the-environment")
    assert run("publish", "page.viewed").exit_code == 0
    assert len(fake.identities("from-the-environment")) == 1


@pytest.mark.parametrize(
    "command",
    [
        "publish",
        "tail",
        "topics",
        "tables",
        "lookup",
        "timeline",
        "timelines",
        "post",
        "delete-post",
        "follow",
        "unfollow",
        "dead-letters list",
        "dead-letters show",
        "dead-letters resubmit",
    ],
)
def test_help_has_examples(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"penstock {command}" in result.stdout
    assert "Example" in result.stdout
