"""Reads the CSV files of the trackers, from a path or, only when given one, from an http(s) address."""

from __future__ import annotations

import csv
import io
import time
from typing import Any, Dict, List

_URL_TIMEOUT_S = 30
# A day of one row per second takes some 20 MB.
_URL_MAX_BYTES = 256 * 1024 * 1024
Row = Dict[str, Any]


def read_csv(source: str, retries: int, retry_delay: float) -> List[Row]:
    """All rows, numbers as numbers; tries again `retries` times, the pause doubling each time.

    Raises `RuntimeError`, which names the line of a corrupt file.
    """
    for attempt in range(retries + 1):
        try:
            return _rows(_text(source))
        except (OSError, ValueError, csv.Error) as error:
            if attempt == retries:
                text = f"Failed to read CSV file after {retries + 1} attempts: {source}"
                reason = "" if isinstance(error, OSError) else f": {error}"
                raise RuntimeError(text + reason) from error
            time.sleep(retry_delay * 2**attempt)
    raise AssertionError("retries must not be negative")


def _text(source: str) -> str:
    if not source.lower().startswith(("http://", "https://")):
        with open(source, newline="", encoding="utf-8") as file:
            return file.read()
    from urllib.request import urlopen

    with urlopen(source, timeout=_URL_TIMEOUT_S) as response:
        content: bytes = response.read(_URL_MAX_BYTES + 1)
    if len(content) > _URL_MAX_BYTES:
        raise ValueError(f"the answer has more than {_URL_MAX_BYTES} bytes")
    return content.decode("utf-8")


def _rows(text: str) -> List[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: List[Row] = []
    header: List[str] = []
    try:
        for values in reader:
            if not values:
                continue
            if not header:
                header = values
                if len(set(header)) < len(header):
                    raise ValueError(f"corrupt header in line {reader.line_num}: a column is named twice")
                continue
            if len(values) > len(header):
                raise ValueError(
                    f"corrupt line {reader.line_num}: {len(values)} values, the header names {len(header)} columns"
                )
            row: Row = {name: number(value) for name, value in zip(header, values)}
            # A line that is just being written is short; what is not there yet is unknown.
            row.update(dict.fromkeys(header[len(values) :]))
            rows.append(row)
    except csv.Error as error:
        raise ValueError(f"corrupt line {reader.line_num}: {error}") from error
    return rows


def number(text: Any) -> Any:
    """Numbers as numbers, everything else as it stands."""
    if not isinstance(text, str):
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
