from random import Random

from penstock.demo.activity import WRONG, Action, Activity
from penstock.pipeline import load

DECLARED = load().event_types


def actions(count: int) -> list[Action]:
    activity = Activity(Random(1), "user-1", 300)
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


def test_only_what_exists_is_deleted() -> None:
    posts: set[str] = set()
    for action in actions(5_000):
        if action.type == "post.created":
            posts.add(action.attributes["post_id"])
        elif action.type == "post.deleted":
            posts.remove(action.attributes["post_id"])
