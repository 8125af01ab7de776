"""What each shared tool says, and that none leaves its folder."""

import json
import os
import stat
from pathlib import Path

import pytest

from agentlab.tools import TOOLS, Observation, Toolbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / ".git").mkdir()
    (work / ".git" / "HEAD").write_text("colour\n")
    (work / "notes.txt").write_text("name = demo\ncolour = red\nsize = 4\n")
    (work / "src" / "a.py").write_text("colour = 'Red'\r\nx = 1\r\n")
    (work / "blob.bin").write_bytes(b"\xff\x00colour")
    (tmp_path / "secret.txt").write_text("hidden")
    return work


@pytest.fixture
def box(folder: Path, tmp_path: Path) -> Toolbox:
    return Toolbox(folder, archive=tmp_path / "archive", max_chars=100)


def said(box: Toolbox, name: str, **arguments: object) -> str:
    seen = box.call(name, arguments)
    assert seen.ok, seen.content
    return seen.content


def refused(box: Toolbox, name: str, **arguments: object) -> str:
    seen = box.call(name, arguments)
    assert not seen.ok
    assert seen.name is None
    return seen.content


def test_schemas_are_plain_and_sorted() -> None:
    assert [tool["name"] for tool in TOOLS] == ["edit", "find", "grep", "ls", "query", "read", "write"]
    for tool in json.loads(json.dumps(TOOLS)):
        assert set(tool) == {"name", "description", "parameters"}
        assert set(tool["parameters"]["required"]) <= set(tool["parameters"]["properties"])


def test_read_whole_and_ranges(box: Toolbox) -> None:
    assert said(box, "read", path="notes.txt") == "name = demo\ncolour = red\nsize = 4\n"
    assert said(box, "read", path="notes.txt", offset=2, limit=1) == "colour = red\n"
    assert said(box, "read", path="notes.txt", offset=3) == "size = 4\n"
    assert said(box, "read", path="src/a.py", limit=1) == "colour = 'Red'\r\n"
    assert "3 lines only" in refused(box, "read", path="notes.txt", offset=4)


def test_line_ends_are_line_feeds_only(box: Toolbox, folder: Path) -> None:
    (folder / "odd.txt").write_text("a\u2028b\x0cc\nd")
    assert said(box, "read", path="odd.txt", limit=1) == "a\u2028b\x0cc\n"
    assert said(box, "grep", pattern="b", path="odd.txt") == "odd.txt:1: a\u2028b\x0cc"


def test_grep_find_ls(box: Toolbox) -> None:
    assert said(box, "grep", pattern="colou?r = ", glob="*.txt") == "notes.txt:2: colour = red"
    assert said(box, "grep", pattern="RED'$", ignore_case=True, path="src") == "src/a.py:1: colour = 'Red'"
    assert "1 files are no UTF-8 text" in said(box, "grep", pattern="nothing")
    assert said(box, "find", pattern="*.py") == "src/a.py"
    assert said(box, "find", pattern="src/*") == "src/a.py"
    assert said(box, "find", pattern="*.c") == "(no file)"
    assert said(box, "ls") == ".git/\nblob.bin\nnotes.txt\nsrc/"
    assert "regular expression is wrong" in refused(box, "grep", pattern="(")


def test_write_and_edit(box: Toolbox, folder: Path) -> None:
    assert said(box, "write", path="new/deep.txt", content="ä\r\n") == "wrote 4 bytes to new/deep.txt"
    assert (folder / "new" / "deep.txt").read_bytes() == "ä\r\n".encode()
    assert said(box, "edit", path="src/a.py", old="1\r\n", new="2\r\n") == "edited src/a.py"
    assert (folder / "src" / "a.py").read_bytes() == b"colour = 'Red'\r\nx = 2\r\n"
    assert "does not occur" in refused(box, "edit", path="notes.txt", old="green", new="x")
    assert "occurs 3 times" in refused(box, "edit", path="notes.txt", old=" = ", new="x")
    assert "empty" in refused(box, "edit", path="notes.txt", old="", new="x")


def test_an_edited_file_keeps_its_mode(box: Toolbox, folder: Path) -> None:
    (folder / "run.sh").write_text("echo a\n")
    (folder / "run.sh").chmod(0o755)
    said(box, "edit", path="run.sh", old="a", new="b")
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) == 0o755


def test_a_long_observation_is_cut_and_can_be_queried(box: Toolbox, folder: Path) -> None:
    whole = "".join(f"line {i}\n" for i in range(1, 41))
    (folder / "long.txt").write_text(whole)
    seen = box.call("read", {"path": "long.txt"})
    assert seen.ok
    assert seen.cut
    assert (seen.n_chars, seen.n_bytes, seen.name) == (len(whole), len(whole), "o1")
    head, _, note = seen.content.partition("\n[cut: ")
    assert whole.startswith(head)
    assert head.endswith("\n")
    assert f"{len(head)} of {len(whole)} characters" in note
    assert f"start={len(head) + 1})" in note
    rest = box.call("query", {"observation": "o1", "start": len(whole) - 15})
    assert rest.content == whole[-16:]
    assert said(box, "query", observation="o1", pattern="line 3[79]") == "37: line 37\n39: line 39"
    assert "no observation 'o9'" in refused(box, "query", observation="o9")
    assert "no observation" in refused(box, "query", observation="../o1")


def test_a_long_line_after_a_short_one_is_cut_inside(box: Toolbox, folder: Path) -> None:
    (folder / "a.txt").write_text("short\n" + "x" * 300)
    assert "\n[cut: 100 of 306 characters shown" in box.call("read", {"path": "a.txt"}).content


def test_a_failure_does_not_repeat_all_that_was_asked(box: Toolbox) -> None:
    assert len(box.call("x" * 100_000, {}).content) < 1100


def test_a_line_longer_than_the_limit_is_cut_inside(box: Toolbox, folder: Path) -> None:
    (folder / "one.txt").write_text("é" * 300)
    seen = box.call("read", {"path": "one.txt"})
    assert seen.content.startswith("é" * 100 + "\n[cut: 100 of 300 characters shown")
    assert seen.n_bytes == 600


def test_the_archive_is_private_and_goes_on(box: Toolbox, folder: Path, tmp_path: Path) -> None:
    said(box, "ls")
    archive = tmp_path / "archive"
    assert stat.S_IMODE(archive.stat().st_mode) == 0o700
    assert stat.S_IMODE((archive / "o1").stat().st_mode) == 0o600
    again = Toolbox(folder, archive=archive)
    assert again.call("ls", {}).name == "o2"
    assert again.call("query", {"observation": "o1"}).ok


@pytest.mark.parametrize(
    "path", ["../secret.txt", "src/../../secret.txt", "/etc/passwd", "link", "up/secret.txt"]
)
@pytest.mark.parametrize("tool", ["read", "write", "edit", "grep", "find", "ls"])
def test_no_tool_leaves_the_folder(box: Toolbox, folder: Path, tmp_path: Path, tool: str, path: str) -> None:
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    more = {"write": {"content": "x"}, "edit": {"old": "hidden", "new": "x"}, "grep": {"pattern": "."}}
    more["find"] = {"pattern": "*"}
    assert "outside of the folder" in refused(box, tool, path=path, **more.get(tool, {}))
    assert (tmp_path / "secret.txt").read_text() == "hidden"


def test_a_dangling_link_makes_no_file_outside(box: Toolbox, folder: Path, tmp_path: Path) -> None:
    (folder / "out").symlink_to(tmp_path / "made.txt")
    assert "outside" in refused(box, "write", path="out", content="x")
    assert not (tmp_path / "made.txt").exists()


def test_links_are_not_followed_in_a_search(box: Toolbox, folder: Path, tmp_path: Path) -> None:
    (folder / "up").symlink_to(tmp_path)
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    assert said(box, "find", pattern="secret*") == "(no file)"
    assert "hidden" not in said(box, "grep", pattern="hidden")


def test_links_inside_are_files(box: Toolbox, folder: Path) -> None:
    (folder / "alias.txt").symlink_to("notes.txt")
    assert said(box, "read", path="alias.txt", limit=1) == "name = demo\n"
    assert said(box, "read", path=str(folder / "notes.txt"), limit=1) == "name = demo\n"
    (folder / "loop").symlink_to("loop")
    assert refused(box, "read", path="loop")


def test_what_is_no_text_file_is_said(box: Toolbox, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert "no regular file" in refused(box, "read", path="pipe")
    assert "no regular file" in refused(box, "write", path="pipe", content="x")
    assert "no UTF-8 text" in refused(box, "read", path="blob.bin")
    assert "a folder" in refused(box, "read", path="src")
    assert "No such file" in refused(box, "read", path="missing")
    with (folder / "huge").open("wb") as file:
        file.truncate(33 * 2**20)
    assert "too large" in refused(box, "read", path="huge")


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("bash", {"command": "ls"}, "there is no tool 'bash'"),
        ("read", None, "no JSON object"),
        ("read", "notes.txt", "no JSON object"),
        ("read", {}, "'path' is missing"),
        ("read", {"path": 3}, "'path' is no string"),
        ("read", {"path": "a", "offset": 0}, "counts from 1"),
        ("read", {"path": "a", "offset": True}, "'offset' is no integer"),
        ("read", {"path": "a", "lines": 3}, "there is no argument 'lines'"),
        ("read", {"path": "a\0b"}, "null character"),
        ("write", {"path": "a", "content": "\ud800"}, "cannot be written"),
        ("read", {"path": "x" * 5000}, "File name too long"),
    ],
)
def test_wrong_calls_are_failures(box: Toolbox, name: str, arguments: object, text: str) -> None:
    seen = box.call(name, arguments)
    assert (seen.ok, seen.cut) == (False, False)
    assert text in seen.content


def test_names_that_are_no_text_do_not_break_the_evidence(box: Toolbox, folder: Path) -> None:
    (folder / os.fsdecode(b"bad\xff.txt")).write_text("x")
    assert "bad?.txt" in said(box, "ls")


def test_fields_hold_nothing_of_the_text() -> None:
    seen = Observation.whole("the secret", name="o1", max_chars=100)
    assert "secret" not in json.dumps(seen.fields())
    assert seen.fields()["n_chars"] == 10
