from penstock.demo.plain import PlainView, plain_line
from penstock.demo.scene import Scene


def test_one_line_says_where_things_stand(scene: Scene) -> None:
    assert plain_line(scene) == (
        "00:30  195 events/s · acknowledged 100 · refused 0 · answered in 4.0 ms · "
        "time error p50 5.0 ms, p99 5.0 ms (peers' formula 860 ms, 860 ms) · truth in bound 100.00 %"
    )


def test_the_view_writes_lines(scene: Scene) -> None:
    written: list[str] = []
    with PlainView(written.append) as view:
        view.show(scene)
        view.show(scene)
        scene.is_ending = True
        view.show(scene)
    assert written == [f"{plain_line(scene)}\n"] * 2
