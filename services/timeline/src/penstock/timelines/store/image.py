"""All of a partition as plain arrays, and back.

In:  the columns, the gaps, how far each shard has come. Out: copies of what is in use of them.
Hash tables are left out: they are made again, with another salt if need be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store import layout as at
from penstock.timelines.store.blocks import Blocks
from penstock.timelines.store.columns import Columns, aligned
from penstock.timelines.store.gaps import Gap, Gaps
from penstock.timelines.store.layout import AUTHOR, COUNTERS, NONE, POST, USER
from penstock.timelines.store.shards import Step
from penstock.timelines.store.values import IMAGE_FORMAT, Image, Shape

Arrays = dict[str, NDArray[Any]]

_ROWS = {"users": (USER, at.USERS), "posts": (POST, at.SLOTS_USED), "authors": (AUTHOR, at.AUTHORS)}
_SHAPE = ("capacity", "slack", "partitions", "shards")
_GAP_NUMBERS = 5


def image_of(number: int, next_offset: int, shape: Shape, columns: Columns, gaps: Gaps, last: dict[int, Step]) -> Image:
    arrays: Arrays = {
        "writers": columns.writers[: columns.count(at.SLOTS_USED)].copy(),
        "pool": columns.pool[: columns.count(at.POOL_USED)].copy(),
        "pool_free": columns.pool_free.copy(),
        "counters": columns.table[COUNTERS].copy(),
        "shards": np.array([(shard, *step) for shard, step in last.items()], np.int64).reshape(-1),
        **_blocks("inboxes", columns.inboxes),
        **_blocks("followees", columns.followees),
        **_gaps(gaps),
    }
    for name, (_, counter) in _ROWS.items():
        arrays[name] = getattr(columns, name)[: columns.count(counter)].view(np.uint8).copy()
    meta = {"number": number, "next_offset": next_offset, **{name: getattr(shape, name) for name in _SHAPE}}
    return Image(IMAGE_FORMAT, meta, arrays)


def _blocks(name: str, blocks: Blocks) -> Arrays:
    return {
        f"{name}_words": blocks.words[: blocks.slabs_used * blocks.slab_words].copy(),
        f"{name}_links": blocks.links[: blocks.slabs_used].copy(),
        f"{name}_heads": blocks.heads.copy(),
        f"{name}_sizes": blocks.sizes.copy(),
    }


def _gaps(gaps: Gaps) -> Arrays:
    every = gaps.by_row.items()
    numbers = [(row, gap.request, gap.authors.size, len(gap.ends), len(gap.answered)) for row, gap in every]
    return {
        "gaps": np.array(numbers, np.int64).reshape(-1),
        "gap_authors": np.concatenate([np.empty(0, np.int32), *(gap.authors for _, gap in every)]),
        "gap_ends": np.array([end for _, gap in every for end in gap.ends], np.int64),
        "gap_answered": np.array([record for _, gap in every for record in sorted(gap.answered)], np.int64),
    }


def check(image: Image, shape: Shape) -> None:
    """ValueError if this release cannot read it, or if it is of another shape."""
    if image.format != IMAGE_FORMAT:
        raise ValueError(f"the image has format {image.format}; this release reads format {IMAGE_FORMAT}")
    for name in _SHAPE:
        if image.meta[name] != getattr(shape, name):
            raise ValueError(f"the image has {name} {image.meta[name]}, not {getattr(shape, name)}")


def restored_columns(image: Image, shape: Shape, salt: int) -> Columns:
    arrays, columns = image.arrays, Columns(image.meta["number"], shape, salt)
    columns.table[COUNTERS] = arrays["counters"]
    for name, (kind, _) in _ROWS.items():
        setattr(columns, name, _roomy(arrays[name].view(kind)))
    columns.writers = _roomy(arrays["writers"])
    columns.pool = _roomy(arrays["pool"])
    columns.pool_free = arrays["pool_free"].copy()
    columns.inboxes = _restored_blocks("inboxes", arrays)
    columns.followees = _restored_blocks("followees", arrays)
    columns.enter()
    columns.outboxes = np.flatnonzero(columns.users["author"][: columns.count(at.USERS)] != NONE).tolist()
    return columns


def _roomy(data: NDArray[Any], rows: int | None = None) -> NDArray[Any]:
    """A copy, with an eighth to spare."""
    array = aligned(data.dtype, data.size + data.size // 8 + 64 if rows is None else rows)
    array[: data.size] = data
    return array


def _restored_blocks(name: str, arrays: Mapping[str, NDArray[Any]]) -> Blocks:
    words, links, heads, sizes = (arrays[f"{name}_{part}"] for part in Blocks._fields)
    blocks = Blocks(words, links, heads.copy(), sizes.copy())
    slabs = links.size + links.size // 8 + 16
    return blocks._replace(words=_roomy(words, slabs * blocks.slab_words), links=_roomy(links, slabs))


def restored_gaps(image: Image, gaps: Gaps) -> None:
    authors, ends, answered = (image.arrays[f"gap_{name}"] for name in ("authors", "ends", "answered"))
    for row, request, size, records, known in image.arrays["gaps"].reshape(-1, _GAP_NUMBERS).tolist():
        gaps.by_row[row] = Gap(request, authors[:size].copy(), ends[:records].tolist(), set(answered[:known].tolist()))
        authors, ends, answered = authors[size:], ends[records:], answered[known:]


def restored_shards(image: Image) -> dict[int, Step]:
    return {shard: Step(*step) for shard, *step in image.arrays["shards"].reshape(-1, 4).tolist()}
