from collections.abc import Callable

from penstock.clock import Corrected, Domain, Method
from penstock.demo.audit import Audit
from penstock.demo.ledger import Identity
from penstock.demo.scene import Scene
from penstock.demo.summary import findings, is_good, summary
from penstock.events.v1.event_pb2 import Clock, Event

STRANGER = Identity("device-0002", "boot-1", 1)


def broken_promises(scene: Scene) -> list[str]:
    return [finding.title for finding in findings(scene) if not finding.kept]


def test_a_good_run(scene: Scene) -> None:
    text = "\n".join(summary(scene))
    assert is_good(scene)
    assert "✗" not in text
    assert "300 devices, 30 seconds, 100 events in the log." in text
    assert "acknowledged 100 · in the raw log 100 · lost 0" in text
    assert "enriched 100 · lost 0 · doubled 0" in text
    assert "150 ms after ingestion had them, 99 % within 150 ms" in text
    assert "matched 100 · missing 0 · deleted 0 · history evicted 0" in text
    assert "judged by the times of PostgreSQL's commits 100 · wrong 0" in text
    assert "1 update, 0 inserts, 0 deletes in SQL" in text
    assert "rows compared 1 · differing 0" in text
    assert "users 1,503 · entries 153,002 · differences 0" in text
    assert "of 4,210 posts and 14,400 follows, by Spark, in 14 s" in text
    assert "entries written 160,000 · removed 7,000 · timelines refilled 31" in text
    assert "publish → timeline 1.1 s (p99 1.9 s) · probes 3 · not seen 0" in text
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
    scene.ledger.enrich(STRANGER)
    assert broken_promises(scene) == ["Acknowledged events are not in the log!"]
    assert "    acknowledged 101 · in the raw log 100 · lost 1" in summary(scene)
    assert not is_good(scene)


def test_an_acknowledged_event_that_did_not_come_out_is_a_failure(scene: Scene) -> None:
    scene.ledger.make(STRANGER, 0)
    scene.ledger.acknowledge(STRANGER)
    scene.ledger.read(STRANGER)
    assert broken_promises(scene) == ["Enrichment did not bring out every event within 90 s!"]


def test_an_event_that_came_out_twice_is_a_failure(scene: Scene) -> None:
    scene.ledger.enrich(Identity("device-0001", "boot-1", 1))
    assert broken_promises(scene) == ["Events are in the enriched log more than once!"]


def test_a_join_that_is_wrong_at_the_end_is_a_failure_with_an_example(scene: Scene) -> None:
    scene.truth.begin_with("u2", {"name": "Ben", "country": "US", "plan": "free"}, 0)
    scene.joins.take(STRANGER, Event(type="page.viewed", attributes={"user": "u2"}))
    scene.joins.judge(1)
    assert broken_promises(scene) == ["Joins were not right within 90 s!"]
    assert "for example device-0002 seq 1 revision 0: nothing; true: matched" in "\n".join(summary(scene))


def test_a_join_that_was_not_judged_proves_nothing(scene: Scene) -> None:
    scene.joins.take(STRANGER, Event(type="page.viewed", clock=Clock(corrected_us=2**60)))
    assert broken_promises(scene) == ["Joins were not right within 90 s!"]
    assert "    1 could not be judged" in summary(scene)


def test_a_table_that_differs_from_the_database_is_a_failure(scene: Scene) -> None:
    scene.rows_differing = 2
    assert broken_promises(scene) == ["Enrichment's table is not what the database has after 90 s!"]
    scene.rows_differing = None
    assert broken_promises(scene) == ["The table could not be compared with the database."]


def test_a_timeline_that_differs_is_a_failure_with_examples(scene: Scene) -> None:
    scene.audit = Audit(14.0, 1_503, 4_210, 14_400, 153_002, 2, ("u1: lost u2/p3 of 17 should be there" * 3,))
    assert broken_promises(scene) == ["Timelines are not what the logs of posts and follows say!"]
    text = "\n".join(summary(scene))
    assert "differences 2" in text
    assert "u1: lost u2/p3" in text
    assert max(len(line) for line in summary(scene)) <= 79


def test_timelines_that_were_not_audited_prove_nothing(scene: Scene) -> None:
    scene.audit = Audit(300.0, failure="it was not done within 300 s")
    assert broken_promises(scene) == ["Timelines could not be computed again and compared."]
    assert "    it was not done within 300 s" in summary(scene)
    scene.audit = None
    assert broken_promises(scene) == ["Timelines could not be computed again and compared."]


def test_timelines_that_are_empty_or_late_prove_nothing(scene: Scene) -> None:
    scene.are_timelines_caught_up = False
    assert broken_promises(scene) == ["Timelines did not catch up within 90 s!"]
    scene.audit = Audit(14.0, 1_503)
    scene.are_timelines_caught_up = True
    assert broken_promises(scene) == ["Nobody's timeline had a post."]


def test_a_probe_that_was_not_seen_is_a_failure(scene: Scene) -> None:
    scene.probe.given_up = 1
    assert broken_promises(scene) == ["Posts were published that their author's follower was not shown!"]


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


def test_a_run_in_which_nothing_happened_is_a_failure(new_scene: Callable[[], Scene]) -> None:
    scene = new_scene()
    scene.rows_differing = 0
    promises = ["Nothing was acknowledged.", "Timelines could not be computed again and compared."]
    assert broken_promises(scene) == promises
    assert summary(scene)


def test_a_log_that_was_not_read_proves_nothing(scene: Scene) -> None:
    scene.is_log_read = False
    assert broken_promises(scene) == ["The log could not be read to its end in time; is this machine too busy?"]
    scene.is_log_read, scene.is_enriched_log_read = True, False
    assert broken_promises(scene) == ["The enriched log could not be read to its end in time."]
