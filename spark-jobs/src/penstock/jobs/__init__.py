"""Spark Structured Streaming jobs of the pipeline. The first one comes with the timelines slice."""
