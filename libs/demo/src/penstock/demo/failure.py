"""What is said when a child has failed, and when.

In:  the error, and how wide the terminal is. Out: lines of text.
To stop the other children takes as long as they need to drain. So it is said twice which child failed and how: before
they are stopped, and in the very last line, where nothing pushes it away.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.demo import texts
from penstock.embedded.errors import ChildError

LOG_LINES = 8
_INDENT = "  "


@contextmanager
def told_at_once(request_stop: Callable[[], None], write: Callable[[str], None]) -> Iterator[None]:
    """To be left before the supervisor is."""
    try:
        yield
    except ChildError as error:
        write(f"{_headline(error)}\n==> stopping the rest, which can take half a minute; Ctrl-C ends it now\n")
        request_stop()  # the next request, by Ctrl-C, is the second one: it kills without waiting
        raise


def last_words(error: ChildError, width: int | None) -> list[str]:
    """The end of the child's log, cut to the width if there is one; then the headline again, and where the log is."""
    logged = [f"{_INDENT}{texts.printable(line)}" for line in error.last_lines[-LOG_LINES:]]
    return [
        f"the last that {error.name} logged:" if logged else f"{error.name} logged nothing",
        *(line if width is None else texts.cut(line, width) for line in logged),
        f"{_headline(error)}; its log: {error.log}",
    ]


def _headline(error: ChildError) -> str:
    return f"penstock demo: {error.headline}"
