"""The law: after any changes in any order, batches, parts and repetitions, everybody sees exactly their timeline."""

from __future__ import annotations

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from penstock.delivery.numbers import user_number
from penstock.delivery.rows import FollowRow, PostRow
from penstock.timelines.store import Shape
from timeline_definition import canonical_hash
from timeline_world import World, expected, follow_row, post_row

USERS = ["ann", "bob", "cyd", "dan", "eve", "fay"]
AUTHORS = ["ann", "bob", "zoe", "zoë"]
IDS = ["1", "10", "100", "2", "same beginning 1", "same beginning 2", "same beginning", "é", "z"]
PARTITIONS = [1, 3, 8]

seeds = st.integers(0, 1 << 30)
chances = st.sampled_from([0.1, 0.5, 0.9])


class Timelines(RuleBasedStateMachine):
    """The same tables in three worlds, which differ in how many partitions there are and in what happens when."""

    @initialize(
        shards=st.integers(1, 3), merge_above=st.integers(0, 6), seed=seeds, follows=st.sampled_from([0, 8, 40])
    )
    def begin(self, shards: int, merge_above: int, seed: int, follows: int) -> None:
        shapes = [Shape(capacity=4, slack=2, partitions=partitions, shards=shards) for partitions in PARTITIONS]
        self.worlds = [World(shape, merge_above) for shape in shapes]
        self.versions = 0
        if follows:
            self.follow_and_unfollow(seed, follows, 0.9)
            self.post_and_delete(seed, 60, 0.9)

    def _version(self, random: Random) -> tuple[int, bytes]:
        """A time that many changes share, and a position; both greater than those before them, mostly."""
        self.versions += 1
        late = random.randrange(4) if random.random() < 0.2 else 0
        return self.versions // 16 - late, bytes([random.choice([0, 1, 1, 1])]) + self.versions.to_bytes(3, "big")

    @rule(seed=seeds, count=st.integers(1, 40), chance=chances)
    def post_and_delete(self, seed: int, count: int, chance: float) -> None:
        random = Random(seed)
        for _ in range(count):
            author, post_id = random.choice(AUTHORS), random.choice(IDS)
            alive = random.random() < chance
            self._change(post_row(author, post_id, *self._version(random), alive))

    @rule(seed=seeds, count=st.integers(1, 20), chance=chances)
    def follow_and_unfollow(self, seed: int, count: int, chance: float) -> None:
        random = Random(seed)
        for _ in range(count):
            follower, author = random.choice(USERS), random.choice(AUTHORS)
            alive = random.random() < chance
            self._change(follow_row(follower, author, *self._version(random), alive))

    def _change(self, row: PostRow | FollowRow) -> None:
        for world in self.worlds:
            world.change(row)

    @rule(seed=seeds)
    def repeat_changes(self, seed: int) -> None:
        for world in self.worlds:
            random = Random(seed)
            for log in world.changes:
                log.extend(random.sample(log, min(len(log), 3)))

    @rule(seed=seeds, at_most=st.integers(1, 20))
    def join(self, seed: int, at_most: int) -> None:
        for world in self.worlds:
            random = Random(seed)
            world.run(random.randrange(world.shape.shards), random, at_most)

    @rule(seed=seeds, at_most=st.integers(1, 5))
    def deliver(self, seed: int, at_most: int) -> None:
        for world in self.worlds:
            random = Random(seed)
            for partition in range(world.shape.partitions):
                if random.random() < 0.7:
                    world.deliver(partition, at_most)

    @rule(seed=seeds)
    def join_and_deliver(self, seed: int) -> None:
        for world in self.worlds:
            for shard in range(world.shape.shards):
                world.run(shard, Random(seed))
            for partition in range(world.shape.partitions):
                world.deliver(partition)

    @rule(seed=seeds)
    def repeat_records(self, seed: int) -> None:
        for world in self.worlds:
            random = Random(seed)
            for partition in range(world.shape.partitions):
                begin = random.randint(0, len(world.logs[partition]))
                world.repeat(partition, begin, begin + random.randint(0, 3))

    @rule(seed=seeds, times=st.sampled_from([[1], [0, 1], [0, 2], [0, 0, 3]]))
    def ask(self, seed: int, times: list[int]) -> None:
        """And have answered what arrives: some records may be lost, others come twice."""
        for world in self.worlds:
            random = Random(seed)
            for partition in range(world.shape.partitions):
                world.ask(partition, lambda random=random: random.choice(times))  # type: ignore[misc]
        self.join_and_deliver(seed)

    @rule(seed=seeds)
    def ask_what_was_asked_before(self, seed: int) -> None:
        for world in self.worlds:
            random = Random(seed)
            for shard, request in random.sample(world.asked, min(len(world.asked), 3)):
                world.requests[shard].append(request)

    @rule(seed=seeds)
    def restart(self, seed: int) -> None:
        for world in self.worlds:
            random = Random(seed)
            world.restart(random.randrange(world.shape.partitions), salt=random.getrandbits(64))

    @rule(seed=seeds)
    def begin_a_shard_anew(self, seed: int) -> None:
        for world in self.worlds:
            world.begin_anew(Random(seed).randrange(world.shape.shards))

    @rule(seed=seeds, chance=chances)
    def begin_anew_with_other_tables(self, seed: int, chance: float) -> None:
        """What changed while the join was away it never tells: it knows nothing else."""
        self.join_and_deliver(seed)
        self.follow_and_unfollow(seed, 10, chance)
        self.post_and_delete(seed, 20, chance)
        for world in self.worlds:
            for shard in range(world.shape.shards):
                world.begin_anew(shard)
        self.join_and_deliver(seed)

    @rule(seed=seeds)
    def fill_and_empty(self, seed: int) -> None:
        """So many posts that inboxes are trimmed, then so few that they are too short."""
        for step, chance in enumerate([0.9, 0.9, 0.2]):
            self.post_and_delete(seed + step, 30, chance)
            self.join_and_deliver(seed)

    @rule(seed=seeds)
    def settle(self, seed: int) -> None:
        for world in self.worlds:
            world.settle(Random(seed))
            truth = {user_number(user): world.timeline(user) for user in USERS}
            assert sum(store.digest() for store in world.partitions) % (1 << 128) == canonical_hash(truth)

    @invariant()
    def everybody_sees_their_timeline(self) -> None:
        for world in self.worlds if hasattr(self, "worlds") else []:
            if not world.quiet:
                continue
            for user in USERS:
                truth, view = world.timeline(user), world.view(user)
                if not world.partition_of(user).is_refilling(user_number(user)):
                    assert view == expected(truth)
                    continue
                live = world.live_posts(user)
                shown = [number for _, number, _ in view]
                assert view == expected([post for post in live if post.number in shown])
                assert len(view) <= world.shape.capacity
                assert world.must_be_seen(user) <= set(shown)

    def teardown(self) -> None:
        if hasattr(self, "worlds"):
            self.settle(0)
            self.everybody_sees_their_timeline()


Timelines.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestTimelines = Timelines.TestCase
