"""Third-party clients of NVML run unchanged on the fake driver, and say what the scene says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from fake_driver import as_system_library
from nvml_scenes import MIB, gpu, process, scenes, truth

HERE = Path(__file__).parent
CLIENTS = ("pynvml", "gpustat", "nvitop")
NAMES = ("main", "one", "two")
DRIVER = "570.86.10"
OFFSET = 3_000_000
SCENES = scenes()

# Driver, PIDs in the lists, memory known, PIDs of the utilisation.
CONTAINERS = [
    ("525.60.13", "host", True, "host"),
    ("535.113.01", "own", False, "host"),
    ("550.54.15", "own", False, "host"),
    ("560.35.03", "own", False, "host"),
    ("565.57.01", "own", True, "host"),
    ("570.86.10", "own", True, "own"),
]


@pytest.fixture(scope="module")
def pids() -> Iterator[Dict[str, int]]:
    sleepers = {name: subprocess.Popen(["sleep", "600"]) for name in NAMES}
    yield {name: sleeper.pid for name, sleeper in sleepers.items()}
    for sleeper in sleepers.values():
        sleeper.kill()
        sleeper.wait()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, pids: Dict[str, int]) -> Dict[Tuple[str, str], Any]:
    """What each client said in each scene."""
    folder = tmp_path_factory.mktemp("scenes")
    states = {name: {"driver_version": DRIVER, "devices": devices} for name, devices in SCENES.items()}
    for driver, *_ in CONTAINERS:
        inside = gpu(0, compute=[process("main", 10 * MIB), {"pid": 77, "memory": MIB, "outside": True}],
                     samples=[{"pid": "main", "sm": 30}, {"pid": 77, "sm": 5, "outside": True}])  # fmt: skip
        states[f"container-{driver}"] = {
            "driver_version": driver, "devices": [inside], "pid_namespace": {"host_pid_offset": OFFSET},
        }  # fmt: skip
    states["broken"] = {
        "driver_version": DRIVER, "devices": [gpu(0), gpu(1, lost=True), gpu(2, reset_required=True)]
    }  # fmt: skip
    states["mig"] = {"driver_version": DRIVER, "devices": [mig_gpu()]}
    for name, state in states.items():
        (folder / name).mkdir()
        (folder / name / "state.json").write_text(json.dumps(state))
        for process_name, pid in pids.items():
            (folder / name / f"{process_name}.pid").write_text(str(pid))
    environment = as_system_library(folder.parent)
    runs = {
        client: subprocess.Popen(
            [sys.executable, str(HERE / "nvml_client.py"), client, str(folder)],
            env=environment, stderr=subprocess.PIPE, text=True,
        )
        for client in CLIENTS
    }  # fmt: skip
    for run in runs.values():
        _, errors = run.communicate(timeout=300)
        assert run.returncode == 0, errors
    return {
        (client, name): json.loads((folder / name / f"{client}.json").read_text())
        for client in CLIENTS
        for name in states
    }


def mig_gpu() -> Dict[str, Any]:
    instances = [
        {
            "name": "Imaginary A100 MIG 1g.10gb", "uuid": f"MIG-{n}", "gpu_instance": n, "compute_instance": 0,
            "memory_total": 10240 * MIB, "memory_used": n * 100 * MIB, "compute": [process("main", n * 50 * MIB)],
            "attributes": {"multiprocessors": 14, "gpu_slices": 1, "compute_slices": 1},
        }
        for n in (1, 2)
    ]  # fmt: skip
    return {key: value for key, value in gpu(0, mig=instances).items() if key not in ("gpu_util", "samples")}


def by_pid(table: Dict[str, Any]) -> Dict[int, Any]:
    return {int(pid): value for pid, value in table.items()}


def ppm(percent: Any) -> Any:
    return None if percent is None else percent * 10_000


def mib(value: Any) -> Any:
    return None if value is None else value // MIB


@pytest.mark.parametrize("scene", list(SCENES))
def test_the_clients_say_what_the_scene_says(told: Dict[Any, Any], pids: Dict[str, int], scene: str) -> None:
    for index, device in enumerate(SCENES[scene]):
        true = truth(device, pids)
        raw, stat, top = (told[client, scene][index] for client in CLIENTS)
        for key in ("uuid", "memory_used", "memory_total", "gpu_util"):
            assert raw[key] == true[key] == top[key], key
        assert by_pid(raw["memory"]) == true["memory"] == by_pid(top["memory"])
        if true["sm"] is None:
            assert raw["sm"] == "error 3"
        elif not true["sm"] and "garbage" not in scene:
            assert raw["sm"] == "error 6"
        else:
            sampled = by_pid(raw["sm"])
            assert {pid: sm for pid, sm in sampled.items() if pid in true["memory"]} == true["sm"]
            # Whoever has no sample is idle, says nvitop, but only where every process's memory is known.
            for pid, sm in by_pid(top["sm"]).items():
                unsure = None if None in true["memory"].values() else 0
                assert sm == true["sm"].get(pid, unsure)
        # gpustat counts in whole MiB and knows no utilisation by process.
        assert (stat["uuid"], stat["gpu_util"]) == (true["uuid"], true["gpu_util"])
        assert (stat["memory_used"], stat["memory_total"]) == (mib(true["memory_used"]), mib(true["memory_total"]))
        assert by_pid(stat["memory"]) == {pid: mib(memory) for pid, memory in true["memory"].items()}


@pytest.mark.parametrize("driver, listed, memory_known, sampled", CONTAINERS)
def test_pid_namespaces_by_driver(
    told: Dict[Any, Any], pids: Dict[str, int], driver: str, listed: str, memory_known: bool, sampled: str
) -> None:
    (raw,) = told["pynvml", f"container-{driver}"]
    shown = {"own": pids["main"], "host": pids["main"] + OFFSET}
    outside_listed = {77: MIB} if listed == "host" else {}
    outside_sampled = {77: 5} if sampled == "host" else {}
    assert by_pid(raw["memory"]) == {shown[listed]: 10 * MIB if memory_known else 0, **outside_listed}
    assert by_pid(raw["sm"]) == {shown[sampled]: 30, **outside_sampled}


def test_a_lost_gpu_and_one_that_needs_a_reset(told: Dict[Any, Any]) -> None:
    sound, lost, reset = told["pynvml", "broken"]
    assert (sound["memory_used"], sound["error"]) == (1000 * MIB, None)
    assert (lost["error"], reset["error"], reset["uuid"]) == ("error 15", "error 16", "GPU-2")
    assert [gpu.get("error") for gpu in told["gpustat", "broken"]] == [None, "((GPU is lost))", "Imaginary A100"]


def test_mig_instances_are_devices_of_their_own(told: Dict[Any, Any], pids: Dict[str, int]) -> None:
    (whole,) = told["nvitop", "mig"]
    assert whole["gpu_util"] is None and whole["memory_used"] == 1000 * MIB
    for n, instance in zip((1, 2), whole["instances"]):
        assert (instance["uuid"], instance["memory_used"]) == (f"MIG-{n}", n * 100 * MIB)
        assert by_pid(instance["memory"]) == {pids["main"]: n * 50 * MIB}


@pytest.mark.parametrize("words", [["-m", "gpustat", "--json"], ["-m", "nvitop", "--once"]], ids=["gpustat", "nvitop"])
def test_the_commands_start(tmp_path: Path, words: List[str]) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"driver_version": DRIVER, "devices": SCENES["nobody"]}))
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=120,
        env={**as_system_library(tmp_path), "FAKE_NVML_STATE": str(state), "COLUMNS": "100", "TERM": "dumb"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Imaginary A100" in done.stdout and DRIVER in done.stdout, done.stdout


# Its samples lie before the first call; whether the job was known by then is a race.
BEFORE_THE_RUN = "averaged"


def test_jobmeter_says_the_same(tmp_path: Path) -> None:
    jobs = {name: start_job(tmp_path / name, SCENES[name]) for name in SCENES if name != BEFORE_THE_RUN}
    wrong = []
    for name, job in jobs.items():
        _, errors = job.communicate(timeout=300)
        assert job.returncode == 0, f"{name}: {errors}"
        found = json.loads((tmp_path / name / "summary.json").read_text())
        pid = int((tmp_path / name / "main.pid").read_text())
        assert len(found["gpus"]) == len(SCENES[name])
        for device, shown in zip(SCENES[name], found["gpus"]):
            true, figures = truth(device, {"main": pid, "one": -1, "two": -2}), shown["figures"]
            expected = {
                "gpu_memory_bytes_max": true["memory_used"],
                "gpu_memory_total_bytes_max": true["memory_total"],
                "gpu_busy_ppm_max": ppm(true["gpu_util"]),
                "main_gpu_memory_bytes_max": true["memory"].get(pid, 0),
                "main_gpu_busy_ppm_max": ppm(None if true["sm"] is None else true["sm"].get(pid, 0)),
            }
            for key, value in expected.items():
                if figures[key].get("value") != value:
                    wrong.append(f"{name} {true['uuid']} {key}: {figures[key]} for {value}")
    assert not wrong, "\n".join(wrong)


def start_job(folder: Path, devices: List[Dict[str, Any]]) -> "subprocess.Popen[str]":
    """A job that the driver lists as `main`; the machine's own GPUs are out of sight."""
    (folder / "root").mkdir(parents=True)
    (folder / "root" / "proc").symlink_to("/proc")
    (folder / "state.json").write_text(json.dumps({"driver_version": DRIVER, "devices": devices}))
    # Strangers to the job.
    (folder / "one.pid").write_text(str(os.getpid()))
    (folder / "two.pid").write_text(str(os.getppid()))
    words = ["run", "-i", "50ms", "-f", "json", "--force", "--record", "run.jobmeter", "-o", "summary.json", "--"]
    environment = {
        **as_system_library(folder), "FAKE_NVML_STATE": str(folder / "state.json"),
        "JOBMETER_GPU_ROOT": str(folder / "root"),
    }  # fmt: skip
    return subprocess.Popen(
        [os.environ.get("JOBMETER_BIN", "jobmeter"), *words, "sh", "-c", "echo $$ > main.pid; exec sleep 2"],
        cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
