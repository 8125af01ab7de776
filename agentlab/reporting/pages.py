"""An executed notebook as one HTML page, and that page as PDF; neither reaches any network."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import AgentlabError, MissingExtra
from ..jsonfile import write_whole

_HERE = Path(__file__).resolve().parent
_GENERATOR = "agentlab"
#: Without what needs a script or a kernel: its twin in the same output is shown.
_KINDS = (
    "text/html",
    "text/markdown",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "text/latex",
    "text/plain",
)
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PRINT_S = 120.0
#: What a browser needs of the environment; keys are no part of it.
_PASSED = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH")


def write_page(notebook: Path, target: Path, *, title: str, code: bool = True) -> Path:
    """Write an executed notebook as one page.

    Parameters
    ----------
    notebook : Path
        Executed notebook.
    target : Path
        Where the page goes; replaced at once when it is complete.
    title : str
        Of the window.
    code : bool, default True
        Whether code cells are shown beside their outputs.

    Returns
    -------
    Path
        `target`: images and style are inside it, it holds no script, and it is light or dark as its reader
        likes.

    Raises
    ------
    MissingExtra
        nbconvert is not installed.
    RecordingError
        The file cannot be written.
    """
    try:
        from nbconvert import HTMLExporter
    except ImportError:
        raise MissingExtra("nbconvert is needed for this. Run: pip install papermill nbconvert") from None

    from traitlets.config import Config

    kinds = Config({"NbConvertBase": {"display_data_priority": list(_KINDS)}})
    exporter: Any = HTMLExporter(config=kinds, template_name="page", extra_template_basedirs=[str(_HERE)])
    exporter.exclude_input = not code
    exporter.exclude_anchor_links = True
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = True
    about = {"title": title, "generator": f"{_GENERATOR} {__version__}", "style": _style(code=code)}
    page, _ = exporter.from_notebook_node(_read(notebook, code=code), resources={"page": about})
    return _write(target, page.encode())


def _write(target: Path, content: bytes) -> Path:
    with contextlib.suppress(OSError):  # writing says what is wrong with the folder
        target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, content)
    return target


def _read(notebook: Path, *, code: bool) -> Any:  # noqa: ANN401
    """Read a notebook; without its code, what shows nothing then goes, too.

    That is headings with nothing below, and what libraries warned of, with paths of this machine.
    """
    import nbformat

    node: Any = nbformat.read(notebook, as_version=4)
    if code:
        return node
    for cell in node.cells:
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr" and _shows(out)]
    shown: list[Any] = []
    for cell in reversed(node.cells):
        below = _level(shown[-1]) if shown else 1
        heading = _level(cell) if "\n" not in cell.source.strip() else 0
        if (cell.cell_type != "code" or cell.outputs) and not 0 < below <= heading:
            shown.append(cell)
    node.cells = shown[::-1]
    return node


def _shows(output: Any) -> bool:  # noqa: ANN401
    data = output.get("data")
    return data is None or any(str(value).strip() for value in data.values())


def _level(cell: Any) -> int:  # noqa: ANN401
    """Return the level of the heading that a cell begins with; 0 without one."""
    words = cell.source.split(maxsplit=1) if cell.cell_type == "markdown" else []
    return len(words[0]) if words and set(words[0]) == {"#"} else 0


def _style(*, code: bool) -> str:
    style = (_HERE / "page" / "style.css").read_text(encoding="utf-8")
    if not code:
        return style
    from pygments.formatters import HtmlFormatter

    light, dark = (
        HtmlFormatter(style=name, nobackground=True).get_style_defs(".highlight")
        for name in ("default", "github-dark")
    )
    return f"{style}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def is_ours(page: Path) -> bool:
    """Say whether a file is a page that :func:`write_page` made.

    Parameters
    ----------
    page : Path
        A file.

    Returns
    -------
    bool
    """
    with contextlib.suppress(OSError), page.open("rb") as file:
        return f'content="{_GENERATOR} '.encode() in file.read(1000)  # of its meta element generator
    return False


def find_chromium() -> str | None:
    """Return the path of a Chromium that can print, or None.

    Returns
    -------
    str or None
    """
    return next(filter(None, map(shutil.which, _CHROMIUM)), None)


def print_page(page: Path, target: Path, *, chromium: str) -> Path:
    """Print a page as PDF.

    Parameters
    ----------
    page : Path
        HTML file.
    target : Path
        Where the PDF goes; replaced at once when it is complete.
    chromium : str
        Path of the browser. It has a profile of its own, and is gone at the end.

    Returns
    -------
    Path
        `target`.

    Raises
    ------
    AgentlabError
        The browser printed nothing in two minutes; the end of what it said.
    RecordingError
        The file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="agentlab-print-", ignore_cleanup_errors=True) as folder:
        made = Path(folder) / "page.pdf"
        command = [
            chromium, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--proxy-server=127.0.0.1:9", f"--user-data-dir={folder}/profile", "--no-pdf-header-footer",
            f"--print-to-pdf={made}", page.resolve().as_uri(),
        ]  # fmt: skip
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # the sandbox refuses root; the page holds no script
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        said = _run(command, env={**passed, "HOME": folder})
        if not made.is_file() or not made.stat().st_size:
            raise AgentlabError(f"{Path(chromium).name} printed no PDF of {page.name}: {said[-400:].strip()}")
        return _write(target, made.read_bytes())


def _run(command: list[str], *, env: dict[str, str]) -> str:
    """Run a program in a session of its own, all of which is ended when it is done or too late."""
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=_PRINT_S)
        except subprocess.TimeoutExpired:
            said = f"not done in {_PRINT_S:.0f} s".encode()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return said.decode("utf-8", "replace")
