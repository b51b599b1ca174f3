"""Numbers for people, written as the terminal writes them; `fixtures/format.json` holds both to the same text."""

from __future__ import annotations

import math
from typing import Callable, Dict, Tuple

_BYTES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")

# The factor from the unit to what is written, the digits behind the point, and the name behind the number.
_PLAIN: Dict[str, Tuple[float, int, str]] = {
    "nanos_per_second": (1e-7, 1, " %"),
    "count": (1.0, 1, ""),
    "per_second": (1.0, 2, "/s"),
    "cores": (1.0, 2, " cores"),
    "ratio": (100.0, 1, " %"),
    "ppm": (1e-4, 1, " %"),
    "milli": (1e-3, 2, ""),
    "microjoules": (1e-6, 1, " J"),
    "joules": (1.0, 1, " J"),
    "microwatts": (1e-6, 1, " W"),
    "milliwatts": (1e-3, 1, " W"),
    "watts": (1.0, 1, " W"),
    "millicelsius": (1e-3, 1, " °C"),
    "celsius": (1.0, 1, " °C"),
    "hertz": (1e-6, 0, " MHz"),
    "grams": (1.0, 2, " g"),
    "bits": (1.0, 0, ""),
}


def format_value(value: float, unit: str, style: str = "full") -> str:
    """A value in its unit as text: `3.21 GB`, `1 min 15 s`; `short` has as few digits as it needs, for axes."""
    if not math.isfinite(value):
        return str(value)
    text = _size(abs(value), unit, style)
    # What rounds to nothing has no sign.
    return f"-{text}" if value < 0 and any(digit in text for digit in "123456789") else text


def _size(value: float, unit: str, style: str) -> str:
    short = style == "short"
    if unit == "bytes":
        return _bytes(value, short)
    if unit == "bytes_per_second":
        return f"{_bytes(value, short)}/s"
    if unit == "nanos":
        return _time(value, short)
    if short and unit in ("microjoules", "joules"):
        return _energy(value / 1e6 if unit == "microjoules" else value)
    factor, digits, name = _PLAIN.get(unit, (1.0, 3, ""))
    scaled = value * factor
    if short:
        text = _number(scaled)
    elif style == "rounded" and scaled < 999.5 and name in (" %", " W", " °C"):
        text = f"{scaled:.0f}"
    elif unit == "per_second":
        text = _number(scaled)
    elif unit == "count" and not (scaled < 1000 and scaled % 1 != 0):
        text = _grouped(scaled)
    elif scaled >= 999.95 and unit != "bits":
        text = _grouped(scaled)
    else:
        text = f"{scaled:.{digits}f}"
    return text if style == "bare" or (short and unit == "cores") else text + name


def _whole(value: float) -> int:
    return math.floor(value + 0.5)


def _grouped(value: float) -> str:
    return f"{_whole(value):,}"


def _power(value: float, digits: int) -> str:
    number, exponent = f"{value:.{digits}e}".split("e")
    return f"{number}e{int(exponent)}"


def _number(value: float) -> str:
    """About three significant digits and none that say nothing."""
    if value == 0:
        return "0"
    if value >= 1e15:
        return _power(value, 2)
    if value < 0.0005:
        return _power(value, 1)
    if value >= 99.95:
        return _grouped(value)
    return f"{value:.{1 if value >= 9.995 else 2 if value >= 0.0995 else 4}f}".rstrip("0").rstrip(".")


def _three_digits(value: float) -> str:
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def _show(short: bool) -> Callable[[float], str]:
    return _number if short else _three_digits


def _bytes(value: float, short: bool) -> str:
    unit = 0
    while value >= 999.5 and unit + 1 < len(_BYTES):
        value /= 1000
        unit += 1
    return f"{_number(_whole(value)) if unit == 0 else _show(short)(value)} {_BYTES[unit]}"


def _time(nanoseconds: float, short: bool) -> str:
    ns = _whole(nanoseconds)
    if ns == 0:
        return "0 s"
    if ns < 1000:
        return f"{ns} ns"
    for limit, size, name in ((999_500, 1e3, "µs"), (999.5e6, 1e6, "ms"), (59.95e9, 1e9, "s")):
        if ns < limit:
            return f"{_show(short)(ns / size)} {name}"
    seconds = _whole(ns / 1e9)
    if seconds >= 86_400:
        size, name, part_size, part_name = 86_400, "d", 3600, "h"
    elif seconds >= 3600:
        size, name, part_size, part_name = 3600, "h", 60, "min"
    else:
        size, name, part_size, part_name = 60, "min", 1, "s"
    part = seconds % size // part_size
    whole = f"{seconds // size} {name}"
    return whole if short and part == 0 else f"{whole} {part:02} {part_name}"


def _energy(joules: float) -> str:
    if joules < 999.5:
        return f"{_number(joules)} J"
    return f"{_number(joules / 1e3)} kJ" if joules < 999.5e3 else f"{_number(joules / 1e6)} MJ"
