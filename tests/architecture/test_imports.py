"""Imports go one way, and heavy packages stay where they belong."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from ._source import ROOT, Import, Module, imports, modules

_GROUND = ("errors", "issues", "redact", "jsonfile")

#: area -> what it may import of agentlab besides itself. The first area that holds a module counts; an area
#: that is not named (engine, host, command line, ...) stands on top and is bound by FORBIDDEN only.
ALLOWED = {
    "errors": (),
    "issues": ("errors",),
    "redact": ("errors",),
    "jsonfile": ("errors",),
    "scenario": _GROUND,
    "wire": _GROUND,
    "machine": (*_GROUND, "wire.pressure", ""),
    "frames.schema": _GROUND,
    "stats.bootstrap": _GROUND,
    "gateway.book": _GROUND,
    "gateway.ledger": (*_GROUND, "gateway.book"),
    "agents": (*_GROUND, "wire", "machine"),
    "tools": (*_GROUND, "wire"),
    "instruments": (*_GROUND, "wire"),
    "gateway": (*_GROUND, "wire", "scenario", "tools"),
    "drivers.base": (*_GROUND, "scenario", "engine", "recording"),  # run(): one driver through the engine
    "drivers": (*_GROUND, "wire", "scenario", "agents", "gateway", "tools"),
    "frames": _GROUND,
    "importers.schema2_writer": (*_GROUND, "frames", "importers", "metrics", "recording", "stats"),
    "importers.terminal_json_writer": (*_GROUND, "frames", "importers", "recording"),
    "importers": (*_GROUND, "frames", "scenario"),
    "recording.export": (*_GROUND, "frames", "importers", "recording", ""),
    "recording": (*_GROUND, "frames", "importers", "scenario", "widgets.cards", "widgets.markup"),
    "metrics": (*_GROUND, "stats"),
    "stats.frame": ("widgets.cards",),  # estimates show themselves, when they are shown
    "stats": (*_GROUND, "frames"),
    "plots": (*_GROUND, "frames", "stats", "recording", "metrics", ""),
}

#: area -> what it must not import, for the areas on top.
FORBIDDEN = {
    "engine": ("frames", "stats", "plots", "widgets", "recording", "cli"),  # capture never computes
    "host": ("frames", "stats", "plots", "cli"),
    "widgets": ("drivers", "engine", "gateway", "cli"),
    "progress": ("drivers", "gateway", "frames", "stats", "plots", "cli"),
    "reporting": ("drivers", "engine", "gateway", "host", "cli"),  # it reads recordings, whoever made them
    "magic": ("drivers", "engine", "gateway", "host", "plots", "cli"),
}

#: package -> the only places that may import it.
ONLY_IN = {
    "aiohttp": ("wire.eventsource",),
    "httptools": ("gateway.httpwire", "gateway.httpclient"),
    "ipywidgets": ("widgets", "progress"),
    "matplotlib": ("plots",),
    "nest_asyncio": ("notebook",),
    "pychrome": ("wire.cdp",),
    "pexpect": (),
    "ptyprocess": (),
    "requests": (),
    "scipy.stats": (),  # 830 ms
}


def _is_in(name: str, areas: tuple[str, ...]) -> bool:
    return any(name == area or (area and name.startswith(f"{area}.")) for area in areas)


def _area(module: Module) -> str | None:
    return next((area for area in ALLOWED if module.inside(area)), None)


def _own() -> Iterator[tuple[Module, Import]]:
    for module in modules():
        for found in imports(module)[0]:
            yield module, found


def test_the_rules_see_imports() -> None:
    """A rule that looks at nothing would always hold."""
    seen = {(module.name, found.target, found.at_top) for module, found in _own()}
    assert ("wire.eventsource", "wire.sse", True) in seen
    assert ("wire.eventsource", "redact", True) in seen
    assert ("engine.study", "machine", False) in seen
    assert "aiohttp" in {
        found.target for m in modules() if m.name == "wire.eventsource" for found in imports(m)[1]
    }


def test_imports_go_one_way() -> None:
    wrong: list[str] = []
    for module, found in _own():
        area = _area(module)
        if area is not None and not _is_in(found.target, (area, *ALLOWED[area])):
            wrong.append(f"{module.where}:{found.line} imports {found.target or 'agentlab'}")
        wrong += [
            f"{module.where}:{found.line} imports {found.target}"
            for upper, never in FORBIDDEN.items()
            if module.inside(upper) and _is_in(found.target, never)
        ]
    assert not wrong, "\n".join(wrong)


#: The one driver that another stands on: OpenCode's server shows the page that is recorded.
DRIVERS_DOOR = ("drivers.webchat.checks", "drivers.opencode")


def test_drivers_do_not_know_each_other() -> None:
    wrong: list[str] = []
    for module, found in _own():
        mine, theirs = (name.split(".")[1:2] for name in (module.name, found.target))
        both = module.inside("drivers") and _is_in(found.target, ("drivers",))
        if (module.name, found.target) == DRIVERS_DOOR:
            continue
        if both and mine and theirs and theirs not in (mine, ["base"], ["workspace"]):
            wrong.append(f"{module.where}:{found.line} imports {found.target}")
    assert not wrong, "\n".join(wrong)


def test_nothing_stands_on_the_command_line_or_the_fakes() -> None:
    front = ("cli", "__main__", "demo", "testing")
    wrong = [
        f"{module.where}:{found.line} imports {found.target}"
        for module, found in _own()
        if _is_in(found.target, ("cli", "testing")) and not _is_in(module.name, front)
    ]
    assert not wrong, "\n".join(wrong)


def test_packages_stay_where_they_belong() -> None:
    wrong = [
        f"{module.where}:{found.line} imports {found.target}"
        for module in modules()
        for found in imports(module)[1]
        for package, places in ONLY_IN.items()
        if _is_in(found.target, (package,)) and not _is_in(module.name, places)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_cycle_at_import_time() -> None:
    """A module may only need what can be imported before it."""
    needs = {
        module.name: {found.target for found in imports(module)[0] if found.at_top} - {module.name, ""}
        for module in modules()
    }
    left = dict(needs)
    while ready := [name for name, wanted in left.items() if not wanted & left.keys()]:
        for name in ready:
            del left[name]
    assert not left, f"these import each other: {sorted(left)}"


def _fresh(code: str) -> list[str]:
    command = [
        sys.executable,
        "-c",
        f"import sys; before = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_agentlab_is_free() -> None:
    loaded = _fresh("import agentlab")
    assert "agentlab" in loaded
    assert "numpy" not in loaded
    assert len(loaded) <= 40, loaded


@pytest.mark.parametrize("how", ["dir(agentlab)", "[getattr(agentlab, name) for name in agentlab.__all__]"])
def test_completing_a_name_loads_nothing_heavy(how: str) -> None:
    heavy = {"numpy", "pandas", "matplotlib", "aiohttp", "ipywidgets", "scipy", "pyarrow", "httpx", "IPython"}
    assert not heavy & set(_fresh(f"import agentlab\n{how}"))
