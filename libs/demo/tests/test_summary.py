from penstock.clock import Corrected, Domain, Method
from penstock.demo.ledger import Identity
from penstock.demo.scene import Scene
from penstock.demo.stack import Stack
from penstock.demo.summary import findings, is_good, summary

STRANGER = Identity("device-0002", "boot-1", 1)


def broken_promises(scene: Scene) -> list[str]:
    return [finding.title for finding in findings(scene) if not finding.kept]


def test_a_good_run(scene: Scene) -> None:
    text = "\n".join(summary(scene))
    assert is_good(scene)
    assert "✗" not in text
    assert "300 devices, 30 seconds, 100 events in the log." in text
    assert "acknowledged 100 · in the log 100 · lost 0" in text
    assert "refused 0: unknown type 3" in text
    assert "half of all times are within 5.0 ms of the truth" in text
    assert "100.00 % of 90; median ± 40 ms" in text


def test_it_fits_a_terminal(scene: Scene) -> None:
    assert max(len(line) for line in summary(scene)) <= 79


def test_columns_do_not_run_together(wide_scene: Scene) -> None:
    shown = summary(wide_scene)
    assert max(len(line) for line in shown) <= 79
    assert " 190,000,000 119 min 119 min 119 min ± 119 min 100.00 %" in "\n".join(shown)


def test_an_acknowledged_event_that_is_not_in_the_log_is_a_failure(scene: Scene) -> None:
    scene.ledger.make(STRANGER, 0)
    scene.ledger.acknowledge(STRANGER)
    assert broken_promises(scene) == ["Acknowledged events are not in the log!"]
    assert "    acknowledged 101 · in the log 100 · lost 1" in summary(scene)
    assert not is_good(scene)


def test_events_still_on_the_devices_are_not_lost(scene: Scene) -> None:
    scene.ledger.make(STRANGER, 0)
    assert is_good(scene)
    assert "    1 more were still on the devices when time was up" in summary(scene)


def test_a_refused_event_that_came_out_is_a_failure(scene: Scene) -> None:
    scene.ledger.make(STRANGER, 0)
    scene.ledger.refuse(STRANGER)
    scene.ledger.read(STRANGER)
    assert broken_promises(scene) == ["1 refused events came out as events!"]


def test_bounds_that_do_not_hold_are_a_failure(scene: Scene) -> None:
    wrong = Corrected(5_000, 10, Method.ECHO, Domain.WALL, 0, False, False, 0)
    scene.accuracy.add(0, occurred_us=0, sent_us=0, received_us=0, corrected=wrong)
    assert broken_promises(scene) == ["Fewer than 99.9% of the stated bounds hold!"]


def test_not_quite_all_is_not_called_all(scene: Scene) -> None:
    assert "all keep to it" in "\n".join(summary(scene)).replace("nearly all", "")
    for _ in range(2_000):
        right = Corrected(0, 10, Method.ECHO, Domain.WALL, 0, False, False, 0)
        scene.accuracy.add(0, occurred_us=0, sent_us=0, received_us=0, corrected=right)
    wrong = Corrected(5_000, 10, Method.ECHO, Domain.WALL, 0, False, False, 0)
    scene.accuracy.add(0, occurred_us=0, sent_us=0, received_us=0, corrected=wrong)
    assert is_good(scene)
    assert "nearly all keep to it" in "\n".join(summary(scene))
    assert max(len(line) for line in summary(scene)) <= 79


def test_calls_that_failed_are_told(scene: Scene) -> None:
    scene.tally.failed["UNAVAILABLE"] = 7
    assert "    calls that failed and were repeated: UNAVAILABLE 7" in summary(scene)


def test_a_run_in_which_nothing_happened_is_a_failure() -> None:
    scene = Scene(300, None, Stack("", "", ""), "penstock")
    assert broken_promises(scene) == ["Nothing was acknowledged."]
    assert summary(scene)


def test_a_log_that_was_not_read_proves_nothing(scene: Scene) -> None:
    scene.is_log_read = False
    assert broken_promises(scene) == ["The log could not be read to its end in time; is this machine too busy?"]
