"""Errors and warnings of agentlab: what happened, where, and what to do.

::

    AgentlabError
      ConfigError(ValueError)        MissingExtra(ImportError)
        StudyBusy
      DriverError (.driver .run_id .phase)
        StartupError                 ProtocolError (.offset .excerpt)
        DriverTimeout(TimeoutError)  AgentExited (.returncode .tail)
        BrowserGone                  CleanupError (.survivors)
      GatewayError
        BudgetExceeded               UpstreamError (.status)
      RecordingError                 ImportFormatError
      SchemaError(ValueError)
    AgentlabWarning(UserWarning)
      UnstableWarning

    outside the tree, so that ``except Exception`` does not swallow them:
    Interrupted(asyncio.CancelledError)   InterruptedByUser(KeyboardInterrupt)

Inside :func:`agentlab.record` a failing run becomes coded issues in its recording and the study goes on;
only a ``ConfigError``, a start-up failure of an arm's first run, a spent budget, a provider that cannot be
reached, a full disk and an interrupt end it, and what was measured stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

# `concurrent.futures` is where asyncio takes its class from; importing asyncio here would cost a bare
# `import agentlab` 100 modules, so `Interrupted` is made on first use (see __getattr__).


_HERE = os.path.dirname(__file__) + os.sep  # noqa: PTH120 (pathlib would be the dearest import of all)


def _callers_lines(error: BaseException) -> list[str]:
    """Return what IPython shows of an error: the caller's own lines and the message.

    The way through agentlab's code says nothing more; ``error.__traceback__`` still has it.
    """
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    inside = next((i for i, frame in enumerate(frames) if frame.filename.startswith(_HERE)), len(frames))
    callers = [f for f in frames[:inside] if f"{os.sep}IPython{os.sep}" not in f.filename]
    said = traceback.format_exception_only(type(error), error)
    return "".join([*traceback.format_list(callers), *said]).rstrip("\n").splitlines()


class AgentlabError(Exception):
    """Base of all errors that agentlab raises."""

    _render_traceback_ = _callers_lines


class ConfigError(AgentlabError, ValueError):
    """A setting is wrong; nothing was started or spent."""


class StudyBusy(ConfigError):
    """Another process records into the study; what it does goes on."""


class MissingExtra(AgentlabError, ImportError):
    """An optional package is needed; the message holds the command that installs it."""


class DriverError(AgentlabError):
    """A driver could not do its part.

    Parameters
    ----------
    message : str
        What happened and what to do.
    driver : str, optional
        Name of the driver.
    run_id : str, optional
        The run it happened in.
    phase : str, optional
        ``"install"``, ``"startup"``, ``"warmup"``, ``"session"``, ``"turn"`` or ``"cleanup"``.
    code : str, optional
        Code of the issue it becomes in a recording (:data:`agentlab.issues.CODES`); ``driver_error`` without.
    """

    def __init__(
        self,
        message: str,
        *,
        driver: str | None = None,
        run_id: str | None = None,
        phase: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.driver = driver
        self.run_id = run_id
        self.phase = phase
        self.code = code


class StartupError(DriverError):
    """An agent, a gateway or a measuring host did not become ready."""


class ProtocolError(DriverError):
    """A peer broke its protocol.

    Parameters
    ----------
    message : str
        What was expected.
    offset : int, optional
        Byte offset in the stream.
    excerpt : str, optional
        Redacted excerpt.
    **where
        As for :class:`DriverError`.
    """

    def __init__(
        self,
        message: str,
        *,
        offset: int | None = None,
        excerpt: str | None = None,
        **where: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(message, **where)
        self.offset = offset
        self.excerpt = excerpt


class DriverTimeout(DriverError, TimeoutError):
    """A deadline of the scenario passed."""


class AgentExited(DriverError):
    """The agent's process ended although it was needed.

    Parameters
    ----------
    message : str
        What happened.
    returncode : int, optional
        Exit code; negative: ended by that signal.
    tail : str
        Redacted end of its output.
    **where
        As for :class:`DriverError`.
    """

    def __init__(self, message: str, *, returncode: int | None = None, tail: str = "", **where: Any) -> None:  # noqa: ANN401
        super().__init__(message, **where)
        self.returncode = returncode
        self.tail = tail


class BrowserGone(DriverError):
    """The browser or its page is gone."""


class CleanupError(DriverError):
    """Something that a run started is still alive.

    Parameters
    ----------
    message : str
        What happened.
    survivors : sequence of str
        Each survivor as ``"pid command"``.
    **where
        As for :class:`DriverError`.
    """

    def __init__(self, message: str, *, survivors: Sequence[str] = (), **where: Any) -> None:  # noqa: ANN401
        super().__init__(message, **where)
        self.survivors = tuple(survivors)


class GatewayError(AgentlabError):
    """The metered gateway refused or failed."""


class BudgetExceeded(GatewayError):
    """The next request could cost more than the budget has left."""


class UpstreamError(GatewayError):
    """The provider cannot be reached, or answered with an error; of that only its status crosses.

    Parameters
    ----------
    message : str
        What happened.
    status : int, optional
        HTTP status.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RecordingError(AgentlabError):
    """A recording cannot be written or read."""


class ImportFormatError(AgentlabError):
    """A foreign file is not what its reader expects."""


class SchemaError(AgentlabError, ValueError):
    """A frame does not fit its table; the message lists all violations."""


class AgentlabWarning(UserWarning):
    """Base of all warnings of agentlab."""


class UnstableWarning(AgentlabWarning):
    """The machine was not quiet, or too few runs stand behind a number."""


class InterruptedByUser(KeyboardInterrupt):
    """``Running.result()`` was interrupted; everything is cleaned up and what was measured is kept.

    Parameters
    ----------
    message : str
        Holds the ``load(...)`` line.
    recordings : Recordings, optional
        What was measured.
    """

    _render_traceback_ = _callers_lines

    def __init__(self, message: str = "", recordings: Any = None) -> None:  # noqa: ANN401
        super().__init__(message)
        self.recordings = recordings


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about a name that does not exist.

    Parameters
    ----------
    name : object
        What was written.
    known : iterable of str
        What could have been written.

    Returns
    -------
    str
        ``". Did you mean 'x'?"``, or nothing when none is near.

    Examples
    --------
    >>> did_you_mean("tfft", ["TTFT", "COST"])
    ". Did you mean 'TTFT'?"
    """
    import difflib

    lower = {word.casefold(): word for word in known}
    near = difflib.get_close_matches(str(name).casefold(), lower, n=1)
    return f". Did you mean {lower[near[0]]!r}?" if near else ""


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "Interrupted":
        import asyncio

        class Interrupted(asyncio.CancelledError):
            """``await running`` was interrupted; everything is cleaned up and what was measured is kept.

            A ``CancelledError``, because a ``KeyboardInterrupt`` raised inside a task ends a Jupyter kernel.

            Parameters
            ----------
            message : str
                Holds the ``load(...)`` line.
            recordings : Recordings, optional
                What was measured.
            """

            _render_traceback_ = _callers_lines

            def __init__(self, message: str = "", recordings: Any = None) -> None:  # noqa: ANN401
                super().__init__(message)
                self.recordings = recordings

        Interrupted.__module__ = __name__
        Interrupted.__qualname__ = "Interrupted"
        globals()[name] = Interrupted
        return Interrupted
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
