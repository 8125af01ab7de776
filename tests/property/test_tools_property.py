"""Whatever a model asks for: a failure or an observation, never an error, and never another folder."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.tools import TOOLS, Toolbox

_PART = st.sampled_from(["..", ".", "", "a", "b.txt", "up", "out", "~", "/", "etc", "secret"]) | st.text(
    max_size=4
)
_PATHS = st.lists(_PART, min_size=1, max_size=6).map("/".join)
_VALUES = _PATHS | st.integers(-2, 9) | st.booleans() | st.none() | st.text(max_size=9)
_KEYS = st.sampled_from(sorted({key for tool in TOOLS for key in tool["parameters"]["properties"]}))
_CALLS = st.tuples(
    st.sampled_from([tool["name"] for tool in TOOLS]), st.dictionaries(_KEYS, _VALUES, max_size=4)
)


@settings(deadline=None, max_examples=150)
@given(st.lists(_CALLS, max_size=12))
def test_any_calls_stay_inside(calls: list[tuple[str, dict[str, object]]]) -> None:
    with tempfile.TemporaryDirectory() as top:
        root = Path(top, "work")
        root.mkdir()
        Path(top, "secret").write_text("hidden")
        (root / "b.txt").write_text("b")
        (root / "up").symlink_to("..")
        (root / "out").symlink_to("../made")
        box = Toolbox(root, archive=Path(top, "archive"))
        for name, arguments in calls:
            seen = box.call(name, arguments)
            assert "hidden" not in seen.content
            seen.content.encode()
        assert sorted(path.name for path in Path(top).iterdir()) == ["archive", "secret", "work"]
        assert Path(top, "secret").read_text() == "hidden"


@given(st.text(max_size=300), st.integers(1, 200))
def test_cut_and_query_give_the_whole_back(text: str, limit: int) -> None:
    text = text.replace("\0", "")
    with tempfile.TemporaryDirectory() as top:
        box = Toolbox(Path(top), archive=Path(top, ".archive"), max_chars=limit)
        assert box.call("write", {"path": "a", "content": text}).ok
        seen = box.call("read", {"path": "a"})
        got = ""
        while seen.cut:
            head, _, _ = seen.content.rpartition("\n[cut: ")
            assert head
            got += head
            seen = box.call("query", {"observation": "o2", "start": len(got) + 1})
        assert got + seen.content == text
