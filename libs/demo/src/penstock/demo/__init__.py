"""The pipeline on this machine, with simulated devices of which the truth is known, and a live view of what it does."""
