"""`@track_resources`: measures a step and keeps the result as an artifact, and on request as a card.

The measurement is a `ResourceTracker` on the engine, in the process of the task. Nothing that goes wrong here reaches the
step: the artifact then holds the error, and the card shows it.
"""

from __future__ import annotations

import json
import time
import traceback
from typing import Any, Callable, Dict, List, Optional, Set

from metaflow.decorators import StepDecorator

from ..compat.resource_tracker import ResourceTracker, _layout
from . import CARD_TYPE, DEFAULT_ARTIFACT
from .history import earlier_stats

_NAME = "track_resources"


class ResourceTrackerDecorator(StepDecorator):  # type: ignore[misc] # Metaflow has no types
    """Track the resources used by a step.

    Parameters
    ----------
    interval : float, default 1.0
        Seconds between two samples.
    artifact_name : str, default 'resource_tracker_data'
        The artifact that holds the samples, what is known of the server, and the statistics of earlier runs.
    create_card : bool, default True
        Whether the step gets a card with the report.
    """

    name = _NAME
    attrs = {"interval": {"type": float}, "artifact_name": {"type": str}, "create_card": {"type": bool}}
    defaults = {"interval": 1.0, "artifact_name": DEFAULT_ARTIFACT, "create_card": True}

    def __init__(self, attributes: Optional[Dict[str, Any]] = None, statically_defined: bool = False, **more: Any) -> None:
        # Metaflow asks for this: attributes that the user gave win over those of the configuration.
        self._attributes_with_user_values: Set[str] = set(attributes or ())
        self._tracker: Optional[ResourceTracker] = None
        self._error: Optional[Dict[str, str]] = None
        self._started = time.monotonic()
        self._logger: Callable[..., None] = lambda *words, **options: None
        self._card_id: Optional[str] = None
        super().__init__(attributes, statically_defined, **more)

    def step_init(
        self, flow: Any, graph: Any, step_name: str, decorators: List[Any], environment: Any, flow_datastore: Any, logger: Any
    ) -> None:
        """Give the step its card, unless it has it already."""
        self._logger = logger
        if not self._wants_card():
            return
        self._card_id = "resource_tracker_" + step_name
        # Not before: Metaflow imports this module while it is still looking for cards.
        from . import card

        card.register()
        if self._card(decorators) is None:
            from metaflow.plugins.cards.card_decorator import CardDecorator

            options = {"artifact_name": self.attributes["artifact_name"]}
            # Metaflow initializes what is appended here after this decorator.
            decorators.append(CardDecorator(attributes={"type": CARD_TYPE, "id": self._card_id, "options": options}))

    def _wants_card(self) -> bool:
        # From the command line the value is text.
        return str(self.attributes["create_card"]).lower() not in ("false", "0", "no")

    def _card(self, decorators: List[Any]) -> Optional[Any]:
        for decorator in decorators:
            if getattr(decorator, "name", None) == "card" and decorator.attributes.get("id") == self._card_id:
                return decorator
        return None

    def task_pre_step(self, *arguments: Any, **named: Any) -> None:
        """Begin to measure, in the process of the task."""
        self._started = time.monotonic()
        try:
            self._tracker = ResourceTracker(interval=float(self.attributes["interval"]))
        except Exception as problem:
            self._failed("could not start", problem)

    def task_post_step(
        self, step_name: str, flow: Any, graph: Any, retry_count: int, max_user_code_retries: int
    ) -> None:
        """The step is done: keep what was measured."""
        self._keep(flow, step_name, step_failed=False)

    def task_exception(
        self, exception: BaseException, step_name: str, flow: Any, graph: Any, retry_count: int, max_user_code_retries: int
    ) -> None:
        """The step raised: keep what was measured until then. The exception goes its way."""
        self._keep(flow, step_name, step_failed=True)

    def task_finished(
        self, step_name: str, flow: Any, graph: Any, is_task_ok: bool, retry_count: int, max_user_code_retries: int
    ) -> None:
        """Metaflow renders the cards of good steps; the card of a failed one is the most wanted."""
        if is_task_ok or not self._wants_card():
            return
        try:
            made = self._card(graph[step_name].decorators)
            if made is not None:
                made.card_creator.create(
                    mode="render",
                    final=True,
                    card_uuid=made._card_uuid,
                    user_set_card_id=made._user_set_card_id,
                    runtime_card=made._is_runtime_card,
                    decorator_attributes=made.attributes,
                    card_options=made.card_options,
                    logger=self._logger,
                )
        except Exception as problem:
            self._failed("could not render the card of the failed step", problem)

    def _keep(self, flow: Any, step_name: str, step_failed: bool) -> None:
        tracker, self._tracker = self._tracker, None
        data: Dict[str, Any] = {}
        if tracker is not None:
            try:
                tracker.stop()
                if tracker.n_samples == 0:
                    self._error = self._too_short()
                else:
                    data = {
                        "step_failed": step_failed,
                        "tracker": plain_snapshot(tracker),
                        "historical_stats": self._earlier(flow, step_name),
                    }
            except Exception as problem:
                self._failed("could not keep what was measured", problem)
        if self._error is not None:
            data = {"error": self._error}
        if data:
            setattr(flow, self.attributes["artifact_name"], data)

    def _earlier(self, flow: Any, step_name: str) -> List[Dict[str, Any]]:
        try:
            return earlier_stats(type(flow).__name__, step_name, self.attributes["artifact_name"])
        except Exception as problem:
            # Without a metadata service, say. The step itself was measured.
            self._say(f"no statistics of earlier runs: {type(problem).__name__}: {problem}")
            return []

    def _too_short(self) -> Dict[str, str]:
        seconds = round(time.monotonic() - self._started, 2)
        message = f"The step ended after {seconds} s, before the first sample; samples come every {self.attributes['interval']} s."
        return {"error_type": "ValueError", "error_message": message, "traceback": "-"}

    def _failed(self, what: str, problem: Exception) -> None:
        self._error = {
            "error_message": str(problem),
            "error_type": type(problem).__name__,
            "traceback": traceback.format_exc(),
        }
        self._say(f"{what}: {type(problem).__name__}: {problem}")

    def _say(self, text: str) -> None:
        self._logger(f"*WARNING* [@{_NAME}] {text}", timestamp=False)


def plain_snapshot(tracker: ResourceTracker) -> Dict[str, Any]:
    """The snapshot as nothing but plain values, which can be read where there is no jobmeter.

    In the layout of release 0.5, as there; a program that chose a layout gets that one.
    """
    with _layout.fallback(_layout.NEWER):
        snapshot: Dict[str, Any] = json.loads(tracker.dumps())
    if snapshot["cloud_info"] is None:
        snapshot["cloud_info"] = _cloud_of_firmware()
    return snapshot


def _cloud_of_firmware() -> Dict[str, Any]:
    """What the firmware tables tell, without a request to anybody."""
    from .. import _engine

    found = _engine.cloud_info("/", False)
    return {key: found[key] for key in ("vendor", "instance_type", "region", "discovery_time")}
