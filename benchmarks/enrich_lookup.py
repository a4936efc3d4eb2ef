"""Asks for rows as fast as they are answered, first one caller, then eight: bench-enrich's look-ups, client's side.

In (arguments): address, rows of the table, seconds for each number of callers.
Out (standard output): one JSON object: for each number of callers latencies and look-ups per second; wrong answers.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import dataclass, field

import grpc
import uvloop
from enrich_data import is_gone
from penstock.enrich.v1.enrich_pb2 import LookupRequest, LookupResponse
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_DELETED, ENRICHMENT_STATUS_MATCHED
from table_memory import key_of, name_of

LOOKUP = "/penstock.enrich.v1.EnrichmentService/Lookup"
CALLERS = (1, 8)


@dataclass
class Outcome:
    latencies_s: list[float] = field(default_factory=list)
    wrong: int = 0

    def summary(self, seconds: float) -> dict[str, float]:
        ordered = sorted(self.latencies_s)
        return {
            "p50_ms": ordered[len(ordered) // 2] * 1000,
            "p99_ms": ordered[len(ordered) * 99 // 100] * 1000,
            "per_s": len(ordered) / seconds,
        }


def is_right(number: int, answer: LookupResponse) -> bool:
    """The row may have changed any number of times meanwhile, but it is this one."""
    if is_gone(number):
        return answer.status == ENRICHMENT_STATUS_DELETED
    named = answer.columns["name"].rpartition(" ")[0] == name_of(number, 0).rpartition(" ")[0]
    return answer.status == ENRICHMENT_STATUS_MATCHED and named


async def ask(address: str, rows: int, callers: int, seconds: float) -> Outcome:
    outcome, chosen = Outcome(), random.Random(callers)
    async with grpc.aio.insecure_channel(address) as channel:
        lookup = channel.unary_unary(LOOKUP, LookupRequest.SerializeToString, LookupResponse.FromString)
        await lookup(LookupRequest(table="profiles", key=key_of(0)), timeout=30)  # connects
        until = time.perf_counter() + seconds

        async def caller() -> None:
            while (began := time.perf_counter()) < until:
                number = chosen.randrange(rows)
                answer = await lookup(LookupRequest(table="profiles", key=key_of(number)), timeout=30)
                outcome.latencies_s.append(time.perf_counter() - began)
                outcome.wrong += not is_right(number, answer)

        await asyncio.gather(*(caller() for _ in range(callers)))
    return outcome


def main() -> None:
    address, rows, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    result: dict[str, object] = {}
    wrong = 0
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for callers in CALLERS:
            outcome = runner.run(ask(address, rows, callers, seconds))
            result[str(callers)] = outcome.summary(seconds)
            wrong += outcome.wrong
    print(json.dumps(result | {"wrong": wrong}))


if __name__ == "__main__":
    main()
