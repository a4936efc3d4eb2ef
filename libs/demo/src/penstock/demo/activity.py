"""What one user does: the social events, in a believable mix.

In:  a seeded randomness, who else is here, whom the user follows already.
Out: one action after the other: type and attributes of an event.
About one in a hundred is wrong on purpose, as if an app had been released too early: of a type that the pipeline
does not declare, or without an attribute that it requires.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from penstock.demo import posts
from penstock.demo.society import choose

# How often each thing is done, in parts of a thousand.
MIX = {
    "view": 560,
    "search": 100,
    "click": 100,
    "post": 120,
    "edit": 3,
    "delete": 12,
    "follow": 45,
    "unfollow": 20,
    "follow again": 10,
    "change profile": 20,
    "err": 10,
}
_POSTS_REMEMBERED, _FORMER_REMEMBERED = 20, 10
# Newcomers look for company; whoever follows this many lets go of some first.
_FOLLOWED_FEW, _FOLLOWED_MAX = 6, 60
_PAGES = ("/home", "/explore", "/notifications", "/settings", "/about", "/help")
_QUERIES = ("sourdough", "night trains", "tide tables", "bird calls", "used bikes", "film cameras", "river levels")
_COUNTRIES = ("DE", "IN", "BR", "KE", "JP", "US", "PT", "NG")


class Action(NamedTuple):
    type: str
    attributes: dict[str, str]


class Activity:
    """`present`: who may be followed, those who came first at the front."""

    def __init__(
        self, random: Random, user: str, present: Callable[[], Sequence[str]], follows: Iterable[str] = ()
    ) -> None:
        self._random, self._user, self._present = random, user, present
        self._session = f"{user}.1"
        self._sessions, self._posts_made = 1, 0
        self._query = _QUERIES[0]
        self._posts: deque[tuple[str, str]] = deque(maxlen=_POSTS_REMEMBERED)  # id and text
        self._follows = list(follows)
        self._former: deque[str] = deque(maxlen=_FORMER_REMEMBERED)
        self._does: dict[str, Callable[[], Action | None]] = {
            "view": self._view,
            "search": self._search,
            "click": self._click,
            "post": self._post,
            "edit": self._edit,
            "delete": self._delete,
            "follow": self._follow,
            "unfollow": self._unfollow,
            "follow again": self._follow_again,
            "change profile": self._change_profile,
            "err": self._err,
        }
        self._kinds, self._until = tuple(MIX), tuple(accumulate(MIX.values()))

    def next(self) -> Action:
        """The next thing that the user does; where there is nothing to do it to, a look at a page."""
        (kind,) = self._random.choices(self._kinds, cum_weights=self._until)
        if kind == "view" and len(self._follows) < _FOLLOWED_FEW:
            kind = "follow"
        return self._does[kind]() or self._view()

    def _view(self) -> Action:
        if self._random.random() < 0.1:
            self._sessions += 1
            self._session = f"{self._user}.{self._sessions}"
        page = self._random.choice(_PAGES)
        return Action("page.viewed", {"user": self._user, "page": page, "session": self._session})

    def _search(self) -> Action:
        self._query = self._random.choice(_QUERIES)
        return Action("search.made", {"session": self._session, "query": self._query, "user": self._user})

    def _click(self) -> Action:
        url = f"https://example.org/{self._query.replace(' ', '-')}/{self._random.randint(1, 9)}"
        return Action("link.clicked", {"session": self._session, "url": url, "user": self._user})

    def _post(self) -> Action:
        self._posts_made += 1
        post_id, text = f"p{self._posts_made}", posts.text(self._random)
        self._posts.append((post_id, text))
        return self._posted(post_id, text)

    def _edit(self) -> Action | None:
        """The same post written again."""
        if not self._posts:
            return None
        post_id, text = self._posts[-1]
        return self._posted(post_id, posts.edited(self._random, text))

    def _posted(self, post_id: str, text: str) -> Action:
        return Action("post.created", {"author": self._user, "post_id": post_id, "text": text})

    def _delete(self) -> Action | None:
        if not self._posts:
            return None
        index = self._random.randrange(len(self._posts))
        post_id, _ = self._posts[index]
        del self._posts[index]
        return Action("post.deleted", {"author": self._user, "post_id": post_id})

    def _follow(self) -> Action | None:
        if len(self._follows) >= _FOLLOWED_MAX:
            return self._unfollow()
        author = choose(self._random, self._present())
        if author == self._user or author in self._follows:
            return None
        self._follows.append(author)
        return self._following("follow.created", author)

    def _unfollow(self) -> Action | None:
        if not self._follows:
            return None
        author = self._follows.pop(self._random.randrange(len(self._follows)))
        self._former.append(author)
        return self._following("follow.deleted", author)

    def _follow_again(self) -> Action | None:
        author = self._former.pop() if self._former else None
        if author is None or author in self._follows or len(self._follows) >= _FOLLOWED_MAX:
            return None
        self._follows.append(author)
        return self._following("follow.created", author)

    def _following(self, kind: str, author: str) -> Action:
        return Action(kind, {"follower": self._user, "author": author})

    def _change_profile(self) -> Action:
        return Action("profile.changed", {"user": self._user, "country": self._random.choice(_COUNTRIES)})

    def _err(self) -> Action:
        if self._random.random() < 0.5:
            return Action("post.liked", {"user": self._user, "post_id": "p1"})
        return Action("search.made", {"session": self._session, "user": self._user})
