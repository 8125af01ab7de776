"""What the original cache script's options may hold, and the report it wrote."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..errors import ConfigError, RecordingError

if TYPE_CHECKING:
    from ..drivers.opencode import OpenCode
    from ..recording import Recordings

#: A name of a header, as HTTP allows it.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def server(text: str) -> str:
    """Read ``--server``.

    Parameters
    ----------
    text : str
        Absolute http(s) URL.

    Returns
    -------
    str
        Without one trailing slash.
    """
    try:
        url = urlsplit(text)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        usable, url = False, urlsplit("")
    if not usable or any(c.isspace() for c in text):
        raise argparse.ArgumentTypeError("give an absolute URL such as http://127.0.0.1:4096")
    if url.username is not None or url.password is not None:
        raise argparse.ArgumentTypeError("a URL with a login would be stored and shown; use --auth-env NAME")
    if url.query or url.fragment:
        raise argparse.ArgumentTypeError("give the URL without query or fragment")
    return text.removesuffix("/")


def header(text: str) -> tuple[str, str]:
    """Read ``--header``; what is wrong is said without its value.

    Parameters
    ----------
    text : str
        ``NAME:VALUE``.

    Returns
    -------
    tuple of str
        Name and trimmed value.
    """
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise argparse.ArgumentTypeError("write NAME:VALUE")
    if not _TOKEN.fullmatch(name.strip()):
        raise argparse.ArgumentTypeError("the name holds what no header's name may hold")
    value = value.strip()
    if not value.isprintable() or not value.isascii():
        raise argparse.ArgumentTypeError("the value holds what no header may hold")
    return name.strip(), value


def check_report(options: argparse.Namespace) -> None:
    """Refuse, before the first request, a report that could not be written at the end.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options.

    Raises
    ------
    ConfigError
        More than one arm, a file that exists, or a folder that cannot be written to.
    """
    path: Path | None = options.report
    if path is None:
        if options.overwrite:
            raise ConfigError("--overwrite is for --report; for a study's folder say --exists replace")
        if options.plugin_build is not None and options.server is None:
            raise ConfigError("--plugin-build goes with --server URL or --report FILE")
        return
    if len(options.arm or ()) > 1:
        raise ConfigError(
            "--report holds one arm, and every --arm is one of its own here (the original took the last). "
            "Give one --arm; or leave --report out and write one report per arm with "
            "agentlab export --format schema2"
        )
    if path.is_dir():
        raise ConfigError(f"--report {path} is a folder; give a file")
    if path.exists() and not options.overwrite:
        raise ConfigError(f"--report {path} exists; choose another file, or say --overwrite")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ConfigError(f"--report {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"--report {path}: the folder cannot be written to")


def write_report(recordings: Recordings, driver: OpenCode, options: argparse.Namespace) -> Path:
    """Write the report of what was measured.

    Parameters
    ----------
    recordings : Recordings
        One arm.
    driver : OpenCode
        The arm.
    options : argparse.Namespace
        Parsed options.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    RecordingError
        It cannot be written; the message says how to write it elsewhere.
    """
    from ..importers.schema2_writer import write

    try:
        return write(
            recordings,
            options.report,
            plugin_build=options.plugin_build,
            retries=driver.retries if driver.url else 0,
            retry_delay_s=driver.retry_delay_s if driver.url else 0,
            overwrite=options.overwrite,
        )
    except (ConfigError, RecordingError) as error:
        again = f"agentlab export {recordings.path} --format schema2 --to FOLDER"
        raise RecordingError(f"{error}. What was measured is kept; write the report with: {again}") from None
