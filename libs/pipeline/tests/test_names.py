import pytest
from penstock.document import Section, read
from penstock.document.faults import InvalidDocumentError
from penstock.pipeline.names import KEY_PARTS_MAX, KeyColumns


class Door(Section):
    key: KeyColumns


@pytest.mark.parametrize(("text", "key"), [("user", ("user",)), ("[a, B_2]", ("a", "B_2"))])
def test_a_key_is_one_name_or_several(text: str, key: tuple[str, ...]) -> None:
    assert read(f"key: {text}", "d", Door).key == key


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a-b", "1:6: key: 'a-b' is not spelt as it must be; should be letters, digits and _, such as country"),
        ("[a, a]", "1:10: key[1]: 'a' is listed twice; remove one of them"),
        ("[]", "1:6: key: has 0 entries; at least 1 should be there"),
        ("5", "1:6: key: is the number 5; should be a list"),
        (f"[{', '.join('abcdefghi')}]", f"1:6: key: has more than {KEY_PARTS_MAX} entries; at most 8 are allowed"),
    ],
)
def test_anything_else_is_a_fault(text: str, fault: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        read(f"key: {text}", "d", Door)
    assert [str(found) for found in caught.value.faults] == [fault]
