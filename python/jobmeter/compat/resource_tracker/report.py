"""A self-contained HTML page: figures, advice and one chart per resource, no script, no network."""

from __future__ import annotations

import html
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

from .helpers import round_memory

if TYPE_CHECKING:
    from .tracker import ResourceTracker

__all__ = ["Report", "build_report", "round_memory"]

# Title of a chart, and the columns drawn in it.
_CHARTS: List[Tuple[str, List[str]]] = [
    ("CPU usage (cores)", ["process_cpu_usage", "system_cpu_usage"]),
    ("Memory (KiB)", ["process_memory", "system_memory_used"]),
    ("Disk read (bytes per interval)", ["process_disk_read_bytes", "system_disk_read_bytes"]),
    ("Disk write (bytes per interval)", ["process_disk_write_bytes", "system_disk_write_bytes"]),
    ("Network (bytes per interval)", ["system_net_recv_bytes", "system_net_sent_bytes"]),
    ("GPU usage", ["process_gpu_usage", "system_gpu_usage"]),
    ("VRAM (MiB)", ["process_gpu_vram", "system_gpu_vram"]),
]
_COLOURS = ("#1565c0", "#ef6c00")
_WIDTH, _HEIGHT = 720, 160


class Report(str):
    """The page as text, with ways to keep it and to look at it."""

    def save(self, filepath: str) -> Report:
        """Write the page aside and move it into place."""
        folder = os.path.dirname(os.path.abspath(filepath))
        handle, aside = tempfile.mkstemp(dir=folder, suffix=".html")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(self)
        os.replace(aside, filepath)
        return self

    def browse(self) -> Report:
        """Open the page in the default browser, from a temporary file."""
        import webbrowser

        handle, path = tempfile.mkstemp(suffix=".html")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(f"file://{path}")
        return self


def build_report(
    tracker: ResourceTracker, historical_stats: Sequence[Dict[str, Any]], status_failed: bool
) -> Report:
    stats = tracker.stats()
    resources = tracker.recommend_resources(historical_stats)
    combined = tracker.get_combined_metrics()
    stamps = combined["timestamp"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>Resource usage</title>",
        "<style>body{font:15px system-ui,sans-serif;margin:2rem auto;max-width:46rem;padding:0 1rem}"
        "table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #ddd}"
        "svg{background:#fafafa;border:1px solid #ddd}</style>",
        "<h1>Resource usage</h1>",
        f"<p>The run {'failed' if status_failed else 'ended'} after {stats['timestamp']['duration']:.1f} s.</p>",
        "<h2>Figures</h2>", _table({c: _joined(f) for c, f in stats.items()}),
        "<h2>Advice</h2>", _table(resources),
        "<h2>Server</h2>", _table(tracker.server_info or {}),
    ]  # fmt: skip
    for title, names in _CHARTS:
        drawn = {n: combined[n] for n in names if n in combined.columns}
        if any(any(values) for values in drawn.values()):
            parts.append(f"<h2>{html.escape(title)}</h2>{_chart(stamps, drawn)}")
    return Report("\n".join(parts) + "</html>\n")


def _joined(figures: Dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in figures.items())


def _table(rows: Dict[str, Any]) -> str:
    cells = "".join(
        f"<tr><th>{html.escape(str(name))}<td>{html.escape(str(value))}" for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def _chart(stamps: Sequence[float], columns: Dict[str, List[float]]) -> str:
    top = max(max(values) for values in columns.values()) or 1
    begin, span = stamps[0], (stamps[-1] - stamps[0]) or 1
    lines, legend = "", ""
    for colour, (name, values) in zip(_COLOURS, columns.items()):
        points = " ".join(
            f"{(t - begin) / span * _WIDTH:.1f},{_HEIGHT - v / top * (_HEIGHT - 8):.1f}"
            for t, v in zip(stamps, values)
        )
        lines += f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>'
        legend += f'<span style="color:{colour}">{html.escape(name)}</span> '
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%">{lines}</svg><p>{legend}, top {top:g}</p>'
