"""The card of `@track_resources`: the report of the step, or what kept it from being measured."""

from __future__ import annotations

import html
from typing import Any, Dict, Optional

from metaflow.cards import MetaflowCard

from ..compat.resource_tracker import ResourceTracker
from . import CARD_TYPE, DEFAULT_ARTIFACT


class TrackedResourcesCard(MetaflowCard):  # type: ignore[misc] # Metaflow has no types
    """Made by `@track_resources`; not to be used by itself."""

    ALLOW_USER_COMPONENTS = False
    RUNTIME_UPDATABLE = False
    type = CARD_TYPE

    def __init__(self, options: Optional[Dict[str, Any]] = None, **more: Any) -> None:
        super().__init__(**more)
        self._artifact_name: str = (options or {}).get("artifact_name", DEFAULT_ARTIFACT)

    def render(self, task: Any) -> str:
        data = getattr(task.data, self._artifact_name)
        if data.get("error"):
            return _page_of_error(data["error"])
        tracker = ResourceTracker.from_snapshot(data["tracker"])
        return str(
            tracker.report(
                integration="Metaflow", historical_stats=data["historical_stats"], status_failed=data["step_failed"]
            )
        )


def register() -> None:
    """Let Metaflow find the card by its type, also where another package has one of that type."""
    from metaflow import plugins

    plugins.CARDS[:] = [card for card in plugins.CARDS if card.type != CARD_TYPE] + [TrackedResourcesCard]


def _page_of_error(error: Any) -> str:
    """What is said of the error comes from the step and is escaped."""
    facts = error if isinstance(error, dict) else {"error_message": str(error)}
    titles = {"error_type": "Error Type", "error_message": "Error Message", "traceback": "Traceback"}
    lines = [f"<p><b>{title}:</b></p><pre>{html.escape(str(facts[key]))}</pre>" for key, title in titles.items() if key in facts]
    return "<p>The step was not measured, because of this error.</p><hr>" + "".join(lines)
