"""The sections that the reports of resource_tracker have, as a table at the end of our page.

The page has its own titles; programs and people look for these.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Iterator, List, Tuple

from .column_maps import REPORT_CSV_MAPPING

if TYPE_CHECKING:
    from .tracker import ResourceTracker

_TITLES = {
    "cpu": ("CPU Usage", "cores"),
    "mem": ("Memory Usage", "bytes"),
    "disk": ("Disk I/O Usage", "bytes per interval"),
    "disk_space": ("Disk Space Usage", "bytes"),
    "net": ("Network Usage", "bytes per interval"),
    "gpu_usage": ("GPU Usage", "GPUs"),
    "gpu_utilized": ("GPUs in Use", "GPUs"),
    "gpu_vram": ("VRAM Usage", "bytes"),
}


def with_sections(page: str, tracker: ResourceTracker) -> str:
    """The page with the table in front of its end."""
    begin, end, rest = page.rpartition("</body>")
    if not end:
        return page
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in _rows(tracker))
    head = "".join(f"<th>{name}</th>" for name in ("section", "series", "mean", "maximum", "unit"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'{begin}<section class="card"><h2>Usage Statistics</h2>{table}</section>{end}{rest}'


def _rows(tracker: ResourceTracker) -> Iterator[Tuple[str, ...]]:
    combined = tracker.get_combined_metrics(bytes=True, human_names=True)
    for chart, (title, unit) in _TITLES.items():
        for series in REPORT_CSV_MAPPING[chart][1:]:
            if series in combined.columns:
                yield (title, series, *_figures(combined[series]), unit)


def _figures(values: List[Any]) -> Tuple[str, str]:
    known = [value for value in values if value is not None]
    if not known:
        return "unknown", "unknown"
    return f"{sum(known) / len(known):,.2f}", f"{max(known):,.2f}"
