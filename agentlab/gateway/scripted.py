"""The scripted model: which step answers a request, and the pieces of the answer with their times."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .actions import resolve
from .attribution import WARM_UP
from .canonical import encode, tokens
from .chains import side_job
from .dialects.base import Dialect, ModelRequest, Piece, PieceKind
from .script import ScriptedModel
from .step import Fault, Step


@dataclasses.dataclass(frozen=True)
class Answer:
    """Hold the reply to one request, ready to be played.

    Parameters
    ----------
    step : Step
        What is answered.
    fault : Fault or None
        What breaks this time.
    pieces : tuple of (float, Piece)
        Seconds after the end of the request's body, and the piece.
    finish : str
        Reported reason of the end, in the dialect's spelling.
    usage : dict or None
        In the dialect's spelling; None: not reported.
    reason : str or None
        ``"script_ended"``, ``"script_no_match"`` or ``"script_no_tool"``.
    namespace : str
        Where the prompt is cached.
    """

    step: Step
    fault: Fault | None
    pieces: tuple[tuple[float, Piece], ...]
    finish: str
    usage: dict[str, Any] | None
    reason: str | None
    namespace: str

    @property
    def end_s(self) -> float:
        """Seconds after the end of the request's body at which the reply ends."""
        last = self.pieces[-1][0] if self.pieces else max(self.step.first_event_s, self.step.ttft_s)
        return last + self.step.end_s


class Model:
    """Play a script.

    Parameters
    ----------
    script : ScriptedModel
        The settings.
    """

    def __init__(self, script: ScriptedModel) -> None:
        self._script = script
        self._store = script.cache.open()
        self._positions: dict[str, dict[str, int]] = {}
        self._faults: dict[tuple[str, int], int] = {}

    def answer(self, request: ModelRequest, *, dialect: Dialect, session: str, namespace: str) -> Answer:
        """Choose the step and lay out its pieces.

        Parameters
        ----------
        request : ModelRequest
            What was asked.
        dialect : Dialect
            Spells the usage.
        session : str
            Key of the conversation.
        namespace : str
            Of the prompt cache.

        Returns
        -------
        Answer
        """
        index, step, reason = self._choose(request, session, namespace)
        step, reason = _resolved(step, request, reason)
        namespace = f"{namespace}\0{request.model}"
        pieces = tuple(_timed(_drawn(step, request.canonical.hash), call_prefix=request.canonical.hash[:8]))
        usage = None
        if step.usage is not None:
            usage = dialect.spell_usage(
                prompt=request.canonical.n_tokens,
                cache=self._store.serve(namespace, request),
                output=sum(_n_tokens(pieces, kind) for kind in ("text", "reasoning", "tool")),
                reasoning=_n_tokens(pieces, "reasoning"),
                given=None if isinstance(step.usage, str) else step.usage,
            )
        finish = dialect.finish(step.finish or ("tool_calls" if step.tools else "stop"))
        if dialect.whole_calls:
            pieces = tuple(_whole_calls(pieces))
        return Answer(step, self._fault(session, index, step), pieces, finish, usage, reason, namespace)

    def prefilled(self, answer: Answer, request: ModelRequest) -> None:
        """Note that the prompt was read: from the first piece on its prefixes are cached.

        Parameters
        ----------
        answer : Answer
            Being played.
        request : ModelRequest
            Its prompt.
        """
        self._store.store(answer.namespace, request)

    def _choose(self, request: ModelRequest, session: str, namespace: str) -> tuple[int, Step, str | None]:
        if namespace == WARM_UP:  # a throw-away prompt meets no step and no fault
            return -1, Step(text="Ready."), None
        aside = not request.tools or side_job(request) is not None
        side = aside and self._script.side is not None
        if self._script.match == "rule":
            for index, step in enumerate(self._script.steps):
                if (not side or step.when.get("has_tools") is False) and _holds(step.when, request):
                    return index, step, None
        if side:
            return -1, Step(text=self._script.side or ""), None
        if self._script.match == "rule":
            return -1, Step(text="No step of the script matches."), "script_no_match"
        positions = self._positions.setdefault(session, {})
        index = positions.setdefault(request.canonical.hash, len(positions))
        if index < len(self._script.steps):
            return index, self._script.steps[index], None
        return -1, Step(text="The script has ended."), "script_ended"

    def _fault(self, session: str, index: int, step: Step) -> Fault | None:
        fault = step.fault
        if not isinstance(fault, Fault):
            return None
        met = self._faults.get((session, index), 0)
        if fault.times is not None and met >= fault.times:
            return None
        self._faults[session, index] = met + 1
        return fault


def _resolved(step: Step, request: ModelRequest, reason: str | None) -> tuple[Step, str | None]:
    """Spell a step's actions with the tools of the request."""
    if not step.actions:
        return step, reason
    calls, texts = [*step.tools], [*_split(step.text)]
    for action in step.actions:
        spelled = resolve(action, request)
        if spelled is None:
            return Step(text=f"No tool to {action['do']} with."), "script_no_tool"
        if isinstance(spelled, str):
            texts += _split(spelled)
        else:
            calls.append({"name": spelled[0], "arguments": spelled[1]})
    return dataclasses.replace(step, tools=calls, text=texts, actions=()), reason


def _whole_calls(pieces: Sequence[tuple[float, Piece]]) -> Iterator[tuple[float, Piece]]:
    """Join the parts of each call; it is due with its last one."""
    for index, (due, piece) in enumerate(pieces):
        if piece.kind != "tool":
            yield due, piece
        elif index + 1 == len(pieces) or pieces[index + 1][1].call is not None:
            parts = [part for _, part in pieces if part.kind == "tool" and part.index == piece.index]
            yield due, Piece("tool", "".join(part.text for part in parts), piece.index, parts[0].call)


def _drawn(step: Step, prompt_hash: str) -> Step:
    """Say the text as often as the step wants, for this prompt."""
    low, high = (step.repeat, step.repeat) if isinstance(step.repeat, int) else step.repeat
    times = random.Random(prompt_hash).randint(int(low), int(high))
    return step if times == 1 else dataclasses.replace(step, text=[*_split(step.text)] * times, repeat=1)


def _holds(when: Mapping[str, Any], request: ModelRequest) -> bool:
    """Whether every condition of a step holds."""
    last_user = request.user_texts[-1] if request.user_texts else ""
    facts: dict[str, Any] = {
        "has_tools": bool(request.tool_names),
        "last_role": request.roles[-1] if request.roles else None,
        "turn": len(request.user_texts),
        "tool_result_of": request.result_of,
        "model": request.model,
    }
    return all(
        value in last_user if key == "last_user_contains" else facts[key] == value
        for key, value in when.items()
    )


def _timed(step: Step, *, call_prefix: str) -> Iterator[tuple[float, Piece]]:
    """Yield pieces with their times: a piece is due when its last token is."""
    done = 0
    for piece in _pieces(step, call_prefix):
        done += tokens(piece.n_bytes)
        pace = max(0, done - 1) / step.tokens_per_s if step.tokens_per_s else 0.0
        yield step.ttft_s + pace, piece


def _pieces(step: Step, call_prefix: str) -> Iterator[Piece]:
    for text in _split(step.reasoning):
        yield Piece("reasoning", text)
    for text in _split(step.text):
        yield Piece("text", text)
    for index, call in enumerate(step.tools):
        arguments = call["arguments"]
        spelled = (
            arguments if isinstance(arguments, str) else encode(arguments).decode("utf-8", "surrogatepass")
        )
        yield Piece("tool", "", index, (f"call_{call_prefix}_{index}", call["name"]))
        for text in _split(spelled):
            yield Piece("tool", text, index)


def _split(text: str | Sequence[str]) -> Iterator[str]:
    """Cut a string into pieces of one token, at character borders; a list is cut already."""
    if not isinstance(text, str):
        yield from text
        return
    piece, size = "", 0
    for char in text:
        n = len(char.encode("utf-8", "surrogatepass"))
        if piece and size + n > 4:
            yield piece
            piece, size = "", 0
        piece, size = piece + char, size + n
    if piece:
        yield piece


def _n_tokens(pieces: Sequence[tuple[float, Piece]], kind: PieceKind) -> int:
    return tokens(sum(piece.n_bytes for _, piece in pieces if piece.kind == kind))
