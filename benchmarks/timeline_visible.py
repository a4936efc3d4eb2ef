"""How long it takes until a follower sees a post, at a few posts per second.

In:  a way to send a post. Out: the time from just before that until the follower's subscription tells of it, for each;
     and what the join's micro-batches consisted of meanwhile, by Spark's own account.
Posts come at random times, so that they are never in step with the batches, from authors of all shards in turn.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from statistics import fmean

from penstock.client import Added, PenstockError, Plaintext, Timelines
from timeline_course import Course, metrics
from timeline_data import Rows

READER = "probe-reader"
AUTHORS = tuple(f"probe-author-{number}" for number in range(16))
PATIENCE_S = 120.0
PHASE = "penstock_jobs_batch_phase_seconds"

Send = Callable[[str, str], None]  # an author, the id of a post


@dataclass(frozen=True)
class Visible:
    """Milliseconds. `phases` are means over the batches that were looked at."""

    latencies_ms: list[float]
    phases_ms: Mapping[str, float]

    @property
    def p50_ms(self) -> float:
        return self._at(0.5)

    @property
    def p99_ms(self) -> float:
        return self._at(0.99)

    @property
    def max_ms(self) -> float:
        return max(self.latencies_ms)

    def _at(self, share: float) -> float:
        return sorted(self.latencies_ms)[int(len(self.latencies_ms) * share)]


class Probe:
    """One reader who follows some authors of its own, and watches."""

    def __init__(self, on: Course, rows: Rows) -> None:
        self._on = on
        self._rows = rows
        self._random = random.Random(11)
        self._numbers = count()
        self._seen: dict[str, float] = {}
        self._changed = threading.Condition()
        self._ended: PenstockError | None = None
        on.writer.write(rows.follow(READER, author) for author in AUTHORS)
        on.settle()
        self._timelines = Timelines(on.service.address, security=Plaintext())
        self._subscription = self._timelines.subscribe(READER)
        self._thread = threading.Thread(target=self._watch, name="probe")
        self._thread.start()

    def through_tables(self, author: str, post_id: str) -> None:
        self._on.writer.write([self._rows.post(author, post_id, time_us=time.time_ns() // 1000)])

    def run(self, send: Send, posts: int, per_s: float) -> Visible:
        """Sends so many posts, and waits until the last one is seen."""
        sent: dict[str, float] = {}
        phases: list[Mapping[str, float]] = []
        due = time.perf_counter()
        for number in range(posts):
            due += self._random.uniform(0.5, 1.5) / per_s
            self._on.supervisor.wait(max(0.0, due - time.perf_counter()))
            post_id = f"probe-{next(self._numbers)}"
            sent[post_id] = time.perf_counter()
            send(AUTHORS[number % len(AUTHORS)], post_id)
            phases.append(batch_phases(self._on.jobs.metrics))
        self._await(sent)
        return Visible([(self._seen[one] - at) * 1000 for one, at in sent.items()], means(phases))

    def close(self) -> None:
        self._subscription.close()
        self._thread.join()
        self._timelines.close()

    def _watch(self) -> None:
        try:
            for change in self._subscription:
                if isinstance(change, Added):
                    with self._changed:
                        self._seen.setdefault(change.post.id, time.perf_counter())
                        self._changed.notify_all()
        except PenstockError as error:
            with self._changed:
                self._ended = error
                self._changed.notify_all()

    def _await(self, sent: Mapping[str, float]) -> None:
        with self._changed:
            seen = self._changed.wait_for(lambda: self._ended or sent.keys() <= self._seen.keys(), PATIENCE_S)
        if self._ended is not None or not seen:
            missing = len(sent.keys() - self._seen.keys())
            raise SystemExit(f"{missing} of {len(sent)} posts were not seen by a follower: {self._ended}")


def batch_phases(url: str) -> dict[str, float]:
    """Of the last batch, in milliseconds."""
    found = metrics(url, PHASE)
    return {labels.partition('phase="')[2].partition('"')[0]: value * 1000 for labels, value in found.items()}


def means(phases: list[Mapping[str, float]]) -> dict[str, float]:
    """A batch that was looked at twice counts once."""
    batches = {tuple(sorted(one.items())) for one in phases if one}
    names = {name for one in batches for name, _ in one}
    return {name: fmean(dict(one).get(name, 0.0) for one in batches) for name in sorted(names)}
