from random import Random

from penstock.demo.population import LIFE_US, Member, draw, is_guest, is_ours, own_device, scenario

NOW_US = 1_790_000_000_000_000
YEARLIKE_US = 300 * 86_400_000_000


def members(devices: int) -> list[Member]:
    return [draw(Random(f"1/{number}"), scenario(devices), devices, number, NOW_US) for number in range(1, devices + 1)]


def test_clocks_are_as_bad_as_out_there() -> None:
    wrong_us = sorted(abs(member.simulated.clocks.read(NOW_US).wall_us - NOW_US) for member in members(300))
    assert wrong_us[150] < 1_000_000
    assert wrong_us[285] > 60_000_000
    assert wrong_us[-1] > YEARLIKE_US


def test_devices_differ_in_what_they_can() -> None:
    fleet = members(300)
    assert 120 < sum(member.has_steady_clock for member in fleet) < 180
    assert 20 < sum(not member.has_tokens for member in fleet) < 70


def test_the_first_devices_have_been_there_for_a_while_and_do_not_leave_together() -> None:
    leaving = [member.until_us - NOW_US for member in members(100)]
    assert all(0 < span_us <= LIFE_US for span_us in leaving)
    assert max(leaving) - min(leaving) > LIFE_US // 2
    later = draw(Random(1), scenario(100), 100, 101, NOW_US)
    assert later.until_us == NOW_US + LIFE_US


def test_many_devices_send_no_more_in_all_than_the_machine_can_take() -> None:
    plan = scenario(4_000)
    assert 4_000 / (plan.pause_us_least + plan.pause_us_most) * 2_000_000 <= 251
    assert sum(member.events_per_s for member in members(1_000)) < 1_500


def test_a_few_come_back_with_events_from_long_before() -> None:
    returning = [member for member in members(100) if member.backlog_us is not None]
    assert [member.device_id for member in returning] == ["device-0007", "device-0032", "device-0057", "device-0082"]
    assert all(member.has_steady_clock and member.has_tokens for member in returning)
    for member in returning:
        assert member.backlog_us is not None
        since_us, until_us = member.backlog_us
        assert NOW_US - 3_600_000_000 < since_us < until_us < NOW_US - 240_000_000
    assert draw(Random(1), scenario(100), 100, 107, NOW_US).backlog_us is None


def test_devices_of_the_fleet_are_told_from_those_of_people() -> None:
    assert all(is_ours(member.device_id) and not is_guest(member.device_id) for member in members(10))
    assert is_guest("cli-laptop")
    assert not is_ours("cli-laptop")


def test_what_the_demo_publishes_itself_is_of_neither() -> None:
    assert not is_ours(own_device("probe"))
    assert not is_guest(own_device("probe"))
