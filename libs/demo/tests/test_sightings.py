from penstock.demo.sightings import KEPT, Sighting, Sightings

NOW_US = 1_790_000_000_000_000
SECOND_US = 1_000_000


def sighting(off_us: int = 0, *, revision: int = 0, guest: bool = False) -> Sighting:
    return Sighting(NOW_US, 20_000, NOW_US + off_us, "page.viewed", "u1: pro, DE", revision, guest)


def test_good_and_bad_clocks_alternate() -> None:
    sightings = Sightings()
    for second in range(6):
        for off_us in (100, 3_600 * SECOND_US):
            sightings.offer(sighting(off_us), second * SECOND_US)
    assert [seen.claimed_us - NOW_US for seen in sightings.newest] == [100, 3_600 * SECOND_US] * 3


def test_one_at_a_time_so_that_people_can_read() -> None:
    sightings = Sightings()
    for at_us in (0, 1, 2):
        sightings.offer(sighting(), at_us)
        sightings.offer(sighting(3_600 * SECOND_US), at_us)
    assert len(sightings.newest) == 1


def test_a_guest_is_always_shown() -> None:
    sightings = Sightings()
    for at_us in (0, 1, 2):
        sightings.offer(sighting(guest=True), at_us)
    assert len(sightings.newest) == 3


def test_corrections_are_shown_now_and_then_beside_the_others() -> None:
    sightings = Sightings()
    for at_us in (0, 1, 4 * SECOND_US):
        sightings.offer(sighting(revision=1), at_us)
        sightings.offer(sighting(), at_us)
    assert [seen.revision for seen in sightings.newest] == [1, 0, 1]


def test_only_the_newest_are_kept() -> None:
    sightings = Sightings()
    for at_us in range(100):
        sightings.offer(sighting(guest=True), at_us)
    assert len(sightings.newest) == KEPT
