from penstock.demo.plain import PlainView, plain_lines
from penstock.demo.scene import Scene


def test_two_lines_say_where_things_stand(scene: Scene) -> None:
    assert plain_lines(scene) == (
        "00:30  195 events/s · acknowledged 100 · refused 0 · answered in 4.0 ms · "
        "time error p50 5.0 ms, p99 5.0 ms (peers' formula 860 ms, 860 ms) · truth in bound 100.00 %",
        "       enriched 100 · matched 100 · missing 0 · deleted 0 · history evicted 0 · corrected 0 · "
        "lag 12 records, 0.2 s · profiles: 1 update, 0 inserts, 0 deletes",
    )


def test_the_view_writes_lines(scene: Scene) -> None:
    written: list[str] = []
    with PlainView(written.append) as view:
        view.show(scene)
        scene.ending = "handing in what is left …"
        view.show(scene)
    assert "".join(written).splitlines() == list(plain_lines(scene))
