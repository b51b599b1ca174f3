"""`@track_resources` for Metaflow, on the jobmeter engine.

    from metaflow import FlowSpec, step
    from jobmeter.metaflow import track_resources

    class Training(FlowSpec):
        @track_resources
        @step
        def start(self): ...

The step gets the artifact `resource_tracker_data` and a card with the report. Importing this module also makes the
decorator known to Metaflow by its name, for `python flow.py run --with track_resources`. A flow that says
`from metaflow import track_resources` runs unchanged after `jobmeter.compat.install()`, or with the folder that
`python -m jobmeter.compat` prints on PYTHONPATH.
"""

from __future__ import annotations

from functools import partial

import metaflow as _metaflow
from metaflow import decorators as _decorators
from metaflow import plugins as _plugins

from ._metaflow.card import TrackedResourcesCard
from ._metaflow.card import register as _register_card
from ._metaflow.decorator import ResourceTrackerDecorator

__all__ = ["ResourceTrackerDecorator", "TrackedResourcesCard", "track_resources"]

track_resources = partial(_decorators._base_step_decorator, ResourceTrackerDecorator)


def _register() -> None:
    """In place of what another package offers under the same name."""
    name = ResourceTrackerDecorator.name
    _plugins.STEP_DECORATORS[:] = [d for d in _plugins.STEP_DECORATORS if d.name != name] + [ResourceTrackerDecorator]
    _register_card()
    # Made from the list on first use.
    _decorators._all_step_decos = None
    setattr(_metaflow, name, track_resources)


_register()
