"""The audit: recomputes every timeline from the tables' logs, and compares with what is served."""
