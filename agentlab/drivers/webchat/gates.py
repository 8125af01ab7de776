"""What has to hold before a number of a page is believed; each failed gate discards the run by its code."""

from __future__ import annotations

from typing import Any

from ...wire.cdp import TraceEnd
from ..base import Run
from .likeness import shown_ratio
from .listening import Listening
from .presets import Recorder
from .traceeye import TraceEye

#: Markdown's own marks are no words; what is missing beyond that is missing.
_LIKE = 0.98
#: An answer that streams for longer has to be seen growing more than once.
_LONG_NS, _GROWTHS = 1_500_000_000, 3
#: Fewer animation frames in a second: the page is not drawn.
_FRAMES = 2


def shows(answer: str | None, text: str) -> bool:
    """Say whether a text is the app's answer; one that is not told never is, and one without words always."""
    if answer is None:
        return False
    ratio = shown_ratio(answer, text)
    return ratio is None or ratio >= _LIKE


class Gates:
    """Judge a run's page.

    Parameters
    ----------
    run : Run
        Where verdicts go.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def check(self, name: str, passed: bool | None, detail: str | None = None) -> None:
        """Tell one gate.

        Parameters
        ----------
        name : str
            Code of the issue that a failed one becomes.
        passed : bool or None
            None: it could not be looked at.
        detail : str, optional
            What was seen.
        """
        more: dict[str, Any] = {} if detail is None else {"detail": detail}
        self._run.emit("page.gate", name=name, passed=passed, **more)
        if passed is False:
            self._run.issue(name, detail, discard=True)

    def stream(self, *, at_prompt: bool, at_end: bool) -> None:
        """Judge the page's event stream: open when the prompt was sent, and still at the end."""
        missing = "when the prompt was sent" if not at_prompt else "at the end"
        self.check("page_stream_closed", at_prompt and at_end, None if at_prompt and at_end else missing)

    def answer(self, heard: Listening, told: dict[str, Any]) -> float | None:
        """Judge the text on the page by the app's answer.

        Parameters
        ----------
        heard : Listening
            What the app tells.
        told : dict
            What the page tells.

        Returns
        -------
        float or None
            Share of the answer's words that the page shows.
        """
        self.check("page_not_idle", heard.idle_ns is not None)
        if heard.idle_ns is None:
            return None  # the answer is cut: there is nothing to compare
        spread = heard.chunks_ns[-1] - heard.chunks_ns[0] if heard.chunks_ns else 0
        wanted = _GROWTHS if spread >= _LONG_NS else 1
        growths = int(told["n_growths"])
        said = heard.answer is None or heard.answer.strip() != ""
        self.check(
            "page_text_not_growing",
            growths >= wanted if said else None,
            f"seen growing {growths} times" if said else "the answer has no text",
        )
        ratio = None if heard.answer is None else shown_ratio(heard.answer, told["text"])
        if ratio is None:
            self.check("page_text_mismatch", None, "the app tells no answer")
        else:
            self.check("page_text_mismatch", ratio >= _LIKE, f"{ratio:.1%} of its words are shown")
        return ratio

    def alive(self, told: dict[str, Any], alive: dict[str, Any]) -> None:
        """Judge whether the page was visible all the time, and is drawn."""
        hidden = bool(told["hidden"]) or alive["visibility"] != "visible"
        self.check("page_hidden", not hidden)
        frames = int(alive["frames"])
        enough = frames >= _FRAMES * alive["seconds"]
        self.check("page_frames_dead", None if hidden else enough, f"{frames} in {alive['seconds']:.1f} s")

    def trace(self, recorder: Recorder, ended: TraceEnd | None, eye: TraceEye) -> None:
        """Judge the trace by what was seen in it."""
        if not recorder.categories:
            return
        if ended is None:
            self.check("trace_incomplete", False, "it was not taken over")
            return
        self.check("trace_incomplete", ended.complete, ended.reason)
        self.check("trace_data_loss", None if ended.data_loss is None else not ended.data_loss)
        if not ended.complete:
            return
        thread = eye.marks.get("agentlab:begin")
        lacking = [name for name in ("agentlab:begin", "agentlab:end") if name not in eye.marks]
        self.check("page_no_mark", not lacking, ", ".join(lacking) or None)
        n_tasks = eye.tasks_of(thread) if thread is not None else None
        self.check("page_no_tasks", None if n_tasks is None else n_tasks > 0, f"{n_tasks} tasks")
