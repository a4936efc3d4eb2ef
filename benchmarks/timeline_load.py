"""The load of bench-timeline: rounds of posts, with some posts deleted, and some follows ended and begun again.

In:  a graph, the number of a round. Out: rows in the order in which they are written.
Of a hundred rows, 96 are posts; one deletes a post of the round before, one ends a follow, one begins a follow that the
round before ended, and one edits a post of the round before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from timeline_data import Audience, Edges, Ids, Row, Rows, authors_of_posts, user_name

SHARE = 100  # one row in so many is of each other kind
SEED = 1_000


class Load:
    def __init__(self, edges: Edges, users: int, posts: int) -> None:
        self.audience = Audience.of(edges, users)
        self._edges = edges
        self._posts = posts
        self._others = posts // (SHARE - 4)  # of each kind

    def authors(self, number: int) -> Ids:
        """Of the posts of a round."""
        return authors_of_posts(self.audience.counts, self._posts, SEED + number)

    def rows(self, rows: Rows, number: int) -> Iterator[Row]:
        """Round 0 has only posts."""
        posts = rows.posts(self.authors(number).tolist(), run_of(number))
        if number == 0:
            return posts
        return _mixed(posts, self._churn(rows, number))

    def _churn(self, rows: Rows, number: int) -> Iterator[Row]:
        before, run = self.authors(number - 1), run_of(number - 1)
        chosen = np.random.default_rng(SEED - number).permutation(self._posts)[: 2 * self._others].tolist()
        ending, beginning = self._slice(number), self._slice(number - 1)
        for index in range(self._others):
            deleted, edited = chosen[2 * index], chosen[2 * index + 1]
            yield rows.post(user_name(int(before[deleted])), f"{run}-{deleted}", ends=True)
            yield rows.post(user_name(int(before[edited])), f"{run}-{edited}")
            yield self._follow(rows, ending, index, ends=True)
            if number > 1:
                yield self._follow(rows, beginning, index, ends=False)

    def _slice(self, number: int) -> slice:
        """Edges that a round ends."""
        return slice((number - 1) * self._others, number * self._others)

    def _follow(self, rows: Rows, edges: slice, index: int, *, ends: bool) -> Row:
        author, follower = self._edges.author[edges][index], self._edges.follower[edges][index]
        return rows.follow(user_name(int(follower)), user_name(int(author)), ends=ends)


def run_of(number: int) -> str:
    return f"round{number}"


def _mixed(posts: Iterator[Row], others: Iterator[Row]) -> Iterator[Row]:
    """Four of the others after each 96 posts."""
    while some := list(islice(posts, SHARE - 4)):
        yield from chain(some, islice(others, 4))
    yield from others
