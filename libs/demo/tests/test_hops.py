from collections.abc import Callable

from penstock.demo.hops import Hop, hops, lag_text, latency_text, timelines_text
from penstock.demo.scene import Scene


def test_every_hop_says_how_much_passes_how_far_behind_it_is_and_how_long_it_takes(scene: Scene) -> None:
    assert hops(scene) == (
        Hop("ingestion", "195", "events/s", "–", "answers in 4.0 ms"),
        Hop("enrichment", "195", "events/s", "12 records, 0.2 s", "150 ms (p99 150 ms)"),
        Hop("join", "90", "changes/s", "9 records", "batches of 650 ms"),
        Hop("timeline", "6,500", "entries/s", "2 records, 0.0 s", "shows it in 13 ms"),
    )


def test_the_whole_way(scene: Scene) -> None:
    assert latency_text(scene) == "1.1 s (p99 1.9 s)"


def test_what_timelines_hold(scene: Scene) -> None:
    assert timelines_text(scene) == "1,503 users · 153,002 entries, 120/s leave · refilled 31"


def test_lag_in_words() -> None:
    assert [lag_text(None), lag_text(1), lag_text(1_200, 0.25)] == ["–", "1 record", "1,200 records, 0.2 s"]
    assert lag_text(1_000_000, 3_600.0) == "1.0 M records, 60 min"


def test_before_anything_has_happened(new_scene: Callable[[], Scene]) -> None:
    scene = new_scene()
    assert [hop.lag for hop in hops(scene)] == ["–"] * 4
    assert (latency_text(scene), timelines_text(scene)) == ("– (p99 –)", "–")
