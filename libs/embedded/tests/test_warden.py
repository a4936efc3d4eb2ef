from penstock.embedded import warden


def test_groups_come_and_go() -> None:
    groups: set[int] = set()
    for line in (b"+12", b"+13", b"-12", b"-99"):
        warden.note(groups, line)
    assert groups == {13}
