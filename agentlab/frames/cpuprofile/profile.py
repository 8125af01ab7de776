"""CPU profiles: samples sorted, and the time from each sample to the next booked to it.

V8 gives each sample with the time since the one before; those differences are not sorted, so that some are
negative, and the first one is the start of the profiler. A sample stands for the time until the next one, as
in DevTools; the last one until the profile's end.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: What a node stands for.
Kind = Literal["js", "idle", "program", "gc", "root"]
#: Names of nodes that are no functions.
KINDS: dict[str, Kind] = {
    "(idle)": "idle",
    "(program)": "program",
    "(garbage collector)": "gc",
    "(root)": "root",
}


class Node(NamedTuple):
    """A place of the call tree: a function as it was called along one path.

    `line` and `column` are 1-based, `parent` is a place in the profile's nodes.
    """

    function: str
    url: str
    line: int | None
    column: int | None
    parent: int | None
    kind: Kind

    @property
    def label(self) -> str:
        """Name, script and position, e.g. ``"render @ index.js:5:84"``."""
        name = self.function or "(anonymous)"
        if not self.url:
            return name
        return f"{name} @ {_script(self.url)}" + "".join(
            f":{n}" for n in (self.line, self.column) if n is not None
        )


class Function(NamedTuple):
    """A function over all its calls.

    `self_ms` is time in itself, `total_ms` with what it called; `share` is the part of busy time, None for
    idle time.
    """

    function: str
    url: str
    line: int | None
    column: int | None
    kind: Kind
    self_ms: float
    total_ms: float
    n_samples: int
    share: float | None

    @property
    def label(self) -> str:
        """Name, script and position."""
        return Node(self.function, self.url, self.line, self.column, None, self.kind).label


@dataclasses.dataclass(frozen=True, eq=False)
class CpuProfile:
    """Hold the samples of one thread in the order of time.

    Parameters
    ----------
    start_ns, end_ns : int
        CLOCK_MONOTONIC, as far as the program that wrote it uses it.
    nodes : tuple of Node
        The call tree.
    sample_ns, sample_node, weight_ns : ndarray of int64
        Of each sample: its time, its place in `nodes`, and the time until the next one.
    n_negative_deltas : int
        Samples that were written out of order.
    n_unknown : int
        Samples of nodes that the file does not hold, which are left out, or without a time.
    pid, tid : int, optional
        Thread, where the file tells it.
    """

    start_ns: int
    end_ns: int
    nodes: tuple[Node, ...]
    sample_ns: NDArray[np.int64]
    sample_node: NDArray[np.int64]
    weight_ns: NDArray[np.int64]
    n_negative_deltas: int = 0
    n_unknown: int = 0
    pid: int | None = None
    tid: int | None = None

    @property
    def lead_ms(self) -> float | None:
        """Time before the first sample, in no sum, ms."""
        return (int(self.sample_ns[0]) - self.start_ns) / 1e6 if len(self.sample_ns) else None

    @property
    def total_ms(self) -> float:
        """Time from the first sample to the end, ms."""
        return float(self.weight_ns.sum()) / 1e6

    @property
    def idle_ms(self) -> float:
        """Time without work, ms."""
        return self._of_kind("idle")

    @property
    def program_ms(self) -> float:
        """Work outside of JavaScript, ms."""
        return self._of_kind("program")

    @property
    def gc_ms(self) -> float:
        """Garbage collection, ms."""
        return self._of_kind("gc")

    @property
    def busy_ms(self) -> float:
        """All but idle time, ms."""
        return self.total_ms - self.idle_ms

    @property
    def interval_ms(self) -> float | None:
        """Median time between two samples, ms; the one asked for is shorter on a busy machine."""
        return self._interval(0.5)

    @property
    def interval_p95_ms(self) -> float | None:
        """95th percentile of the time between two samples, ms."""
        return self._interval(0.95)

    def functions(self) -> list[Function]:
        """Return all functions that were seen, those with most time of their own first.

        Returns
        -------
        list of Function
        """
        import numpy as np

        n = len(self._distinct)
        own = np.bincount(self._function[self.sample_node], self.weight_ns, minlength=n).tolist()
        counts = np.bincount(self._function[self.sample_node], minlength=n)
        total, busy = self._totals(), self.busy_ms
        rows = [
            Function(
                *(node.function, node.url, node.line, node.column, node.kind),
                self_ms=own[i] / 1e6,
                total_ms=total[i] / 1e6,
                n_samples=int(counts[i]),
                share=own[i] / 1e6 / busy if node.kind != "idle" and busy > 0 else None,
            )
            for i, node in enumerate(self._distinct)
            if node.kind != "root" and total[i] > 0
        ]
        return sorted(rows, key=lambda row: (-row.self_ms, -row.total_ms, row.label))

    def top(self, begin_ns: int, end_ns: int) -> tuple[str, float] | None:
        """Return what a stretch of time was mostly spent on.

        Parameters
        ----------
        begin_ns, end_ns : int
            The stretch, e.g. of a long task.

        Returns
        -------
        tuple of str and float, or None
            Label of the function with most time of its own, ``"(program)"`` only where no function ran, and
            that time in ms; None when no sample lies in it.
        """
        import numpy as np

        if not len(self.sample_ns):
            return None
        first = max(0, int(np.searchsorted(self.sample_ns, begin_ns, side="right")) - 1)
        last = int(np.searchsorted(self.sample_ns, end_ns, side="left"))
        begins = self.sample_ns[first:last]
        inside = np.minimum(begins + self.weight_ns[first:last], end_ns) - np.maximum(begins, begin_ns)
        functions = self._function[self.sample_node[first:last]]
        spent = np.bincount(functions, np.maximum(inside, 0), minlength=len(self._distinct))
        ranks = {"js": 2, "gc": 2, "program": 1}
        places = [i for i in np.flatnonzero(spent) if self._distinct[i].kind in ranks]
        if not places:
            return None
        best = max(places, key=lambda i: (ranks[self._distinct[i].kind], spent[i]))
        return self._distinct[best].label, float(spent[best]) / 1e6

    def _of_kind(self, kind: Kind) -> float:
        import numpy as np

        of_kind = np.array([node.kind == kind for node in self.nodes], bool)
        return float(self.weight_ns[of_kind[self.sample_node]].sum()) / 1e6

    def _interval(self, q: float) -> float | None:
        import numpy as np

        return float(np.quantile(np.diff(self.sample_ns), q)) / 1e6 if len(self.sample_ns) > 1 else None

    @cached_property
    def _distinct(self) -> list[Node]:
        """The functions, however they were called."""
        return list({node._replace(parent=None): None for node in self.nodes})

    @cached_property
    def _function(self) -> NDArray[np.int64]:
        """Place of each node's function."""
        import numpy as np

        place = {node: i for i, node in enumerate(self._distinct)}
        return np.array([place[node._replace(parent=None)] for node in self.nodes], np.int64)

    def _totals(self) -> list[float]:
        """Return each function's time with what it called, once however often it is on the path."""
        import numpy as np

        own = np.bincount(self.sample_node, self.weight_ns, minlength=len(self.nodes)).tolist()
        totals = [0.0] * len(self._distinct)
        functions = self._function.tolist()
        for place, spent in enumerate(own):
            if not spent:
                continue
            path, up = set[int](), cast("int | None", place)
            for _ in self.nodes:  # no path is longer; one that goes in circles ends
                if up is None:
                    break
                path.add(functions[up])
                up = self.nodes[up].parent
            for function in path:
                totals[function] += spent
        return totals


def _script(url: str) -> str:
    """Return the last part of an address; what differs from run to run (ports, blobs) is left out."""
    scheme = url.partition(":")[0]
    return (
        scheme
        if scheme in ("blob", "data")
        else re.split(r"[?#]", url, maxsplit=1)[0].rpartition("/")[2] or "/"
    )
