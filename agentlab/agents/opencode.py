"""OpenCode: where it is, the environment it gets, and the configuration it reads.

Pure functions; the driver starts and stops the server. What is set here was found on OpenCode 1.18.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import ConfigError, StartupError
from .base import split_model
from .cache import agent_folder, installed_executable

if TYPE_CHECKING:
    from .plugins import Plugin

#: The version that agentlab is tested with.
VERSION = "1.18.33"
#: The npm package.
PACKAGE = "opencode-ai"
#: What the server prints on stdout when it is ready. A request before this line is never answered.
LISTENING = re.compile(rb"opencode server listening on (http://[^\s]+)")
#: Never asks, never leaves the workspace: a headless session that asks blocks for ever.
SAFE_PERMISSIONS: Mapping[str, str] = {
    "*": "allow",
    "external_directory": "deny",
    "doom_loop": "deny",
    "question": "deny",
}
_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_DISABLE_SHARE": "1",
}
# Linux passes at most 128 KiB in one environment variable.
_MAX_CONFIG_BYTES = 128 * 1024 - 64


def candidates(folder: Path) -> list[Path]:
    """List the executables that may run on this machine, best first.

    Parameters
    ----------
    folder : pathlib.Path
        Folder of an npm installation made with ``--ignore-scripts``.

    Returns
    -------
    list of pathlib.Path
        Existing files. The package ships one binary per platform; its install script would only copy one.
    """
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
    machine = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}.get(
        platform.machine(), platform.machine()
    )
    stem = f"opencode-{system}-{machine}"
    names = [stem, f"{stem}-baseline", f"{stem}-musl", f"{stem}-baseline-musl"]
    paths = [folder / "node_modules" / name / "bin" / "opencode" for name in names]
    return [path for path in paths if path.is_file()]


def locate(version: str = VERSION) -> Path:
    """Find the installed executable.

    Parameters
    ----------
    version : str, optional
        Version of OpenCode.

    Returns
    -------
    pathlib.Path
        The executable itself, not a launcher.

    Raises
    ------
    StartupError
        It is not installed; the message holds the command that installs it.
    """
    executable = installed_executable(agent_folder("opencode", version))
    if executable is None:
        command = "agentlab install opencode" + ("" if version == VERSION else f" --version {version}")
        raise StartupError(
            f"OpenCode {version} is not installed. Run: {command}", driver="opencode", phase="install"
        )
    return executable


def serve_argv(executable: Path, *, port: int = 0) -> list[str]:
    """Return the command line of a server on loopback.

    Parameters
    ----------
    executable : pathlib.Path
        As :func:`locate` returns it.
    port : int, default 0
        0 lets the server choose; :data:`LISTENING` reads the choice from its stdout.

    Returns
    -------
    list of str
        It holds no secret.

    Examples
    --------
    >>> serve_argv(Path("opencode"))
    ['opencode', 'serve', '--port', '0', '--hostname', '127.0.0.1']
    """
    return [str(executable), "serve", "--port", str(port), "--hostname", "127.0.0.1"]


def prepare_home(home: Path, version: str = VERSION, *, files: Mapping[str, Any] | None = None) -> None:
    """Keep a server from installing npm packages into its new home while it is measured.

    OpenCode installs ``@opencode-ai/plugin`` into each configuration folder in the background: 95 MB, 3,800
    files, and 8 s of CPU in the first seconds of a server. It leaves that out when ``node_modules`` exists
    and the lock file names the package. Plugins find their own packages from where they stand.

    Parameters
    ----------
    home : pathlib.Path
        Existing folder, to be given to :func:`server_environment`.
    version : str, optional
        Version of OpenCode.
    files : mapping, optional
        Further files of the configuration folder, by name: JSON data.
    """
    folder = home / ".config" / "opencode"
    (folder / "node_modules").mkdir(parents=True)
    wanted = {"dependencies": {"@opencode-ai/plugin": version}}
    (folder / "package.json").write_text(json.dumps(wanted))
    (folder / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": {"": wanted}}))
    for name, data in (files or {}).items():
        (folder / name).write_text(json.dumps(data))


def server_environment(
    *,
    home: Path,
    database: Path,
    config: Mapping[str, Any],
    password: str | None = None,
    passed: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Build a server's whole environment from nothing.

    Parameters
    ----------
    home : pathlib.Path
        Private, existing folder that is the agent's HOME and temporary folder.
    database : pathlib.Path
        SQLite file of this server's sessions; without one all servers of a HOME share theirs.
    config : mapping
        As :func:`server_config` returns it.
    password : str, optional
        HTTP Basic password of user ``opencode`` that every request must then carry.
    passed : mapping, optional
        Further variables, by name and value: what a provider without a gateway needs.

    Returns
    -------
    dict
        PATH and named variables only: nothing of the caller's environment, so no key and no home of the user.

    Raises
    ------
    ConfigError
        The configuration does not fit into an environment variable, or is not JSON.
    """
    try:
        text = json.dumps(config, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"OpenCode(config=...) is not plain JSON data: {error}") from None
    if len(text.encode()) > _MAX_CONFIG_BYTES:
        raise ConfigError(
            f"OpenCode's configuration has {len(text.encode())} bytes, more than the 128 KiB "
            "that fit into its environment. Move long prompts into files of the workspace."
        )
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),  # the runtime unpacks its libraries there; they go when the home goes
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        **_QUIET,
        "OPENCODE_DB": str(database),
        "OPENCODE_CONFIG_CONTENT": text,
    }
    if password is not None:
        environment["OPENCODE_SERVER_PASSWORD"] = password
    return environment | dict(passed or {})


def server_config(
    model: str,
    *,
    base_url: str | None = None,
    token: str | None = None,
    permissions: Mapping[str, Any] | str | None = None,
    plugins: Sequence[Plugin] = (),
    snapshot: bool = False,
    context_tokens: int = 200_000,
    output_tokens: int = 8_192,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build a server's configuration.

    Parameters
    ----------
    model : str
        ``"provider/model"``.
    base_url : str, optional
        OpenAI-compatible address in front of the model, e.g. a gateway's. Absent: a provider that OpenCode
        knows by itself.
    token : str, optional
        Bearer token for ``base_url``: the gateway's, never a provider's key.
    permissions : mapping or str, optional
        OpenCode's ``permission``; default :data:`SAFE_PERMISSIONS`.
    plugins : sequence of Plugin
        As :func:`agentlab.agents.plugins.find_plugin` returns them.
    snapshot : bool, default False
        Whether OpenCode commits the workspace around each step (0.1 CPU-s a prompt more).
    context_tokens, output_tokens : int, unit tokens
        Limits of the model behind ``base_url``.
    extra : mapping, optional
        Merged over everything else, dict by dict; e.g. ``{"agent": {...}}``.

    Returns
    -------
    dict
        Plain JSON data. Only the model's provider is enabled, so no run can reach another one.

    Raises
    ------
    ConfigError
        ``model`` is not ``"provider/model"``.

    Examples
    --------
    >>> server_config("lab/scripted", base_url="http://127.0.0.1:9/v1")["enabled_providers"]
    ['lab']
    """
    provider, name = split_model("OpenCode", model)
    config: dict[str, Any] = {
        "share": "disabled",
        "autoupdate": False,
        "snapshot": snapshot,
        "enabled_providers": [provider],
        "model": model,
        "small_model": model,  # the title request; else a hosted model could be picked
        "permission": dict(SAFE_PERMISSIONS) if permissions is None else _plain(permissions),
    }
    if plugins:
        config["plugin"] = [plugin.entry() for plugin in plugins]
    if base_url is not None:
        config["provider"] = {
            provider: {
                "npm": "@ai-sdk/openai-compatible",  # bundled: works offline
                "name": provider,
                "options": {"baseURL": base_url, "apiKey": token or "none"},
                "models": {
                    name: {
                        "name": name,
                        "limit": {"context": context_tokens, "output": output_tokens},
                        "tool_call": True,
                        "reasoning": True,
                    }
                },
            }
        }
    return _merge(config, extra or {})


def _plain(value: Mapping[str, Any] | str) -> Any:  # noqa: ANN401
    return value if isinstance(value, str) else dict(value)


def _merge(base: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in extra.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            merged[key] = _merge(cast("dict[str, Any]", old), cast("Mapping[str, Any]", value))
        else:
            merged[key] = value
    return merged
