import asyncio
import contextlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from penstock.demo.gauges import Gauges

TEXT = """# HELP penstock_enrichment_lag_records Records of a partition not read yet.
# TYPE penstock_enrichment_lag_records gauge
penstock_enrichment_lag_records{partition="0",topic="events.raw.v1"} 5.0
penstock_enrichment_lag_records{partition="1",topic="events.raw.v1"} 7.0
# TYPE penstock_enrichment_lag_seconds gauge
penstock_enrichment_lag_seconds 0.25
# TYPE penstock_enrichment_table_rows gauge
penstock_enrichment_table_rows{table="posts"} 99.0
penstock_enrichment_table_rows{table="profiles"} 285.0
"""


@pytest.fixture
def endpoint() -> Iterator[str]:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TEXT.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Metrics) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()
        thread.join()


def test_what_is_there_is_taken_over() -> None:
    gauges = Gauges()
    gauges.read(TEXT, "profiles")
    assert gauges == Gauges(lag_records=12, lag_s=0.25, rows=285)
    gauges.read("", "profiles")
    assert gauges.rows == 285


async def test_it_follows_the_endpoint(endpoint: str) -> None:
    gauges = Gauges()
    async with asyncio.timeout(60):
        following = asyncio.create_task(gauges.follow(endpoint, "profiles"))
        while gauges.rows is None:
            await asyncio.sleep(0.01)
    following.cancel()
    assert gauges.lag_records == 12


async def test_an_endpoint_that_is_not_there_yet_is_no_error() -> None:
    gauges = Gauges()
    following = asyncio.create_task(gauges.follow("http://127.0.0.1:9/metrics", "profiles"))
    done, _ = await asyncio.wait({following}, timeout=0.2)
    assert not done
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
