"""One way to log: a line each, on standard error; what repeats itself is said once in a while.

librdkafka says of every broker that does not answer, every few hundred milliseconds, that it does not answer.
"""

from __future__ import annotations

import logging
import re
from time import monotonic

FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
AGAIN_AFTER_S = 30.0
NUMBERS = re.compile(r"\d+")
KNOWN_MAX = 1_000


class Repeats(logging.Filter):
    """Lets a message pass, and then its like (equal but for numbers) only after a while, with how many there were."""

    def __init__(self, again_after_s: float = AGAIN_AFTER_S) -> None:
        super().__init__()
        self._again_after_s = again_after_s
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or record.exc_info:
            return True
        text = record.getMessage()
        like, now = (record.name, NUMBERS.sub("#", text)), monotonic()
        said, held_back = self._seen.get(like, (None, 0))
        if said is not None and now - said < self._again_after_s:
            self._seen[like] = (said, held_back + 1)
            return False
        if len(self._seen) >= KNOWN_MAX:
            self._seen.clear()
        self._seen[like] = (now, 0)
        if held_back:
            record.msg, record.args = f"{text} (and {held_back} like it since)", ()
        return True


def configure() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(FORMAT))
    handler.addFilter(Repeats())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
