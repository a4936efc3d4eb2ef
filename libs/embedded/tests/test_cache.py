from pathlib import Path
from threading import Event, Thread

from penstock.embedded.cache import cache_folder, only_one


def test_where_the_cache_is() -> None:
    assert cache_folder({"PENSTOCK_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache_folder({"XDG_CACHE_HOME": "/b"}) == Path("/b/penstock")
    assert cache_folder({}) == Path.home() / ".cache" / "penstock"


def test_the_second_waits_says_so_and_then_goes_on(tmp_path: Path) -> None:
    waiting, done = Event(), Event()

    def second() -> None:
        with only_one(tmp_path / "lock", lambda _: waiting.set()):
            done.set()

    with only_one(tmp_path / "lock"):
        thread = Thread(target=second)
        thread.start()
        assert waiting.wait(60)
        assert not done.is_set()
    thread.join(60)
    assert done.is_set()
