"""The examples in the docstrings run and show what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

from ._source import Module, modules

_WITH_EXAMPLES = [module for module in modules() if ">>> " in module.path.read_text("utf-8")]


@pytest.mark.parametrize("module", _WITH_EXAMPLES, ids=lambda module: module.name)
def test_examples(module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what an example writes goes there
    loaded = importlib.import_module(f"agentlab.{module.name}".rstrip("."))
    found = [test for test in doctest.DocTestFinder(exclude_empty=True).find(loaded) if test.examples]
    assert found, "there are examples that nobody runs: they stand outside the docstrings"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    for test in found:
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)
