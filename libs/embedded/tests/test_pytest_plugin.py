"""The plugin in a pytest of its own, with and without workers. The broker is real and there is one of it."""

from pathlib import Path

import pytest
from penstock.embedded.cache import cache_folder

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_a_broker(kafka, topic_prefix, number):
    with open({seen!r}, "a") as seen:
        seen.write(kafka.bootstrap + " " + topic_prefix + "\\n")
"""

CDC_TESTS = """
import pytest

@pytest.mark.parametrize("number", range(2))
def test_a_database(cdc, number):
    with cdc.postgres.connect() as connection:
        connection.execute("CREATE TABLE profiles (id int PRIMARY KEY)")
    cdc.capture("public.profiles")
    with open({seen!r}, "a") as seen:
        seen.write(cdc.connect.rest_url + " " + str(cdc.postgres.port) + " " + cdc.postgres.database + "\\n")
"""


@pytest.fixture(autouse=True)
def prepared_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked up before pytester gives its pytest another home."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(cache_folder()))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "workers"])
def test_all_tests_of_a_run_share_one_broker(
    pytester: pytest.Pytester, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    seen = tmp_path / "seen"
    pytester.makeconftest('pytest_plugins = ["penstock.embedded.pytest_plugin"]')
    pytester.makepyfile(TESTS.format(seen=str(seen)))
    pytester.runpytest_subprocess("-p", "xdist", *workers).assert_outcomes(passed=4)
    brokers, prefixes = zip(*(line.split() for line in seen.read_text().splitlines()), strict=True)
    assert len(set(brokers)) == 1
    assert len(set(prefixes)) == 4


def test_workers_share_one_database_server_and_one_connect(pytester: pytest.Pytester, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    pytester.makeconftest('pytest_plugins = ["penstock.embedded.pytest_plugin"]')
    pytester.makepyfile(CDC_TESTS.format(seen=str(seen)))
    pytester.runpytest_subprocess("-p", "xdist", "-n", "2").assert_outcomes(passed=2)
    connects, ports, databases = zip(*(line.split() for line in seen.read_text().splitlines()), strict=True)
    assert len(set(connects)) == len(set(ports)) == 1
    assert len(set(databases)) == 2
