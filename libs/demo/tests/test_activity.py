from collections import Counter
from random import Random

from penstock.demo.activity import MIX, Action, Activity
from penstock.pipeline import load

DECLARED = load().event_types
PRESENT = [f"u{number}" for number in range(1, 301)]
WRONG = MIX["err"] / sum(MIX.values())


def actions(count: int, user: str = "u17", follows: tuple[str, ...] = ()) -> list[Action]:
    activity = Activity(Random(1), user, lambda: PRESENT, follows)
    return [activity.next() for _ in range(count)]


def is_right(action: Action) -> bool:
    declared = DECLARED.get(action.type)
    return declared is not None and all(action.attributes.get(name) for name in declared.required)


def test_every_type_of_the_social_pipeline_occurs() -> None:
    assert {action.type for action in actions(2_000)} >= set(DECLARED)


def test_about_one_in_a_hundred_is_wrong_in_each_of_two_ways() -> None:
    made = actions(20_000)
    wrong = [action for action in made if not is_right(action)]
    assert WRONG / 2 < len(wrong) / len(made) < WRONG * 2
    assert {action.type for action in wrong} == {"post.liked", "search.made"}


def test_only_what_exists_is_deleted_and_posts_are_rarely_written_again() -> None:
    posts: set[str] = set()
    edits = 0
    made = [action for action in actions(20_000) if action.type.startswith("post.") and is_right(action)]
    for action in made:
        if action.type == "post.created":
            assert action.attributes["text"]
            edits += action.attributes["post_id"] in posts
            posts.add(action.attributes["post_id"])
        else:
            posts.remove(action.attributes["post_id"])
    assert 0 < edits < len(made) / 20


def test_follows_come_go_and_come_again_and_all_make_sense() -> None:
    follows, former, again = {"u1", "u2"}, set(), 0
    for action in actions(20_000, follows=("u1", "u2")):
        author = action.attributes.get("author", "")
        if action.type == "follow.created":
            assert author not in follows | {"u17"}
            again += author in former
            follows.add(author)
        elif action.type == "follow.deleted":
            follows.remove(author)
            former.add(author)
        assert len(follows) <= 60
    assert again > 0


def test_newcomers_look_for_company_at_once() -> None:
    kinds = Counter(action.type for action in actions(30))
    assert kinds["follow.created"] >= 5


def test_whoever_is_alone_follows_nobody() -> None:
    activity = Activity(Random(1), "u1", lambda: ["u1"])
    assert not any(activity.next().type.startswith("follow") for _ in range(500))
