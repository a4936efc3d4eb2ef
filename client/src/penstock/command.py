"""The `penstock` command. A module of its own, outside of the client: gRPC reads its settings when it is imported."""

import os


def main() -> None:
    """The entry point."""
    # It writes to stderr when a server goes away, into whatever is on the screen. What matters of it, we say.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from penstock.client.cli.app import app

    app(prog_name="penstock")


if __name__ == "__main__":
    main()
