"""From Markdown to HTML: one page with navigation, contents and search."""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import markdown


@dataclass
class Group:
    title: str
    paths: list[str] = field(default_factory=list)


@dataclass
class Page:
    source: Path
    # Relative to the folder of the site.
    target: str
    title: str
    body: str
    # Heading, address and text of each part, for the search.
    sections: list[dict[str, str]]

    @staticmethod
    def read(source: Path, target: str) -> Page:
        text = source.read_text(encoding="utf-8")
        # A word after the language is for the script that runs the commands.
        text = re.sub(r"^(```\w+)[^\n]+$", r"\1", text, flags=re.MULTILINE)
        # Lists may follow a paragraph directly, as on GitHub.
        text = re.sub(r"^([^\n\-*#|> \t`][^\n]*)\n(- )", r"\1\n\n\2", text, flags=re.MULTILINE)
        converter = markdown.Markdown(
            extensions=["tables", "fenced_code", "toc", "sane_lists", "md_in_html"],
            extension_configs={"toc": {"slugify": slug, "separator": "-"}},
        )
        body = converter.convert(text)
        title = re.sub(r"<[^>]+>", "", (re.search(r"<h1[^>]*>(.*?)</h1>", body) or ["", source.stem])[1])
        return Page(source, target, html.unescape(title), body, sections(body, title, target))


def slug(text: str, _separator: str) -> str:
    """The name that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def sections(body: str, title: str, target: str) -> list[dict[str, str]]:
    found = []
    parts = re.split(r'<h[1-3] id="([^"]*)">(.*?)</h[1-3]>', body)
    for at in range(1, len(parts), 3):
        heading, text = plain(parts[at + 1]), plain(parts[at + 2])
        where = heading if at == 1 else f"{html.unescape(title)}: {heading}"
        found.append({"title": where, "address": f"{target}#{parts[at]}", "text": text})
    return found


def plain(part: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", part))).strip()


def read_navigation(source: Path) -> list[Group]:
    """The groups of the list in docs/README.md: a heading and the pages below it."""
    groups: list[Group] = []
    for line in source.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"## (.*)", line):
            groups.append(Group(match[1]))
        elif (match := re.match(r"- \[[^\]]*\]\(([^)#]+\.md)\)", line)) and groups:
            groups[-1].paths.append(match[1])
    return groups


def render(page: Page, pages: list[Page], navigation: list[Group]) -> str:
    up = "../" * page.target.count("/")
    by_source = {other.source: other.target for other in pages}
    entries = iter(pages[1:])
    groups = []
    for group in navigation:
        items = []
        for _ in group.paths:
            other = next(entries)
            mark = ' aria-current="page"' if other is page else ""
            items.append(f'<li><a href="{up}{other.target}"{mark}>{html.escape(other.title)}</a></li>')
        groups.append(f"<h2>{html.escape(group.title)}</h2><ul>{''.join(items)}</ul>")
    body = re.sub(r'href="([^"]+)"', lambda match: f'href="{address(match[1], page, by_source, up)}"', page.body)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(page.title)} · jobmeter</title>
<link rel="stylesheet" href="{up}style.css">
</head>
<body data-root="{up}">
<nav>
<a class="home" href="{up}index.html">jobmeter</a>
<input type="search" id="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off">
<ol id="found" hidden></ol>
<div id="pages">{''.join(groups)}</div>
</nav>
<main>
{body}
</main>
<script src="{up}search-index.js"></script>
<script src="{up}search.js"></script>
</body>
</html>
"""


def address(link: str, page: Page, by_source: dict[Path, str], up: str) -> str:
    """A link to another Markdown file becomes one to its page; to a file of the sources, its plain name."""
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return link
    path, _, anchor = link.partition("#")
    target = by_source.get((page.source.parent / path).resolve())
    if target is None:
        return link
    relative = os.path.relpath(target, os.path.dirname(page.target) or ".")
    return relative + (f"#{anchor}" if anchor else "")
