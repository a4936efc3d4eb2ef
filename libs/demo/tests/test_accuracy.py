from penstock.clock import Corrected, Domain, Method
from penstock.demo.accuracy import Accuracy


def corrected(time_us: int, bound_us: int | None, method: Method = Method.ECHO) -> Corrected:
    return Corrected(time_us, bound_us, method, Domain.WALL, 0, False, False, time_us)


def add(accuracy: Accuracy, time: Corrected) -> None:
    """Happened at 1,000,000; the device's clock is 300 ahead and the request took 50."""
    accuracy.add(1_000_000, occurred_us=1_000_300, sent_us=1_000_500, received_us=1_000_250, corrected=time)


def test_every_way_to_find_a_time_is_compared_with_the_truth() -> None:
    accuracy = Accuracy()
    add(accuracy, corrected(999_990, 20))
    assert accuracy.ours.wrong_us.greatest == 10
    assert accuracy.peers.wrong_us.greatest == 50
    assert accuracy.device.wrong_us.greatest == 300
    assert accuracy.by_method[Method.ECHO].wrong_us.count == 1
    assert accuracy.by_method[Method.NAIVE].wrong_us.count == 0


def test_a_bound_that_the_truth_leaves_counts_against_us() -> None:
    accuracy = Accuracy()
    add(accuracy, corrected(1_000_020, 20))
    assert accuracy.bounds_hold
    add(accuracy, corrected(1_000_021, 20))
    assert accuracy.ours.coverage == 0.5
    assert not accuracy.bounds_hold


def test_times_without_a_bound_promise_nothing() -> None:
    accuracy = Accuracy()
    add(accuracy, corrected(5, None, Method.NAIVE))
    assert accuracy.ours.coverage is None
    assert accuracy.bounds_hold
