import gzip
import json

import pytest

from agentlab.errors import ImportFormatError
from agentlab.frames.cpuprofile import original, read_cpuprofile


def node(number, name, *children, url="", line=-1, column=-1):
    frame = {"functionName": name, "scriptId": "1", "url": url, "lineNumber": line, "columnNumber": column}
    return {"id": number, "callFrame": frame, "children": list(children)}


URL = "http://127.0.0.1:4196/assets/index-jmcw.js?v=3"
TREE = [
    node(1, "(root)", 2, 3, 4, 5),
    node(2, "(program)"),
    node(3, "(idle)"),
    node(4, "(garbage collector)"),
    node(5, "work", 6, url=URL, line=4, column=83),
    node(6, "work", 7, url=URL, line=4, column=83),
    node(7, "", url=URL, line=4, column=90),
]


def profile(samples, deltas, *, start=1000, end=None, nodes=TREE):
    found = {"nodes": nodes, "startTime": start, "samples": samples, "timeDeltas": deltas}
    return found | {"endTime": start + sum(deltas) if end is None else end}


@pytest.fixture
def write(tmp_path):
    def written(data):
        path = tmp_path / "p.cpuprofile"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return path

    return written


def test_time_before_the_first_sample_is_in_no_sum(write):
    """A public report: 200 ms before the first sample, then 400 and 500."""
    found = profile(
        [0, 0, 0],
        [200000, 400000, 500000],
        start=1652739599999000,
        end=1652739601099000,
        nodes=[node(0, "f", url="a.js", line=0, column=0)],
    )
    read = read_cpuprofile(write(found))
    assert (read.lead_ms, read.total_ms, read.busy_ms) == (200.0, 900.0, 900.0)
    assert [(f.label, f.self_ms, f.total_ms, f.n_samples, f.share) for f in read.functions()] == [
        ("f @ a.js:1:1", 900.0, 900.0, 3, 1.0)
    ]
    assert read.interval_ms == 450.0
    assert original(write(found)).total_ms == 1100.0


def test_samples_are_sorted_and_the_time_after_one_is_its_own(write):
    read = read_cpuprofile(write(profile([3, 5, 7, 2], [1000, 3000, -1000, 4000], end=9000)))
    assert (read.sample_ns // 1000).tolist() == [2000, 4000, 5000, 8000]
    assert [read.nodes[n].function for n in read.sample_node] == ["(idle)", "", "work", "(program)"]
    assert (read.weight_ns // 1000).tolist() == [2000, 1000, 3000, 1000]
    assert read.n_negative_deltas == 1
    assert (read.idle_ms, read.program_ms, read.gc_ms, read.busy_ms) == (2.0, 1.0, 0.0, 5.0)
    old = original(write(profile([3, 5, 7, 2], [1000, 3000, -1000, 4000], end=9000)))
    assert (old.total_ms, old.idle_ms, old.program_ms) == (8.0, 1.0, 4.0)
    assert old.top[0] == ("(program)", 4.0, pytest.approx(100 * 4 / 7))
    assert ("work @ /assets/index-jmcw.js:5", 3.0) in [row[:2] for row in old.top]


def test_functions_are_told_apart_by_column_and_recursion_counts_once(write):
    read = read_cpuprofile(write(profile([6, 7, 5], [0, 2000, 3000], end=10000)))
    found = {f.label: f for f in read.functions()}
    assert set(found) == {"work @ index-jmcw.js:5:84", "(anonymous) @ index-jmcw.js:5:91"}
    work = found["work @ index-jmcw.js:5:84"]
    assert (work.self_ms, work.total_ms, work.n_samples) == (6.0, 9.0, 2)
    assert found["(anonymous) @ index-jmcw.js:5:91"].total_ms == 3.0


def test_what_a_task_was_spent_on(write):
    read = read_cpuprofile(write(profile([2, 7, 3, 4, 2], [1000, 4000, 2000, 1000, 1000], end=12000)))
    # us: program 2000-6000, anonymous 6000-8000, idle 8000-9000, gc 9000-10000, program 10000-12000
    assert read.top(3_000_000, 9_500_000) == ("(anonymous) @ index-jmcw.js:5:91", 2.0)
    assert read.top(7_500_000, 11_000_000) == ("(garbage collector)", 1.0)
    assert read.top(2_500_000, 5_000_000) == ("(program)", 2.5)
    assert read.top(8_100_000, 8_900_000) is None
    assert read.top(0, 1_000_000) is None
    assert read_cpuprofile(write(profile([], []))).top(0, 10) is None


def test_parents_instead_of_children_and_samples_of_nobody(write):
    nodes = [
        {"id": 1, "callFrame": {"functionName": "(root)"}},
        {"id": 2, "parent": 1, "callFrame": {"functionName": "f", "url": "x.js"}},
    ]
    read = read_cpuprofile(write(profile([2, 9, 2, 2], [0, 1000, 1000], end=4000, nodes=nodes)))
    assert read.nodes[1].parent == 0 and read.n_unknown == 2
    assert read.functions()[0].self_ms == 2.0
    assert read.functions()[0].label == "f @ x.js"


def test_a_profile_without_samples_or_end(write):
    read = read_cpuprofile(write({"nodes": TREE, "startTime": 5}))
    assert (read.total_ms, read.interval_ms, read.lead_ms, read.functions()) == (0.0, None, None, [])
    only_idle = read_cpuprofile(write(profile([3], [0], end=3000)))
    assert [f.share for f in only_idle.functions()] == [None]


def test_gzip_by_content_and_names_that_change_from_run_to_run(write):
    nodes = [
        node(1, "(root)", 2, 3, 4),
        node(2, "a", url="blob:http://x/1-2", line=0, column=0),
        node(3, "b", url="http://h:1/", line=2, column=0),
        node(4, "c", url="data:text/javascript,secret", line=0, column=0),
    ]
    read = read_cpuprofile(
        write(gzip.compress(json.dumps(profile([2, 3, 4], [0, 1000, 1000], end=4000, nodes=nodes)).encode()))
    )
    assert {f.label for f in read.functions()} == {"a @ blob:1:1", "b @ /:3:1", "c @ data:1:1"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no JSON"),
        (b'{"nodes":[{"id":1,', "no JSON .*or cut"),
        (b'{"nodes":[]}', "startTime"),
        (b'{"nodes":[{"id":[]}],"startTime":1}', r"nodes\[0\]"),
        (b'{"head":{"functionName":"(root)"},"startTime":1,"samples":[]}', "before 58"),
        (b"[]", "array"),
        (gzip.compress(b"{}")[:12], "only be read whole"),
    ],
)
def test_what_is_no_profile_is_named(write, content, said):
    for reader in (read_cpuprofile, original):
        with pytest.raises(ImportFormatError, match=f"p.cpuprofile.*{said}"):
            reader(write(content))


def test_a_call_tree_that_goes_in_circles_ends(write):
    nodes = [node(1, "a", 2, url=URL), node(2, "b", 1, url=URL)]
    found = read_cpuprofile(write(profile([1, 2], [1000, 1000], end=4000, nodes=nodes)))
    assert [(f.function, f.total_ms) for f in found.functions()] == [("a", 2.0), ("b", 2.0)]


def test_times_beyond_64_bits_and_samples_of_memory_are_named(write):
    for wrong in (profile([1], [1e30]), profile([1], [1], start=2**64 - 8)):
        with pytest.raises(ImportFormatError, match="64 bits"):
            read_cpuprofile(write(wrong))
    with pytest.raises(ImportFormatError, match="memory"):
        read_cpuprofile(
            write({"head": {"callFrame": {}, "selfSize": 0, "id": 1, "children": []}, "samples": []})
        )
