from penstock.demo.ledger import REFUSED_MAX, Identity, Ledger

ONE, TWO = Identity("device-0001", "boot-1", 1), Identity("device-0001", "boot-1", 2)


def test_the_log_may_be_faster_than_the_answer_and_the_other_way_round() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.make(TWO, 20)
    assert ledger.read(ONE) == 10
    ledger.acknowledge(ONE)
    ledger.acknowledge(TWO)
    assert ledger.awaited == 1
    assert ledger.read(TWO) == 20
    assert (ledger.acknowledged, ledger.in_log, ledger.awaited, ledger.unacknowledged) == (2, 2, 0, 0)


def test_what_was_acknowledged_and_never_read_is_lost() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.acknowledge(ONE)
    ledger.acknowledge(ONE)
    assert (ledger.acknowledged, ledger.awaited) == (1, 1)


def test_copies_in_the_log_are_counted_before_and_after_the_acknowledgement() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.read(ONE)
    ledger.enrich(ONE)
    assert ledger.read(ONE) is None
    ledger.acknowledge(ONE)
    assert ledger.read(ONE) is None
    assert (ledger.in_log, ledger.copies_in_log) == (1, 2)


def test_a_refused_event_that_comes_out_is_noticed_whichever_comes_first() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.make(TWO, 20)
    ledger.refuse(ONE)
    assert ledger.read(ONE) is None
    ledger.read(TWO)
    ledger.refuse(TWO)
    assert (ledger.refused, ledger.refused_in_log, ledger.copies_in_log) == (2, 2, 0)


def test_it_is_full_until_something_is_settled() -> None:
    ledger = Ledger(events_max=1)
    ledger.make(ONE, 10)
    ledger.read(ONE)
    ledger.acknowledge(ONE)
    assert ledger.is_full
    ledger.enrich(ONE)
    assert not ledger.is_full


def test_what_was_acknowledged_and_did_not_come_out_enriched_is_lost() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.read(ONE)
    assert ledger.unenriched == 0
    ledger.acknowledge(ONE)
    assert (ledger.awaited, ledger.unenriched) == (0, 1)


def test_the_enriched_log_may_be_seen_first() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.enrich(ONE)
    ledger.acknowledge(ONE)
    assert ledger.read(ONE) == 10
    assert (ledger.enriched, ledger.unenriched, ledger.doubled, ledger.copies_in_log) == (1, 0, 0, 0)


def test_what_comes_out_twice_is_doubled_also_after_it_was_settled() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.enrich(ONE)
    ledger.enrich(ONE)
    ledger.read(ONE)
    ledger.acknowledge(ONE)
    ledger.enrich(ONE)
    assert (ledger.enriched, ledger.doubled) == (1, 2)


def test_a_refused_event_must_not_come_out_enriched() -> None:
    ledger = Ledger()
    ledger.make(ONE, 10)
    ledger.refuse(ONE)
    ledger.enrich(ONE)
    assert (ledger.refused_in_log, ledger.doubled) == (1, 0)


def test_old_refusals_are_forgotten() -> None:
    ledger = Ledger()
    for seq in range(REFUSED_MAX + 1):
        ledger.make(Identity("d", "b", seq), 0)
        ledger.refuse(Identity("d", "b", seq))
    ledger.read(Identity("d", "b", 1))
    ledger.read(Identity("d", "b", 0))
    assert (ledger.refused_in_log, ledger.copies_in_log) == (1, 1)
