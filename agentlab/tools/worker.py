"""The tools' own process: ``python -m agentlab.tools.worker``.

One line of settings comes in on stdin, then one line per call; each is answered with one line on stdout. A
call that takes too long (a regular expression can take for ever, and holds the interpreter) is ended by the
kernel's timer, together with the process. End of stdin ends it too.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
from typing import Any

from .toolbox import Toolbox


def main() -> None:
    """Run the process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    settings = json.loads(sys.stdin.buffer.readline())
    box = Toolbox(settings["root"], archive=settings["archive"], max_chars=settings["max_chars"])
    _say({})  # ready
    for line in sys.stdin.buffer:
        call = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, settings["max_seconds"])
        answer = dataclasses.asdict(box.call(call["name"], call["arguments"]))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _say(answer)


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
