from io import StringIO

import pytest
from penstock.demo.scene import Scene
from penstock.demo.screen import LiveView, picture
from penstock.demo.stack import Stack
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
    wide_scene.is_ending = is_ending
    shown = lines(wide_scene, 80, 24)
    assert len(shown) == 24
    assert not any("…" in line for line in shown[1:])
    assert "650,000 stalls · 770,000 lost · 5,000 offline · 36,000 clocks set" in "\n".join(shown)
    assert " 119 min ± 119 min 100.00 %" in "\n".join(shown)


def test_what_matters_is_there(scene: Scene) -> None:
    text = "\n".join(lines(scene, 80, 24))
    for part in ("300 devices  00:30 of 00:30", "unknown type 3", "acknowledged  100", "± 40 ms", "peers: + received"):
        assert part in text


def test_the_tail_gets_what_is_left(scene: Scene) -> None:
    def tail(height: int) -> int:
        return sum("device-0001" in line for line in lines(scene, 80, height))

    assert tail(40) == tail(24) + 16


def test_it_can_be_shown_before_anything_has_happened() -> None:
    assert lines(Scene(300, None, Stack("a:1", "b:2", ""), "penstock"), 80, 24)


def test_the_end_is_announced(scene: Scene) -> None:
    scene.is_ending = True
    assert "handing in what is left …" in lines(scene, 80, 24)[0]


def test_the_terminal_is_given_back(scene: Scene) -> None:
    out = StringIO()
    with LiveView(Console(file=out, force_terminal=True, width=80, height=24)) as view:
        view.show(scene)
    assert "\x1b[?1049h" in out.getvalue()
    assert out.getvalue().rindex("\x1b[?1049l") > out.getvalue().rindex("\x1b[?1049h")
