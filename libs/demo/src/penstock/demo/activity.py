"""What one user does on a device: the social events, in a believable mix.

In:  a seeded randomness. Out: one action after the other: type and attributes of an event.
About one in a hundred is wrong on purpose, as if an app had been released too early: of a type that the pipeline
does not declare, or without an attribute that it requires.
"""

from collections import deque
from random import Random
from typing import NamedTuple

from penstock.demo.population import user_of

WRONG = 0.01
_REMEMBERED = 20
_PAGES = ("/home", "/explore", "/notifications", "/settings", "/about", "/help")
_QUERIES = ("sourdough", "night trains", "tide tables", "bird calls", "used bikes", "film cameras", "river levels")
_TEXTS = (
    "The river is high today.",
    "Found a bakery that opens at five.",
    "Does anyone know this bird?",
    "Second coffee. It helps.",
    "New post on the blog about sluice gates.",
)
_COUNTRIES = ("DE", "IN", "BR", "KE", "JP", "US", "PT", "NG")


class Action(NamedTuple):
    type: str
    attributes: dict[str, str]


class Activity:
    def __init__(self, random: Random, user: str, users: int) -> None:
        self._random, self._user, self._users = random, user, users
        self._session = f"{user}.1"
        self._sessions, self._posts_made = 1, 0
        self._query = _QUERIES[0]
        self._posts: deque[str] = deque(maxlen=_REMEMBERED)
        self._follows: deque[str] = deque(maxlen=_REMEMBERED)

    def next(self) -> Action:
        """The next thing that the user does."""
        kind = self._random.random()
        if kind < WRONG:
            return self._wrong()
        if kind < 0.45:
            return Action("page.viewed", {"user": self._user, "page": self._page(), "session": self._session})
        if kind < 0.60:
            return self._search()
        if kind < 0.75:
            url = f"https://example.org/{self._query.replace(' ', '-')}/{self._random.randint(1, 9)}"
            return Action("link.clicked", {"session": self._session, "url": url, "user": self._user})
        if kind < 0.89:
            return self._post() if kind < 0.86 or not self._posts else self._delete()
        if kind < 0.98:
            return self._follow() if kind < 0.96 or not self._follows else self._unfollow()
        return Action("profile.changed", {"user": self._user, "country": self._random.choice(_COUNTRIES)})

    def _wrong(self) -> Action:
        if self._random.random() < 0.5:
            return Action("post.liked", {"user": self._user, "post_id": f"{self._user}-p1"})
        return Action("search.made", {"session": self._session, "user": self._user})

    def _page(self) -> str:
        if self._random.random() < 0.1:
            self._sessions += 1
            self._session = f"{self._user}.{self._sessions}"
        return self._random.choice(_PAGES)

    def _search(self) -> Action:
        self._query = self._random.choice(_QUERIES)
        return Action("search.made", {"session": self._session, "query": self._query, "user": self._user})

    def _post(self) -> Action:
        self._posts_made += 1
        post_id = f"{self._user}-p{self._posts_made}"
        self._posts.append(post_id)
        text = self._random.choice(_TEXTS)
        return Action("post.created", {"author": self._user, "post_id": post_id, "text": text})

    def _delete(self) -> Action:
        return Action("post.deleted", {"author": self._user, "post_id": self._posts.popleft()})

    def _follow(self) -> Action:
        author = user_of(self._random.randint(1, self._users))
        self._follows.append(author)
        return Action("follow.created", {"follower": self._user, "author": author})

    def _unfollow(self) -> Action:
        return Action("follow.deleted", {"follower": self._user, "author": self._follows.popleft()})
