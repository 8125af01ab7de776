"""The folder an agent works in: copied afresh for each run, so that no run sees another's changes."""

from __future__ import annotations

import shutil
from pathlib import Path

#: What the agent finds when no workspace is given.
_GENERATED = {
    "package.json": '{\n  "name": "probe",\n  "version": "1.0.0",\n  "private": true\n}\n',
    "README.md": "# probe\n\nA small project for measurements.\n",
}


def renew(workspace: Path, template: Path | None) -> None:
    """Empty a workspace and fill it from its template.

    Parameters
    ----------
    workspace : Path
        The agent's folder; made when absent. The folder itself stays, a server may run in it.
    template : Path or None
        Copied, symbolic links as links; None: a small generated project.
    """
    workspace.mkdir(exist_ok=True)
    for entry in workspace.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if template is not None:
        shutil.copytree(template, workspace, symlinks=True, dirs_exist_ok=True)
        return
    for name, text in _GENERATED.items():
        (workspace / name).write_text(text)
