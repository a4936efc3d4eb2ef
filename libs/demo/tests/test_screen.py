from collections.abc import Callable
from io import StringIO

import pytest
from penstock.demo.scene import Scene
from penstock.demo.screen import LiveView, picture
from rich.console import Console

NOW_US = 1_790_000_000_000_000


def lines(scene: Scene, width: int, height: int) -> list[str]:
    console = Console(file=StringIO(), width=width, height=height)
    with console.capture() as captured:
        console.print(picture(scene, height, NOW_US))
    return captured.get().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (100, 36), (120, 50)])
def test_it_fills_the_screen_and_no_more(scene: Scene, width: int, height: int) -> None:
    shown = lines(scene, width, height)
    assert len(shown) == height
    assert max(len(line) for line in shown) <= width
    assert shown[-1].strip() == scene.hints[1]
    assert not any("…" in line for line in shown)


@pytest.mark.parametrize("is_ending", [False, True])
def test_nothing_is_cut_or_runs_together_after_a_day(wide_scene: Scene, is_ending: bool) -> None:
    wide_scene.ending = "enrichment catches up …" if is_ending else None
    shown = lines(wide_scene, 80, 24)
    assert len(shown) == 24
    assert not any("…" in line for line in shown[1:])
    assert "1.0 M records, 60 min" in "\n".join(shown)
    assert " 119 min ± 119 min 100.00 %" in "\n".join(shown)
    tall = "\n".join(lines(wide_scene, 80, 40))
    assert "stalls 650,000 · lost 770,000 · offline 5,000 · clocks set 36,000" in tall


def test_what_matters_is_on_the_smallest_screen(scene: Scene) -> None:
    text = "\n".join(lines(scene, 80, 24))
    parts = (
        "300 devices  00:30 of 00:30",
        "enrichment        195 events/s   12 records, 0.2 s    150 ms (p99 150 ms)",
        "join               90 changes/s  9 records            batches of 650 ms",
        "timeline        6,500 entries/s  2 records, 0.0 s     shows it in 13 ms",
        "end to end    1.1 s (p99 1.9 s)  ▄▅█  publish to follower",
        "acknowledged  100 · refused 0 · sent again 0",
        "enriched      100 · none twice · corrected 0 · to be corrected 0",
        "timelines     1,503 users · 153,002 entries, 120/s leave · refilled 31",
        "± 40 ms",
        "peers: + received",
        "timeline of you: 11 posts · 12 came · 1 went",
        "u1 Ann",
    )
    for part in parts:
        assert part in text
    assert "newest SQL" not in text


def test_a_larger_one_has_more(scene: Scene) -> None:
    text = "\n".join(lines(scene, 100, 50))
    parts = (
        "joins         matched 100 · missing 0 · deleted 0 · evicted 0",
        "profiles      1 rows · 1 update, 0 inserts, 0 deletes",
        "newest SQL    UPDATE u1 (Ann, DE, free)",
        "clock tokens",
        "u1: pro, DE (rev 1)",
    )
    for part in parts:
        assert part in text


@pytest.mark.parametrize(("height", "posts"), [(24, 3), (30, 6), (50, 8)])
def test_the_timeline_has_room(scene: Scene, height: int, posts: int) -> None:
    assert sum("The herons are back" in line for line in lines(scene, 100, height)) == posts


def test_it_can_be_shown_before_anything_has_happened(new_scene: Callable[[], Scene]) -> None:
    assert len(lines(new_scene(), 80, 24)) == 24


def test_the_end_is_announced(scene: Scene) -> None:
    scene.ending = "handing in what is left …"
    assert "handing in what is left …" in lines(scene, 80, 24)[0]


def test_the_terminal_is_given_back(scene: Scene) -> None:
    out = StringIO()
    with LiveView(Console(file=out, force_terminal=True, width=80, height=24)) as view:
        view.show(scene)
    assert "\x1b[?1049h" in out.getvalue()
    assert out.getvalue().rindex("\x1b[?1049l") > out.getvalue().rindex("\x1b[?1049h")
