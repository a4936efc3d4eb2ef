"""The section `timeline`: which tables are the posts and the follows, and how much of a timeline is kept.

In:  the section of the document.
Out: a `Timeline`. A timeline is posts joined with follows, author by author: the newest posts of those whom a user
     follows.
`references` checks the tables and columns that are named here.
"""

from penstock.document import Section
from penstock.pipeline.names import ColumnName, TableName
from pydantic import Field

CAPACITY_MAX = 10_000
SLACK_MAX = 10_000
FOLLOWERS_MAX = 1_000_000_000


class TimelinePosts(Section):
    """Which table has the posts. The columns of its key besides the author are a post's id."""

    table: TableName = Field(description="The table that has a row for each post")
    author: ColumnName = Field(description="The column, part of the key, that says who wrote the post")


class TimelineFollows(Section):
    """Which table has who follows whom."""

    table: TableName = Field(description="The table that has a row for each follower of each author")
    follower: ColumnName = Field(description="The column, part of the key, that says who follows")
    author: ColumnName = Field(description="The column, part of the key, that says who is followed")


class Timeline(Section):
    """What timelines are made of."""

    posts: TimelinePosts = Field(description="Which table has the posts, and which of its columns their author")
    follows: TimelineFollows = Field(description="Which table has who follows whom, and which of its columns say so")
    capacity: int = Field(default=800, ge=1, le=CAPACITY_MAX, description="The most posts that a timeline has")
    slack: int = Field(
        default=200,
        ge=1,
        le=SLACK_MAX,
        description="How many posts are kept beyond the capacity, so that removals rarely leave a gap to be refilled",
    )
    merge_at_read_above: int = Field(
        default=100_000,
        ge=0,
        le=FOLLOWERS_MAX,
        description="A post of an author with more followers than this is not copied to each of them:"
        " readers merge it when they read",
    )
