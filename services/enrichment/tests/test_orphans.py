from penstock.enrichment.orphans import least


def test_whoever_reads_least_is_to_act_and_the_first_by_name_among_equals() -> None:
    one, two = ("t", 1), ("t", 2)
    assert least({"a": {one, two}, "b": {one}}) == "b"
    assert least({"b": set(), "a": set(), "c": {one}}) == "a"
    assert least({"only": {one}}) == "only"
