"""Workspaces: copied from a folder, or checked out from a commit of a local repository."""

import os
import shutil
import subprocess

import pytest

from agentlab.drivers.workspace import checked, identity, renew, template
from agentlab.errors import ConfigError


@pytest.fixture
def repository(tmp_path):
    """Two commits; gives the folder and a function that runs git in it."""
    folder = tmp_path / "some repository"
    folder.mkdir()

    def git(*arguments):
        command = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@x", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    for text in ("first", "second"):
        (folder / "a.txt").write_text(text)
        git("add", ".")
        git("commit", "--quiet", "-m", text)
    return folder, git


def test_a_branch_is_fixed_to_its_commit(repository):
    folder, git = repository
    head = git("rev-parse", "HEAD")
    given = checked(f"git+file://{folder}@HEAD")
    assert given == f"git+{folder}@{head}" == checked(given)
    assert identity(given) == {"name": folder.name, "commit": head}
    (folder / "a.txt").write_text("third")
    git("commit", "--quiet", "-am", "third")
    assert identity(given)["commit"] == head


@pytest.mark.parametrize("reference", ["nowhere", "--all", "HEAD~9", "HEAD:a.txt"])
def test_an_unknown_commit_is_refused(repository, reference):
    with pytest.raises(ConfigError, match="the repository some repository has no commit"):
        checked(f"git+{repository[0]}@{reference}")


def test_a_folder_that_is_no_repository_has_no_commit(tmp_path):
    with pytest.raises(ConfigError, match="has no commit 'main'"):
        checked(f"git+{tmp_path}@main")


def test_a_checkout_shows_nothing_later_and_leads_nowhere(repository, tmp_path):
    folder, _ = repository
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    source = template(checked(f"git+{folder}@HEAD~1"), scratch)
    assert template(checked(f"git+{folder}@HEAD~1"), scratch) == source  # made once
    renew(tmp_path / "w", source)
    (tmp_path / "w" / "a.txt").write_text("changed")
    (tmp_path / "w" / "left").touch()
    renew(tmp_path / "w", source)
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == [".git", "a.txt"]
    assert (tmp_path / "w" / "a.txt").read_text() == "first"

    def ask(*arguments):
        command = ["git", "-C", tmp_path / "w", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert ask("log", "--all", "--format=%s") == "first\n" and ask("status", "--porcelain") == ""
    assert ask("remote") == ""
    held = [file for file in (tmp_path / "w").rglob("*") if file.is_file()]
    assert not [file for file in held if str(folder).encode() in file.read_bytes()]


def test_a_folder_is_told_by_its_files_its_commit_and_whether_it_differs(repository, tmp_path):
    folder, git = repository
    clean = identity(folder)
    assert clean["commit"] == git("rev-parse", "HEAD") and clean["dirty"] is False
    git("gc", "--quiet")  # what git keeps for itself does not count
    assert identity(folder) == clean
    (folder / "new").touch()
    dirty = identity(folder)
    assert dirty["dirty"] is True and dirty["digest"] != clean["digest"]
    (folder / "new").chmod(0o755)
    assert identity(folder)["digest"] != dirty["digest"]
    (tmp_path / "plain").mkdir()
    plain = identity(tmp_path / "plain")
    assert plain["commit"] is None and plain["dirty"] is None and identity(None) is None


def test_a_folder_that_is_changed_during_a_study_changes_no_run(tmp_path):
    folder, scratch, workspace = (tmp_path / name for name in ("folder", "scratch", "w"))
    for path in (folder, scratch):
        path.mkdir()
    (folder / "a.txt").write_text("first")
    (folder / "link").symlink_to("a.txt")
    for _ in range(2):
        renew(workspace, template(folder, scratch))
        assert (workspace / "a.txt").read_text() == "first" and (workspace / "link").is_symlink()
        (folder / "a.txt").write_text("second")


def test_a_linked_work_tree_is_refused(repository, tmp_path):
    _, git = repository
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    with pytest.raises(ConfigError, match=r"would change its repository\. Use git\+PATH@COMMIT"):
        checked(tmp_path / "linked")


def test_git_without_its_program_is_named(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match="git is not on the PATH"):
        checked(f"git+{repository[0]}@HEAD")
    assert identity(repository[0])["commit"] is None


@pytest.mark.parametrize("reference", ["v@1", "HEAD@{1}"])
def test_a_reference_may_hold_an_at_sign_as_a_folder_may(repository, reference):
    folder, git = repository
    git("tag", "v@1", "HEAD~1")
    moved = folder.rename(folder.with_name("me@work"))
    first = subprocess.run(
        ["git", "-C", moved, "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert checked(f"git+{moved}@{reference}") == f"git+{moved}@{first}"


def test_a_folder_inside_a_repository_is_refused_before_anything_starts(repository):
    (repository[0] / "sub").mkdir()
    with pytest.raises(ConfigError, match="sub is a folder inside a repository"):
        checked(f"git+{repository[0]}/sub@HEAD")


def test_names_that_are_no_text_and_links_belong_to_a_folder(tmp_path):
    digests = set()
    for name, to in ((b"a", None), (b"\xff", None), (b"l", "here"), (b"l", "there")):
        shutil.rmtree(tmp_path / "w", ignore_errors=True)
        (tmp_path / "w").mkdir()
        path = os.path.join(os.fsencode(tmp_path / "w"), name)
        os.symlink(to, path) if to else open(path, "w").close()
        digests.add(identity(tmp_path / "w")["digest"])
        renew(tmp_path / "copy", tmp_path / "w")
        assert os.listdir(os.fsencode(tmp_path / "copy")) == [name]
    assert len(digests) == 4


def test_a_program_that_the_repository_names_is_not_run(repository, tmp_path):
    folder, git = repository
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    program.chmod(0o755)
    git("config", "core.fsmonitor", program)
    assert identity(folder)["dirty"] is False
    assert not (tmp_path / "ran").exists()
