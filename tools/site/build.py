"""Builds the documentation site into a folder: build.py OUT JOBMETER.

The pages of docs/, in the order in which docs/README.md lists them, become one HTML file each. They need no server and no
network: the search index is a script beside them. A link that leads nowhere fails the build.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import commands
from links import dead_links
from pages import Page, read_navigation, render

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main(out: Path, jobmeter: str) -> int:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    docs = ROOT / "docs"
    (out / "commands.md").write_text(commands.page(jobmeter), encoding="utf-8")
    navigation = read_navigation(docs / "README.md")
    # Written by the program itself, and therefore not among the files of docs/.
    next(group for group in navigation if group.title == "Use").paths.insert(0, "commands.md")
    pages = [Page.read(docs / "README.md", "index.html")]
    for group in navigation:
        for path in group.paths:
            source = out / "commands.md" if path == "commands.md" else (docs / path).resolve()
            pages.append(Page.read(source, target_of(path)))
    listed = {page.source for page in pages}
    for source in sorted(docs.rglob("*.md")):
        if source not in listed:
            if source.parent == docs:
                print(f"make-site: docs/{source.name} is not listed in docs/README.md", file=sys.stderr)
                return 1
            if source.parent != docs:
                pages.append(Page.read(source, str(source.relative_to(docs).with_suffix(".html"))))
    index = []
    for page in pages:
        target = out / page.target
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(render(page, pages, navigation), encoding="utf-8")
        index += page.sections
    (out / "commands.md").unlink()
    (out / "search-index.js").write_text("window.searchIndex = " + json.dumps(index, ensure_ascii=False) + ";\n")
    for name in ("style.css", "search.js"):
        shutil.copy(HERE / name, out / name)
    dead = dead_links(out)
    for line in dead:
        print(f"make-site: {line}", file=sys.stderr)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    if not dead:
        print(f"{len(pages)} pages, {len(index)} sections to search, {size / 1000:.0f} kB, no dead link: {out}/index.html")
    return 1 if dead else 0


def target_of(path: str) -> str:
    """The page of a Markdown file; what lies outside of docs/ gets a plain name."""
    name = re.sub(r"^(\.\./)+", "", path)
    if name.endswith("/README.md"):
        name = name.replace("README.md", "index.md")
    return str(Path(name).with_suffix(".html")).replace("CONTRIBUTING", "contributing").replace("CHANGELOG", "changes")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
