from __future__ import annotations

from datetime import UTC, datetime

import pytest
from penstock.client.cli.jsonl import BadLineError, EventLine, parse
from penstock.client.reading import Reading


def test_every_key() -> None:
    line = (
        '{"type": "t", "attributes": {"a": "ä"}, "data": "ü", "content_type": "text/plain", "id": "i",'
        ' "occurred": "2026-01-02T03:04:05.000006Z", "traceparent": "p", "tracestate": "s"}'
    )
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    extras = {"content_type": "text/plain", "id": "i", "traceparent": "p", "tracestate": "s"}
    parsed = parse(line.encode())
    assert parsed.extras == extras
    assert (parsed.type, parsed.attributes, parsed.data, parsed.occurred) == ("t", {"a": "ä"}, "ü".encode(), moment)


def test_little() -> None:
    assert parse('{"type": "t"}') == EventLine("t")
    assert parse('{"type": "t", "occurred": 5}').occurred == Reading(5)
    assert parse('{"type": "t", "data_base64": "AAE="}').data == b"\x00\x01"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        ('{"type": "t"\n', "not JSON: Expecting ',' delimiter at column 13"),
        (b'{"type": "t", "data": "\xc3\xa4"\r\n', "not JSON: Expecting ',' delimiter at column 26"),
        ('{"type":\n', "not JSON: Expecting value at column 9"),
        ("[" * 100_000, "nested too deeply"),
        (b'"\xff"', "not UTF-8 at byte 2"),
        ("[1]", "an event is an object with a type, not [1]"),
        ("{}", 'no "type"'),
        ('{"type": 1}', '"type" must be text, not 1'),
        ('{"type": "t", "tpye": 1}', "unknown key 'tpye'; known are type, attributes"),
        ('{"%s": 1}' % ("k" * 5000), f"unknown key '{'k' * 40}…'; known are type"),
        ('{"type": "t", "attributes": {"%s": 1}}' % ("k" * 5000), f'attribute "{"k" * 40}…" must be text, not 1'),
        ('{"type": "t", "attributes": []}', '"attributes" must be an object, not []'),
        ('{"type": "t", "attributes": {"n": 1}}', 'attribute "n" must be text, not 1; put quotes around it'),
        ('{"type": "t", "data": "", "data_base64": ""}', "exclude each other"),
        ('{"type": "t", "data_base64": "?"}', '"data_base64" is not base64'),
        ('{"type": "t", "occurred": "noon"}', '"occurred" must be like 2026-11-16T03:00:00Z'),
        ('{"type": "t", "occurred": true}', '"occurred" must be text, not true'),
        ('{"type": "t", "occurred": "2026-01-01T00:00:00"}', "has no time zone; write 2026-01-01T00:00:00Z for UTC"),
    ],
)
def test_faults_are_named(line: str | bytes, reason: str) -> None:
    with pytest.raises(BadLineError) as error:
        parse(line)
    assert reason in str(error.value)
