from random import Random

from penstock.demo import posts


def test_people_write_different_things() -> None:
    random = Random(1)
    written = {posts.text(random) for _ in range(200)}
    assert len(written) > 60
    assert all(0 < len(text) < 70 and text.isprintable() for text in written)


def test_an_edit_shows() -> None:
    assert posts.edited(Random(1), "Soup weather.").startswith("Soup weather. (Edit: ")
