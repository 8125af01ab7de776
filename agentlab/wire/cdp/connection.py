"""Commands and events of one target, for a loop: every call ends, by its answer, a deadline or an error."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import itertools
import json
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from ...errors import BrowserGone, DriverTimeout, ProtocolError

Params = dict[str, Any]
Callback = Callable[[Params, int], object]

#: Default deadline of a command, s.
CALL_S = 30.0
#: Longer messages are sent from a thread: the loop does not wait for a socket that is full.
_INLINE_BYTES = 1 << 16
#: Most events that wait for the loop; beyond, the newest are dropped and counted.
_QUEUE = 100_000
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


class CommandFailed(ProtocolError):
    """The browser refused a command.

    Parameters
    ----------
    message : str
        Command and the browser's words.
    number : int, optional
        The protocol's error code, e.g. -32601 for a command that does not exist.
    data : str, optional
        What it adds.
    """

    def __init__(self, message: str, *, number: int | None = None, data: str | None = None) -> None:
        super().__init__(message, driver="webchat")
        self.number = number
        self.data = data


class Connection:
    """Speak with one target; used on one loop.

    Events and answers are received on a thread, stamped, and handed to the loop in order.

    Parameters
    ----------
    url : str
        Web socket of the target.

    Attributes
    ----------
    failures : list of Exception
        What callbacks raised.
    n_calls : int
        Commands that were sent.
    n_dropped : int
        Events that came while too many waited for the loop.

    Raises
    ------
    BrowserGone
        It cannot be opened.
    """

    def __init__(self, url: str) -> None:
        import websocket

        from .socket import Socket

        self.failures: list[Exception] = []
        self.n_calls = self.n_dropped = 0
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._pending: dict[int, tuple[str, asyncio.Future[Params]]] = {}
        self._callbacks: dict[tuple[str | None, str], list[Callback]] = {}
        self._arrived: collections.deque[tuple[Params, int] | None] = collections.deque()
        self._lock = threading.Lock()
        self._scheduled = False
        self._gone: BrowserGone | None = None
        try:
            self._socket = Socket(url, self._deliver, self._lost)
        except (OSError, websocket.WebSocketException) as error:
            hint = ""
            if getattr(error, "status_code", None) == 403:
                hint = "; it refuses this origin: start it with --remote-allow-origins=*"
            raise _gone(f"the browser does not answer: {error}{hint}") from error

    @classmethod
    async def open(cls, url: str) -> Connection:
        """Open a connection to a target.

        Parameters
        ----------
        url : str
            Its web socket.

        Returns
        -------
        Connection
        """
        return cls(url)  # on loopback: no wait worth a thread

    async def call(
        self,
        method: str,
        params: Params | None = None,
        *,
        timeout_s: float = CALL_S,
        session: str | None = None,
    ) -> Params:
        """Send a command and wait for its answer.

        Parameters
        ----------
        method : str
            E.g. ``"Page.navigate"``.
        params : dict, optional
            Its parameters.
        timeout_s : float
            Deadline, s. A page that is busy in one task answers nothing, and is healthy all the same.
        session : str, optional
            Id of a flat session, e.g. of a worker.

        Returns
        -------
        dict
            The result.

        Raises
        ------
        CommandFailed
            The browser says no.
        DriverTimeout
            No answer in time; one that comes later is dropped.
        BrowserGone
            Target or browser is gone.
        """
        if self._gone is not None:
            raise self._gone
        number = next(self._numbers)
        self.n_calls += 1
        message: Params = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        answer: asyncio.Future[Params] = self._loop.create_future()
        self._pending[number] = method, answer
        try:
            await self._send(_encoder.encode(message).decode())
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise DriverTimeout(f"{method}: no answer in {timeout_s:g} s", driver="webchat") from None
        finally:
            self._pending.pop(number, None)

    def on(self, event: str, callback: Callback, *, session: str | None = None) -> Callable[[], None]:
        """Call something for each event of a kind, on the loop.

        Parameters
        ----------
        event : str
            E.g. ``"Tracing.tracingComplete"``.
        callback : callable
            Given the event's parameters and its stamp (ns, CLOCK_MONOTONIC, before it was parsed). What it
            raises is kept in ``failures``.
        session : str, optional
            Id of a flat session; None: the target itself.

        Returns
        -------
        callable
            Ends the subscription; twice is harmless.
        """
        callbacks = self._callbacks.setdefault((session, event), [])
        callbacks.append(callback)

        def end() -> None:
            with contextlib.suppress(ValueError):
                callbacks.remove(callback)

        return end

    def fail(self, error: BrowserGone) -> None:
        """Let all calls that wait, and all later ones, raise.

        Parameters
        ----------
        error : BrowserGone
            What happened; the first one counts.
        """
        self._gone = self._gone or error
        for _, answer in self._pending.values():
            if not answer.done():
                answer.set_exception(error)
                answer.exception()  # a caller that was cancelled does not ask

    def revive(self) -> None:
        """Let calls through again, after a page that crashed; a lost connection stays lost."""
        if self._gone is not None and self._gone.code == "page_crashed":
            self._gone = None

    @property
    def gone(self) -> BrowserGone | None:
        """Why nothing can be called any more."""
        return self._gone

    async def close(self) -> None:
        """Hand over what has arrived, then end the connection and its thread."""
        await asyncio.to_thread(self._socket.stop)
        self._drain()
        self.fail(_gone("the connection to the browser was closed"))

    async def _send(self, text: str) -> None:
        import websocket

        try:
            if len(text) < _INLINE_BYTES:
                self._socket.send(text)
            else:
                await asyncio.to_thread(self._socket.send, text)
        except (OSError, websocket.WebSocketException) as error:
            gone = _gone(f"the connection to the browser broke while sending: {error}")
            self.fail(gone)
            raise gone from error

    def _deliver(self, text: str, at: int) -> None:
        """Take one message, on the receiving thread."""
        try:
            message = _decoded(text)
        except ValueError:
            return  # no message of the protocol
        with self._lock:
            if "id" not in message and len(self._arrived) >= _QUEUE:
                self.n_dropped += 1
                return
            self._arrived.append((message, at))
            self._schedule()

    def _lost(self) -> None:
        with self._lock:
            self._arrived.append(None)
            self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, collections.deque()
            self._scheduled = False
        for item in arrived:
            if item is None:
                self.fail(_gone("the connection to the browser was lost"))
            elif "id" in item[0]:
                self._answer(item[0])
            else:
                self._tell(*item)

    def _answer(self, message: Params) -> None:
        method, answer = self._pending.get(message["id"], ("", None))
        if answer is None or answer.done():
            return
        if "error" in message:
            error = message["error"]
            text = f"{method}: {error.get('message', 'refused')}"
            answer.set_exception(CommandFailed(text, number=error.get("code"), data=error.get("data")))
        else:
            answer.set_result(message.get("result", {}))

    def _tell(self, message: Params, at: int) -> None:
        key = message.get("sessionId"), message.get("method", "")
        for callback in tuple(self._callbacks.get(key, ())):
            try:
                callback(message.get("params", {}), at)
            except Exception as error:
                self.failures.append(error)


def _gone(text: str) -> BrowserGone:
    return BrowserGone(text, driver="webchat", code="browser_gone")


def _decoded(text: str) -> Any:  # noqa: ANN401
    """Decode a message; half a character, e.g. of an emoji that a page cut, is U+FFFD."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:  # halves are refused; the standard library takes them
        whole = json.dumps(json.loads(text), ensure_ascii=False)
        return _decoder.decode(whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
