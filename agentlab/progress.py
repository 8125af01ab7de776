"""Show how far a study is: lines in a terminal, one line in a headless notebook, a panel in a live one."""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from .surroundings import front_end

if TYPE_CHECKING:
    from .host.running import Running

_LOOK_S = 0.25
_HEADLESS_S = 1.0
#: A shorter wait for a quiet machine is not worth a line.
_WAIT_TOLD_S = 2.0
#: More arms than this are not named one by one in a line.
_ARMS_IN_LINE = 4

State = dict[str, Any]


class View(Protocol):
    """A way to show the state of a study."""

    def update(self, state: State) -> None:
        """Show a state."""
        ...

    def close(self, state: State) -> None:
        """Show the last state, for good."""
        ...


def show(running: Running, mode: str) -> Callable[[], None]:
    """Show progress from a thread until the study ends; a failure to show it never breaks the study.

    Parameters
    ----------
    running : Running
        The study.
    mode : {"auto", "widget", "text", "none"}
        ``auto``: a panel with Cancel in a live notebook, else text. ``widget`` is text where nobody could see
        it. ``text``: one line a finished run on stderr, or in a notebook one line that is updated.

    Returns
    -------
    callable
        Shows the state for the last time and returns when it is shown.
    """
    if mode == "none":
        return lambda: None
    try:
        watch = _Watch(running, _view(running, mode))
    except Exception as error:
        _cannot(error)
        return lambda: None
    return watch.finish


def say(text: str) -> None:
    """Say one line that is no result.

    Parameters
    ----------
    text : str
        On stderr, apart from results; in a notebook, where that would look like an error, on stdout.
    """
    print(f"agentlab: {text}", file=sys.stderr if front_end() == "terminal" else sys.stdout, flush=True)


def line(state: State) -> str:
    """Describe a state of :meth:`agentlab.Running.state` in one line.

    Parameters
    ----------
    state : dict
        The state.

    Returns
    -------
    str

    Examples
    --------
    >>> arm = {"planned": 2, "finished": 1, "eligible": 0, "discarded": 1, "reasons": {"turn_error": 1}}
    >>> state = {"status": "running", "folder": "studies/a", "elapsed_s": 75, "planned": 2, "finished": 1}
    >>> line({**state, "arms": {"a": arm}})
    '1 of 2 runs, 1 discarded (turn_error 1); 1 min 15 s'
    """
    parts = [f"{state['finished']} of {state['planned']} runs"]
    arms: dict[str, State] = state["arms"]
    if 1 < len(arms) <= _ARMS_IN_LINE:
        parts[0] += (
            " (" + ", ".join(f"{name} {a['finished']}/{a['planned']}" for name, a in arms.items()) + ")"
        )
    discarded = sum(a["discarded"] for a in arms.values())
    if discarded:
        parts.append(f"{discarded} discarded ({reasons(arms.values())})")
    text = ", ".join(parts)
    if state["elapsed_s"] is not None:
        text += f"; {duration(state['elapsed_s'])}"
    return text if state["status"] == "running" else f"{state['status']}: {text}; {state['folder']}"


def reasons(counts: Any) -> str:  # noqa: ANN401
    """Return why runs of these arms were discarded, e.g. ``"missing_tool 2, turn_error 1"``."""
    total: dict[str, int] = {}
    for arm in counts:
        for code, n in arm["reasons"].items():
            total[code] = total.get(code, 0) + n
    return ", ".join(f"{code} {n}" for code, n in sorted(total.items())) or "failed"


def duration(seconds: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> duration(3.4), duration(75), duration(4000)
    ('3 s', '1 min 15 s', '1 h 06 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def clock(unix_ns: int) -> str:
    """Return a moment by this machine's clock: the time of day, with the date unless it is today's."""
    then, now = time.localtime(unix_ns // 10**9), time.localtime()
    return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)


def until(state: Mapping[str, Any]) -> str | None:
    """Say of a detached study when it ends by itself; None of another, and once it has ended."""
    if state["status"] != "running" or state.get("until_unix_ns") is None:
        return None
    return f"goes on by itself, until {clock(state['until_unix_ns'])} at the latest"


def waiting(state: Mapping[str, Any]) -> str | None:
    """Say of a study whose next run waits for a quiet machine which one, why, and how long; else None.

    Examples
    --------
    >>> why = {"why": "CPU pressure 81 %, limit 25 %", "waited_s": 3.2, "longest_s": 20}
    >>> waiting({"waiting": {"arm": "stable", "run_index": 0, **why}})
    'stable, run 1 waits for a quiet machine: CPU pressure 81 %, limit 25 %; 3 s of at most 20 s'
    """
    if (about := state.get("waiting")) is None:
        return None
    passed, longest = duration(about["waited_s"]), duration(about["longest_s"])
    return (
        f"{about['arm']}, run {about['run_index'] + 1} waits for a quiet machine: {about['why']}; "
        f"{passed} of at most {longest}"
    )


class _Waits:
    """Which waits were told: each once, when it has lasted, with the time of day, for the line stays."""

    def __init__(self) -> None:
        self._told: tuple[str, int] | None = None

    def news(self, state: State) -> str | None:
        """Return a line for a wait that is to be told now."""
        about = state.get("waiting")
        if about is None or about["waited_s"] < _WAIT_TOLD_S:
            return None
        run = (about["arm"], about["run_index"])
        if run == self._told:
            return None
        self._told = run
        return f"{line(state)}; at {time.strftime('%H:%M:%S')} {waiting(state)}"


class Lines:
    """One line on stderr for each finished run, and one at the end; of a detached study also one before.

    Another for each run that waits for a quiet machine.
    """

    def __init__(self, state: State) -> None:
        self._shown = state["finished"]
        self._waits = _Waits()
        if (alone := until(state)) is not None:
            how = f"agentlab.attach({state['folder']!r}) shows it, an interrupt stops only the waiting"
            _print(f"{line(state)}; {alone}; {how}")

    def update(self, state: State) -> None:
        """Print a line when runs have finished."""
        if self._shown < state["finished"] < state["planned"]:
            self._shown = state["finished"]
            _print(line(state))
        if (news := self._waits.news(state)) is not None:
            _print(news)

    def close(self, state: State) -> None:
        """Print the last line."""
        _print(line(state))


class OneLine:
    """One output of a notebook, updated in place: works where no widget does.

    It changes only when a run has finished, or waits for a quiet machine, and at most once a second:
    executors log each change.
    """

    def __init__(self, state: State) -> None:
        from IPython.display import display

        self._handle: Any = display({"text/plain": line(state)}, raw=True, display_id=True)
        self._shown = state["finished"]
        self._at = time.monotonic()
        self._waits = _Waits()

    def update(self, state: State) -> None:
        """Change the line when runs have finished, or one waits."""
        finished, now = state["finished"], time.monotonic()
        if now - self._at < _HEADLESS_S:
            return
        news = self._waits.news(state)
        if news is not None or self._shown < finished < state["planned"]:
            self._handle.update({"text/plain": news or line(state)}, raw=True)
            self._shown, self._at = finished, now

    def close(self, state: State) -> None:
        """Leave a card where the line stood."""
        from .widgets.cards import running_card

        self._handle.update({**running_card(state), "text/plain": line(state)}, raw=True)


class _Watch:
    """Look at a study a few times a second and tell a view."""

    def __init__(self, running: Running, view: View) -> None:
        self._running = running
        self._view = view
        self._wake = threading.Event()
        # In the caller's context: what a kernel shows from here stays with the cell that began the study.
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._look,), name="agentlab-progress", daemon=True
        )
        self._thread.start()

    def finish(self) -> None:
        """Have the state shown for the last time."""
        self._wake.set()
        self._thread.join(timeout=2.0)

    def _look(self) -> None:
        try:
            while (state := self._running.state())["status"] == "running" and not self._wake.is_set():
                self._view.update(state)
                self._wake.wait(_LOOK_S)
            if state["status"] == "running":  # read before the end, or nobody waits for it any more
                state = self._running.state()
            self._view.close(state)
        except Exception as error:
            _cannot(error)


def _view(running: Running, mode: str) -> View:
    where = front_end()
    if where == "terminal":
        return Lines(running.state())
    if where == "live" and mode != "text":
        with contextlib.suppress(ImportError):
            from .widgets.panel import Panel

            return Panel(running)
    return OneLine(running.state())


def _print(text: str) -> None:
    print(f"agentlab: {text}", file=sys.stderr, flush=True)


def _cannot(error: Exception) -> None:
    with contextlib.suppress(Exception):
        say(f"progress cannot be shown ({type(error).__name__}: {error}); the study is not affected")
