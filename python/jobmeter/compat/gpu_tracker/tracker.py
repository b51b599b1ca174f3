"""`Tracker`: the interface of gpu_tracker on top of the jobmeter engine."""

from __future__ import annotations

import dataclasses
import enum
import json
import logging
import os
from types import TracebackType
from typing import Any, Collection, Dict, List, Optional, Type

from ... import _engine, _gpu_tracker
from ..._warnings import finish
from ._files import check_extension
from ._live import LiveFiles
from .usage import (
    ComputeTime,
    CPUUtilization,
    GPUUtilization,
    MaxGPURAM,
    MaxRAM,
    ProcessingUnitPercentages,
    ResourceUsage,
    RSSValues,
    check_spelling,
    spelled,
    usage_of,
)

__all__ = [
    "ComputeTime", "CPUUtilization", "GPUUtilization", "MaxGPURAM", "MaxRAM",
    "ProcessingUnitPercentages", "RSSValues", "ResourceUsage", "Tracker",
]  # fmt: skip

_BRANDS = ("nvidia", "amd")
# The original's message, because programs look for it. jobmeter itself finds the driver without these commands.
_NO_GPU = (
    "Neither the nvidia-smi command nor the amd-smi command is installed. Install one of these to profile the GPU. "
    "Otherwise the GPU RAM and GPU utilization values will remain 0.0."
)


class Tracker:
    """Tracks the computational resources of a process and its descendants.

    Use it as a context manager or call `start()` and `stop()`. The result is in `resource_usage`.
    `tracking_file` grows while tracking goes on. `resource_usage_file` holds the usage so far, pickled, for
    the case that the program is killed; it is removed when tracking completes, and written only when named.
    `n_join_attempts` and `join_timeout` are accepted for compatibility: there is no helper process to join.
    `spelling="descendents"` gives `to_json()` and `str()` the keys and labels of the first releases.
    """

    class State(enum.Enum):
        """The state of the Tracker."""

        NEW = 0
        STARTED = 1
        STOPPED = 2

    def __init__(
        self,
        sleep_time: float = 1.0,
        ram_unit: str = "gigabytes",
        gpu_ram_unit: str = "gigabytes",
        time_unit: str = "hours",
        n_expected_cores: Optional[int] = None,
        gpu_uuids: Optional[Collection[str]] = None,
        disable_logs: bool = False,
        process_id: Optional[int] = None,
        resource_usage_file: Optional[str] = None,
        n_join_attempts: int = 5,
        join_timeout: float = 10.0,
        gpu_brand: Optional[str] = None,
        tracking_file: Optional[str] = None,
        overwrite: bool = False,
        spelling: str = "descendants",
    ) -> None:
        check_spelling(spelling)
        if sleep_time < 0.1:
            raise ValueError(f"Sleep time of {sleep_time} is invalid. Must be at least 0.1 seconds.")
        if gpu_brand is not None and gpu_brand not in _BRANDS:
            raise ValueError(
                f'"{gpu_brand}" is not a valid GPU brand. Supported values are "nvidia" and "amd".'
            )
        if tracking_file is not None:
            check_extension(tracking_file)
        found = _engine.gpus()
        devices = _devices(found, gpu_brand)
        self._logs = not disable_logs
        if not devices:
            self._warn(_NO_GPU)
        # Chosen GPUs narrow the utilization only; the GPU RAM is that of all of the brand.
        whole = [d for d in devices if d.get("mig_parent") is None]
        self._uuids = _chosen(gpu_uuids, [d["uuid"] for d in whole], [d["uuid"] for d in devices])
        self._watched = [d["uuid"] for d in devices] if len(devices) < len(found) else None
        if tracking_file is not None and os.path.exists(tracking_file) and not overwrite:
            raise FileExistsError(
                f"File {tracking_file} already exists. Set overwrite to True to overwrite the existing file."
            )
        cores = os.cpu_count() or 1
        self._expected_cores = cores if n_expected_cores is None else n_expected_cores
        self._tracking = _gpu_tracker.tracking(
            ram_unit=ram_unit,
            gpu_ram_unit=gpu_ram_unit,
            time_unit=time_unit,
            ram_bytes=_engine.system_reading()["memory_total_bytes"],
            gpu_ram_bytes=sum(d["memory_total_bytes"] or 0 for d in whole),
            core_count=cores,
            n_expected_cores=max(self._expected_cores, 0),
            gpu_count=len(whole),
            uuids=self._uuids,
        )
        self._sleep_time = sleep_time
        self._process_id = process_id
        self._resource_usage_file = resource_usage_file
        self._tracking_file = tracking_file
        self._session: Optional[_engine.Session] = None
        self._files: Optional[LiveFiles] = None
        self._spelling = spelling
        self.n_join_attempts = n_join_attempts
        self.join_timeout = join_timeout
        self.resource_usage: Optional[ResourceUsage] = None
        self.state = Tracker.State.NEW

    def _warn(self, text: str) -> None:
        if self._logs:
            logging.warning(text)

    def start(self) -> None:
        """Begin tracking. Equivalent to entering the context manager."""
        if self.state is Tracker.State.STARTED:
            raise RuntimeError("Cannot start tracking when tracking has already started.")
        if self.state is Tracker.State.STOPPED:
            raise RuntimeError("Cannot start tracking when tracking has already stopped.")
        has_files = self._tracking_file is not None or self._resource_usage_file is not None
        try:
            self._session = _engine.start(
                pid=self._process_id,
                interval=self._sleep_time,
                expected_cores=float(max(self._expected_cores, 1)),
                gpu_uuids=self._watched,
                followed=has_files,
            )
        except ProcessLookupError:
            # The interface promises a warning and an empty result here, not an exception.
            self._warn(f"The target process of ID {self._process_id} ended before tracking could begin.")
        self._begin_rows()
        if self._session is not None and has_files:
            self._files = LiveFiles(
                self._session, self._tracking, self._sleep_time, self._usage_so_far, self._resource_usage_file
            )
        self.state = Tracker.State.STARTED

    def _begin_rows(self) -> None:
        session = self._session
        begun_unix_ns = 0 if session is None else json.loads(session.summary_json())["run"]["started_unix_ns"]
        try:
            self._tracking.start(begun_unix_ns, self._tracking_file)
        except OSError:
            if session is not None:
                session.stop()
            raise

    def _usage_so_far(self) -> ResourceUsage:
        summary = None if self._session is None else self._session.summary_json()
        return usage_of(self._tracking.usage(summary))

    def stop(self) -> None:
        """Stop tracking. Equivalent to exiting the context manager, but errors of the files are raised here."""
        self._check_running()
        self._finish()

    def _check_running(self) -> None:
        if self.state is Tracker.State.NEW:
            raise RuntimeError("Cannot stop tracking when tracking has not started yet.")
        if self.state is Tracker.State.STOPPED:
            raise RuntimeError("Cannot stop tracking when tracking has already stopped.")

    def _finish(self) -> None:
        self.state = Tracker.State.STOPPED
        if self._session is not None:
            self._session.stop()
            if self._files is not None:
                self._files.end()
            else:
                self._tracking.feed(self._session.samples())
        self.resource_usage = self._usage_so_far()
        if self._files is not None:
            self._files.finish()
        else:
            self._tracking.finish()

    def __enter__(self) -> Tracker:
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is None:
            self._check_running()
        finish(self._finish, "the tracking files could not be finished", stacklevel=2, quietly=error is not None)

    def to_json(self, spelling: Optional[str] = None) -> Dict[str, Dict[str, Any]]:
        """The measurements and their units as a dictionary, in the tracker's spelling or in another one."""
        if self.resource_usage is None:
            raise RuntimeError(
                "Cannot display the tracker in string or JSON format before tracking completes. "
                "Exit the content manager or call the stop() method before calling to_json() or str()"
            )
        return spelled(dataclasses.asdict(self.resource_usage), self._spelling if spelling is None else spelling)

    def __str__(self) -> str:
        return _gpu_tracker.report(self.to_json())

    def __repr__(self) -> str:
        return f"State: {self.state.name}"

    def _usage(self) -> ResourceUsage:
        if self.resource_usage is None:
            raise AttributeError("the usage is known once tracking has stopped; call stop() first")
        return self.resource_usage

    # Attributes of the first release, before `resource_usage` gathered them.
    @property
    def max_ram(self) -> MaxRAM:
        return self._usage().max_ram

    @property
    def max_gpu_ram(self) -> MaxGPURAM:
        return self._usage().max_gpu_ram

    @property
    def compute_time(self) -> ComputeTime:
        return self._usage().compute_time


def _devices(devices: List[Dict[str, Any]], brand: Optional[str]) -> List[Dict[str, Any]]:
    if brand is None:
        first = next((b for b in _BRANDS if any(d["brand"] == b for d in devices)), None)
        return devices if first is None else [d for d in devices if d["brand"] == first]
    devices = [d for d in devices if d["brand"] == brand]
    if not devices:
        raise FileNotFoundError(2, f"No {brand} GPU driver was found; leave gpu_brand unset", brand)
    return devices


def _chosen(uuids: Optional[Collection[str]], usual: List[str], known: List[str]) -> List[str]:
    if uuids is None or not known:
        return usual
    if not uuids:
        raise ValueError(
            "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID."
        )
    chosen = []
    for uuid in uuids:
        meant = next((name for name in known if _is_called(name, uuid)), None)
        if meant is None:
            raise ValueError(
                f"GPU UUID of {uuid} is not valid. Available UUIDs are: {', '.join(known)}"
            )
        chosen.append(meant)
    return sorted(set(chosen))


def _is_called(known: str, name: str) -> bool:
    """The UUID itself, or that of amd-smi, whose last group ends the number of an AMD GPU."""
    if known.lower() == name.lower():
        return True
    groups = name.lower().split("-")
    is_amd_smi = [len(group) for group in groups] == [8, 4, 4, 4, 12]
    is_number = known.startswith("GPU-") and len(known) == len("GPU-") + 16
    return is_amd_smi and is_number and known.lower().endswith(groups[-1])
