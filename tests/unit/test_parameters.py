from __future__ import annotations

import json

import pytest

from agentlab.errors import ConfigError
from agentlab.notebook import check_parameters
from agentlab.parameters import declared_parameters


@pytest.fixture
def notebook(tmp_path):
    def make(source, tags=("parameters",)):
        cell = {"cell_type": "code", "source": source.splitlines(True), "metadata": {"tags": list(tags)}}
        other = {"cell_type": "code", "source": "secret = object()", "metadata": {}}
        path = tmp_path / "made.ipynb"
        path.write_text(json.dumps({"cells": [other, cell], "metadata": {}, "nbformat": 4}))
        return path

    return make


_DECLARED = """\
runs: int = 10  # runs of each arm
share: float = 0.5
arm: str = "stable"
limit: int | None = None
names: list[str] = ["a"]
free = None
"""


def test_defaults_are_read_without_running_anything(notebook):
    declared = declared_parameters(notebook(_DECLARED + "print('not run'); import nothing_like_it\n"))
    assert declared == {
        "runs": 10, "share": 0.5, "arm": "stable", "limit": None, "names": ["a"], "free": None,
    }  # fmt: skip


def test_values_used_include_defaults(notebook):
    used = check_parameters(notebook(_DECLARED), {"runs": 2, "limit": 3})
    assert (used["runs"], used["limit"], used["arm"]) == (2, 3, "stable")


def test_misspelt_name_stops_and_is_guessed(notebook):
    with pytest.raises(ConfigError, match="unknown parameter 'rnus', did you mean 'runs'") as caught:
        check_parameters(notebook(_DECLARED), {"rnus": 5})
    assert "Nothing was run" in str(caught.value)


def test_all_problems_are_said_at_once(notebook):
    with pytest.raises(ConfigError) as caught:
        check_parameters(notebook(_DECLARED), {"zzz": 5, "runs": "many"})
    assert "'zzz'" in str(caught.value)
    assert "parameter 'runs' is 'many', not int" in str(caught.value)


@pytest.mark.parametrize(
    "name, value, fits",
    [
        ("runs", 3, True), ("runs", 3.5, False), ("runs", True, False), ("runs", None, False),
        ("share", 1, True), ("share", "1", False), ("share", False, False),
        ("limit", None, True), ("limit", 5, True), ("limit", "5", False),
        ("names", ["x"], True), ("names", "x", False),
        ("free", object, True),
    ],
)  # fmt: skip
def test_types(notebook, name, value, fits):
    path = notebook(_DECLARED)
    if fits:
        assert check_parameters(path, {name: value})[name] == value
    else:
        with pytest.raises(ConfigError, match=name):
            check_parameters(path, {name: value})


@pytest.mark.parametrize(
    "declared, fitting, wrong",
    [
        ("list[int] = [1]", [[], [2, 3]], [["a"], [1, "a"], [True], 3]),
        ("list[int | None] = [1]", [[None, 2]], [["a"]]),
        ("dict[str, int] = {}", [{"a": 1}], [{"a": "b"}, {1: 1}, []]),
        ("tuple[int, ...] = (1, 4)", [(1,), [1, 4], []], [["a"], 3]),
        ("tuple[int, str] = (1, 'a')", [[2, "b"]], [[2], [2, 3]]),
        ("Literal['openai', 'gemini', 3] = 'openai'", ["gemini", 3], ["gemni", None, True]),
        ("Optional[int] = None", [None, 3], ["3"]),
        ("typing.Optional[int] = None", [None, 3], ["3"]),
        ("Union[int, list[str]] = 1", [2, ["a"]], ["a", [1]]),
        ("'int | None' = None", [None, 3], ["3"]),
        ("Path | None = None", [None, "a", 3], []),
        ("list[Path] = []", [["a"]], ["a"]),
        ("float = 1.0", [3, float("inf")], ["3", True]),
        ("(lambda: 3) = 1", [3, "a"], []),
    ],
)
def test_annotations(notebook, declared, fitting, wrong):
    path = notebook(f"x: {declared}\n")
    for value in fitting:
        assert check_parameters(path, {"x": value})["x"] == value
    for value in wrong:
        with pytest.raises(ConfigError, match=r"parameter 'x' is .*Nothing was run"):
            check_parameters(path, {"x": value})


@pytest.mark.parametrize(
    "declared, said",
    [
        ("list[int] = []", r"not list\[int\]"),
        ("int | None = None", r"not int \| None"),
        ("Literal['a', 'b'] = 'a'", r"not Literal\['a', 'b'\]"),
    ],
)
def test_the_type_is_said_as_it_is_written(notebook, declared, said):
    with pytest.raises(ConfigError, match=said):
        check_parameters(notebook(f"x: {declared}\n"), {"x": "c"})


@pytest.mark.parametrize("annotation", ["'int |'", "int[3]", "Literal[f()]", "Optional[int, str]"])
def test_an_annotation_that_cannot_be_read_asks_for_nothing(notebook, annotation):
    assert check_parameters(notebook(f"x: {annotation} = 1\n"), {"x": "a"}) == {"x": "a"}


def test_type_without_annotation_is_that_of_the_default(notebook):
    path = notebook("runs = 10\n")
    with pytest.raises(ConfigError, match="not int"):
        check_parameters(path, {"runs": "10"})


def test_notebook_without_tagged_cell_takes_no_parameters(notebook):
    path = notebook(_DECLARED, tags=())
    assert check_parameters(path) == {}
    with pytest.raises(ConfigError, match="no cell tagged 'parameters'"):
        check_parameters(path, {"runs": 5})


@pytest.mark.parametrize("source, said", [("x = f()", "no literal"), ("%matplotlib inline", "plain Python")])
def test_cell_that_cannot_be_read_is_named(notebook, source, said):
    with pytest.raises(ConfigError, match=said):
        check_parameters(notebook(source))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cells": 3}'])
def test_file_that_is_no_notebook(tmp_path, content):
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    with pytest.raises(ConfigError, match="no Jupyter notebook"):
        check_parameters(path)
    with pytest.raises(ConfigError, match="No such file"):
        check_parameters(tmp_path / "gone.ipynb")


class _Shell:
    def __init__(self, *cells):
        self.user_ns = {"In": ["", *cells]}


@pytest.mark.parametrize(
    "cells, outcome",
    [
        (("runs: int = 10", "check_parameters()"), {}),
        (("import x", "runs: int = 10", "# Parameters\nruns = 2\n", "..."), {"runs": 2}),
        (("runs: int = 10", "# Parameters\nrnus = 2\n", "..."), "rnus"),
        (("# Parameters\nruns = 2\n", "..."), "no cell tagged"),
    ],
)
def test_inside_a_running_notebook(monkeypatch, cells, outcome):
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: _Shell(*cells))
    if isinstance(outcome, dict):
        assert check_parameters() == outcome
    else:
        with pytest.raises(ConfigError, match=outcome):
            check_parameters()


def test_outside_a_notebook_it_asks_for_the_path():
    with pytest.raises(ConfigError, match="works in a notebook only"):
        check_parameters()
