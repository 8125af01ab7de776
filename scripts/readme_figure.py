"""Measure the demo and put its figure and estimates into docs/images/, where the README shows them.

make figure            (10 runs of each arm; on a quiet machine, since latencies are in it)
"""

import shutil
import sys
from pathlib import Path

from agentlab.demo import default_folder, make_report

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    folder = ROOT / default_folder()
    make_report(folder, runs=10, say=lambda line: print(line, file=sys.stderr, flush=True))
    images = ROOT / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    for name in ("cache.png", "cache.csv"):
        shutil.copyfile(folder / "figures" / name, images / name)
        print(images / name)


if __name__ == "__main__":
    main()
