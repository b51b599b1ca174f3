"""The summary for notebooks as HTML, and phases as text."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ._format import format_value

if TYPE_CHECKING:
    from ._table import Table

_SCOPES = ("main", "descendants", "combined", "system")


def human_bytes(count: Optional[float]) -> str:
    return "–" if count is None else format_value(count, "bytes")


def human_time(nanoseconds: Optional[float]) -> str:
    return "–" if nanoseconds is None else format_value(nanoseconds, "nanos")


def cores(value: Optional[float]) -> str:
    return "–" if value is None else format_value(value, "cores", "bare")


def plain(value: Optional[float]) -> str:
    return "–" if value is None else format_value(value, "count")


def percent(value: Optional[float]) -> str:
    return "–" if value is None else format_value(value, "ppm", "rounded")


def printable(text: str) -> str:
    """Names come from the job: control characters could rewrite a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


_Show = Callable[[Optional[float]], str]
# Title, figure of the job's scopes, figure of the machine, how to show it.
_ROWS: Sequence[Tuple[str, str, Optional[str], _Show]] = (
    ("CPU time", "cpu_ns", "cpu_ns", human_time),
    ("Cores used, peak", "cores_used_max", "cores_used_max", cores),
    ("Cores used, mean", "cores_used_mean", "cores_used_mean", cores),
    ("RAM, peak", "rss_bytes_max", "memory_used_bytes_max", human_bytes),
    ("RAM, private peak", "rss_private_bytes_max", None, human_bytes),
    ("RAM, shared peak", "rss_shared_bytes_max", None, human_bytes),
    ("GPU RAM, peak", "gpu_memory_bytes_max", "gpu_memory_bytes_max", human_bytes),
    ("GPU use, peak", "gpu_busy_ppm_max", "gpu_busy_ppm_max", percent),
    ("Read", "read_storage_bytes", "disk_read_bytes", human_bytes),
    ("Written", "write_storage_bytes", "disk_write_bytes", human_bytes),
    ("Network received", "", "net_receive_bytes", human_bytes),
    ("Network sent", "", "net_transmit_bytes", human_bytes),
    ("Threads, peak", "threads_max", None, plain),
    ("Processes, peak", "processes_max", None, plain),
)


def _value(figures: Mapping[str, Any], key: Optional[str]) -> Optional[float]:
    entry = figures.get(key) if key else None
    return None if entry is None else entry.get("value")


def _mark(figures: Mapping[str, Any], key: Optional[str]) -> str:
    """A lower bound reads as one."""
    entry = figures.get(key) if key else None
    return "≥ " if entry and entry.get("quality") == "lower_bound" else ""


def cells(summary: Mapping[str, Any]) -> List[List[str]]:
    """Rows of text, those left out of which nothing is known."""
    rows = []
    for title, job, system, show in _ROWS:
        keys = [job, job, job, system]
        values = [_value(summary[scope], key) for scope, key in zip(_SCOPES, keys)]
        if any(value is not None for value in values):
            marks = [_mark(summary[scope], key) for scope, key in zip(_SCOPES, keys)]
            rows.append([title] + [mark + show(value) for mark, value in zip(marks, values)])
    return rows


def short(summary: Mapping[str, Any]) -> str:
    """Name, how it went, CPU time and peak in one line, for `repr`."""
    verdict, combined = summary["verdict"], summary["combined"]
    # A block of a program ends when it is left, which is no accident.
    is_block = verdict["kind"] == "detached" and summary["run"].get("mode") == "self"
    how = "finished" if is_block or (verdict["kind"] == "exited" and verdict.get("exit_code") == 0) else verdict["kind"]
    parts = [f"{how.replace('_', ' ')} after {human_time(summary['run'].get('wall_ns'))}"]
    for words, key, show in (("CPU", "cpu_ns", human_time), ("peak", "rss_bytes_max", human_bytes)):
        if _value(combined, key) is not None:
            parts.append(f"{words} {_mark(combined, key)}{show(_value(combined, key))}")
    name = summary["run"].get("name")
    return f"{'' if name is None else repr(printable(name)) + ' '}{', '.join(parts)}"


def _phase_rows(phases: Table) -> List[List[str]]:
    data: Dict[str, List[Any]] = phases.to_dict()
    return [
        ["  " * data["depth"][i] + printable(name), human_time(data["end_ns"][i] - data["begin_ns"][i]),
         human_time(data["cpu_ns"][i]), human_bytes(data["peak_rss_bytes"][i])]
        for i, name in enumerate(data["name"])
    ]  # fmt: skip


def _columns(rows: Sequence[Sequence[str]]) -> List[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


def phase_lines(phases: Table) -> List[str]:
    """The phases as aligned lines after an empty one; none without phases."""
    if not len(phases):
        return []
    return ["", *_columns([["phase", "time", "CPU time", "RAM, peak"], *_phase_rows(phases)])]


def page(first_screen: str, summary: Mapping[str, Any], phases: Table) -> str:
    """A fragment for notebooks: the first screen (HTML), phases, warnings, and the scopes folded. Text is escaped."""
    parts = ['<div class="jobmeter">', first_screen]
    if len(phases):
        parts.append(_table(["phase", "time", "CPU time", "RAM, peak"], _phase_rows(phases)))
    parts += [f"<p>⚠ {html.escape(printable(w['text']))}</p>" for w in summary.get("warnings", [])]
    scopes = _table(["", *_SCOPES], cells(summary))
    return "".join(parts) + f"<details><summary>Main process, descendants, machine</summary>{scopes}</details></div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:{"left" if i == 0 else "right"}">{html.escape(cell)}</td>'
                         for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )  # fmt: skip
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
