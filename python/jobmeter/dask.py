"""Workers of Dask, each measured as a run of its own, with every task as a phase.

    from distributed import Client
    from jobmeter.dask import JobmeterPlugin, phases

    client = Client("tcp://scheduler:8786")
    client.register_plugin(JobmeterPlugin(record="runs"))
    ...
    phases(client)             # what each task used, by worker

or, without a change to the program, `dask worker --preload jobmeter.dask ...`. A phase is called like the key of its task;
it begins when the worker starts the task and ends when the task is done. Tasks that run side by side in the threads of one
worker share its memory and CPU time, and so do their phases.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Union

from distributed.diagnostics.plugin import WorkerPlugin

from ._tracker import Tracker

if TYPE_CHECKING:
    from distributed import Client, Worker

__all__ = ["JobmeterPlugin", "dask_setup", "phases"]

# States of a task in which its function runs, or may still run.
_AT_WORK = ("executing", "long-running", "cancelled", "resumed")


class JobmeterPlugin(WorkerPlugin):  # type: ignore[misc]
    """Measures the process of a worker from its start to its end.

    `record` is a folder for a run file of each worker; `interval` is that of `jobmeter.track`.
    """

    name = "jobmeter"

    def __init__(
        self, record: Union[str, os.PathLike[str], None] = None, interval: Union[float, str, None] = None
    ) -> None:
        self.record = None if record is None else os.fspath(record)
        self.interval = interval
        self.tracker: Optional[Tracker] = None
        self._open: Set[str] = set()

    def __getstate__(self) -> Dict[str, Any]:
        """The plugin travels to the workers; what it measures does not."""
        return {"record": self.record, "interval": self.interval, "tracker": None, "_open": set()}

    def setup(self, worker: Worker) -> None:
        name = str(worker.name)
        path = None
        if self.record is not None:
            os.makedirs(self.record, exist_ok=True)
            path = os.path.join(self.record, f"worker-{re.sub(r'[^A-Za-z0-9.-]+', '_', name)}.jobmeter")
        self.tracker = Tracker(name=f"dask worker {name}", interval=self.interval, record=path).start()

    def teardown(self, worker: Worker) -> None:
        if self.tracker is not None:
            self.tracker._end(quietly=True)

    def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
        """A task changes its state; called by the worker, whose work must not fail because of us."""
        task = key if isinstance(key, str) else str(key)
        if self.tracker is None or not task:
            return
        if finish == "executing" and task not in self._open:
            self._open.add(task)
            self.tracker._send(task, "begin")
        elif finish not in _AT_WORK and task in self._open:
            self._open.discard(task)
            self.tracker._send(task, "end")


def phases(client: Client) -> Dict[str, List[Dict[str, Any]]]:
    """What each task used up to now, by the address of its worker: a row per task, as in `Run.phases()`."""
    return client.run(_phases_of)  # type: ignore[no-any-return]


def _phases_of(dask_worker: Worker) -> List[Dict[str, Any]]:
    plugin = dask_worker.plugins.get(JobmeterPlugin.name)
    if plugin is None or plugin.tracker is None:
        return []
    columns = plugin.tracker.phases().to_dict()
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


async def dask_setup(worker: Worker) -> None:
    """For `dask worker --preload jobmeter.dask`."""
    await worker.plugin_add(JobmeterPlugin(record=os.environ.get("JOBMETER_DASK_RECORD")))
