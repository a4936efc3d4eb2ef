"""A TCP proxy that loses connections, to see what a publisher makes of it."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 1 << 16


class LossyProxy:
    """Forwards to `target` ("host:port"); use it as a context manager; `address` is where it listens."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = 0
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._mute = False

    def cut(self) -> None:
        """Ends every connection now, whatever is under way on it."""
        with self._lock:
            sockets, self._sockets, self._mute = self._sockets, [], False
            self.cuts += 1
        for connection in sockets:
            with contextlib.suppress(OSError):  # already gone
                connection.shutdown(socket.SHUT_RDWR)

    def mute(self) -> None:
        """Lets requests through, but no replies, until the next cut."""
        self._mute = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:  # the listener was closed, or the target is gone: the client sees a lost connection
                if self._listener.fileno() < 0:
                    return
                client.close()
                continue
            with self._lock:
                self._sockets += [client, server]
            threading.Thread(target=self._forward, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._forward, args=(server, client, True), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, replies: bool) -> None:
        with contextlib.suppress(OSError), source, sink:  # a lost connection is what this is for
            while chunk := source.recv(_CHUNK_BYTES):
                if not (replies and self._mute):
                    sink.sendall(chunk)
