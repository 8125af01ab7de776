"""Which functions took the CPU of a page: time per run by function, over the runs of each arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: Column -> dtype of what :func:`top_functions` returns.
COLUMNS = {
    "arm": "string",
    "label": "string",
    "kind": "string",
    "self_ms": "Float64",
    "least_ms": "Float64",
    "most_ms": "Float64",
    "share": "Float64",
    "n_runs": "Int64",
    "n_seen": "Int64",
}


def top_functions(cpu: pd.DataFrame, *, n: int = 15, profile: str = "page") -> pd.DataFrame:
    """Return the functions with most time of their own, mean of the runs that were sampled.

    Parameters
    ----------
    cpu : pandas.DataFrame
        Rows of the table `cpu`.
    n : int
        How many over all arms.
    profile : str
        ``"page"`` for its main thread, or ``"worker 1"`` ...

    Returns
    -------
    pandas.DataFrame
        One row per function and arm, the function with most time in any arm first: ``self_ms`` (mean over the
        sampled runs; one in which it was never seen counts as 0), ``least_ms`` and ``most_ms`` of a run,
        ``share`` of all time of those runs that was not idle, ``n_runs`` sampled, ``n_seen`` with it.

    Examples
    --------
    >>> import pandas as pd
    >>> cpu = pd.DataFrame({"arm": "a", "run_id": ["1", "1", "2"], "profile": "page",
    ...                     "kind": ["js", "gc", "js"], "label": ["f", "(gc)", "f"],
    ...                     "self_ms": [30.0, 10.0, 50.0]})
    >>> top_functions(cpu)[["label", "self_ms", "least_ms"]].values.tolist()
    [['f', 40.0, 30.0], ['(gc)', 5.0, 0.0]]
    """
    import pandas as pd

    rows = cpu[(cpu["profile"] == profile).fillna(value=False) & cpu["self_ms"].notna()]
    if not len(rows):
        return pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in COLUMNS.items()})
    keys = [key for key in ("study", "run_id") if key in rows]
    n_runs = rows.drop_duplicates(["arm", *keys]).groupby("arm").size()
    busy = rows[(rows["kind"] != "idle").fillna(value=True)]
    total = busy.groupby("arm")["self_ms"].sum()
    per_run = busy.groupby(["arm", "label", "kind", *keys], dropna=False)["self_ms"].sum().reset_index()
    found = (
        per_run.groupby(["arm", "label", "kind"], dropna=False)["self_ms"]
        .agg(["sum", "min", "max", "size"])
        .reset_index()
    )
    found["n_runs"] = found["arm"].map(n_runs).astype("Int64")
    found["self_ms"] = found["sum"] / found["n_runs"]
    found["least_ms"] = found["min"].where(found["size"] == found["n_runs"], 0.0)
    found["share"] = found["sum"] / found["arm"].map(total).replace(0, pd.NA)
    most = found.groupby("label")["self_ms"].transform("max")
    found = found.assign(most=most).sort_values(["most", "label", "arm"], ascending=[False, True, True])
    chosen = found[found["label"].isin(found["label"].drop_duplicates().head(n))]
    chosen = chosen.rename(columns={"max": "most_ms", "size": "n_seen"})
    return chosen[list(COLUMNS)].astype(COLUMNS).reset_index(drop=True)
