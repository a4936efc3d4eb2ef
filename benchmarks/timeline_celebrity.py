"""One author with a million followers: posts, deletes, gains and loses followers, while others go on posting.

In:  a course with users, a probe. Out: how long others' posts take before, while an author with as many followers as
     are still written to posts every second, and while the celebrity does.
Whether all readers saw the right thing, the audit says at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from timeline_course import Burst, Course
from timeline_data import Row, Rows, user_name
from timeline_growth import growth_author, sizes_up_to
from timeline_log import Writer
from timeline_visible import Probe, Visible

STAR = "star"
EARLY_POSTS = 5
COMING, GOING = 100, 100  # followers per second
EVERY_S = 1.0


class Celebrity(NamedTuple):
    """`others_…`: of other authors' posts."""

    followers: int
    bootstrap: Burst
    before: Visible
    while_pushed: Visible
    while_merged: Visible
    posts: int


def fan(number: int) -> str:
    return f"fan{number}"


def measure_celebrity(on: Course, rows: Rows, probe: Probe, users: int, fans: int, samples: int) -> Celebrity:
    """`users` and as many `fans` as make a celebrity of the star."""
    # Before anybody follows: these are written to every follower who comes, and taken from each when they are deleted.
    on.burst(rows.post(STAR, f"early{number}") for number in range(EARLY_POSTS))
    bootstrap = on.burst(all_follow(rows, users, fans))

    def sample() -> Visible:
        return probe.run(probe.through_tables, samples, 5.0)

    before = sample()
    with Meanwhile(on, pushes(rows, users)):
        while_pushed = sample()
    on.settle()
    with Meanwhile(on, doings(rows, fans)) as meanwhile:
        while_merged = sample()
    on.settle()
    return Celebrity(users + fans, bootstrap, before, while_pushed, while_merged, meanwhile.times)


def all_follow(rows: Rows, users: int, fans: int) -> Iterator[Row]:
    for user in range(users):
        yield rows.follow(user_name(user), STAR)
    for number in range(fans):
        yield rows.follow(fan(number), STAR)


def pushes(rows: Rows, users: int) -> Iterator[list[Row]]:
    """A post of the author with the most followers among those that are written to, each time."""
    author = growth_author(sizes_up_to(users)[-1], 0)
    for number in count():
        yield [rows.post(author, f"push{number}")]


def doings(rows: Rows, fans: int) -> Iterator[list[Row]]:
    """What the star does in a second: posts, deletes the post before; the second time an early one, from everybody."""
    for number in count():
        done = [rows.post(STAR, f"late{number}")]
        if number % 2 == 1:
            done.append(rows.post(STAR, f"late{number - 1}", ends=True))
        if number == 1:
            done.append(rows.post(STAR, "early0", ends=True))
        done += [rows.follow(fan(fans + number * COMING + one), STAR) for one in range(COMING)]
        done += [rows.follow(fan((number * GOING + one) % fans), STAR, ends=True) for one in range(GOING)]
        yield done


class Meanwhile:
    """Writes the next rows every second, from a thread, until it is closed."""

    def __init__(self, on: Course, doings: Iterator[list[Row]]) -> None:
        self.times = 0
        self._writer = Writer(on.bootstrap)
        self._doings = doings
        self._stopping = threading.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="meanwhile")

    def __enter__(self) -> Meanwhile:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._writer.close()
        if self._failed:
            raise self._failed[0]

    def _run(self) -> None:
        try:
            while True:
                self._writer.write(next(self._doings))
                self.times += 1
                if self._stopping.wait(EVERY_S):
                    return
        except SystemExit as error:
            self._failed.append(error)
