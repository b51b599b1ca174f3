"""Looks for links in built pages that lead nowhere. Addresses in the web are not opened."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote


def dead_links(out: Path) -> list[str]:
    out = out.resolve()
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.html"))}
    names = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    dead = []
    for path, text in texts.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            where = path.relative_to(out)
            if not target.exists():
                dead.append(f"{where}: {link} leads nowhere")
            elif anchor and anchor not in names.get(target, set()):
                dead.append(f"{where}: {link} names a heading that is not there")
    return dead
