"""Run as a program: one third-party NVML client, unchanged, on many scenes of the fake driver.

`nvml_client.py CLIENT FOLDER` reads `FOLDER/NAME/state.json` for every scene and writes what the client says of its
devices to `FOLDER/NAME/CLIENT.json`. The client is imported once and forked for each scene: none of them sees what
another has cached, and the driver is loaded in the fork.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

Devices = List[Dict[str, Any]]


def pynvml() -> Devices:
    import pynvml as nvml

    def ask(function: Callable[..., Any], *arguments: Any, **words: Any) -> Any:
        try:
            return function(*arguments, **words)
        except nvml.NVMLError as error:
            return f"error {error.value}"

    nvml.nvmlInit()
    found = []
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = ask(nvml.nvmlDeviceGetHandleByIndex, index)
        if isinstance(handle, str):
            found.append({"error": handle})
            continue
        memory = ask(nvml.nvmlDeviceGetMemoryInfo, handle, version=nvml.nvmlMemory_v2)
        rates = ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        processes = {}
        for function in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
            listed = ask(function, handle)
            processes.update({p.pid: p.usedGpuMemory for p in (listed if isinstance(listed, list) else [])})
        samples = ask(nvml.nvmlDeviceGetProcessUtilization, handle, 0)
        found.append({
            "uuid": nvml.nvmlDeviceGetUUID(handle), "error": memory if isinstance(memory, str) else None,
            "memory_used": getattr(memory, "used", None), "memory_total": getattr(memory, "total", None),
            "gpu_util": getattr(rates, "gpu", None), "memory": processes,
            "sm": {s.pid: s.smUtil for s in samples} if isinstance(samples, list) else samples,
        })  # fmt: skip
    nvml.nvmlShutdown()
    return found


def gpustat() -> Devices:
    import gpustat

    def view(gpu: Any) -> Dict[str, Any]:
        try:
            used, total = gpu.memory_used, gpu.memory_total
        except (KeyError, TypeError, ValueError):
            return {"error": gpu.entry["name"]}
        memory = {p["pid"]: p["gpu_memory_usage"] for p in gpu.processes or []}
        return {
            "uuid": gpu.uuid, "memory_used": used, "memory_total": total, "gpu_util": gpu.utilization, "memory": memory,
        }  # fmt: skip

    return [view(gpu) for gpu in gpustat.new_query()]


def nvitop() -> Devices:
    from nvitop import NA, Device

    def known(value: Any) -> Optional[int]:
        return None if value is NA or value == NA else int(value)

    def view(device: Any) -> Dict[str, Any]:
        processes = device.processes()
        return {
            "uuid": device.uuid(), "memory_used": known(device.memory_used()),
            "memory_total": known(device.memory_total()), "gpu_util": known(device.gpu_utilization()),
            "memory": {pid: known(process.gpu_memory()) for pid, process in processes.items()},
            "sm": {pid: known(process.gpu_sm_utilization()) for pid, process in processes.items()},
            "instances": [view(instance) for instance in device.to_leaf_devices() if instance is not device],
        }  # fmt: skip

    return [view(device) for device in Device.all()]


def child(client: str, scene: Path) -> None:
    os.environ["FAKE_NVML_STATE"] = str(scene / "state.json")
    found = {"pynvml": pynvml, "gpustat": gpustat, "nvitop": nvitop}[client]()
    (scene / f"{client}.json").write_text(json.dumps(found))


def main(client: str, folder: Path) -> int:
    importlib.import_module(client)
    children = []
    for scene in sorted(path for path in folder.iterdir() if path.is_dir()):
        pid = os.fork()
        if pid == 0:
            try:
                child(client, scene)
            except BaseException:  # noqa: BLE001
                print(f"{client} in {scene.name}:", file=sys.stderr)
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        children.append(pid)
    return sum(os.waitpid(pid, 0)[1] != 0 for pid in children)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
