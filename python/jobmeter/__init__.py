"""The meter for compute jobs.

    with jobmeter.track() as run:
        work()
    print(run)

Everything is imported on first use: `import jobmeter` itself costs next to nothing.
"""

from ._forks import importing as _importing

# Type checkers take this for typing.TYPE_CHECKING; importing typing would cost more than all the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, List

    from ._host import get_cloud_info as get_cloud_info
    from ._host import get_server_info as get_server_info
    from ._magics import load_ipython_extension as load_ipython_extension
    from ._run import Run as Run
    from ._run import load as load
    from ._table import Table as Table
    from ._tracker import Tracker as Tracker
    from ._tracker import mark as mark
    from ._tracker import phase as phase
    from ._tracker import phase_of as phase_of
    from ._tracker import track as track
    from ._tracker import tracked as tracked
    from ._usage import Figure as Figure
    from ._usage import Usage as Usage
    from ._warnings import JobmeterWarning as JobmeterWarning

    __version__: str

_HOMES = {
    "Figure": "_usage",
    "JobmeterWarning": "_warnings",
    "Run": "_run",
    "Table": "_table",
    "Tracker": "_tracker",
    "Usage": "_usage",
    "get_cloud_info": "_host",
    "get_server_info": "_host",
    "load": "_run",
    "load_ipython_extension": "_magics",
    "mark": "_tracker",
    "phase": "_tracker",
    "phase_of": "_tracker",
    "track": "_tracker",
    "tracked": "_tracker",
    "__version__": "_native",
}
_SUBMODULES = {"compat"}

__all__ = [
    "Figure",
    "JobmeterWarning",
    "Run",
    "Table",
    "Tracker",
    "Usage",
    "get_cloud_info",
    "get_server_info",
    "load",
    "mark",
    "phase",
    "phase_of",
    "track",
    "tracked",
]


def __getattr__(name: str) -> "Any":
    with _importing:
        import importlib

    if name in _SUBMODULES:
        with _importing:
            return importlib.import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _importing:
        value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> "List[str]":
    return sorted({*__all__, *_SUBMODULES, "__version__"})
