"""`penstock tables` and `penstock lookup`: what the tables of an enrichment service hold."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC
from typing import Annotated

import typer
from penstock.client.channel import Security
from penstock.client.cli import screen
from penstock.client.cli.faults import check_reachable, one_sentence
from penstock.client.cli.options import (
    DEFAULT_TABLES_SERVER,
    AllowStale,
    AsJson,
    LocalTime,
    Roots,
    TablesServer,
    Timeout,
    Tokens,
    UsePlaintext,
    UseTls,
    as_option_error,
    security_of,
    token_of,
)
from penstock.client.cli.table_text import HEADINGS, row_fields, row_lines, table_cells, table_fields
from penstock.client.cli.times import moment_us
from penstock.client.row import Lookup, TableState, key_text
from penstock.client.tables import Tables
from rich.console import Console
from rich.table import Table

_NUMBERS = slice(1, 5)  # the columns of `tables` that are aligned to the right


def tables(
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help="Only this table.")] = None,
    as_json: AsJson = False,
    server: TablesServer = DEFAULT_TABLES_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Timeout = 10.0,
) -> None:
    """Show the tables that an enrichment service keeps.

    `versions` counts what is kept of the rows' past, `memory` what all of it takes, `lag` the records that are in the
    table's log and not in the table yet. `content` is a hash of all rows and versions: instances that hold the same
    show the same, and so does one that was built again from the beginning of the log. `applied` is the newest record
    of each partition that the table holds, as PARTITION:OFFSET.

    Examples:

        penstock tables

        penstock tables profiles --json
    """
    with one_sentence():
        with _asking(server, security_of(server, tls=tls, plaintext=plaintext, roots=roots), timeout) as asked:
            found = asked.describe(table)
        _show_tables(found, screen.stdout(), as_json)


def lookup(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's name.")],
    key: Annotated[list[str], typer.Argument(metavar="KEY", help="The row's key, or the values that it consists of.")],
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="As of then: 2026-11-16T03:00:00Z, 15m (ago), or microseconds since 1970."),
    ] = None,
    tokens: Tokens = None,
    allow_stale: AllowStale = False,
    as_json: AsJson = False,
    local: LocalTime = False,
    server: TablesServer = DEFAULT_TABLES_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Timeout = 5.0,
) -> None:
    """Show a row of a table: the newest version, or the one that was valid at a time.

    A key of several columns is given as several values in the order of pipeline.yaml, or as one text with / in between,
    which is how topics and events show it; in that text, a / or % of a value is written %2F or %25.

    PLACE is TOPIC:PARTITION:OFFSET, or what `penstock publish` says after "in": the row is shown as that event left
    it, or later.

    Exit code 0: there is a row. 1: there is none (missing, deleted, or its history is no longer kept). 2: nobody could
    say, for instance because the service, the table or the time does not exist.

    Examples:

        penstock lookup profiles ada

        penstock lookup follows bob ada --as-of 15m

        penstock lookup posts ada/p1 --token events.raw.v1:5:0 --json
    """
    with one_sentence(exit_code=2):
        security = security_of(server, tls=tls, plaintext=plaintext, roots=roots)
        with as_option_error():
            asked_us = None if as_of is None else moment_us(as_of, time.time_ns() // 1000)
            question = Lookup(table, key_text(key[0] if len(key) == 1 else key), asked_us)
            token = token_of(tokens or ())
        with _asking(server, security, timeout) as asked:
            row = asked.lookup(question.table, question.key, as_of=asked_us, consistency=token, allow_stale=allow_stale)
        out = screen.stdout()
        if as_json:
            screen.write_line(out, json.dumps(row_fields(question, row)))
        else:
            for text, style in row_lines(question, row, None if local else UTC):
                out.print(text, style=style, markup=False)
    raise typer.Exit(0 if row.found else 1)


def _asking(server: str, security: Security, timeout_s: float) -> Tables:
    advice = "Name one with --server or PENSTOCK_TABLES_SERVER."
    check_reachable(server, "an enrichment service", advice)
    return Tables(server, security=security, timeout_s=timeout_s)


def _show_tables(found: Sequence[TableState], out: Console, as_json: bool) -> None:
    if as_json:
        for table in found:
            screen.write_line(out, json.dumps(table_fields(table)))
    elif out.is_terminal:
        out.print(_grid(found))
    else:
        rows = (HEADINGS, *(table_cells(table, shortened=False) for table in found))
        screen.write_line(out, "\n".join("\t".join(cells) for cells in rows))


def _grid(found: Sequence[TableState]) -> Table:
    grid = Table(*HEADINGS, box=None, header_style="bold")
    for column in grid.columns[_NUMBERS]:
        column.justify = "right"
    for column in grid.columns[:-1]:
        column.no_wrap = True
    for table in found:
        grid.add_row(*table_cells(table, shortened=True), style="yellow" if table.lag_records else "")
    return grid
