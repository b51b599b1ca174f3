"""Reads result pickles that gpu_tracker itself wrote, plain values only.

Such a pickle names classes of pandas, numpy and gpu_tracker. None of them is imported or called: every name of a short
list becomes an empty stand-in that keeps what it was given, and the numbers are taken out of these. Any other name is
refused.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from typing import Any, Callable, Dict, List, Tuple, Union

from . import usage
from ._results import CodeBlockResults, SubTrackingResults

_MAX_BYTES = 16 * 1024 * 1024
_FORMATS = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "u8": "Q", "b1": "?"}
_USAGE = {
    name: getattr(usage, name)
    for name in (
        "RSSValues", "MaxRAM", "MaxGPURAM", "ProcessingUnitPercentages", "CPUUtilization", "GPUUtilization",
        "ComputeTime", "ResourceUsage",
    )
}  # fmt: skip
_NAMES = {
    "builtins": {"bytearray", "slice"},
    "gpu_tracker.sub_tracker": {"CodeBlockResults", "SubTrackingResults"},
    "gpu_tracker.tracker": set(_USAGE),
    "numpy": {"dtype", "ndarray", "_reconstruct", "scalar"},
    "pandas": {
        "ArrowStringArray", "ArrowStringArrayNumpySemantics", "BlockManager", "DataFrame", "Index", "Series", "SingleBlockManager", "StringArray",
        "StringDtype", "__pyx_unpickle_NDArrayBacked", "_new_Index", "_unpickle_block",
    },
    "pyarrow": {"_restore_array", "chunked_array", "py_buffer", "type_for_alias"},
    "sqlalchemy": {"quoted_name"},
}  # fmt: skip


class _StandIn:
    """What a class or function of the pickle was given; it does nothing."""

    name = ""

    def __new__(cls, *arguments: Any) -> _StandIn:
        made = super().__new__(cls)
        made.arguments, made.state = arguments, None
        return made

    arguments: Tuple[Any, ...]
    state: Any

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        allowed = _NAMES.get(module) or _NAMES.get(module.partition(".")[0], set())
        if name not in allowed:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which results of gpu_tracker do not hold")
        return type(name, (_StandIn,), {"name": name})


def convert(source: str, target: str) -> None:
    """Write the results in `source` to `target` as a pickle of this package; an existing file is refused."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already; name a new file.")
    found = read(source)
    with open(target, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        pickle.dump(found, file)


def read(source: str) -> Union[SubTrackingResults, usage.ResourceUsage]:
    """The results in a pickle of gpu_tracker; `ValueError` for anything else."""
    with open(source, "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{source} has more than {_MAX_BYTES} bytes; results of gpu_tracker are much smaller.")
    try:
        found = _Reader(io.BytesIO(data)).load()
        kind = found.name if isinstance(found, _StandIn) else type(found).__name__
        if kind == "SubTrackingResults":
            return _results(found.state)
        if kind == "ResourceUsage":
            result: usage.ResourceUsage = _usage(found)
            return result
        problem = f"it holds {kind}"
    except Exception as error:
        # Whatever is wrong with a foreign file ends here, whichever step found it.
        problem = str(error) or type(error).__name__
    raise ValueError(f"{source} is not a result of gpu_tracker: {problem}.")


def _results(state: Dict[str, Any]) -> SubTrackingResults:
    blocks = [
        CodeBlockResults(
            str(block.state["name"]),
            int(_plain(block.state["num_timepoints"])),
            int(_plain(block.state["num_calls"])),
            int(_plain(block.state["num_non_empty_calls"])),
            _series(block.state["compute_time"]),
            _frame(block.state["resource_usage"]),
        )
        for block in state["code_block_results"]
    ]
    return SubTrackingResults(_frame(state["overall"]), _series(state["static_data"]), blocks)


def _usage(found: Any) -> Any:
    if not isinstance(found, _StandIn):
        return _plain(found)
    return _USAGE[found.name](**{str(key): _usage(value) for key, value in found.state.items()})


def _frame(found: Any) -> Dict[str, Dict[str, float]]:
    """Rows by name: the manager holds blocks of columns, and the two axes."""
    blocks, axes = found.state["_mgr"].arguments[:2]
    columns, rows = _index(axes[0]), _index(axes[1])
    table: Dict[str, Dict[str, float]] = {row: {} for row in rows}
    for block in blocks:
        values, placement = block.arguments[:2]
        cells = _array(values)
        for offset, place in enumerate(range(*placement.arguments)):
            for number, row in enumerate(rows):
                table[row][columns[place]] = cells(offset, number)
    return {row: {name: cells[name] for name in columns} for row, cells in table.items()}


def _series(found: Any) -> Dict[str, Any]:
    manager = found.state["_mgr"]
    if manager.state is not None:
        axes, arrays = manager.state[:2]
        values, axis = arrays[0], axes[0]
    else:
        block, axes = manager.arguments[:2]
        values, axis = (block[0] if isinstance(block, tuple) else block).arguments[0], axes[0]
    cells = _array(values)
    return {name: cells(0, number) for number, name in enumerate(_index(axis))}


def _index(found: Any) -> List[str]:
    data = found.arguments[1]["data"]
    if data.name.startswith("ArrowStringArray"):
        return _arrow_texts(data.state["_pa_array"])
    cells = _array(data)
    return [str(cells(0, number)) for number in range(_inner(data).state[1][-1])]


def _arrow_texts(found: Any) -> List[str]:
    """Texts in the layout of Arrow: a buffer of offsets, one more than there are texts, and one of bytes."""
    if found.name == "chunked_array":
        return [text for chunk in found.arguments[0] for text in _arrow_texts(chunk)]
    kind, length, _, first, buffers = found.arguments[0][:5]
    letter = {"large_string": "q", "string": "i"}[kind.arguments[0]]
    offsets = [value for (value,) in struct.iter_unpack("<" + letter, _bytes(buffers[1]))][first : first + length + 1]
    text = _bytes(buffers[2])
    return [text[begin:end].decode("utf-8") for begin, end in zip(offsets, offsets[1:])]


def _bytes(buffer: Any) -> bytes:
    data = buffer.arguments[0]
    if isinstance(data, _StandIn):
        data = data.arguments[0]
    # A number here would ask for that many bytes.
    if not isinstance(data, (bytes, bytearray)):
        raise ValueError("a buffer holds no bytes")
    return bytes(data)


def _inner(found: Any) -> Any:
    """The array inside of an array of strings."""
    if found.name == "__pyx_unpickle_NDArrayBacked":
        return next(part for part in found.state if isinstance(part, _StandIn) and part.name == "_reconstruct")
    return found


def _array(found: Any) -> Callable[[int, int], Any]:
    """A way to the cell of a row and a column of an array with one or two dimensions."""
    _, shape, kind, by_columns, data = _inner(found).state[:5]
    values = _numbers(kind, data) if isinstance(data, bytes) else [_plain(value) for value in data]
    height, width = shape if len(shape) == 2 else (1, shape[0])
    if len(values) != height * width:
        raise ValueError(f"an array of {height} by {width} has {len(values)} values")
    if by_columns:
        return lambda row, column: values[column * height + row]
    return lambda row, column: values[row * width + column]


def _numbers(kind: Any, data: bytes) -> List[Any]:
    letter = _FORMATS[kind.arguments[0]]
    order = ">" if kind.state and kind.state[1] == ">" else "<"
    return [value for (value,) in struct.iter_unpack(order + letter, data)]


def _plain(value: Any) -> Any:
    """A number or a text, also from inside of numpy's and SQLAlchemy's wrappers."""
    if isinstance(value, _StandIn):
        if value.name == "scalar":
            kind, data = value.arguments
            return _numbers(kind, data)[0]
        if value.name == "quoted_name":
            return str(value.arguments[0])
        raise ValueError(f"a {value.name} stands where a number or a text was expected")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"a {type(value).__name__} stands where a number or a text was expected")
