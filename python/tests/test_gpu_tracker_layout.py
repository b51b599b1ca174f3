"""The text, JSON and data classes of the tutorial, from an engine of known numbers."""

from __future__ import annotations

import json
import pickle
from typing import Any, Dict

import fake_engine
import pytest

import jobmeter.compat.gpu_tracker as gput

GIB = 1_000_000_000
GPU = [{"uuid": "GPU-1", "brand": "nvidia", "name": "fake", "memory_total_bytes": 2_048_000_000}]

EXPECTED = """\
Max RAM:
   Unit: gigabytes
   System capacity: 63.088
   System: 2.877
   Main:
      Total RSS: 0.844
      Private RSS: 0.525
      Shared RSS: 0.319
   Descendants:
      Total RSS: 0.831
      Private RSS: 0.704
      Shared RSS: 0.127
   Combined:
      Total RSS: 1.462
      Private RSS: 1.148
      Shared RSS: 0.32
Max GPU RAM:
   Unit: gigabytes
   System capacity: 2.048
   System: 0.631
   Main: 0.277
   Descendants: 0.277
   Combined: 0.554
CPU utilization:
   System core count: 12
   Number of expected cores: 2
   System:
      Max sum percent: 398.9
      Max hardware percent: 33.242
      Mean sum percent: 222.255
      Mean hardware percent: 18.521
   Main:
      Max sum percent: 103.8
      Max hardware percent: 51.9
      Mean sum percent: 66.009
      Mean hardware percent: 33.005
   Descendants:
      Max sum percent: 308.5
      Max hardware percent: 154.25
      Mean sum percent: 117.109
      Mean hardware percent: 58.555
   Combined:
      Max sum percent: 409.2
      Max hardware percent: 204.6
      Mean sum percent: 183.118
      Mean hardware percent: 91.559
   Main number of threads: 24
   Descendants number of threads: 16
   Combined number of threads: 40
GPU utilization:
   System GPU count: 1
   Number of expected GPUs: 1
   GPU percentages:
      Max sum percent: 6.0
      Max hardware percent: 6.0
      Mean sum percent: 0.5
      Mean hardware percent: 0.5
Compute time:
   Unit: hours
   Time: 0.001"""


def scope(rss: float, private: float, shared: float, gpu: float, peak: float, mean: float, threads: int) -> Dict[str, Any]:
    return fake_engine.figures(
        rss_bytes_max=rss * GIB, rss_private_bytes_max=private * GIB, rss_shared_bytes_max=shared * GIB,
        gpu_memory_bytes_max=gpu * GIB, cores_used_max=peak / 100, cores_used_mean=mean / 100, threads_max=threads,
    )  # fmt: skip


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    known = fake_engine.summary(
        main=scope(0.844, 0.525, 0.319, 0.277, 103.8, 66.009, 24),
        descendants=scope(0.831, 0.704, 0.127, 0.277, 308.5, 117.1094, 16),
        combined=scope(1.462, 1.148, 0.32, 0.554, 409.2, 183.118, 40),
        system=fake_engine.figures(
            memory_used_bytes_max=2.877 * GIB, cores_used_max=3.989, cores_used_mean=2.22255
        ),
    )
    second = 1_000_000_000
    # Twelve intervals, so that one of 6 % makes a mean of 0.5 %.
    later = 11
    columns = {
        "t_ns": [n * second for n in range(later + 2)],
        "main_rss_bytes": [100, 844_000_000] + [800_000_000] * later,
        "combined_rss_bytes": [100, 1_462_000_000] + [800_000_000] * later,
        "system_memory_used_bytes": [0, 2_877_000_000] + [2_000_000_000] * later,
        "system_gpu_memory_bytes[GPU-1]": [0, 631_000_000] + [100] * later,
        "system_gpu_busy_ppm[GPU-1]": [0, 60_000] + [0] * later,
        "main_cpu_ns": [n * second // 2 for n in range(later + 2)],
        "main_threads": [1] + [24] * (later + 1),
    }
    return fake_engine.install(monkeypatch, columns, known, GPU)


def test_text_is_that_of_the_tutorial(engine: Any) -> None:
    with gput.Tracker(n_expected_cores=2, sleep_time=0.2) as tracker:
        pass
    assert str(tracker) == EXPECTED
    assert engine[0]["interval"] == 0.2
    assert engine[0]["expected_cores"] == 2.0


def test_json_keys_stand_in_the_order_of_the_tutorial(engine: Any) -> None:
    with gput.Tracker(ram_unit="megabytes", gpu_ram_unit="megabytes", time_unit="seconds") as tracker:
        pass
    found = tracker.to_json()
    assert list(found) == ["max_ram", "max_gpu_ram", "cpu_utilization", "gpu_utilization", "compute_time"]
    assert list(found["max_ram"]) == ["unit", "system_capacity", "system", "main", "descendants", "combined"]
    assert list(found["max_ram"]["main"]) == ["total_rss", "private_rss", "shared_rss"]
    assert list(found["max_gpu_ram"]) == ["unit", "system_capacity", "system", "main", "descendants", "combined"]
    assert list(found["cpu_utilization"]) == [
        "system_core_count", "n_expected_cores", "system", "main", "descendants", "combined",
        "main_n_threads", "descendants_n_threads", "combined_n_threads",
    ]  # fmt: skip
    assert list(found["gpu_utilization"]) == ["system_gpu_count", "n_expected_gpus", "gpu_percentages"]
    assert found["compute_time"] == {"unit": "seconds", "time": 3.345628023}
    assert found["max_ram"]["system_capacity"] == pytest.approx(63088.2304, rel=1e-12)
    assert json.loads(json.dumps(found, indent=1)) == found


def test_data_classes_print_like_the_tutorial(engine: Any) -> None:
    with gput.Tracker(ram_unit="megabytes", time_unit="seconds") as tracker:
        pass
    usage = tracker.resource_usage
    assert usage is not None
    assert repr(usage.compute_time) == "ComputeTime(unit='seconds', time=3.345628023)"
    assert repr(usage.max_gpu_ram).startswith("MaxGPURAM(unit='gigabytes', system_capacity=2.048, system=0.631")
    assert repr(usage.max_ram.main).startswith("RSSValues(total_rss=844.0, private_rss=525.0, shared_rss=319.0")
    assert usage.max_ram.unit == "megabytes"
    # The older spellings.
    assert usage.max_ram.descendents is usage.max_ram.descendants
    assert usage.max_gpu_ram.descendents == usage.max_gpu_ram.descendants
    assert usage.cpu_utilization.descendents_n_threads == 16
    assert tracker.max_ram is usage.max_ram
    assert tracker.max_gpu_ram is usage.max_gpu_ram
    assert tracker.compute_time is usage.compute_time


def test_states_and_their_errors(engine: Any) -> None:
    tracker = gput.Tracker()
    assert repr(tracker) == "State: NEW"
    assert tracker.resource_usage is None
    with pytest.raises(RuntimeError, match="^Cannot stop tracking when tracking has not started yet.$"):
        tracker.stop()
    tracker.start()
    assert repr(tracker) == "State: STARTED"
    with pytest.raises(RuntimeError, match="^Cannot start tracking when tracking has already started.$"):
        tracker.start()
    with pytest.raises(RuntimeError, match="^Cannot display the tracker in string or JSON format before"):
        str(tracker)
    tracker.stop()
    assert repr(tracker) == "State: STOPPED"
    with pytest.raises(RuntimeError, match="^Cannot stop tracking when tracking has already stopped.$"):
        tracker.stop()
    with pytest.raises(RuntimeError, match="^Cannot start tracking when tracking has already stopped.$"):
        tracker.start()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"ram_unit": "milibytes"}, ValueError,
         '"milibytes" is not a valid RAM unit. Valid values are bytes, gigabytes, kilobytes, megabytes, terabytes'),
        ({"gpu_ram_unit": "x"}, ValueError,
         '"x" is not a valid GPU RAM unit. Valid values are bytes, gigabytes, kilobytes, megabytes, terabytes'),
        ({"time_unit": "years"}, ValueError,
         '"years" is not a valid time unit. Valid values are days, hours, minutes, seconds'),
        ({"sleep_time": 0.0}, ValueError, "Sleep time of 0.0 is invalid. Must be at least 0.1 seconds."),
        ({"gpu_brand": "foo"}, ValueError,
         '"foo" is not a valid GPU brand. Supported values are "nvidia" and "amd".'),
        ({"gpu_uuids": {"bad"}}, ValueError, "GPU UUID of bad is not valid. Available UUIDs are: GPU-1"),
        ({"gpu_uuids": set()}, ValueError,
         "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID."),
        ({"tracking_file": "a.txt"}, ValueError,
         'Invalid file name: "a.txt". Valid file extensions are ".csv" and ".sqlite".'),
    ],
)  # fmt: skip
def test_bad_arguments_are_told(engine: Any, options: Dict[str, Any], error: type, text: str) -> None:
    with pytest.raises(error) as caught:
        gput.Tracker(**options)
    assert str(caught.value) == text


def test_a_brand_without_a_driver_is_told(engine: Any) -> None:
    with pytest.raises(FileNotFoundError):
        gput.Tracker(gpu_brand="amd")


def test_without_a_gpu_a_warning_is_logged_unless_disabled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake_engine.install(monkeypatch, {"t_ns": [0]}, fake_engine.summary())
    gput.Tracker(disable_logs=True)
    assert caplog.text == ""
    gput.Tracker()
    assert "Neither the nvidia-smi command nor the amd-smi command is installed." in caplog.text


def test_usage_up_to_a_failure(engine: Any) -> None:
    with pytest.raises(RuntimeError, match="AN ERROR"):
        with gput.Tracker() as tracker:
            raise RuntimeError("AN ERROR")
    assert tracker.resource_usage is not None
    assert tracker.resource_usage.max_gpu_ram.main == pytest.approx(0.277)


def test_resource_usage_can_be_pickled(engine: Any) -> None:
    with gput.Tracker() as tracker:
        pass
    assert pickle.loads(pickle.dumps(tracker.resource_usage)) == tracker.resource_usage


def test_the_spelling_of_the_first_releases_on_request(engine: Any) -> None:
    with gput.Tracker(spelling="descendents") as tracker:
        pass
    old, new = tracker.to_json(), tracker.to_json(spelling="descendants")
    assert list(old["max_ram"]) == ["unit", "system_capacity", "system", "main", "descendents", "combined"]
    assert "descendents_n_threads" in old["cpu_utilization"] and "descendants" not in str(old)
    assert json.loads(json.dumps(old).replace("descendents", "descendants")) == new
    text = str(tracker)
    assert "   Descendents:\n" in text and "Descendents number of threads: " in text and "escendants" not in text
    with pytest.raises(ValueError, match='^"offspring" is not a valid spelling'):
        gput.Tracker(spelling="offspring")
