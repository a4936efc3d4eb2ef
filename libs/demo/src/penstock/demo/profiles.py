"""The profiles that the demo's application keeps in its database, and what it does to them next.

In:  a seeded randomness, and who is here. Out: the rows to begin with; one change after the other.
Most changes are updates. The others delete a profile, or insert those of users who have none yet or none any more, so
that a few users are always without one. Pure: what was planned is taken as done.
Bounded: no row is changed more often than enrichment keeps versions of it, and no more than `users_max` ever get one.
"""

from collections.abc import Collection, Iterator
from enum import Enum
from random import Random
from typing import NamedTuple

from penstock.demo.population import user_of

USERS_MAX = 20_000
# pipeline.yaml keeps 100 versions of a profile. What is older would be evicted, and no longer be ours to judge.
CHANGES_PER_USER_MAX = 90
CHANGES_PER_S_MAX = 6.0
_CHANGES_PER_USER_S = 0.2
_UPDATES = 0.7
_WITHOUT = 0.08
_UNSEEDED_EVERY, _UNSEEDED_FIRST = 20, 13
_NAMES = ("Amara", "Bela", "Chidi", "Dana", "Elif", "Femi", "Goran", "Hana", "Ines", "Jonas", "Kenji", "Lucia")
_COUNTRIES = ("BR", "DE", "IN", "JP", "KE", "NG", "PT", "US")
_PLANS = ("free", "plus", "pro")


class Profile(NamedTuple):
    """A row of the table `profiles`: its key, and the columns that pipeline.yaml keeps."""

    user: str
    name: str
    country: str
    plan: str

    @property
    def columns(self) -> dict[str, str]:
        return {"name": self.name, "country": self.country, "plan": self.plan}


class Kind(Enum):
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class Change(NamedTuple):
    """One statement, and so one transaction."""

    kind: Kind
    rows: tuple[Profile, ...]

    def __str__(self) -> str:
        first = self.rows[0]
        more = f" and {len(self.rows) - 1} more" if len(self.rows) > 1 else ""
        values = "" if self.kind is Kind.DELETE else f" ({first.name}, {first.country}, {first.plan})"
        return f"{self.kind.value} {first.user}{values}{more}"


def seed(random: Random, devices: int) -> list[Profile]:
    """What is there from the beginning: the profiles of nearly all users."""
    numbers = (number for number in range(1, devices + 1) if number % _UNSEEDED_EVERY != _UNSEEDED_FIRST)
    return [_draw(random, user_of(number)) for number in numbers]


def changes_per_s(devices: int) -> float:
    return min(CHANGES_PER_S_MAX, _CHANGES_PER_USER_S * devices)


class Profiles:
    """The application's plan."""

    def __init__(self, random: Random, rows: Collection[Profile], users_max: int = USERS_MAX) -> None:
        self._random, self._users_max = random, users_max
        self._changes = dict.fromkeys((row.user for row in rows), 0)
        self.rows = {row.user: row for row in rows}

    def next(self, present: Collection[str]) -> Change | None:
        """Of the users who are here. None: there is nothing to do."""
        having = [user for user in present if user in self.rows and self._may_change(user)]
        lacking = [user for user in present if user not in self.rows and self._may_have(user)]
        if having and (self._random.random() < _UPDATES or (len(having) == 1 and not lacking)):
            return self._done(Kind.UPDATE, [self._other(self.rows[self._random.choice(having)])])
        if lacking and (not having or len(lacking) > _WITHOUT * len(present)):
            return self._done(Kind.INSERT, [_draw(self._random, user) for user in self._some(lacking)])
        return self._done(Kind.DELETE, [self.rows[self._random.choice(having)]]) if having else None

    def _done(self, kind: Kind, rows: list[Profile]) -> Change:
        for row in rows:
            self._changes[row.user] = self._changes.get(row.user, 0) + 1
            if kind is Kind.DELETE:
                del self.rows[row.user]
            else:
                self.rows[row.user] = row
        return Change(kind, tuple(rows))

    def _some(self, lacking: list[str]) -> list[str]:
        """Several at once where many wait; of those who never had a profile, no more than there may be."""
        users = self._random.sample(lacking, max(1, len(lacking) // 4))
        known = [user for user in users if user in self._changes]
        new = [user for user in users if user not in self._changes]
        return known + new[: self._users_max - len(self._changes)]

    def _may_change(self, user: str) -> bool:
        return self._changes[user] < CHANGES_PER_USER_MAX

    def _may_have(self, user: str) -> bool:
        return self._may_change(user) if user in self._changes else len(self._changes) < self._users_max

    def _other(self, row: Profile) -> Profile:
        """Another country or plan."""
        if self._random.random() < 0.5:
            return row._replace(country=_another(self._random, _COUNTRIES, row.country))
        return row._replace(plan=_another(self._random, _PLANS, row.plan))


def pauses_us(random: Random, devices: int) -> Iterator[int]:
    """Between two changes."""
    mean_us = 1_000_000 / changes_per_s(devices)
    while True:
        yield round(mean_us * random.uniform(0.3, 1.7))


def _draw(random: Random, user: str) -> Profile:
    return Profile(user, random.choice(_NAMES), random.choice(_COUNTRIES), random.choice(_PLANS))


def _another(random: Random, values: tuple[str, ...], value: str) -> str:
    return random.choice([other for other in values if other != value])
