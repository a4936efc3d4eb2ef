"""Who has whose timeline.

In:  this replica's number, how many there are, how many partitions of users there are.
Out: the partitions that are ours; the number, the partition and the owner of a user.
Pure. Every replica computes the same from the same three numbers, so nobody needs to be asked.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.delivery.numbers import partition_of, user_number


class Seat(NamedTuple):
    """Where a user's timeline is."""

    user: int
    partition: int
    owner: int


class Ownership:
    def __init__(self, *, replica: int, replicas: int, partitions: int) -> None:
        if not 0 <= replica < replicas:
            raise ValueError(f"replica {replica} of {replicas}")
        self.replica = replica
        self.replicas = replicas
        self.partitions = partitions
        self.own = tuple(range(replica, partitions, replicas))

    def seat(self, user: str) -> Seat:
        number = user_number(user)
        partition = partition_of(number, self.partitions)
        return Seat(number, partition, partition % self.replicas)
