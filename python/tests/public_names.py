"""Run as a program: prints the public names of a package with their signatures, as JSON.

    public_names.py PACKAGE            lists what the modules of the package define themselves
    public_names.py PACKAGE NAMES      looks up these names, `module:name` or `module:Class.method`
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import sys
from typing import Any, Dict, List, Optional

_SIMPLE = (bool, int, float, str, type(None))


def signature(value: Any) -> Optional[List[List[str]]]:
    """Name, kind and plain default of each parameter; `None` for what cannot be called or has no signature."""
    if isinstance(value, property) or not callable(value):
        return None
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None
    return [[p.name, p.kind.name, _default(p)] for p in parameters]


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "required"
    # The moment of the import, or the process id: another one each time.
    if parameter.name in ("start_time", "pid") or not isinstance(parameter.default, _SIMPLE):
        return "some value"
    return repr(parameter.default)


def defined(module: Any) -> List[str]:
    """Public names that the module's own text defines; of a package also those that it lists."""
    names = []
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.ImportFrom) and node.level and hasattr(module, "__path__"):
            names += [alias.asname or alias.name for alias in node.names]
    return sorted({name for name in names if not name.startswith("_") and name != "logger"})


def entry(value: Any) -> Dict[str, Any]:
    return {"callable": callable(value), "signature": signature(value)}


def listed(package: str) -> Dict[str, Any]:
    root = importlib.import_module(package)
    found: Dict[str, Any] = {}
    modules = [""] + [m.name for m in pkgutil.iter_modules(root.__path__) if not m.name.startswith("_")]
    for name in modules:
        module = importlib.import_module(f"{package}.{name}" if name else package)
        for public in defined(module):
            value = getattr(module, public)
            found[f"{name}:{public}"] = entry(value)
            if inspect.isclass(value) and value.__module__.startswith(package):
                for method, member in vars(value).items():
                    if not method.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                        found[f"{name}:{public}.{method}"] = entry(getattr(value, method))
    return found


def looked_up(package: str, names: List[str]) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for name in names:
        module, _, path = name.partition(":")
        try:
            value = importlib.import_module(f"{package}.{module}" if module else package)
            for part in path.split("."):
                value = getattr(value, part)
        except (ImportError, AttributeError):
            found[name] = None
        else:
            found[name] = entry(value)
    return found


if __name__ == "__main__":
    wanted = json.loads(sys.argv[2]) if len(sys.argv) > 2 else None
    print(json.dumps(listed(sys.argv[1]) if wanted is None else looked_up(sys.argv[1], wanted)))
