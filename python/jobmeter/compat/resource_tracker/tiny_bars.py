"""A small template language: `{{ value }}`, `{{{ raw }}}`, `{{#if x}}…{{#else}}…{{/if}}`, `{{#each xs as x}}…{{/each}}`.

Values are names with dots, and filters behind `|`. A value that fails is shown as `[Error: …]` in its place.
"""

from __future__ import annotations

import html
import re
import time
from typing import Any, Callable, Dict, List, Tuple

from .helpers import round_memory
from .tiny_data_frame import TinyDataFrame

# A raw value, or a value behind an optional word that begins with # or /.
_TAG = re.compile(r"\{\{\{(?P<raw>[^{}]*)\}\}\}|\{\{\s*(?P<word>[#/][a-z]+)?(?P<rest>[^{}]*)\}\}")
_WORDS = ("#each", "#if", "#else", "/each", "/if")
_EACH = re.compile(r"(.*?)\s+as\s+(\w+)$", re.DOTALL)
_CLOSED_BY = {"#if": "/if", "#each": "/each"}
Context = Dict[str, Any]
# What a node writes for a context.
Node = Callable[[Context], str]


def render_template(template: str, context: Dict[str, Any]) -> str:
    """The template with the values of `context`; `ValueError` for a block that is not closed."""
    nodes, _, _ = _parse(template, 0, "")
    return _written(nodes, dict(context))


def _written(nodes: List[Node], context: Context) -> str:
    return "".join(node(context) for node in nodes)


def _parse(template: str, position: int, opened: str) -> Tuple[List[Node], str, int]:
    """Nodes up to the tag that ends the block, that tag, and the place behind it."""
    nodes: List[Node] = []
    while True:
        found = _TAG.search(template, position)
        text = template[position : found.start() if found else len(template)]
        nodes.append(lambda _, text=text: text)  # type: ignore[misc]
        if found is None:
            if opened:
                raise ValueError(f"Unclosed tag: {opened}")
            return nodes, "", len(template)
        raw, tag, expression = (part and part.strip() for part in found.group("raw", "word", "rest"))
        position = found.end()
        if tag is not None and tag not in _WORDS:
            # An unknown word is part of the value.
            tag, expression = None, f"{tag} {expression}".strip()
        if tag in _CLOSED_BY:
            node, position = _block(template, position, tag, expression)
            nodes.append(node)
        elif tag is not None:
            # A stray end outside of any block is left out.
            if opened and (tag == _CLOSED_BY[opened] or (tag == "#else" and opened == "#if")):
                return nodes, tag, position
        elif raw is not None:
            nodes.append(_value(raw, str))
        else:
            nodes.append(_value(expression, lambda value: html.escape(str(value))))


def _block(template: str, position: int, tag: str, expression: str) -> Tuple[Node, int]:
    inner, end, position = _parse(template, position, tag)
    if tag == "#each":
        return _each(expression, inner), position
    otherwise: List[Node] = []
    if end == "#else":
        otherwise, _, position = _parse(template, position, tag)
    return _choice(expression, inner, otherwise), position


def _value(expression: str, shown: Callable[[Any], str]) -> Node:
    def node(context: Context) -> str:
        try:
            return shown(_evaluate(expression, context))
        except Exception as error:
            return f"[Error: {expression} - {error}]"

    return node


def _choice(expression: str, then: List[Node], otherwise: List[Node]) -> Node:
    def node(context: Context) -> str:
        try:
            met = bool(_evaluate(expression, context))
        except Exception:
            # A name that is not there is not true.
            met = False
        return _written(then if met else otherwise, context)

    return node


def _each(expression: str, inner: List[Node]) -> Node:
    def node(context: Context) -> str:
        found = _EACH.match(expression)
        if found is None:
            return "[Error: Invalid #each syntax. Use '{#each expr as item}']"
        items = _evaluate(found[1], context)
        if not isinstance(items, list):
            return f"[Error: {found[1]} is not a list]"
        return "".join(_written(inner, {**context, found[2]: item}) for item in items)

    return node


def _evaluate(expression: str, context: Context) -> Any:
    name, *filters = (part.strip() for part in expression.split("|"))
    value: Any = context
    for part in name.split("."):
        if isinstance(value, TinyDataFrame):
            value = value[part]
        else:
            value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
        if value is None:
            raise KeyError(f"{part} not found in {name}")
    for text in filters:
        filter_name, _, parameter = (part.strip() for part in text.partition(":"))
        if filter_name not in _FILTERS:
            raise ValueError(f"Unknown filter: {filter_name}")
        value = _FILTERS[filter_name](value, *([_literal(parameter)] if parameter else []))
    return value


def _literal(text: str) -> Any:
    from ._csv import number

    return number(text)


def _index(value: Any, index: int = 0) -> Any:
    try:
        return value[index]
    except (IndexError, KeyError, TypeError):
        raise ValueError(f"Invalid index: {index} for {value}") from None


def _pretty_number(value: Any, digits: int = 0) -> str:
    """With commas between thousands, and without zeros at the end."""
    try:
        figure = float(value)
    except (TypeError, ValueError):
        return str(value)
    text = f"{figure:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _divide(value: Any, divisor: Any = 1) -> float:
    for name, number in (("value", value), ("divisor", divisor)):
        if not isinstance(number, (int, float)):
            raise ValueError(f"Invalid {name}: {number} should be a number")
    if divisor == 0:
        raise ValueError(f"Division by zero: {value} / {divisor}")
    return float(value / divisor)


def _round(value: Any, digits: int = 0) -> Any:
    try:
        return round(float(value), digits)
    except (TypeError, ValueError):
        return value


def _local_time(value: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(value))


_FILTERS: Dict[str, Callable[..., Any]] = {
    "index": _index,
    "pretty_number": _pretty_number,
    "divide": _divide,
    "round": _round,
    "round_memory": round_memory,
    "unix_timestamp_to_local_tz_string": _local_time,
}
