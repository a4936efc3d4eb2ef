from __future__ import annotations

import pytest
from penstock.client.change import Added, CaughtUp, Removed, change_of
from penstock.client.cursor import from_wire
from penstock.client.post import post_of
from penstock.timeline.v1.delivery_pb2 import Post
from penstock.timeline.v1.timeline_pb2 import Cursor, Heartbeat, PostRemoved, SubscribeResponse

CURSOR = Cursor(held=[1, 2])


def test_every_kind_of_the_contract_is_known() -> None:
    post = Post(id="p1", author="ada", time_us=5, number=1)
    cursor = from_wire(CURSOR)
    assert change_of(SubscribeResponse(added=post, cursor=CURSOR)) == Added(post_of(post), cursor)
    removed = PostRemoved(number=1, id="p1", author="ada")
    assert change_of(SubscribeResponse(removed=removed, cursor=CURSOR)) == Removed(1, "p1", "ada", cursor)
    assert change_of(SubscribeResponse(heartbeat=Heartbeat(), cursor=CURSOR)) == CaughtUp(cursor)
    kinds = {field.name for field in SubscribeResponse.DESCRIPTOR.oneofs_by_name["change"].fields}
    assert kinds == {"added", "removed", "heartbeat"}


def test_a_kind_of_the_future_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="does not know"):
        change_of(SubscribeResponse(cursor=CURSOR))
