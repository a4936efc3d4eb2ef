"""What the section `timeline` of pipeline.yaml says of tables.

In:  the draft of a document, sound or not.
Out: a misfit for everything of which no timeline could be made, each at its place; where a name leads nowhere, only
     that is said, because what follows from it is no news.

A shard of the join is a partition of both tables' topics. So both must be partitioned by author, or a post and those
who follow its author would not meet; and the author must be part of both keys, or a row could move from one shard to
another, and its versions would not meet.
"""

from collections.abc import Iterator

from penstock.document import Misfit, suggestion
from penstock.pipeline.draft import Draft, TableDraft, TimelineDraft

_AT = ("timeline",)


def misfits(draft: Draft) -> Iterator[Misfit]:
    """Check the tables and columns of the timeline."""
    timeline = draft.timeline
    for section, name in (("posts", timeline.posts), ("follows", timeline.follows)):
        if name and name not in draft.tables and draft.has_tables:
            remedy = suggestion(name, draft.tables) or "declare it in `tables:`"
            yield Misfit(f"'{name}' is not a table", remedy, (*_AT, section, "table"))
    if timeline.posts and timeline.posts == timeline.follows:
        problem = f"{timeline.follows} has the posts already"
        yield Misfit(problem, "name the table that has who follows whom", (*_AT, "follows", "table"))
        return
    if (posts := draft.tables.get(timeline.posts)) is not None:
        yield from _of_posts(timeline, posts)
    if (follows := draft.tables.get(timeline.follows)) is not None:
        yield from _of_follows(timeline, follows)


def _of_posts(timeline: TimelineDraft, table: TableDraft) -> Iterator[Misfit]:
    author, key = timeline.posts_author, table.key
    if not author or key is None:
        return
    if author not in key:
        yield _outside(author, table, (author, *key), "posts", "author")
        return
    if len(key) == 1:
        problem = f"the key of {table.name} is {author} alone, so an author could have only one post"
        yield Misfit(problem, f"add the column of the post's id to `key:` of {table.name}", (*_AT, "posts", "table"))
    yield from _partitioning(author, table, "posts")


def _of_follows(timeline: TimelineDraft, table: TableDraft) -> Iterator[Misfit]:
    follower, author, key = timeline.follower, timeline.follows_author, table.key
    if not follower or not author or key is None:
        return
    if follower == author:
        problem = f"'{follower}' is the column of the author"
        yield Misfit(problem, "name the column that says who follows", (*_AT, "follows", "follower"))
        return
    absent = [column for column in (follower, author) if column not in key]
    for column in absent:
        yield _outside(column, table, (follower, author), "follows", "follower" if column == follower else "author")
    if not absent and len(key) > 2:
        problem = f"the key of {table.name} is {', '.join(key)}, so a user could follow an author more than once"
        yield Misfit(problem, f"say `key: [{follower}, {author}]` of {table.name}", (*_AT, "follows", "table"))
    if author in key:
        yield from _partitioning(author, table, "follows")


def _outside(column: str, table: TableDraft, wanted: tuple[str, ...], section: str, name: str) -> Misfit:
    """A column that should be part of the key: misspelt, or the key is another one."""
    close = suggestion(column, table.key or ())
    remedy = close if close.startswith("did you mean") else f"say `key: [{', '.join(wanted)}]` of {table.name}"
    return Misfit(f"'{column}' is not part of the key of {table.name}", remedy, (*_AT, section, name))


def _partitioning(author: str, table: TableDraft, section: str) -> Iterator[Misfit]:
    if (table.has_partitioned_by and table.partitioned_by is None) or table.partitioned_by == author:
        return
    by = table.partitioned_by or "its key"
    problem = f"{table.name} is partitioned by {by}, so posts and the followers of their author would not meet"
    yield Misfit(problem, f"say `partitioned_by: {author}` of {table.name}", (*_AT, section, "author"))
