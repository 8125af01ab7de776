import json

from hypothesis import given
from hypothesis import strategies as st

from agentlab.wire.jsonl import JSONLines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=5), st.data(), st.booleans())
def test_any_cutting_gives_the_same_records(objects: list[dict], data: st.DataObject, newline: bool) -> None:
    stream = b"\n".join(
        json.dumps(one, ensure_ascii=False).encode("utf-8", "surrogatepass") for one in objects
    )
    stream += b"\n" if newline else b""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    lines = JSONLines()
    records = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        records += lines.feed(stream[start:end], t=end)
    records += lines.close()
    assert [record.data for record in records] == objects
    assert lines.n_foreign == 0
