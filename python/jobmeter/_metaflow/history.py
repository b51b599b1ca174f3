"""Statistics of a step in earlier runs of its flow, from the artifacts that `@track_resources` left there."""

from __future__ import annotations

from typing import Any, Dict, List

from ..compat.resource_tracker import ResourceTracker

# Of the latest runs, successful or not.
_RUNS_LOOKED_AT = 5


def earlier_stats(flow_name: str, step_name: str, artifact_name: str) -> List[Dict[str, Any]]:
    """One entry per successful run among the latest ones; this run is not among them."""
    from metaflow import Flow, current

    runs = [run for run in Flow(flow_name).runs() if run.id != str(current.run_id)]
    runs.sort(key=lambda run: run.created_at, reverse=True)
    found = []
    for run in runs[:_RUNS_LOOKED_AT]:
        stats = _stats_of(run, step_name, artifact_name) if run.successful else None
        if stats is not None:
            found.append(stats)
    return found


def _stats_of(run: Any, step_name: str, artifact_name: str) -> Any:
    """`None` for a run without the step or its artifact, and for one that could not be measured."""
    try:
        data = getattr(run[step_name].task.data, artifact_name)
        return dict(ResourceTracker.from_snapshot(data["tracker"]).stats())
    except (KeyError, AttributeError, TypeError, ValueError, RuntimeError):
        return None
