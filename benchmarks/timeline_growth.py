"""What an entry costs as authors have more followers; and how much memory a full timeline takes.

In:  a course with users. Out: for each number of followers, a burst that brings every user the same number of entries:
     ten thousand authors with 10 followers each, or one with 100,000, each author with as many posts. And what the
     service says of its memory when every inbox is full.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from penstock.timelines.store import Partition, Shape
from penstock.topics.content import content
from timeline_course import Burst, Course
from timeline_data import PARTITIONS, Row, Rows, user_name

FILLER = "filler"
DELIVERIES = "timeline.deliveries.v1"
PUSHES = 15
CAPACITY, SLACK = 800, 200


def growth_author(followers: int, number: int) -> str:
    return f"of{followers}-{number}"


def sizes_up_to(users: int) -> list[int]:
    """10, 100, … as far as there are users; each divides them, or its last author has fewer followers."""
    sizes = [10]
    while sizes[-1] * 10 <= users:
        sizes.append(sizes[-1] * 10)
    return sizes


def follows(rows: Rows, users: int, size: int) -> Iterator[Row]:
    for user in range(users):
        yield rows.follow(user_name(user), growth_author(size, user // size))


def posts(rows: Rows, users: int, size: int, each: int) -> Iterator[Row]:
    for number in range(each):
        for author in range(-(-users // size)):
            yield rows.post(growth_author(size, author), f"p{number}")


def measure_growth(on: Course, rows: Rows, users: int, each: int) -> dict[int, Burst]:
    sizes = sizes_up_to(users)
    on.burst(row for size in sizes for row in follows(rows, users, size))
    return {size: on.burst(posts(rows, users, size, each)) for size in sizes}


class Push(NamedTuple):
    """One post in a micro-batch of its own: CPU seconds where nobody follows its author, and where so many do."""

    empty_cpu_s: float
    cpu_s: float
    followers: int

    @property
    def us_per_follower(self) -> float:
        return max(0.0, self.cpu_s - self.empty_cpu_s) / self.followers * 1e6


def measure_push(on: Course, rows: Rows, users: int) -> Push:
    """In turns, since a batch costs more than what one post adds to it."""
    followers = sizes_up_to(users)[-1]
    empty, pushed = [], []
    for number in range(PUSHES):
        empty.append(on.burst([rows.post("nobody-follows", f"p{number}")]).cpu.total)
        pushed.append(on.burst([rows.post(growth_author(followers, 0), f"alone{number}")]).cpu.total)
    return Push(median(empty), median(pushed), followers)


class Memory(NamedTuple):
    """Bytes per user with a full timeline: all of the store; then its parts."""

    total: float
    inbox: float  # entries and the user's row
    followees: float
    posts: float  # the table of posts and what they say, once per partition
    entries: float  # per user


def fill(on: Course, rows: Rows, users: int, oldest_us: int) -> Burst:
    """Gives every user posts that are older than all others, as many as an inbox holds."""
    on.burst(rows.follow(user_name(user), FILLER) for user in range(users))
    return on.burst(rows.post(FILLER, f"p{number}", time_us=oldest_us + number) for number in range(CAPACITY + SLACK))


def measure_memory(on: Course) -> Memory:
    """The total is the service's own word. The parts come from one partition, made again from its log."""
    held = on.described()
    partition = Partition(0, Shape(CAPACITY, SLACK, PARTITIONS, PARTITIONS))
    for message in content({"bootstrap.servers": on.bootstrap}, DELIVERIES, partitions=[0]):
        partition.apply(message.value() or b"", message.offset() or 0)
    sizes = {name: array.nbytes / partition.users for name, array in partition.image().arrays.items()}
    total = held.memory_bytes / held.users
    inbox = sizes["inboxes_words"] + sizes["inboxes_links"] + sizes["users"]
    followees = sizes["followees_words"] + sizes["followees_links"]
    return Memory(total, inbox, followees, total - inbox - followees, held.entries / held.users)
