"""What the architecture tests look at: every module of the package, read but not imported."""

import ast
import dataclasses
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "agentlab"


@dataclasses.dataclass(frozen=True)
class Import:
    """One import: of a module of agentlab (dotted, from the package) or of something else."""

    target: str
    line: int
    at_top: bool  # carried out when the module is imported


@dataclasses.dataclass(frozen=True)
class Module:
    """One source file; `name` is dotted from the package: ``wire.sse``, and ``""`` for the package itself."""

    name: str
    path: Path
    tree: ast.Module
    n_lines: int

    @property
    def where(self) -> str:
        return str(self.path.relative_to(ROOT))

    def inside(self, area: str) -> bool:
        return self.name == area or self.name.startswith(f"{area}.")


@cache
def modules() -> tuple[Module, ...]:
    found: list[Module] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        found.append(Module(name, path, ast.parse(text), text.count("\n")))
    return tuple(found)


@cache
def imports(module: Module) -> tuple[list[Import], list[Import]]:
    """Return a module's imports of agentlab and of other packages, without those for type checkers."""
    own: list[Import] = []
    other: list[Import] = []
    names = {m.name for m in modules()}
    for node, at_top in _import_nodes(module.tree, at_top=True):
        for target in _targets(node, module):
            if target == "agentlab" or target.startswith("agentlab."):
                dotted = target.removeprefix("agentlab").removeprefix(".")
                while dotted and dotted not in names:  # a class or function of that module
                    dotted = dotted.rpartition(".")[0]
                own.append(Import(dotted, node.lineno, at_top))
            else:
                other.append(Import(target, node.lineno, at_top))
    return own, other


def _import_nodes(node: ast.AST, *, at_top: bool) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(node, at_top)]
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return []
    later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    return [
        found
        for child in ast.iter_child_nodes(node)
        for found in _import_nodes(child, at_top=at_top and not later)
    ]


def _targets(node: ast.Import | ast.ImportFrom, module: Module) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        package = ["agentlab", *filter(None, module.name.split("."))]
        if module.path.name != "__init__.py":
            package.pop()
        package = package[: len(package) - node.level + 1]
        base = ".".join([*package, *filter(None, [node.module])])
    return [f"{base}.{alias.name}" for alias in node.names]
