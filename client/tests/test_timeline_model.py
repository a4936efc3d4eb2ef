from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.client.testing.timeline_model import TimelineModel, changes, post_number
from penstock.events.v1.event_pb2 import RowVersion
from penstock.timeline.v1.delivery_pb2 import Post

POSTS = st.builds(
    lambda author, name, time_us: Post(
        author=author, id=name, time_us=time_us, number=post_number(author, name, RowVersion(valid_from_us=time_us))
    ),
    st.sampled_from("abc"),
    st.sampled_from("xyz"),
    st.integers(1, 3),
)
VIEWS = st.lists(POSTS, unique_by=lambda post: (post.author, post.id))


@given(VIEWS, st.lists(POSTS))
def test_a_timeline_is_sorted_and_bounded(posts: list[Post], noise: list[Post]) -> None:
    model = TimelineModel(capacity=3)
    for post in [*noise, *posts]:
        model.posts[post.author, post.id] = post
    model.follows["u"] = {"a", "b"}
    followed = [post for post in model.posts.values() if post.author in "ab"]
    expected = sorted(followed, key=lambda post: (post.time_us, post.id, post.author))[::-1][:3]
    assert model.timeline("u") == expected
    assert model.timeline("nobody") == []


@given(VIEWS, VIEWS, st.booleans())
def test_changes_make_one_view_of_another(before: list[Post], after: list[Post], known: bool) -> None:
    held: dict[int, Post | None] = {post.number: post if known else None for post in before}
    numbers = set(held)
    for change in changes(held, after):
        if change.HasField("added"):
            assert change.added.number not in numbers
            numbers.add(change.added.number)
        else:
            numbers.remove(change.removed.number)
        assert numbers == set(held)
    assert numbers == {post.number for post in after}
    assert list(changes(held, after)) == []


@given(VIEWS)
def test_a_hash_depends_on_content_and_not_on_order(posts: list[Post]) -> None:
    one, other = TimelineModel(capacity=10), TimelineModel(capacity=10)
    for model, given_posts in ((one, posts), (other, posts[::-1])):
        model.follows["u"] = {"a", "b", "c"}
        model.posts.update({(post.author, post.id): post for post in given_posts})
    assert one.content_hash() == other.content_hash()
    assert (one.content_hash() == bytes(16)) == (not posts)
