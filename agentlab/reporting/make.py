"""report(): run the template notebook over a study and write its page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import AgentlabError, ConfigError, InterruptedByUser, MissingExtra

if TYPE_CHECKING:
    from ..recording import Recordings
    from ..stats.metrics import Metric

#: Runs on a copy of itself; may also be copied and changed by hand.
TEMPLATE = Path(__file__).resolve().parent / "template.ipynb"

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def report(
    study: Paths | Recordings,
    to: str | os.PathLike[str] | None = None,
    *,
    pdf: bool | Literal["auto"] = "auto",
    metrics: Sequence[str | Metric] = (),
    reference: str | None = None,
) -> Path:
    """Write a study as one HTML page, and as PDF where a Chromium can print it.

    The page says what was measured, which runs count and why others do not, the estimates with their
    intervals, the TTFT ladder, what was sent and cached, one run's timeline, every issue, and where it all
    comes from. It needs no network and holds no script. What the recording does not hold is named.

    Parameters
    ----------
    study : path, sequence of paths, or Recordings
        What :func:`agentlab.load` reads, or what it gave; of one study also a selection of its runs.
    to : path, optional
        The page, ``*.html``; default ``reports/<study>.html``. An older report is replaced, with its PDF; any
        other file is not.
    pdf : bool or "auto"
        Whether the same is printed beside it; ``"auto"``: where a Chromium is found.
    metrics : sequence of str or Metric
        Named metrics, e.g. ``["TTFT"]``; default: all that have data.
    reference : str, optional
        Arm that the others are compared with; default: the first.

    Returns
    -------
    pathlib.Path
        The HTML page.

    Raises
    ------
    ConfigError
        An argument is wrong; nothing was written.
    RecordingError, ImportFormatError
        The study cannot be read, or the page not written.
    MissingExtra
        papermill and nbconvert are missing, or with ``pdf=True`` a Chromium.

    Examples
    --------
    >>> import agentlab as al
    >>> al.report(al.example("cache"), "cache.html", pdf=False)  # doctest: +SKIP
    PosixPath('cache.html')
    """
    from .pages import find_chromium, print_page, write_page

    if pdf not in (True, False, "auto"):
        raise ConfigError(f'report(pdf={pdf!r}): use True, False or "auto"')
    chromium = find_chromium() if pdf else None
    if pdf is True and chromium is None:
        raise MissingExtra(
            "a PDF is printed by Chromium, and none is on the PATH. On Debian: apt-get install chromium; "
            "any browser prints the page, too"
        )
    recs, parameters = _what(study)
    parameters |= {"metrics": _names(metrics), "reference": reference}
    _check(recs, reference)
    name = "+".join(study["name"].replace("/", "-") for study in recs.studies) or "report"
    page = _target(to, name, pdf=chromium is not None)

    from ..notebook import run_notebook

    with tempfile.TemporaryDirectory(prefix="agentlab-report-") as folder:
        try:
            executed = run_notebook(TEMPLATE, Path(folder) / "report.ipynb", parameters)
        except InterruptedByUser:
            raise InterruptedByUser(f"interrupted; {page} was not written") from None
        except AgentlabError as error:  # the notebook it names is gone with the folder
            raise type(error)(f"{page} was not written: {str(error).splitlines()[0]}") from error
        write_page(executed.notebook, page, title=f"{name}: agentlab report", code=False)
    if chromium:
        print_page(page, page.with_suffix(".pdf"), chromium=chromium)
    return page


def _what(study: Any) -> tuple[Recordings, dict[str, Any]]:  # noqa: ANN401
    """Return the recordings, and the parameters from which the notebook reads them again."""
    from ..recording import Recordings, load

    if not isinstance(study, Recordings):
        iterable = hasattr(study, "__iter__") and not hasattr(study, "columns")  # a table gives their names
        if not hasattr(study, "__fspath__") and not iterable:
            raise ConfigError(f"report({type(study).__name__}): give a study's folder, or Recordings")
        one = isinstance(study, (str, os.PathLike))
        paths = [Path(path).expanduser().absolute() for path in ([study] if one else study)]
        return load(paths), {"study": list(map(str, paths))}
    paths = [str(path.absolute()) for path in study.paths]
    if not paths:
        raise ConfigError("report(): these recordings come from no study")
    if len(study) == len(load(paths)):
        return study, {"study": paths}
    if len(paths) > 1:
        raise ConfigError("report(): a selection of runs can be of one study only; make one report for each")
    return study, {"study": paths, "kept": [run.run_id for run in study]}


def _names(metrics: Any) -> list[str]:  # noqa: ANN401
    """Return the names of metrics: the page is made elsewhere, where only named ones are known."""
    from ..stats.metrics import Metric, named

    if isinstance(metrics, (str, Metric)):
        raise ConfigError(
            f'report(metrics=...): give a list of names, e.g. metrics=["{getattr(metrics, "name", metrics)}"]'
        )
    names = [metric.name if isinstance(metric, Metric) else metric for metric in metrics]
    for name, metric in zip(names, metrics, strict=True):
        if isinstance(metric, Metric) and named(name) != metric:
            raise ConfigError(f"report() shows named metrics only, and {name!r} is one of your own")
        named(name)
    return names


def _check(recs: Recordings, reference: str | None) -> None:
    if reference is not None and reference not in recs.arms:
        have = ", ".join(recs.arms) or "none"
        raise ConfigError(f"there is no arm {reference!r} to compare with; there are {have}")


def _target(to: str | os.PathLike[str] | None, name: str, *, pdf: bool) -> Path:
    from .pages import is_ours

    page = Path(to).expanduser() if to is not None else Path("reports") / f"{name}.html"
    if page.is_dir():
        raise ConfigError(f"{page} is a folder; name the page in it, e.g. {page / name}.html")
    if page.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"{page}: a report is a page; let its name end in .html (the PDF stands beside it)")
    if page.exists() and not is_ours(page):
        raise ConfigError(f"{page} exists and is no report of agentlab; name another file")
    printed = page.with_suffix(".pdf")
    if pdf and printed.exists() and not page.exists():
        raise ConfigError(f"{printed} exists beside no report; name another page, or use pdf=False")
    return page
