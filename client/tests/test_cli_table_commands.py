"""`tables` and `lookup` against an enrichment service in memory."""

from __future__ import annotations

import json

import pytest
from penstock.client.cli.app import app
from penstock.client.testing import FakeTables
from typer.testing import CliRunner, Result


def run(fake: FakeTables, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], env={"PENSTOCK_TABLES_SERVER": fake.address})


def test_exit_codes_tell_found_from_not_found_from_could_not_ask(fake_tables: FakeTables) -> None:
    fake_tables.put("profiles", "ada", {"name": "Ada"}, valid_from_us=10)
    fake_tables.put("profiles", "bob", {"name": "Bob"}, valid_from_us=10)
    fake_tables.delete("profiles", "bob", valid_from_us=20)
    fake_tables.history_from_us = 5
    asked = [["ada"], ["bob"], ["zed"], ["ada", "--as-of", "4"], ["bob", "--as-of", "19"]]
    assert [run(fake_tables, "lookup", "profiles", *one).exit_code for one in asked] == [0, 1, 1, 1, 0]
    assert run(fake_tables, "lookup", "posts", "p1").exit_code == 2


def test_a_key_of_several_columns(fake_tables: FakeTables) -> None:
    fake_tables.put("follows", "bob/a%2Fb", {}, valid_from_us=10)
    assert run(fake_tables, "lookup", "follows", "bob", "a/b").exit_code == 0
    assert run(fake_tables, "lookup", "follows", "bob/a%2Fb").exit_code == 0
    assert run(fake_tables, "lookup", "follows", "bob", "a%2Fb").exit_code == 1


def test_json_is_one_line_also_where_there_is_no_row(fake_tables: FakeTables) -> None:
    result = run(fake_tables, "lookup", "profiles", "zed", "--json")
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (1, "MISSING")


def test_a_token_that_is_not_reflected(fake_tables: FakeTables) -> None:
    fake_tables.put("profiles", "ada", {"name": "Ada"}, valid_from_us=10)
    asked = ("lookup", "profiles", "ada", "--token", "tables.profiles.v1:0:0", "--token", "tables.profiles.v1[0]@9")
    refused = run(fake_tables, *asked)
    assert (refused.exit_code, refused.stderr) == (2, "penstock: the tables do not reflect the token\n")
    stale = run(fake_tables, *asked, "--allow-stale")
    assert stale.exit_code == 0
    assert "stale: the table does not reflect the token yet" in stale.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as-of", "yesterday"], "'yesterday' is no time; write 2026-11-16T03:00:00Z"),
        (["--as-of", "2026-11-16T03:00:00"], "has no time zone; write 2026-11-16T03:00:00Z for UTC"),
        (["--token", "events.raw.v1"], "'events.raw.v1' is no place; write TOPIC:PARTITION:OFFSET"),
        (["--server", "127.0.0.1:1"], "cannot reach an enrichment service at 127.0.0.1:1"),
        (["--server", "nowhere:7071"], "is not on this machine"),
    ],
)
def test_faults_are_one_sentence(fake_tables: FakeTables, arguments: list[str], message: str) -> None:
    result = run(fake_tables, "lookup", "profiles", "ada", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_key_that_no_row_has(fake_tables: FakeTables) -> None:
    result = run(fake_tables, "lookup", "profiles", "50%")
    assert (result.exit_code, "'%' in a key stands for nothing" in result.stderr) == (2, True)
    assert run(fake_tables, "lookup", "follows", "50%", "of").exit_code == 1


def test_tables_for_programs(fake_tables: FakeTables) -> None:
    fake_tables.put("profiles", "ada", {}, valid_from_us=10)
    headings, follows, profiles = (line.split("\t") for line in run(fake_tables, "tables").stdout.splitlines())
    assert headings[:5] == ["table", "rows", "versions", "memory", "lag"]
    assert (follows[:3], follows[6]) == (["follows", "0", "0"], "nothing")
    assert (profiles[:3], profiles[6]) == (["profiles", "1", "1"], "0:0")
    only = [json.loads(line) for line in run(fake_tables, "tables", "profiles", "--json").stdout.splitlines()]
    assert [table["content_hash"] for table in only] == [profiles[5]]


def test_tables_of_a_table_that_is_not_there(fake_tables: FakeTables) -> None:
    result = run(fake_tables, "tables", "posts")
    assert (result.exit_code, result.stderr) == (1, "penstock: no table 'posts'; there are: profiles, follows\n")
