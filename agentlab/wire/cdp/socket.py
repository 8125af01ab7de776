"""One web socket to a target, received on a thread of its own: pychrome's tab with another receive loop."""

from __future__ import annotations

import contextlib
import select
import threading
import time
from collections.abc import Callable
from socket import SHUT_RDWR
from typing import Any

import pychrome  # pyright: ignore[reportMissingTypeStubs]
import websocket

#: Longest time for one frame to be sent or received; a browser that is slower is taken for dead.
_FRAME_S = 60.0
_Tab: Any = pychrome.Tab  # pyright: ignore[reportUnknownMemberType]


class Socket(_Tab):  # pyright: ignore[reportUntypedBaseClass]
    """Receive at full speed, stamp each message before it is parsed, and say once when it is over.

    pychrome checks UTF-8 in Python (1.8 MB/s), parses the close frame as JSON, shares a time-out of 1 s
    between sending and receiving, prints with ``DEBUG`` in the environment, and runs callbacks on a second
    thread that loses what is queued at the end.

    Parameters
    ----------
    url : str
        Web socket of a target.
    deliver : callable
        Given each message as text and its stamp (ns, CLOCK_MONOTONIC), on the receiving thread.
    lost : callable
        Called once, on the receiving thread, when nothing will come any more.

    Raises
    ------
    OSError, websocket.WebSocketException
        It cannot be opened.
    """

    def __init__(self, url: str, deliver: Callable[[str, int], None], lost: Callable[[], None]) -> None:
        super().__init__(id=url.rpartition("/")[2], type="page", webSocketDebuggerUrl=url)
        self.debug = False
        self._deliver = deliver
        self._lost = lost
        # No Origin: a foreign one is answered with 403, and without one no flag of the browser is needed.
        self._ws: Any = websocket.create_connection(
            url,
            timeout=_FRAME_S,
            enable_multithread=True,
            suppress_origin=True,
            skip_utf8_validation=True,
            http_no_proxy=["127.0.0.1", "localhost"],
        )
        self._started = True
        self._recv_th = threading.Thread(target=self._recv_loop, name="agentlab-cdp", daemon=True)
        self._recv_th.start()

    def send(self, text: str) -> None:
        """Send one message.

        Parameters
        ----------
        text : str
            JSON.

        Raises
        ------
        OSError, websocket.WebSocketException
            The connection is over: after half a frame it cannot go on.
        """
        try:
            self._ws.send(text)
        except Exception:
            self._hang_up()
            raise

    def stop(self, timeout: float = 5.0) -> bool:
        """End the connection and its thread.

        Parameters
        ----------
        timeout : float
            Longest wait for the thread, s.

        Returns
        -------
        bool
            Whether the thread has ended.
        """
        self._stopped.set()
        self._hang_up()
        if threading.current_thread() is not self._recv_th:
            self._recv_th.join(timeout)
        self._ws.shutdown()
        return not self._recv_th.is_alive()

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self._ws.sock.shutdown(SHUT_RDWR)  # wakes the receiving thread

    def _recv_loop(self) -> None:
        poll = select.poll()
        try:
            poll.register(self._ws.sock, select.POLLIN)
            while not self._stopped.is_set():
                if not poll.poll(1000):
                    continue
                at = time.monotonic_ns()
                text = self._ws.recv()
                if not text:  # the close frame
                    break
                self._deliver(text, at)
        except (websocket.WebSocketException, OSError, AttributeError, ValueError):
            pass  # whoever waits is told by what follows
        finally:
            self._lost()
