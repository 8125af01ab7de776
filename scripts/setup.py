"""Set everything up for `make demo` and `make test`, and do nothing when that was done before.

    python3 scripts/setup.py demo      .venv with agentlab, and the agents the demo runs
    python3 scripts/setup.py test      the same, all other agents, and a browser

Runs on a bare python3, also on one that is too old (it then looks for a newer one). Writes only .venv in this
folder and the agents' cache. System packages are installed only where it runs as root on a Debian-like
machine; elsewhere it says what to install. What it did is stamped, so that the next call takes a second.
"""

import concurrent.futures
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".agentlab-setup"
OLDEST, NEWEST = (3, 11), (3, 13)
AGENTS = {
    "demo": ["opencode", "codex", "pi"],
    # In the order of their size: two are installed at a time, and the longest decides.
    "test": [
        *("mini_swe_agent", "cline", "opencode", "pi", "codex", "claude_code", "gemini_cli"),
        "oh-my-opencode-slim",
    ],
}
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
SHELLS = ["zsh", "fish"]


class SetupError(Exception):
    """Something is missing; the message says what to do."""


def main(purpose):
    handle = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two at once would make one .venv twice
        make_venv()
        install_agents(AGENTS[purpose])
        if purpose == "test":
            install_browser()
            install_shells()
    finally:
        os.close(handle)


def make_venv():
    wanted = stamp()
    if STAMP.is_file() and STAMP.read_text() == wanted and PYTHON.exists():
        return
    started = time.monotonic()
    base = find_python()
    say("making .venv with " + base + " and installing the Python packages (a minute or two) ...")
    if not shutil.which("git"):
        say("note: git is not on the PATH; studies will not record the commit they were made with")
    environment = clean_environment()
    made = run([base, "-m", "venv", "--clear", str(VENV)], environment)
    if made.returncode and "ensurepip" in made.stdout + made.stderr:
        # Debian splits the standard library; the package is named after the interpreter's version.
        version = run([base, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], environment)
        package = "python" + version.stdout.strip() + "-venv"
        debian_install([package], "Python's venv module")
        made = run([base, "-m", "venv", "--clear", str(VENV)], environment)
    if made.returncode:
        raise SetupError(base + " -m venv failed: " + tail(made))
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check"]
    # A plain .pth. With the import hook of setuptools, `import agentlab` in the folder above the clone finds
    # the clone first, as an empty package "agentlab": a notebook at home would see nothing of it.
    editable = ["--editable", ".[dev]", "--config-settings", "editable_mode=compat"]
    installed = run([*pip, "install", "--quiet", *editable], environment)
    if installed.returncode:
        raise SetupError(
            "pip could not install the Python packages: " + tail(installed) + "\n"
            "Check pip's access to its package index (pip config list), then call make again."
        )
    STAMP.write_text(wanted)
    say(f".venv is ready ({time.monotonic() - started:.0f} s)")


def stamp():
    """What .venv depends on. The place counts, since its scripts hold it."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes())
    digest.update(str(ROOT).encode())
    return digest.hexdigest() + "\n"


def find_python():
    names = [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    for candidate in [sys.executable, "python3", *names]:
        path = shutil.which(candidate)
        base = path and base_of(path)
        if base:
            return base
    raise SetupError(
        "Python 3.11, 3.12 or 3.13 is needed; this is {}.{}. Install one (Debian 12 or newer: "
        "apt-get install python3 python3-venv) and call make again.".format(*sys.version_info[:2])
    )


def base_of(path):
    """The interpreter under `path`, which may stand in a virtual environment; nothing if it does not fit."""
    code = (
        f"import sys; fits = {OLDEST} <= sys.version_info[:2] <= {NEWEST}\n"
        "print(getattr(sys, '_base_executable', sys.executable) if fits else '')"
    )
    return run([path, "-c", code], clean_environment()).stdout.strip()


def install_agents(agents):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(install_agent, agents))
    failed = [agents[number] for number, code in enumerate(codes) if code]
    if failed:
        raise SetupError("needed and could not be installed (see above): " + ", ".join(failed))


def install_agent(agent):
    # The command itself is quick when the agent is there, and says what is wrong when npm is missing.
    done = subprocess.run(
        [str(PYTHON), "-m", "agentlab", "install", agent],
        cwd=ROOT,
        check=False,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
    )
    return done.returncode


def install_browser():
    if not any(shutil.which(name) for name in BROWSERS):
        debian_install(["chromium", "fonts-dejavu-core"], "a Chromium for the browser tests", needed=is_ci())


def install_shells():
    """In CI only: nobody is given a shell for the sake of two tests."""
    missing = [shell for shell in SHELLS if not shutil.which(shell)]
    if missing and is_ci():
        debian_install(missing, "shells whose completion is tested", needed=False)


def debian_install(packages, what, needed=True):
    command = "apt-get install --yes --no-install-recommends " + " ".join(packages)
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("installing " + what + ": " + command + " ...")
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        run(["apt-get", "update"], environment)
        done = run(command.split(), environment)
        if done.returncode == 0:
            return
        problem = what + " could not be installed: " + tail(done)
    else:
        problem = what + " is missing. Install it as root (Debian: " + command + ")"
    if needed:
        raise SetupError(problem)
    say("note: " + problem + "; the tests that need it are skipped")


def is_ci():
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def clean_environment():
    """The caller's environment without what would lead Python elsewhere than into .venv."""
    dropped = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    return {key: value for key, value in os.environ.items() if key not in dropped}


def run(command, environment):
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
    )


def tail(done):
    lines = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    return f"exit {done.returncode}: " + " | ".join(lines[-6:])[-800:]


def say(line):
    print("setup: " + line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("demo", "test"):
        sys.exit("usage: python3 scripts/setup.py demo|test")
    try:
        main(sys.argv[1])
    except SetupError as error:
        say("ERROR: " + str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        say("interrupted; the next call begins again where nothing is complete")
        sys.exit(130)
