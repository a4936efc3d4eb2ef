from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.client.change import Added, CaughtUp, Change, Removed
from penstock.client.cursor import Cursor
from penstock.client.post import Post
from penstock.client.timeline_view import TimelineView

HERE = Cursor(b"")
POSTS = st.builds(
    lambda number, time_us: Post(f"p{number}", "ada", time_us, None, {}, number, b""),
    st.integers(0, 5),
    st.integers(1, 4),
)
REMOVALS = st.builds(lambda number: Removed(number, "", "", HERE), st.integers(0, 5))
CHANGES = st.one_of(POSTS.map(lambda post: Added(post, HERE)), REMOVALS, st.just(CaughtUp(HERE)))


@given(st.lists(POSTS, unique_by=lambda post: post.number), st.lists(CHANGES))
def test_it_holds_what_came_and_did_not_go_newest_first(start: list[Post], changes: list[Change]) -> None:
    view, held = TimelineView(start), {post.number: post for post in start}
    for change in changes:
        if isinstance(change, Added):
            assert view.apply(change) == change.post
            held[change.post.number] = change.post
        elif isinstance(change, Removed):
            assert view.apply(change) == held.pop(change.number, None)
        else:
            assert view.apply(change) is None
        assert list(view) == list(view.posts)
        assert sorted(held.values(), key=lambda post: (-post.time_us, -post.number)) == list(view.posts)
        assert len(view) == len(held)
