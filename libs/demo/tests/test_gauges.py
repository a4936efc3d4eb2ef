import asyncio
import contextlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from penstock.demo.gauges import EnrichmentGauges, JoinGauges, Samples, TimelineGauges, follow

ENRICHMENT = """# HELP penstock_enrichment_lag_records Records of a partition not read yet.
# TYPE penstock_enrichment_lag_records gauge
penstock_enrichment_lag_records{partition="0",topic="events.raw.v1"} 5.0
penstock_enrichment_lag_records{partition="1",topic="events.raw.v1"} 7.0
# TYPE penstock_enrichment_lag_seconds gauge
penstock_enrichment_lag_seconds 0.25
# TYPE penstock_enrichment_table_rows gauge
penstock_enrichment_table_rows{table="posts"} 99.0
penstock_enrichment_table_rows{table="profiles"} 285.0
"""
JOIN = """# TYPE penstock_jobs_batch_phase_seconds gauge
penstock_jobs_batch_phase_seconds{phase="triggerExecution",query="windows"} 9.0
penstock_jobs_batch_phase_seconds{phase="addBatch",query="timelines"} 0.4
penstock_jobs_batch_phase_seconds{phase="triggerExecution",query="timelines"} 0.65
# TYPE penstock_jobs_input_rows counter
penstock_jobs_input_rows_total{query="timelines"} 120.0
"""
TIMELINE = """# TYPE penstock_timeline_lag_records gauge
penstock_timeline_lag_records{partition="0"} 2.0
penstock_timeline_lag_records{partition="1"} 1.0
# TYPE penstock_timeline_lag_seconds gauge
penstock_timeline_lag_seconds{partition="0"} 0.1
penstock_timeline_lag_seconds{partition="1"} 0.3
# TYPE penstock_timeline_users gauge
penstock_timeline_users{partition="0"} 500.0
penstock_timeline_users{partition="1"} 503.0
# TYPE penstock_timeline_inbox_entries gauge
penstock_timeline_inbox_entries{partition="0"} 9000.0
# TYPE penstock_timeline_freshness_seconds histogram
penstock_timeline_freshness_seconds_bucket{le="+Inf"} 10.0
penstock_timeline_freshness_seconds_count 10.0
penstock_timeline_freshness_seconds_sum 0.2
# TYPE penstock_timeline_refills counter
penstock_timeline_refills_total{outcome="asked"} 3.0
penstock_timeline_refills_total{outcome="answered"} 2.0
# TYPE penstock_timeline_entries counter
penstock_timeline_entries_total{change="added"} 1000.0
penstock_timeline_entries_total{change="removed"} 40.0
"""


@pytest.fixture
def endpoint() -> Iterator[str]:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(ENRICHMENT.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Metrics) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()
        thread.join()


def test_of_enrichment() -> None:
    gauges = EnrichmentGauges("profiles")
    gauges.read(Samples(ENRICHMENT))
    assert gauges == EnrichmentGauges("profiles", lag_records=12, lag_s=0.25, rows=285)


def test_of_the_join_only_what_is_the_join_s() -> None:
    gauges = JoinGauges()
    gauges.read(Samples(JOIN))
    assert (gauges.batch_s, gauges.rate.recent()) == (0.65, 120)
    gauges.read(Samples(JOIN))
    assert gauges.rate.recent() == 60


def test_of_the_timeline_service_all_partitions() -> None:
    gauges = TimelineGauges()
    gauges.read(Samples(TIMELINE))
    assert (gauges.lag_records, gauges.lag_s, gauges.users, gauges.entries) == (3, 0.3, 1003, 9000)
    assert (gauges.refilled, gauges.added, gauges.removed) == (2, 1000, 40)
    assert (gauges.rate.recent(), gauges.outgoing.recent(), gauges.fresh_s) == (1000, 40, 0.02)
    gauges.read(Samples(TIMELINE))
    assert gauges.fresh_s == 0.02


def test_before_there_is_anything_nothing_is_known() -> None:
    enrichment, join, timeline = EnrichmentGauges("profiles"), JoinGauges(), TimelineGauges()
    for gauges in (enrichment, join, timeline):
        gauges.read(Samples(""))
    assert (enrichment.rows, join.batch_s, timeline.users) == (None, None, None)


async def test_it_follows_the_endpoint(endpoint: str) -> None:
    gauges = EnrichmentGauges("profiles")
    async with asyncio.timeout(60):
        following = asyncio.create_task(follow(endpoint, gauges.read))
        while gauges.rows is None:
            await asyncio.sleep(0.01)
    following.cancel()
    assert gauges.lag_records == 12


async def test_an_endpoint_that_is_not_there_yet_is_no_error() -> None:
    following = asyncio.create_task(follow("http://127.0.0.1:9/metrics", EnrichmentGauges("profiles").read))
    done, _ = await asyncio.wait({following}, timeout=0.2)
    assert not done
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
