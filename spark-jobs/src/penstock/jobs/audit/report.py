"""What an audit found, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

FIRST_MAX = 10


@dataclass
class Report:
    """`first` are the first differences, in words."""

    posts: int = 0
    follows: int = 0
    users: int = 0
    entries: int = 0
    served: int = 0
    rounds: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    first: list[str] = field(default_factory=list)

    @property
    def differences(self) -> int:
        return sum(self.kinds.values())

    def text(self) -> str:
        lines = [
            f"{self.posts:,} posts and {self.follows:,} follows make {self.entries:,} entries in the timelines of"
            f" {self.users:,} users; {self.served:,} entries are served"
        ]
        if self.rounds > 1:
            lines.append(f"writes went on: users that differed were compared {self.rounds} times")
        if not self.differences:
            return "\n".join([*lines, "differences: 0"])
        lines.append(
            f"differences: {self.differences:,}  ({', '.join(f'{n:,} {kind}' for kind, n in self.kinds.items())})"
        )
        lines += [f"  {one}" for one in self.first]
        if self.differences > len(self.first):
            lines.append(f"  … and {self.differences - len(self.first):,} more")
        return "\n".join(lines)

    def json(self) -> str:
        return json.dumps(
            {
                "posts": self.posts,
                "follows": self.follows,
                "users": self.users,
                "entries": self.entries,
                "served": self.served,
                "rounds": self.rounds,
                "differences": self.differences,
                "kinds": dict(self.kinds),
            }
        )
