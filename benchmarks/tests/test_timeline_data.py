from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from penstock.delivery.rows import Rows
from penstock.pipeline import load
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics import load as load_topics
from penstock.topics import murmur2_partition

NOW_US = 1_800_000_000_000_000


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("timeline_data")


def test_a_graph_has_as_many_different_edges_as_asked_for_and_is_the_same_again(data: ModuleType) -> None:
    edges, again = data.power_law(1_000, 20_000, 3), data.power_law(1_000, 20_000, 3)
    assert len(edges) == 20_000
    assert len(set(zip(edges.author.tolist(), edges.follower.tolist(), strict=True))) == 20_000
    assert not (edges.author == edges.follower).any()
    assert edges.author.max() < 1_000
    assert np.array_equal(edges.author, again.author)
    assert np.array_equal(edges.follower, again.follower)
    counts = np.sort(data.Audience.of(edges, 1_000).counts)[::-1]
    assert counts[0] > 20 * counts[500]  # a few have most of the followers


def test_too_many_edges_are_refused(data: ModuleType) -> None:
    with pytest.raises(ValueError, match="too many for 10 users"):
        data.power_law(10, 80, 1)


def test_an_audience_is_the_followers_of_an_author(data: ModuleType) -> None:
    edges = data.Edges(np.array([2, 0, 2]), np.array([1, 2, 0]))
    audience = data.Audience.of(edges, 3)
    assert [sorted(audience[author].tolist()) for author in range(3)] == [[2], [], [0, 1]]
    assert audience.counts.tolist() == [1, 0, 2]


def test_only_authors_with_followers_post(data: ModuleType) -> None:
    authors = data.authors_of_posts(np.array([0, 4, 0, 100]), 1_000, 5)
    assert set(authors.tolist()) == {1, 3}
    assert (authors == 3).sum() > (authors == 1).sum()


def test_rows_are_what_the_join_reads_and_the_last_one_made_of_a_row_counts(data: ModuleType) -> None:
    made, reader = data.Rows(NOW_US), Rows(load())
    post, gone = made.post("u7", "p1"), made.post("u7", "p1", ends=True)
    follow = made.follow("u8", "u7")
    first, last = (reader.post(RowChange.FromString(row.value)) for row in (post, gone))
    assert (first.author, first.id, first.alive, last.alive) == ("u7", "p1", True, False)
    assert (last.time_us, last.position) > (first.time_us, first.position)
    edge = reader.follow(RowChange.FromString(follow.value))
    assert (edge.follower, edge.author, edge.alive) == ("u8", "u7", True)
    topics = load_topics().for_tables(load().tables)
    assert {post.topic, follow.topic} == {topics.tables["posts"], topics.tables["follows"]}
    assert topics[post.topic].partitions == data.PARTITIONS
    assert post.partition == follow.partition == murmur2_partition(b"u7", data.PARTITIONS)
