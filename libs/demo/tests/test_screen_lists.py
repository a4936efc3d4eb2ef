from io import StringIO

from penstock.demo.scene import Scene
from penstock.demo.screen_lists import enriched_table, timeline_table
from rich.console import Console, RenderableType

NOW_US = 1_790_000_000_000_000


def lines(table: RenderableType) -> list[str]:
    console = Console(file=StringIO(), width=100)
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


def test_what_has_just_come_or_gone_is_marked(scene: Scene) -> None:
    shown = lines(timeline_table(scene, 5, NOW_US))
    assert [line[1:9] for line in shown[1:]] == ["+  1.0 s", "   2.0 s", "−  3.0 s", "   4.0 s", "   5.0 s"]
    assert "± 40 ms" in shown[1]
    assert "u1 Ann" in shown[1]


def test_a_timeline_that_is_short_leaves_its_lines_empty(scene: Scene) -> None:
    assert len(lines(timeline_table(scene, 30, NOW_US))) == 31


def test_foreign_text_cannot_move_the_cursor(scene: Scene) -> None:
    post = scene.onlooker.top
    assert post is not None
    post.attributes["text"] = "\x1b[2Jaway [bold]with it\n"  # type: ignore[index]
    shown = "\n".join(lines(timeline_table(scene, 3, NOW_US)))
    assert "[2Jaway [bold]with it" in shown
    assert "\x1b" not in shown


def test_the_newest_enriched_events_come_last(scene: Scene) -> None:
    shown = lines(enriched_table(scene.sightings, 4))
    assert len(shown) == 5
    assert "u1: pro, DE (rev 1)" in shown[-1]
