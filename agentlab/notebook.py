"""Notebooks from outside and inside: check parameters before anything is spent, run headless, export.

The functions that run and export need papermill and nbconvert (the extra ``batch``).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from .errors import AgentlabError, InterruptedByUser, MissingExtra
from .parameters import check_parameters

__all__ = ["Executed", "allow_nested_loop", "check_parameters", "run_notebook", "to_html"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Executed:
    """Name the outcome of a notebook that was run headless.

    Parameters
    ----------
    notebook : pathlib.Path
        The executed notebook.
    parameters : dict
        Every parameter with the value that was used, defaults included.
    seconds : float
        How long it took.
    """

    notebook: Path
    parameters: dict[str, Any]
    seconds: float


def allow_nested_loop() -> None:
    """Let ``asyncio.run`` of other people's code work inside a cell (nest-asyncio).

    agentlab itself never needs it. While such a call runs, clicks on Cancel are lost or late, and uvloop
    cannot be patched.

    Examples
    --------
    >>> allow_nested_loop()  # doctest: +SKIP
    """
    import nest_asyncio

    nest_asyncio.apply()


def run_notebook(
    notebook: str | os.PathLike[str],
    output: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    *,
    kernel: str | None = None,
) -> Executed:
    """Run a notebook headless in the folder of its output.

    The values used stand in ``<output's stem>.parameters.json`` beside it before the first cell runs. An
    interrupt goes to the notebook's kernel first, so that a study under way ends in order; a second one ends
    the kernel.

    Parameters
    ----------
    notebook : path
        What to run.
    output : path
        Where the executed notebook goes; written as the cells end.
    parameters : mapping, optional
        Checked by :func:`check_parameters`.
    kernel : str, optional
        Kernelspec name; absent: this very Python, whatever kernelspecs there are.

    Returns
    -------
    Executed

    Raises
    ------
    ConfigError
        Unknown or mistyped parameters; nothing was run.
    AgentlabError
        A cell failed: its error, and where the partly executed notebook is.
    InterruptedByUser
        It was interrupted; the message of the interrupted cell.
    """
    _need("papermill")
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError

    used = check_parameters(notebook, parameters)
    target = Path(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_suffix(".parameters.json").write_text(json.dumps(used, indent=2) + "\n")
    started = time.monotonic()
    interrupted: list[int] = []
    kernels, make_kernel = _tracked_kernels(kernel, interrupted)
    with _interrupts_to(kernels, interrupted), _unknown_parameters_unsaid():

        def begin_cell(**_: Any) -> None:  # noqa: ANN401
            if interrupted:  # it came while no cell ran, and an idle kernel ignores it
                raise KeyboardInterrupt

        try:
            execute_notebook(
                str(notebook),
                str(target),
                parameters=dict(parameters or {}),
                kernel_name=kernel or "python3",
                progress_bar=False,
                cwd=str(target.parent),
                kernel_manager_class=make_kernel,
                on_cell_start=begin_cell,
            )
        except KeyboardInterrupt:
            raise InterruptedByUser(f"interrupted; what ran is in {target}") from None
        except PapermillExecutionError as error:
            if interrupted:
                raise InterruptedByUser(str(error.evalue)) from None
            raise AgentlabError(
                f"{Path(notebook).name} failed in cell {error.exec_count}: {error.ename}: {error.evalue}\n"
                f"What ran is in {target}"
            ) from error
    return Executed(notebook=target, parameters=used, seconds=time.monotonic() - started)


def _tracked_kernels(name: str | None, interrupted: list[int]) -> tuple[list[Any], type[Any]]:
    """Return the list that started kernels enter, and the class that starts them."""
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    kernels: list[Any] = []

    class Tracked(AsyncKernelManager):
        def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
            super().__init__(*args, **kwargs)
            self.transport_encryption = "auto"
            kernels.append(self)

        async def start_kernel(self, **options: Any) -> None:  # noqa: ANN401
            # A backend that somebody chose for scripts would leave the notebook without figures.
            environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
            await super().start_kernel(env=environment, **options)

        async def _async_interrupt_kernel(self) -> None:
            # At each end, too: a busy machine's kernel is not idle yet after the last cell, and says "ERROR".
            if interrupted:
                await super()._async_interrupt_kernel()

        @property
        def kernel_spec(self) -> Any:  # noqa: ANN401
            return super().kernel_spec if name else KernelSpec(resource_dir="", **get_kernel_dict())

    return kernels, Tracked


@contextlib.contextmanager
def _unknown_parameters_unsaid() -> Generator[None]:
    """Keep papermill from calling parameters unknown: it cannot read ``int | None``, and all were checked."""

    def keep(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("Passed unknown parameter")

    log = logging.getLogger("papermill")
    log.addFilter(keep)
    try:
        yield
    finally:
        log.removeFilter(keep)


@contextlib.contextmanager
def _interrupts_to(kernels: list[Any], came: list[int]) -> Generator[None]:
    """Send the first SIGINT to the kernels; all that come are listed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no handler can be set here, and none is reached by ^C
        return

    def handle(number: int, frame: Any) -> None:  # noqa: ANN401
        came.append(number)
        groups = [kernel.provisioner.pgid for kernel in kernels if kernel.has_kernel]
        if len(came) > 1 or not groups:
            raise KeyboardInterrupt
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGINT)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def to_html(notebook: str | os.PathLike[str], output: str | os.PathLike[str]) -> Path:
    """Export an executed notebook as one HTML file that needs no network.

    Parameters
    ----------
    notebook : path
        Executed notebook.
    output : path
        Where the page goes.

    Returns
    -------
    pathlib.Path
        The page; images and style are inside it, it holds no script, and it is light or dark as its reader
        likes. What only a live kernel could show is its text twin there.

    Raises
    ------
    MissingExtra
        nbconvert is not installed.
    """
    from .reporting.pages import write_page

    return write_page(Path(notebook), Path(output), title=Path(notebook).stem)


def _need(name: str) -> Any:  # noqa: ANN401
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(f"{name} is needed for this. Run: pip install papermill nbconvert") from None
