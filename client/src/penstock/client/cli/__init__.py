"""The command line of penstock."""
