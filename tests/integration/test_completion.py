"""Shell completion in real shells: what TAB offers is what the parser and this folder hold."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHELLS = [shell for shell in ("bash", "zsh", "fish") if shell == "bash" or shutil.which(shell)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two studies, beside an agentlab on the PATH."""
    here = tmp_path_factory.mktemp("here")
    for name, arms in {"studies/cache": ("stable", "volatile"), "other": ("on", "off")}.items():
        (here / name).mkdir(parents=True)
        (here / name / "study.json").write_text(json.dumps({"arms": {arm: {} for arm in arms}}))
    (here / "deep" / "er").mkdir(parents=True)
    (here / "mine.json").write_text("{}")
    return here


@pytest.fixture(scope="module")
def environment():
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C"}


def script(shell, environment):
    command = ["agentlab", "completion", shell]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def offered(folder, environment, line):
    """What bash would offer for a line at whose end TAB is pressed."""
    ask = r"""
        eval "$(cat "$1")"; COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9 COMP_KEY=9
        read -ra COMP_WORDS <<< "$2"; [[ $2 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
        complete -p agentlab | grep -q -- '-F' || exit 3
        "$(complete -p agentlab | sed 's/.*-F \([^ ]*\).*/\1/')" agentlab "${COMP_WORDS[-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    """
    path = folder.parent / "completion.bash"
    path.write_text(script("bash", environment))
    done = subprocess.run(
        ["bash", "--norc", "-c", ask, "bash", str(path), line],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [word.strip() for word in done.stdout.splitlines() if word.strip()]


@pytest.mark.parametrize(
    "line, words",
    [
        ("agentlab ex", ["export"]),
        ("agentlab record ", ["agents", "exec", "opencode", "terminal", "webchat"]),
        ("agentlab record opencode --gateway-k", ["--gateway-key-env"]),
        ("agentlab record opencode --exists re", ["resume", "refuse", "replace"]),
        ("agentlab record opencode --scenario ", ["cache-probe", "cache-report", "mine.json", "task"]),
        ("agentlab compare stu", ["studies/", "studies/cache"]),
        ("agentlab compare studies/", ["studies/cache"]),
        ("agentlab attach o", ["other"]),
        ("agentlab install o", ["opencode", "oh-my-opencode-slim", "omp"]),
        ("agentlab compare studies/cache --reference ", ["stable", "volatile"]),
        ("agentlab compare studies/cache other --reference o", ["on", "off"]),
        ("agentlab check studies/cache --baseline other --baseline-arm o", ["on", "off"]),
        ("agentlab compare other --metric tt", ["ttft"]),
        ("agentlab compare other --metric CACHE_", ["CACHE_HIT_RATE", "CACHE_REPORT"]),
        (
            "agentlab export other --format ",
            ["parquet", "csv", "schema2", "terminal_json", "session_summary"],
        ),
        ("agentlab completion z", ["zsh"]),
        ("agentlab compare nowhere/", []),
    ],
)
def test_bash_offers_what_there_is(folder, environment, line, words):
    assert set(offered(folder, environment, line)) == set(words)


def test_options_are_offered_after_a_dash(folder, environment):
    found = offered(folder, environment, "agentlab record opencode --re")
    assert {"--report", "--require", "--retries", "--retry-delay-ms"} <= set(found)


#: What each other shell is asked in its own words: zsh without an editor, whose part _describe has.
ASK = {
    "zsh": r"""
        autoload -Uz is-at-least; compdef() { :; }; _describe() { print -l -- ${(P)2}; }
        eval "$(cat "$1")"; BUFFER=$2 CURSOR=${#2}; words=(${(z)2}); _python_argcomplete
    """,
    "fish": "source $argv[1]; complete -C $argv[2]",
}
PLAIN = {"zsh": ["-f"], "fish": ["--no-config"]}


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell in ASK])
def test_the_other_shells_offer_the_same_with_what_it_means(folder, environment, shell):
    path = folder.parent / f"completion.{shell}"
    path.write_text(script(shell, environment))
    found = {}
    for line in ("agentlab ex", "agentlab compare studies/cache --reference ", "agentlab compare studies/"):
        name = [] if shell == "fish" else [shell]  # what -c calls itself
        done = subprocess.run(
            [shell, *PLAIN[shell], "-c", ASK[shell], *name, str(path), line],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found[line] = [re.split(r"[:\t]", word)[0].strip() for word in done.stdout.splitlines()]
        if line == "agentlab ex":
            assert "write all tables" in done.stdout
    assert list(map(sorted, found.values())) == [["export"], ["stable", "volatile"], ["studies/cache"]]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_can_read_its_script(shell, environment, tmp_path):
    path = tmp_path / "completion"
    path.write_text(script(shell, environment))
    done = subprocess.run([shell, "-n", str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_unknown_shell_is_wrong_usage(environment):
    done = subprocess.run(["agentlab", "completion", "csh"], env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "choose from" in done.stderr
