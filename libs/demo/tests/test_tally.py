from penstock.demo.tally import RATE_SECONDS, Rate


def test_a_rate_is_what_was_added_each_second() -> None:
    rate = Rate()
    for count in (10, 30, 60):
        rate.sample(count)
    assert list(rate.per_second) == [10, 20, 30]
    assert rate.recent() == 20
    assert rate.recent(seconds=1) == 30


def test_a_rate_remembers_a_minute() -> None:
    rate = Rate()
    assert rate.recent() == 0
    for count in range(1000):
        rate.sample(count)
    assert len(rate.per_second) == RATE_SECONDS
