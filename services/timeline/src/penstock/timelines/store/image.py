"""All of a partition as plain arrays, and back.

In:  the columns, the gaps, how far each shard has come. Out: copies of what is in use of them.
Hash tables are left out: they are made again, with another salt if need be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.blocks import SLAB_WORDS, SLABS_USED
from penstock.timelines.store.columns import Columns, aligned, empty_state, table_for
from penstock.timelines.store.gaps import Gap, Gaps
from penstock.timelines.store.layout import (
    AUTHOR,
    AUTHORS,
    POOL_USED,
    POST,
    SALT,
    SLOTS_USED,
    USER,
    USERS,
    Blocks,
    State,
)
from penstock.timelines.store.shards import Step
from penstock.timelines.store.tables import enter_authors, enter_posts, enter_users
from penstock.timelines.store.values import IMAGE_FORMAT, Image, Shape

Arrays = dict[str, NDArray[Any]]


def image_of(number: int, next_offset: int, shape: Shape, state: State, gaps: Gaps, last: dict[int, Step]) -> Image:
    counts = state.counts
    arrays: Arrays = {
        "users": state.users[: counts[USERS]].view(np.uint8).copy(),
        "posts": state.posts[: counts[SLOTS_USED]].view(np.uint8).copy(),
        "post_authors": state.post_authors[: counts[SLOTS_USED]].copy(),
        "authors": state.authors[: counts[AUTHORS]].view(np.uint8).copy(),
        "pool": state.pool[: counts[POOL_USED]].copy(),
        "pool_free": state.pool_free.copy(),
        "counts": counts.copy(),
        "shards": np.array([(shard, *step) for shard, step in last.items()], np.int64).reshape(-1),
        **_blocks("inboxes", state.inboxes),
        **_blocks("followees", state.followees),
        **_gaps(gaps),
    }
    meta = {
        "number": number,
        "next_offset": next_offset,
        "capacity": shape.capacity,
        "slack": shape.slack,
        "partitions": shape.partitions,
        "shards": shape.shards,
    }
    return Image(IMAGE_FORMAT, meta, arrays)


def _blocks(name: str, blocks: Blocks) -> Arrays:
    used = blocks.heads[SLABS_USED]
    return {
        f"{name}_words": blocks.words[: used * blocks.heads[SLAB_WORDS]].copy(),
        f"{name}_links": blocks.links[:used].copy(),
        f"{name}_heads": blocks.heads.copy(),
        f"{name}_sizes": blocks.sizes.copy(),
    }


def _gaps(gaps: Gaps) -> Arrays:
    every = gaps.by_row.items()
    numbers = [(row, gap.request, gap.authors.size, len(gap.ends), len(gap.answered)) for row, gap in every]
    flat = [np.concatenate([np.empty(0, np.int32), *(gap.authors for _, gap in every)])]
    return {
        "gaps": np.array(numbers, np.int64).reshape(-1),
        "gap_authors": flat[0],
        "gap_ends": np.array([end for _, gap in every for end in gap.ends], np.int64),
        "gap_answered": np.array([record for _, gap in every for record in sorted(gap.answered)], np.int64),
    }


def check(image: Image, shape: Shape) -> None:
    if image.format != IMAGE_FORMAT:
        raise ValueError(f"the image has format {image.format}; this release reads format {IMAGE_FORMAT}")
    for name in ("capacity", "slack", "partitions", "shards"):
        if image.meta[name] != getattr(shape, name):
            raise ValueError(f"the image has {name} {image.meta[name]}, not {getattr(shape, name)}")


def restored_state(image: Image, shape: Shape, salt: int) -> State:
    arrays = image.arrays
    users, posts, authors = (_rows(arrays[name], kind) for name, kind in _KINDS.items())
    pool = _rows(arrays["pool"], np.dtype(np.uint8), 64)
    state = empty_state(image.meta["number"], shape, salt)
    counts = arrays["counts"].copy()
    counts[SALT] = state.counts[SALT]
    state = state._replace(
        users=users,
        posts=posts,
        authors=authors,
        post_authors=_padded(arrays["post_authors"], posts.size),
        inboxes=_blocks_of("inboxes", arrays),
        followees=_blocks_of("followees", arrays),
        pool=pool,
        pool_words=pool.view(np.int64),
        pool_free=arrays["pool_free"].copy(),
        user_table=table_for(users.size),
        post_table=table_for(posts.size),
        author_table=table_for(authors.size),
        suspects=aligned(np.int32, users.size),
        counts=counts,
    )
    enter_users(state)
    enter_authors(state)
    enter_posts(state)
    return state


_KINDS = {"users": USER, "posts": POST, "authors": AUTHOR}


def _rows(data: NDArray[Any], kind: np.dtype[Any], least: int = 64) -> NDArray[Any]:
    """With an eighth to spare."""
    used = data.size // kind.itemsize
    return _padded(data[: used * kind.itemsize].view(kind), (used + used // 8 + least) // 64 * 64 + 64)


def _padded(data: NDArray[Any], rows: int) -> NDArray[Any]:
    array = aligned(data.dtype, rows)
    array[: data.size] = data
    return array


def _blocks_of(name: str, arrays: Any) -> Blocks:
    heads = arrays[f"{name}_heads"].copy()
    slabs = int(heads[SLABS_USED]) + 16
    return Blocks(
        _padded(arrays[f"{name}_words"], slabs * int(heads[SLAB_WORDS])),
        _padded(arrays[f"{name}_links"], slabs),
        heads,
        arrays[f"{name}_sizes"].copy(),
    )


def restored_gaps(image: Image, columns: Columns) -> Gaps:
    gaps = Gaps(image.meta["number"], columns)
    authors, ends, answered = (image.arrays[f"gap_{name}"] for name in ("authors", "ends", "answered"))
    for row, request, size, records, known in image.arrays["gaps"].reshape(-1, 5).tolist():
        gaps.by_row[row] = Gap(request, authors[:size].copy(), ends[:records].tolist(), set(answered[:known].tolist()))
        authors, ends, answered = authors[size:], ends[records:], answered[known:]
    return gaps


def restored_shards(image: Image) -> dict[int, Step]:
    return {shard: Step(*step) for shard, *step in image.arrays["shards"].reshape(-1, 4).tolist()}
