"""Runs the command line: `penstock`, or `python -m penstock.client`."""

from penstock.client.cli.app import app


def main() -> None:
    """The entry point of the `penstock` command."""
    app(prog_name="penstock")


if __name__ == "__main__":
    main()
