"""Keeps tables, and joins events with the row that was valid when they happened."""
