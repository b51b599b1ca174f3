"""Other trackers' interfaces on the jobmeter engine.

`install()` lets `import gpu_tracker`, `import resource_tracker` and `import reseng.monitor` find the
modules of this package, and `from metaflow import track_resources` the decorator of `jobmeter.metaflow`, so that a
program needs no change but one call at its start.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import CodeType, ModuleType
from typing import Dict, List, Optional, Sequence

__all__ = ["NAMES_FOLDER", "install", "uninstall"]

# On a process' PYTHONPATH, this folder answers to the names of the other trackers.
NAMES_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_names")

# Metaflow looks for plugins in all folders of this namespace package; one of ours is in the folder above.
_PLUGINS = "metaflow_extensions"
_PLUGINS_FOLDER = os.path.join(NAMES_FOLDER, _PLUGINS)

# Top-level name that programs import, and what answers to it; `reseng` is a package of one module.
_MODULES: Dict[str, str] = {
    "gpu_tracker": "jobmeter.compat.gpu_tracker",
    "resource_tracker": "jobmeter.compat.resource_tracker",
    "reseng.monitor": "jobmeter.compat.reseng_monitor",
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of the other names with our modules, the very same objects."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        ours = _ours(fullname)
        if fullname == _PLUGINS:
            real = importlib.machinery.PathFinder.find_spec(fullname, path)
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            others = [] if real is None else list(real.submodule_search_locations or ())
            spec.submodule_search_locations = [_PLUGINS_FOLDER, *(f for f in others if f != _PLUGINS_FOLDER)]
            return spec
        if fullname == "reseng":
            # Its other modules stay what they are, where the package is installed.
            real = importlib.machinery.PathFinder.find_spec(fullname, path)
            if real is not None and real.submodule_search_locations is not None:
                return None
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if ours is None or importlib.util.find_spec(ours) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return None

    def exec_module(self, module: ModuleType) -> None:
        ours = _ours(module.__name__)
        if ours is not None:
            # The import system hands out what stands in sys.modules, so both names mean one module.
            sys.modules[module.__name__] = importlib.import_module(ours)

    def get_code(self, fullname: str) -> Optional[CodeType]:
        """For `python -m NAME`."""
        ours = _ours(fullname)
        spec = None if ours is None else importlib.util.find_spec(ours)
        if spec is None or not isinstance(spec.loader, importlib.abc.InspectLoader):
            return None
        return spec.loader.get_code(spec.name)


def _ours(fullname: str) -> Optional[str]:
    for theirs, ours in _MODULES.items():
        if fullname == theirs or fullname.startswith(theirs + "."):
            return ours + fullname[len(theirs) :]
    return None


_finder = _Finder()


def install(force: bool = False, resource_tracker: Optional[str] = None, workers: bool = False) -> None:
    """Answer imports of the other trackers' names with the modules of this package.

    Raises `ImportError` when one of them is really installed, unless `force` is set. `resource_tracker="0.5"` shows
    its columns in the names and units of release 0.5 instead of those of the reference page; the environment
    variable `JOBMETER_RESOURCE_TRACKER=0.5` does the same. With `workers`, Python processes that are started from now on
    (spawn, forkserver, joblib) find these modules too: `NAMES_FOLDER` is put in front of their PYTHONPATH.
    """
    if resource_tracker is not None:
        from .resource_tracker import _layout

        _layout.choose(resource_tracker)
        if workers:
            os.environ[_layout.VARIABLE] = resource_tracker
    if _finder in sys.meta_path:
        if workers:
            _reach_workers()
        return
    if not force:
        for name in ("gpu_tracker", "resource_tracker", "reseng"):
            spec = importlib.util.find_spec(name)
            stands_in = spec is not None and str(spec.origin).startswith(NAMES_FOLDER + os.sep)
            if not stands_in and (name in sys.modules or spec is not None):
                raise ImportError(
                    f"{name} is installed itself; uninstall it, or call jobmeter.compat.install(force=True) "
                    "to let jobmeter answer in its place."
                )
    _forget()
    sys.meta_path.insert(0, _finder)
    if "metaflow" in sys.modules:
        # It looked for plugins when it was imported.
        importlib.import_module("jobmeter.metaflow")
    if workers:
        _reach_workers()


def _reach_workers() -> None:
    _set_path([NAMES_FOLDER, *_others_on_path()])
    # Spawned workers of multiprocessing and joblib get the path of their parent.
    if NAMES_FOLDER not in sys.path:
        sys.path.insert(0, NAMES_FOLDER)


def _others_on_path() -> List[str]:
    return [f for f in os.environ.get("PYTHONPATH", "").split(os.pathsep) if f and f != NAMES_FOLDER]


def _set_path(folders: List[str]) -> None:
    if folders:
        os.environ["PYTHONPATH"] = os.pathsep.join(folders)
    else:
        os.environ.pop("PYTHONPATH", None)


def _answer(name: str) -> None:
    """Called by the packages in `NAMES_FOLDER` while they are imported: they become the modules of this package."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    if name in _MODULES:
        sys.modules[name] = importlib.import_module(_MODULES[name])


def uninstall() -> None:
    """Undo `install`: later imports look for the real packages again."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        _forget()
        if NAMES_FOLDER in os.environ.get("PYTHONPATH", "").split(os.pathsep):
            _set_path(_others_on_path())
        if NAMES_FOLDER in sys.path:
            sys.path.remove(NAMES_FOLDER)


def _forget() -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ("gpu_tracker", "resource_tracker", "reseng"):
            del sys.modules[name]
