"""``python -m benchmarks`` lists them; ``python -m benchmarks NAME [OPTIONS]`` runs one."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def names() -> list[str]:
    """Return the names of all benchmarks, sorted."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def main(argv: list[str]) -> int:
    """List the benchmarks or run one."""
    if argv and argv[0] in names():
        return importlib.import_module(f"benchmarks.{argv[0]}").main(argv[1:])
    for name in names():
        doc = importlib.import_module(f"benchmarks.{name}").__doc__ or ""
        print(f"{name:12} {doc.strip().splitlines()[0] if doc else ''}")
    if argv and argv[0] not in ("-h", "--help"):
        print(f"no benchmark {argv[0]!r}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
