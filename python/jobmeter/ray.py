"""Workers of Ray, each measured as a run of its own, with every task and every method of an actor as a phase.

    import ray
    from jobmeter.ray import phases, runtime_env

    ray.init(runtime_env=runtime_env(record="runs"))
    ...
    phases("runs")             # what each call used, by run file

Every worker process is started as `jobmeter run`, by the prefix `py_executable` of Ray's runtime environment, so that its
record has an end however the worker ends. A phase is called like its function, or like class and method, and each call is a
row; calls that run side by side in one worker share its memory and CPU time, and so do their phases.

Without `record` the runs go into the store, all under one job: `jobmeter show job:NAME`, where NAME is that of `job`.
"""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Union

from ._command import find_command
from ._tracker import phase

__all__ = ["phases", "py_executable", "runtime_env", "setup_worker"]

_RECORD = "JOBMETER_RAY_RECORD"
_JOB = "JOBMETER_RAY_JOB"
_INTERVAL = "JOBMETER_RAY_INTERVAL"
# Ray numbers the workers that a node has started.
_TOKEN = "--startup-token="


def runtime_env(
    record: Union[str, os.PathLike[str], None] = None,
    interval: Union[float, str, None] = None,
    job: Optional[str] = None,
    base: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """The runtime environment for `ray.init` or `.options(runtime_env=…)`, added to `base`.

    `record` is a folder for a run file of each worker, on its machine; without it runs go into the store as job `job`.
    `interval` is that of `jobmeter run`.
    """
    env = dict(base or {})
    for key in ("py_executable", "worker_process_setup_hook"):
        if key in env:
            raise ValueError(f"the runtime environment has a {key} already; jobmeter needs it")
    variables = dict(env.get("env_vars") or {})
    variables[_JOB] = job or f"ray-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
    if record is not None:
        variables[_RECORD] = os.path.abspath(os.fspath(record))
    if interval is not None:
        variables[_INTERVAL] = str(interval)
    return {
        **env,
        "env_vars": variables,
        "py_executable": py_executable(),
        "worker_process_setup_hook": "jobmeter.ray.setup_worker",
    }


def py_executable() -> str:
    """What `runtime_env={"py_executable": …}` takes: Python, with every worker measured as a run."""
    return f"{shlex.quote(sys.executable)} -m jobmeter.ray"


def setup_worker() -> None:
    """Ray calls this in every worker before its first task, which must not fail because of us."""
    try:
        from ray._private.function_manager import FunctionActorManager

        found = FunctionActorManager.get_execution_info
    except (ImportError, AttributeError) as error:
        print(f"jobmeter: tasks of this Ray cannot be told apart, so they are no phases: {error}", file=sys.stderr)
        return

    known: Dict[Any, Any] = {}

    @functools.wraps(found)
    def get_execution_info(self: Any, job_id: Any, function_descriptor: Any) -> Any:
        info = found(self, job_id, function_descriptor)
        try:
            key = function_descriptor.function_id
            if key not in known or known[key][0] is not info:
                # Ray keeps every function that it has run; this keeps no more of them.
                known[key] = (info, info._replace(function=_as_phase(info.function, _name_of(function_descriptor))))
            return known[key][1]
        except Exception:  # noqa: BLE001 - the task goes first, whatever this Ray looks like inside
            return info

    FunctionActorManager.get_execution_info = get_execution_info


def _name_of(descriptor: Any) -> str:
    name = str(descriptor.function_name).rsplit(".", 1)[-1]
    owner = str(getattr(descriptor, "class_name", "") or "")
    return f"{owner}.{name}" if owner else name


def _as_phase(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    # Ray wraps the methods of an actor and remembers the original.
    original = getattr(function, "method", function)

    if inspect.iscoroutinefunction(original):

        @functools.wraps(function)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            with phase(name):
                return await function(*args, **kwargs)

        return waiting

    if inspect.isgeneratorfunction(original):

        @functools.wraps(function)
        def yielding(*args: Any, **kwargs: Any) -> Any:
            with phase(name):
                yield from function(*args, **kwargs)

        return yielding

    @functools.wraps(function)
    def calling(*args: Any, **kwargs: Any) -> Any:
        with phase(name):
            return function(*args, **kwargs)

    return calling


def phases(record: Union[str, os.PathLike[str]]) -> Dict[str, List[Dict[str, Any]]]:
    """What each call used up to now, by the name of the worker's run file in the folder `record`: rows as in `Run.phases()`."""
    from ._run import load

    rows: Dict[str, List[Dict[str, Any]]] = {}
    for name in sorted(os.listdir(record)):
        if name.endswith(".jobmeter"):
            columns = load(os.path.join(record, name)).phases().to_dict()
            rows[name] = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return rows


def _command(words: List[str], environment: Dict[str, str]) -> List[str]:
    """`jobmeter run` around a worker; without the variables that were meant for us alone."""
    token = next((word[len(_TOKEN) :] for word in words if word.startswith(_TOKEN)), "")
    job, record, interval = (environment.get(name) for name in (_JOB, _RECORD, _INTERVAL))
    options = ["-q", "--name", "ray worker"]
    if job:
        options += ["--job", job.replace("/", "-")]
        options += ["--rank", token] if token.isdigit() else []
    if interval:
        options += ["-i", interval]
    if record:
        os.makedirs(record, exist_ok=True)
        options += ["--record", os.path.join(record, f"worker-{token or 'x'}-{os.getpid()}.jobmeter")]
    return [find_command(), "run", *options, "--", sys.executable, *words]


if __name__ == "__main__":
    try:
        command = _command(sys.argv[1:], dict(os.environ))
        os.execv(command[0], command)
    except (OSError, SystemExit) as problem:
        # The worker runs all the same, unmeasured.
        print(f"jobmeter: this worker of Ray is not measured: {problem}", file=sys.stderr)
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
