"""A minimal event-stream server in a process of its own, as agent servers write: one HTTP chunk an event.

``GET /event?n=COUNT&rate=PER_SECOND`` (rate 0: as fast as the reader takes it). Each event is 261 bytes and
holds, at rate > 0, the CLOCK_MONOTONIC stamp in ns taken directly before it is written. It ends when its
standard input does.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator

FRAME_BYTES = 261
_START = (
    b'data: {"id":"evt_0123456789abcdefABCD","type":"message.part.delta","properties":{"sessionID":'
    b'"ses_0123456789abcdef","messageID":"msg_0123456789abcdef","partID":"prt_0123456789abcdef",'
    b'"field":"text","delta":" complete."},"sent":"%019d"'
)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def frame(sent: int) -> bytes:
    """Return one event as an HTTP chunk."""
    start = _START % sent
    body = start + b',"pad":"' + b"x" * (FRAME_BYTES - len(start) - 12) + b'"}\n\n'
    return b"%x\r\n%s\r\n" % (len(body), body)


@contextlib.contextmanager
def serving() -> Generator[str]:
    """Start the server and give its base URL."""
    command = [sys.executable, "-m", "benchmarks._sse_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/event"
        finally:
            server.stdin.close()
            server.wait()


def _answer(connection: socket.socket) -> None:
    with contextlib.suppress(OSError), connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65_536) or b"\r\n\r\n"
        wanted = re.search(rb"\?n=(\d+)&rate=([\d.]+) ", request)
        if wanted is None:
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        connection.sendall(_HEAD)
        _send(connection, int(wanted[1]), float(wanted[2]))
        connection.sendall(b"0\r\n\r\n")


def _send(connection: socket.socket, n: int, rate: float) -> None:
    if not rate:
        same = frame(0)
        for _ in range(n):
            connection.sendall(same)
        return
    due = time.monotonic()
    for _ in range(n):
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
        connection.sendall(frame(time.monotonic_ns()))


def _main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()  # the owner's lifeline
    os._exit(0)


if __name__ == "__main__":
    _main()
