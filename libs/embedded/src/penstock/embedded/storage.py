"""A formatted storage folder for a broker, without starting a JVM.

In:  the `bootstrap.checkpoint` that Kafka's own StorageTool once wrote. It holds the
     feature levels of that Kafka version and nothing about a cluster.
Out: a folder with that file and a `meta.properties` with new ids, which is all that
     formatting a node with a static quorum comes to. Saves a JVM start per broker.
"""

import base64
import shutil
import uuid
from pathlib import Path

CHECKPOINT = "bootstrap.checkpoint"
IDENTITY = "meta.properties"


def is_formatted(folder: Path) -> bool:
    return (folder / IDENTITY).is_file()


def write_storage(folder: Path, checkpoint: Path) -> None:
    """The identity comes last: a folder that has one is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(checkpoint, folder / CHECKPOINT)
    identity = folder / f"{IDENTITY}.new"
    identity.write_text(f"version=1\ncluster.id={new_id()}\ndirectory.id={new_id()}\nnode.id=1\n")
    identity.rename(folder / IDENTITY)


def new_id() -> str:
    """A random id as Kafka writes them: 16 bytes, base64 for URLs, no leading dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text
