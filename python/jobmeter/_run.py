"""A run: what was measured, of a file or of a tracker, and the ways to look at it."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from . import _engine
from ._forks import importing
from ._table import Table

if TYPE_CHECKING:
    from ._usage import Usage


class Run:
    """Figures, time series, processes and phases of one run."""

    def __init__(self, recording: Optional[_engine.Recording] = None) -> None:
        self._recording = recording

    def __getstate__(self) -> Dict[str, Any]:
        """Everything that was measured travels along: a copy in another process or on another machine needs no file."""
        state = dict(self.__dict__)
        state["_recording"] = None if self._recording is None else self._recording.packed()
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        packed = state["_recording"]
        self.__dict__.update(state, _recording=None if packed is None else _engine.restore(packed))

    def _measured(self) -> _engine.Recording:
        if self._recording is None:
            raise RuntimeError("nothing was measured yet; call start() or enter the with block first")
        return self._recording

    def to_dict(self) -> Dict[str, Any]:
        """The summary, in its documented JSON schema; live values while running."""
        summary: Dict[str, Any] = json.loads(self._measured().summary_json())
        return summary

    def recommend_resources(self) -> Dict[str, Optional[int]]:
        """What to ask for next time, by the simple rule: cores, MiB of memory, GPUs and MiB of VRAM.

        The memory rests on the upper bound of the peak where there is one; `None` is what could not be measured.
        `jobmeter advise` learns from many runs.
        """
        combined = self.to_dict()["combined"]

        def figure(key: str, absent: Optional[float] = None, bounds: Tuple[str, ...] = ()) -> Optional[float]:
            if key not in combined:
                return absent
            values = (combined[key].get(name) for name in (*bounds, "value"))
            return next((float(value) for value in values if value is not None), None)

        # Without a GPU there is no such figure, and none is needed.
        needs = {
            "cpu": figure("cores_used_mean"),
            "memory": figure("rss_bytes_max", bounds=("upper",)),
            "gpu": figure("gpu_busy_ppm_max", 0.0),
            "vram": figure("gpu_memory_bytes_max", 0.0),
        }
        advised = _engine.recommend_resources(
            cores_mean=needs["cpu"] or 0.0,
            memory_mib=(needs["memory"] or 0.0) / 2**20,
            gpus_mean=(figure("gpu_busy_ppm_mean") or 0.0) / 1e6,
            gpus_max=(needs["gpu"] or 0.0) / 1e6,
            vram_mib=(needs["vram"] or 0.0) / 2**20,
        )
        return {name: None if needs[name] is None else value for name, value in advised.items()}

    def recommend_server(self, **filters: Any) -> Dict[str, Any]:
        """The cheapest server of the catalogue that offers what `recommend_resources` says."""
        return _engine.recommend_server(self.recommend_resources(), filters)

    def to_json(self, indent: Optional[int] = None) -> str:
        return json.dumps(self.to_dict(), indent=indent)

    @property
    def usage(self) -> Usage:
        """The figures as data classes; live values while running."""
        with importing:
            from ._usage import usage_from

        return usage_from(self.to_dict())

    @property
    def warnings(self) -> List[str]:
        return [str(warning["text"]) for warning in self.to_dict().get("warnings", [])]

    def samples(self) -> Table:
        """The time series: one row per tick, counters cumulative since the run began."""
        return Table(self._measured().samples())

    def processes(self) -> Table:
        """One row per process that was seen."""
        return Table(self._measured().processes())

    def phases(self) -> Table:
        """One row per phase, with what the job used in it."""
        return Table(self._measured().phases())

    def marks(self) -> Table:
        """One row per named moment."""
        return Table(self._measured().marks())

    def to_pandas(self) -> Any:
        return self.samples().to_pandas()

    def to_polars(self) -> Any:
        return self.samples().to_polars()

    def to_csv(self, path: Optional[str] = None) -> str:
        return self.samples().to_csv(path)

    def plot(self) -> Any:
        """Draw the run with matplotlib: CPU, RAM, disk, and GPU where there is one. Returns the figure."""
        with importing:
            from ._plot import plot

        return plot(self)

    def to_html(self, price_per_hour: Union[float, str, None] = None, instance: Optional[str] = None) -> str:
        """One self-contained page with charts, advice, server and cost, as `jobmeter report` writes it.

        What this server costs is a price (`0.12` or `"0.12EUR"`) or an instance type (`"aws/m5.xlarge"`).
        """
        if price_per_hour is not None and instance is not None:
            raise ValueError("give price_per_hour or instance, not both")
        price = None if price_per_hour is None else str(price_per_hour)
        return self._measured().page(json.dumps({"price_per_hour": price, "instance": instance}))

    def __str__(self) -> str:
        with importing:
            from ._present import phase_lines

        return "\n".join([self._measured().text().rstrip("\n"), *phase_lines(self.phases())])

    def __repr__(self) -> str:
        if self._recording is None:
            return f"<jobmeter.{type(self).__name__}: nothing measured>"
        with importing:
            from ._present import short

        return f"<jobmeter.{type(self).__name__} {short(self.to_dict())}>"

    def _repr_html_(self) -> str:
        with importing:
            from ._present import page

        return page(self._measured().fragment(), self.to_dict(), self.phases())


def load(path: Union[str, os.PathLike[str]]) -> Run:
    """Open a run file (`*.jobmeter`), also one of a run that crashed or still goes on.

    Of a damaged file what is whole is read, with a warning.
    """
    recording, damage = _engine.load(os.fspath(path))
    if damage is not None:
        warnings.warn(f"{os.fspath(path)}: {damage}", RuntimeWarning, stacklevel=2)
    return Run(recording)
