from penstock.demo.plain import PlainView, plain_lines
from penstock.demo.scene import Scene


def test_a_few_lines_say_where_things_stand(scene: Scene) -> None:
    assert plain_lines(scene) == (
        "00:30  195 events/s · acknowledged 100 · refused 0 · answered in 4.0 ms · "
        "time error p50 5.0 ms, p99 5.0 ms (peers' formula 860 ms, 860 ms) · truth in bound 100.00 %",
        "       enriched 100 · matched 100 · missing 0 · deleted 0 · history evicted 0 · corrected 0 · "
        "lag 12 records, 0.2 s · profiles: 1 update, 0 inserts, 0 deletes",
        "       timelines: 6,500 entries/s · 1,503 users · 153,002 entries, 120/s leave · refilled 31 · "
        "publish → timeline 1.1 s (p99 1.9 s) · join batches of 650 ms, lag 9 records · lag 2 records, 0.0 s",
        "       timeline of you: 11 posts, 12 came, 1 went; u1: The herons are back",
    )


def test_the_view_writes_lines_and_says_what_is_done_at_the_end(scene: Scene) -> None:
    written: list[str] = []
    with PlainView(written.append) as view:
        view.show(scene)
        for ending in ("handing in what is left …", "enrichment catches up …", "enrichment catches up …"):
            scene.ending = ending
            view.show(scene)
    endings = ["==> handing in what is left …", "==> enrichment catches up …"]
    assert "".join(written).splitlines() == [*plain_lines(scene), *endings]
