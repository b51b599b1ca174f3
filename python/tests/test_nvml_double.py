"""The fake driver answers as the vendor's own Python binding, nvidia-ml-py, expects: layouts, versions, error codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest
from fake_driver import ROOT, as_system_library, library
from nvml_scenes import MIB, gpu

DRIVER = "570.86.10"

# Every program begins with this; `code` gives the error instead of the value.
PRELUDE = """
import json, time
from pynvml import *
def code(function, *arguments):
    try:
        return function(*arguments)
    except NVMLError as error:
        return f"error {error.value}"
def show(*values):
    print(json.dumps(values, default=lambda number: number.value))
nvmlInit()
device = code(nvmlDeviceGetHandleByIndex, 0)
"""


def start(folder: Path, state: Dict[str, Any], program: str) -> "subprocess.CompletedProcess[str]":
    path = folder / "state.json"
    path.write_text(json.dumps({"driver_version": DRIVER, **state}))
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
        env={**as_system_library(folder), "FAKE_NVML_STATE": str(path)},
    )  # fmt: skip


def ask(folder: Path, state: Dict[str, Any], program: str) -> List[Any]:
    done = start(folder, state, PRELUDE + program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_life_of_the_library(tmp_path: Path) -> None:
    found = ask(tmp_path, {"devices": [gpu(0)]}, """
nvmlInitWithFlags(NVML_INIT_FLAG_NO_GPUS)
nvmlShutdown()
once = nvmlDeviceGetUUID(device)
nvmlShutdown()
show(once, code(nvmlDeviceGetUUID, device), code(nvmlShutdown))
""")  # fmt: skip
    assert found == ["GPU-0", "error 1", "error 1"]
    missing = start(tmp_path, {"driver_missing": True}, "import pynvml; pynvml.nvmlInit()")
    assert "Driver Not Loaded" in missing.stderr


def test_handles_and_names(tmp_path: Path) -> None:
    state = {"devices": [gpu(0), gpu(1, serial="42", pci_device_id=0x20B010DE)], "cuda_version": 12080}
    found = ask(tmp_path, state, """
other = nvmlDeviceGetHandleByUUID("GPU-1")
pci = nvmlDeviceGetPciInfo(other)
show(nvmlSystemGetDriverVersion(), nvmlSystemGetCudaDriverVersion(), nvmlDeviceGetCount(), nvmlDeviceGetIndex(other),
     nvmlDeviceGetSerial(other), code(nvmlDeviceGetSerial, device), pci.busId, pci.bus, pci.pciDeviceId,
     nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId("00000000:02:00.0")),
     code(nvmlDeviceGetHandleByIndex, 2), code(nvmlDeviceGetHandleByUUID, "GPU-9"),
     nvmlDeviceGetCudaComputeCapability(device))
""")  # fmt: skip
    assert found == [
        DRIVER, 12080, 2, 1, "42", "error 3", "00000000:02:00.0", 2, 0x20B010DE, 1, "error 2", "error 6", [8, 0],
    ]  # fmt: skip


LISTS = """
from pynvml import nvmlLib
class First(Structure):
    _fields_ = [("pid", c_uint), ("used", c_ulonglong)]
class Second(Structure):
    _fields_ = First._fields_ + [("gi", c_uint), ("ci", c_uint)]
class Long(Structure):
    _fields_ = Second._fields_ + [("protected", c_ulonglong)]
def listed(name, entry):
    count, room = c_uint(4), (entry * 4)()
    assert nvmlLib[name](device, byref(count), room) == 0, name
    return [[getattr(one, field) for field, _ in entry._fields_] for one in room[:count.value]]
"""


def test_process_lists_in_every_version(tmp_path: Path) -> None:
    entries = [{"pid": 7, "memory": 5 * MIB, "protected": MIB}, {"pid": 8, "gpu_instance": 3, "compute_instance": 1}]
    state = {"devices": [gpu(0, compute=entries, mps=[{"pid": 9, "memory": MIB, "protected": 5}])]}
    unknown, none = 2**64 - 1, 2**32 - 1
    first, second, third, mps, small, detail, graphics = ask(tmp_path, state, LISTS + """
count, room = c_uint(1), (Second * 1)()
small = nvmlLib.nvmlDeviceGetComputeRunningProcesses_v3(device, byref(count), room), count.value
detail = nvmlDeviceGetRunningProcessDetailList(device, nvmlProcessDetailList_v1, NVML_PROCESS_MODE_MPS)
compute, mps = "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses"
show(listed(compute, First), listed(f"{compute}_v2", Second), listed(f"{compute}_v3", Second),
     listed(f"{mps}_v3", Second), small, [[one.pid, one.usedGpuMemory, one.usedGpuCcProtectedMemory] for one in detail],
     [one.pid for one in nvmlDeviceGetGraphicsRunningProcesses(device)])
""")  # fmt: skip
    assert first == [[7, 5 * MIB], [8, unknown]]
    assert second == third == [[7, 5 * MIB, none, none], [8, unknown, 3, 1]]
    assert (mps, small, graphics) == ([[9, MIB, none, none]], [7, 2], [])
    assert detail == [[9, MIB, 5]]
    # Drivers 535.43 to 535.97 wrote longer entries into the third version.
    (long,) = ask(tmp_path, {**state, "driver_version": "535.86.05"}, LISTS + """
show(listed("nvmlDeviceGetComputeRunningProcesses_v3", Long))
""")  # fmt: skip
    assert long == [[7, 5 * MIB, none, none, MIB], [8, unknown, 3, 1, unknown]]


def test_clients_that_choose_by_the_symbols(tmp_path: Path) -> None:
    """nvitop takes the long entries where the detail list is missing; older drivers have the second version only."""
    for driver, missing in (("535.86.05", ["RunningProcessDetailList"]), ("470.1", ["ComputeRunningProcesses_v3"])):
        folder = tmp_path / driver
        folder.mkdir()
        environment = as_system_library(folder)
        library = Path(environment["LD_LIBRARY_PATH"], "libnvidia-ml.so.1")
        content = library.resolve().read_bytes()
        for name in missing:
            # The name in the table of symbols: whoever looks for it does not find it.
            assert f"nvmlDeviceGet{name}\0".encode() in content
            content = content.replace(f"nvmlDeviceGet{name}\0".encode(), f"xxxxDeviceGet{name}\0".encode())
        library.unlink()
        library.write_bytes(content)
        found = ask(folder, {"driver_version": driver, "devices": [gpu(0, compute=[
            {"pid": 1, "memory": 5 * MIB}, {"pid": 2, "memory": 6 * MIB}])]}, """
import nvitop.api.libnvml as lib
show([[one.pid, one.usedGpuMemory] for one in lib.nvmlDeviceGetComputeRunningProcesses(device)])
""")  # fmt: skip
        assert found == [[[1, 5 * MIB], [2, 6 * MIB]]], driver


def test_one_averaged_entry_per_process(tmp_path: Path) -> None:
    now_us = time.time_ns() // 1000
    samples = [
        {"pid": 7, "sm": 20, "memory": 2, "at_us": now_us - 300},
        {"pid": 8, "sm": 50, "encoder": 3, "decoder": 4, "at_us": now_us - 250},
        {"pid": 7, "sm": 41, "memory": 4, "at_us": now_us - 100},
        {"pid": 9, "sm": 0, "at_us": now_us - 50},
        {"pid": 10, "sm": 4_000_000_000, "at_us": 1, "garbage": True},
    ]
    whole, later, never, info, absent = ask(tmp_path, {"devices": [gpu(0, samples=samples), gpu(1, samples=[])]}, f"""
def entries(since, ask=nvmlDeviceGetProcessUtilization):
    return [[s.pid, s.timeStamp, s.smUtil, s.memUtil, s.encUtil, s.decUtil] for s in ask(device, since)]
second = nvmlDeviceGetHandleByIndex(1)
show(entries(0), entries({now_us - 200}), entries({now_us}), entries(0, nvmlDeviceGetProcessesUtilizationInfo),
     [code(nvmlDeviceGetProcessUtilization, second, 0), code(nvmlDeviceGetProcessesUtilizationInfo, second, 0)])
""")  # fmt: skip
    garbage = [10, 1, 4_000_000_000, 0, 0, 0]
    assert whole == info == [[7, now_us - 100, 30, 3, 0, 0], [8, now_us - 250, 50, 0, 3, 4], garbage]
    assert later == [[7, now_us - 100, 41, 4, 0, 0], garbage]
    assert never == [garbage] and absent == ["error 6", "error 6"]


def test_samples_come_with_the_drivers_period(tmp_path: Path) -> None:
    state = {"devices": [gpu(0, samples=[{"pid": 7, "sm": 20}], sample_period_ms=1_000_000)]}
    stamp, again = ask(tmp_path, state, """
(one,) = nvmlDeviceGetProcessUtilization(device, 0)
show(one.timeStamp, code(nvmlDeviceGetProcessUtilization, device, one.timeStamp))
""")  # fmt: skip
    assert stamp % 1_000_000_000 == 0 and again == "error 6"


def test_mig(tmp_path: Path) -> None:
    instance = {
        "name": "MIG 1g", "uuid": "MIG-1", "gpu_instance": 5, "compute_instance": 0, "memory_total": 10240 * MIB,
        "compute": [{"pid": 7, "memory": MIB}], "gpm": {"sm_util": 12.5},
        "attributes": {"multiprocessors": 14, "gpu_slices": 1, "compute_slices": 2},
    }  # fmt: skip
    found = ask(tmp_path, {"devices": [gpu(0, mig=[instance]), gpu(1)]}, """
one = nvmlDeviceGetMigDeviceHandleByIndex(device, 0)
parent = nvmlDeviceGetDeviceHandleFromMigDeviceHandle(one)
own = nvmlDeviceGetAttributes_v2(one)
show(nvmlDeviceGetMigMode(device), nvmlDeviceGetMigMode(nvmlDeviceGetHandleByIndex(1)),
     nvmlDeviceGetMaxMigDeviceCount(device), nvmlDeviceGetUUID(one), nvmlDeviceGetUUID(parent),
     nvmlDeviceIsMigDeviceHandle(one), nvmlDeviceIsMigDeviceHandle(device), nvmlDeviceGetGpuInstanceId(one),
     [own.multiprocessorCount, own.gpuInstanceSliceCount, own.computeInstanceSliceCount, own.memorySizeMB],
     [[p.pid, p.gpuInstanceId, p.computeInstanceId] for p in nvmlDeviceGetComputeRunningProcesses(device)],
     code(nvmlDeviceGetMigDeviceHandleByIndex, device, 1), code(nvmlDeviceGetGpuInstanceId, device),
     code(nvmlDeviceGetPowerUsage, one), nvmlDeviceGetUUID(nvmlDeviceGetHandleByUUID("MIG-1")))
""")  # fmt: skip
    assert found == [
        [1, 1], [0, 0], 7, "MIG-1", "GPU-0", 1, 0, 5, [14, 1, 2, 10240], [[7, 5, 0]], "error 6", "error 3", "error 3",
        "MIG-1",
    ]  # fmt: skip


def test_accounting(tmp_path: Path) -> None:
    processes = [
        {"pid": 7, "gpu_util": 40, "memory_util": 9, "max_memory": 5 * MIB, "time_ms": 1234, "start_us": 99},
        {"pid": 8, "running": True, "max_memory": 1},
    ]
    devices = [gpu(0, accounting={"enabled": True, "processes": processes}), gpu(1, accounting={}), gpu(2)]
    found = ask(tmp_path, {"devices": devices}, """
off, none = nvmlDeviceGetHandleByIndex(1), nvmlDeviceGetHandleByIndex(2)
def stats(pid):
    s = nvmlDeviceGetAccountingStats(device, pid)
    return [s.gpuUtilization, s.memoryUtilization, s.maxMemoryUsage, s.time, s.startTime, s.isRunning]
show(nvmlDeviceGetAccountingMode(device), nvmlDeviceGetAccountingPids(device), stats(7), stats(8),
     code(stats, 9), nvmlDeviceGetAccountingMode(off), code(nvmlDeviceGetAccountingPids, off),
     code(nvmlDeviceGetAccountingMode, none))
""")  # fmt: skip
    assert found[:3] == [1, [7, 8], [40, 9, 5 * MIB, 1234, 99, 0]]
    assert found[3][0] == 2**32 - 1 and found[3][5] == 1
    assert found[4:] == ["error 6", 0, "error 3", "error 3"]


def test_gpm(tmp_path: Path) -> None:
    instance = {"uuid": "MIG-1", "gpu_instance": 5, "gpm": {"2": 12.5}}
    devices = [gpu(0, gpm={"sm_util": 71.5, "dram_bw_util": 33.25, "61": 1e9}, mig=[instance]), gpu(1)]
    found = ask(tmp_path, {"devices": devices}, """
first, second = nvmlGpmSampleAlloc(), nvmlGpmSampleAlloc()
def metrics(*numbers):
    request = c_nvmlGpmMetricsGet_t()
    request.version, request.numMetrics = NVML_GPM_METRICS_GET_VERSION, len(numbers)
    request.sample1, request.sample2 = first, second
    for place, number in enumerate(numbers):
        request.metrics[place].metricId = number
    nvmlGpmMetricsGet(request)
    return [[one.nvmlReturn, one.value] for one in request.metrics[:len(numbers)]]
early = code(metrics, NVML_GPM_METRIC_SM_UTIL)
nvmlGpmSampleGet(device, first); nvmlGpmSampleGet(device, second)
values = metrics(NVML_GPM_METRIC_SM_UTIL, NVML_GPM_METRIC_FP64_UTIL, NVML_GPM_METRIC_DRAM_BW_UTIL, 61)
nvmlGpmMigSampleGet(device, 5, second)
other = nvmlDeviceGetHandleByIndex(1)
show(early, values, metrics(2), nvmlGpmQueryDeviceSupport(device).isSupportedDevice,
     nvmlGpmQueryDeviceSupport(other).isSupportedDevice, code(nvmlGpmSampleGet, other, first))
nvmlGpmSampleFree(first); nvmlGpmSampleFree(second)
""")  # fmt: skip
    assert found == ["error 2", [[0, 71.5], [3, 0.0], [0, 33.25], [0, 1e9]], [[0, 12.5]], 1, 0, "error 3"]


def test_events(tmp_path: Path) -> None:
    events = [{"type": 8, "data": 79}, {"type": 2}, {"type": 8, "data": 13, "at_ms": 150}]
    found = ask(tmp_path, {"devices": [gpu(0), gpu(1, events=events)]}, """
second = nvmlDeviceGetHandleByIndex(1)
events = nvmlEventSetCreate()
refused = code(nvmlDeviceRegisterEvents, device, nvmlEventTypeXidCriticalError, events)
nvmlDeviceRegisterEvents(second, nvmlEventTypeXidCriticalError, events)
def next_event(timeout):
    one = nvmlEventSetWait(events, timeout)
    return [one.eventType, one.eventData, nvmlDeviceGetUUID(one.device), one.gpuInstanceId]
show(refused, nvmlDeviceGetSupportedEventTypes(second) & 8, next_event(0), next_event(5000), code(next_event, 10))
nvmlEventSetFree(events)
""")  # fmt: skip
    assert found == ["error 3", 8, [8, 79, "GPU-1", 2**32 - 1], [8, 13, "GPU-1", 2**32 - 1], "error 10"]


def test_health_fields_and_links(tmp_path: Path) -> None:
    device = gpu(
        0, throttle=0x4 | 0x20, violation_ns={"0": 5_000, "1": 7_000}, memory_temperature_c=77,
        ecc={"enabled": True, "corrected_volatile": 3, "uncorrected_aggregate": 2},
        remapped={"corrected": 1, "uncorrected": 2, "pending": True}, fields={"197": 123456, "230": 2, "250": -4},
        nvlink=[{"active": True, "tx_kib": 100, "rx_kib": 30, "version": 4}, {"tx_kib": 11, "errors": {"1": 6}}],
    )  # fmt: skip
    figures, fields = ask(tmp_path, {"devices": [device, gpu(1)]}, """
other = nvmlDeviceGetHandleByIndex(1)
def fields(*ids):
    return [[f.nvmlReturn, f.valueType, f.value.sllVal if f.valueType == 4 else f.value.ullVal]
            for f in nvmlDeviceGetFieldValues(device, list(ids))]
figures = (nvmlDeviceGetCurrentClocksEventReasons(device), nvmlDeviceGetCurrentClocksThrottleReasons(device),
     nvmlDeviceGetViolationStatus(device, NVML_PERF_POLICY_THERMAL).violationTime, nvmlDeviceGetEccMode(device),
     nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC),
     nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC),
     code(nvmlDeviceGetEccMode, other), list(nvmlDeviceGetRemappedRows(device)),
     nvmlDeviceGetNvLinkState(device, 0), nvmlDeviceGetNvLinkState(device, 1), nvmlDeviceGetNvLinkVersion(device, 0),
     nvmlDeviceGetNvLinkErrorCounter(device, 1, 1), code(nvmlDeviceGetNvLinkState, other, 0))
show(figures, fields(83, 82, 186, 74, 91, (138, 0), (138, 0xffffffff), 139, 3, 144, 197, 230, 250, 999))
""")  # fmt: skip
    assert figures == [0x24, 0x24, 7_000, [1, 1], 3, 2, "error 3", [1, 2, 1, 0], 1, 0, 4, 6, "error 3"]
    assert fields == [
        [0, 3, 1000], [0, 1, 77], [0, 1, 250_000], [0, 3, 5_000], [0, 1, 2], [0, 3, 100], [0, 3, 111], [0, 3, 30],
        [0, 3, 3], [0, 1, 1], [0, 3, 123456], [0, 3, 2], [0, 4, -4], [3, 0, 0],
    ]  # fmt: skip


def test_a_scene_that_changes(tmp_path: Path) -> None:
    frames: List[Dict[str, Any]] = [{"devices": [gpu(0, gpu_util=util)]} for util in (1, 2)]
    frames.append({"devices": [gpu(0)], "fail": {"nvmlDeviceGetUtilizationRates": 999}})
    (found,) = ask(tmp_path, {"frames": frames, "step_on": "nvmlDeviceGetUtilizationRates"}, """
show([code(lambda: nvmlDeviceGetUtilizationRates(device).gpu) for _ in range(4)])
""")  # fmt: skip
    assert found == [1, 2, "error 999", "error 999"]


def test_the_energy_counter_rises(tmp_path: Path) -> None:
    device = gpu(0, energy_mj=500, energy_mj_per_s=1_000_000)
    state = {"devices": [device], "start_unix_ms": int(time.time() * 1000) - 2000}
    first, second, field = ask(tmp_path, state, """
first = nvmlDeviceGetTotalEnergyConsumption(device)
time.sleep(0.01)
second = nvmlDeviceGetTotalEnergyConsumption(device)
show(first, second, nvmlDeviceGetFieldValues(device, [NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION])[0].value.ullVal)
""")  # fmt: skip
    assert 2_000_500 <= first and first + 9_000 <= second <= field


def test_slow_pcie_a_sleeping_card_and_the_call_log(tmp_path: Path) -> None:
    (tmp_path / "runtime_status").write_text("suspended\n")
    devices = [gpu(0, pcie_delay_ms=20), gpu(1, runtime_status="runtime_status")]
    (duration,) = ask(tmp_path, {"devices": devices, "call_log": "calls"}, """
begin = time.monotonic()
nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_TX_BYTES)
show(time.monotonic() - begin)
""")  # fmt: skip
    assert duration >= 0.02
    assert (tmp_path / "runtime_status").read_text() == "active\n", "the driver wakes every card when it starts"
    names = [line.split()[1:] for line in (tmp_path / "calls").read_text().splitlines()]
    assert names[0] == ["nvmlInitWithFlags", "-"] and ["nvmlDeviceGetPcieThroughput", "0"] in names


@pytest.mark.parametrize("misdeed, status", [("abort", -signal.SIGABRT), ("segv", -signal.SIGSEGV), ("exit", 3)])
def test_misdeeds_that_end_the_process(tmp_path: Path, misdeed: str, status: int) -> None:
    state = {"devices": [gpu(0)], "misbehave": {"nvmlDeviceGetName": misdeed}}
    assert start(tmp_path, state, PRELUDE + "nvmlDeviceGetName(device)").returncode == status


def test_misdeeds_that_change_the_process(tmp_path: Path) -> None:
    deeds = {"nvmlDeviceGetName": "ignore_sigchld", "nvmlDeviceGetUUID": "fork", "nvmlDeviceGetSerial": "print"}
    found = ask(tmp_path, {"devices": [gpu(0)], "misbehave": deeds}, """
import os, signal, sys
def children():
    return len(open(f"/proc/self/task/{os.getpid()}/children").read().split())
nvmlDeviceGetUUID(device), nvmlDeviceGetUUID(device)
forked = children()
nvmlDeviceGetName(device)
ignored = next(line for line in open("/proc/self/status") if line.startswith("SigIgn:")).split()[1]
code(nvmlDeviceGetSerial, device)
show(forked, int(ignored, 16) >> (signal.SIGCHLD - 1) & 1)
""")  # fmt: skip
    assert found == [1, 1]




def test_a_container_with_a_device(tmp_path: Path) -> None:
    """A PID namespace of its own and a device to open: the driver lists the program under its own small number."""
    state = tmp_path / "state.json"
    devices = [gpu(0, compute=[{"pid": "main", "memory": MIB}], samples=[{"pid": "main", "sm": 9}])]
    state.write_text(json.dumps({
        "driver_version": "565.57.01", "devices": devices, "pid_namespace": {"host_pid_offset": 1000},
    }))  # fmt: skip
    program = f"""{PRELUDE}
import os
with open({str(tmp_path / "main.pid")!r}, "w") as file:
    file.write(str(os.getpid()))
gpu_file = open("/dev/nvidia0")
(listed,), (sample,) = nvmlDeviceGetComputeRunningProcesses(device), nvmlDeviceGetProcessUtilization(device, 0)
show(os.getpid(), listed.pid, listed.usedGpuMemory, sample.pid, os.readlink(f"/proc/self/fd/{{gpu_file.fileno()}}"))
"""
    done = subprocess.run(
        [f"{ROOT}/testkit/fake-nvml/in-container", sys.executable, "-c", program], capture_output=True, text=True,
        timeout=120, env={**as_system_library(tmp_path), "FAKE_NVML_STATE": str(state)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [1, 1, MIB, 1001, "/dev/nvidia0"]
    assert not Path("/dev/nvidia0").is_file(), "nothing is left outside"


@pytest.mark.parametrize(
    "state, status, text",
    [
        ({"devices": [gpu(0)]}, 0, "GPU 0: Imaginary A100 (UUID: GPU-0)"),
        ({"devices": []}, 6, "No devices were found"),
        ({"driver_missing": True}, 9, "NVIDIA-SMI has failed"),
    ],
)
def test_nvidia_smi_tells_by_its_status(tmp_path: Path, state: Dict[str, Any], status: int, text: str) -> None:
    (tmp_path / "state.json").write_text(json.dumps(state))
    done = subprocess.run(
        [str(Path(library()).with_name("nvidia-smi"))], capture_output=True, text=True, timeout=60,
        env={"FAKE_NVML_STATE": str(tmp_path / "state.json")},
    )  # fmt: skip
    assert (done.returncode, text in done.stdout) == (status, True), done.stdout
