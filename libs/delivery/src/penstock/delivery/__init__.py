"""What the join of posts and follows (spark-jobs), the timeline service and the audit share."""
