"""Pages that include the reports of `bench.paper`, in folders that mirror theirs, so that their links work.

They hold an include directive and nothing else; they are made at each build and are not kept.
"""

from __future__ import annotations

import shutil
from pathlib import Path

REPORTS = "bench/results/paper"
VERDICTS = "bench/paper/RESULTS.md"


def write(docs: Path) -> None:
    """Write a page for each report."""
    top = docs.parent
    shutil.rmtree(docs / "bench", ignore_errors=True)
    reports = sorted((top / REPORTS).glob("*.md"))
    names = [path.stem for path in reports if path.stem != "index"]
    for path in [*reports, top / VERDICTS]:
        page = docs / path.relative_to(top)
        page.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * len(page.relative_to(top).parent.parts)
        text = f"```{{include}} {up}{path.relative_to(top).as_posix()}\n:relative-images:\n```\n"
        if path.stem == "index":
            text += "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
        if page.name == "RESULTS.md":
            text += "\n```{toctree}\n:hidden:\n\n../results/paper/index\n```\n"
        page.write_text(text, encoding="utf-8")
