from collections.abc import Callable
from io import StringIO

import pytest
from penstock.demo.scene import Scene
from penstock.demo.screen import LiveView, picture
from rich.console import Console


def lines(scene: Scene, width: int, height: int) -> list[str]:
    console = Console(file=StringIO(), width=width, height=height)
    with console.capture() as captured:
        console.print(picture(scene, height))
    return captured.get().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_it_fills_the_screen_and_no_more(scene: Scene, width: int, height: int) -> None:
    shown = lines(scene, width, height)
    assert len(shown) == height
    assert max(len(line) for line in shown) <= width
    assert shown[-1].strip() == scene.hints[-1]
    assert not any("…" in line for line in shown)


@pytest.mark.parametrize("is_ending", [False, True])
def test_nothing_is_cut_or_runs_together_after_a_day(wide_scene: Scene, is_ending: bool) -> None:
    wide_scene.ending = "enrichment catches up …" if is_ending else None
    shown = lines(wide_scene, 80, 24)
    assert len(shown) == 24
    assert not any("…" in line for line in shown[1:])
    assert "stalls 650,000 · lost 770,000 · offline 5,000 · clocks set 36,000" in "\n".join(shown)
    assert " 119 min ± 119 min 100.00 %" in "\n".join(shown)


def test_what_matters_is_there(scene: Scene) -> None:
    text = "\n".join(lines(scene, 80, 24))
    parts = (
        "300 devices  00:30 of 00:30",
        "acknowledged  100 · refused 0 · sent again 0",
        "enriched      100 · none twice · 150 ms after receipt (p99 150 ms)",
        "joins         matched 100 · missing 0 · deleted 0 · evicted 0",
        "corrected     0 · to be corrected 0 · lag 12 records, 0.2 s",
        "profiles      1 rows · 1 update, 0 inserts, 0 deletes",
        "newest SQL    UPDATE u1 (Ann, DE, free)",
        "± 40 ms",
        "peers: + received",
        "u1: pro, DE (rev 1)",
    )
    for part in parts:
        assert part in text
    assert "clock tokens" not in text
    assert "clock tokens" in "\n".join(lines(scene, 80, 40))


def test_the_tail_gets_what_is_left(scene: Scene) -> None:
    def tail(height: int) -> int:
        return sum("page.viewed " in line for line in lines(scene, 80, height)[:-1])

    assert tail(24) >= 2
    assert tail(42) == tail(32) + 10


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
