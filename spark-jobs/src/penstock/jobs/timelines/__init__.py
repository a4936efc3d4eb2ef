"""The join of posts and follows: who gets which post, kept up to date as either table changes."""
