"""Runs the command line: `penstock`, or `python -m penstock.client`."""

from penstock.command import main

if __name__ == "__main__":
    main()
