"""Scheduler outputs of `jobmeter advise` through the real parsers of their formats.

The binary is named by JOBMETER_BIN. The parsers are those of requirements.txt, and Debian's groovy for Nextflow. Only the
docker client may be missing; its test then says so.
"""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

GIB = 1 << 30
BINARY = os.environ.get("JOBMETER_BIN") or shutil.which("jobmeter")

pytestmark = pytest.mark.skipif(
    BINARY is None, reason="no jobmeter binary: set JOBMETER_BIN or put jobmeter on the PATH"
)


def figure(value, quality="exact"):
    return {"value": value, "quality": quality}


def summary(name="align-reads", memory=11 * GIB, gpus=0, written=5_000_000_000, wall_s=4000, **tags):
    combined = {
        "cores_used_mean": figure(3.1),
        "cores_used_max": figure(3.9),
        "rss_bytes_mean": figure(memory // 2),
        "rss_bytes_max": {"value": memory, "quality": "sampled", "upper": memory},
        "write_chars_bytes": figure(written),
    }
    if gpus:
        combined["gpu_busy_ppm_mean"] = figure(gpus * 800_000)
        combined["gpu_busy_ppm_max"] = figure(gpus * 1_000_000)
        combined["gpu_memory_bytes_max"] = figure(gpus * 20 * GIB)
    return {
        "schema_version": 1,
        "run": {
            "id": "20260101T000000-abcdef",
            "jobmeter_version": "0.1.0",
            "mode": "run",
            "name": name,
            "tags": tags,
            "pid": 1,
            "started_unix_ns": 1,
            "interval_ns": None,
            "expected_cores": 16.0,
            "system_cores": 32,
            "wall_ns": wall_s * 10**9,
        },
        "verdict": {"kind": "exited", "exit_code": 0, "text": "exited with code 0"},
        "main": {},
        "descendants": {},
        "combined": combined,
        "system": {
            "memory_total_bytes_max": figure(128 * GIB),
            "cores_used_mean": figure(3.2),
            "memory_used_bytes_mean": figure(memory // 2 + GIB),
        },
        "limits": {
            "cgroup_memory_bytes": 64 * GIB,
            "cgroup_cores": None,
            "affinity_cores": None,
            "address_space_bytes": None,
        },
        "overhead": {"cpu_ns": 0, "peak_rss_bytes": 0},
    }


def advise(tmp_path, *arguments, runs=None, **fields):
    files = []
    for index, run in enumerate(runs or [summary(**fields)]):
        path = tmp_path / f"run{index}.json"
        path.write_text(json.dumps(run))
        files.append(str(path))
    done = subprocess.run(
        [BINARY, "advise", *files, *arguments], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def advised(tmp_path, **fields):
    return json.loads(advise(tmp_path, "--json", **fields))["advice"]


def test_json_holds_advice_server_cost_and_allocation(tmp_path):
    answer = json.loads(advise(tmp_path, "--json", "--price-per-hour", "2.5"))
    advice = answer["advice"]
    assert advice["cores"]["value"] == 4
    assert advice["memory_bytes"]["value"] > 11 * GIB
    assert advice["present"]["text"] == "asked for 68.7 GB and 16 cores, used 11.8 GB and 3.1 cores"
    server = answer["server"]
    assert server["vcpus"] >= 4 and server["memory_bytes"] > advice["memory_bytes"]["need"]
    assert server["source"] and server["as_of"]
    cost = answer["cost"]
    assert cost["present"]["per_run"] == pytest.approx(2.5 * 4000 / 3600)
    assert cost["saving_per_1000_runs"] == pytest.approx(1000 * cost["saving_per_run"])
    assert answer["allocation"]["allocation"] == "dedicated"


def test_kubernetes_is_yaml(tmp_path):
    text = advise(tmp_path, "--for", "kubernetes", gpus=2)
    resources = yaml.safe_load(text)["resources"]
    advice = advised(tmp_path, gpus=2)
    assert resources["requests"]["cpu"] == "4"
    assert resources["limits"]["memory"] == f"{advice['memory_bytes']['value'] >> 20}Mi"
    assert resources["limits"]["nvidia.com/gpu"] == 2
    assert resources["requests"]["ephemeral-storage"].endswith("Mi")


def test_metaflow_decorators_build_a_flow(tmp_path):
    text = advise(tmp_path, "--for", "metaflow", gpus=1)
    advice = advised(tmp_path, gpus=1)
    module = ast.parse(text + "def step(self): pass\n")
    decorators = {d.func.id: {k.arg: k.value.value for k in d.keywords} for d in module.body[0].decorator_list}
    assert decorators["resources"]["memory"] == advice["memory_bytes"]["value"] >> 20
    assert decorators["timeout"] == {"minutes": -(-advice["time_s"]["value"] // 60)}

    indented = "".join(f"    {line}\n" for line in text.splitlines())
    flow = tmp_path / "flow.py"
    flow.write_text(
        "from metaflow import FlowSpec, resources, step, timeout\n\n\nclass AdvisedFlow(FlowSpec):\n"
        f"{indented}    @step\n    def start(self):\n        self.next(self.end)\n\n"
        "    @step\n    def end(self):\n        pass\n\n\nif __name__ == '__main__':\n    AdvisedFlow()\n"
    )
    environment = dict(os.environ, METAFLOW_HOME=str(tmp_path), METAFLOW_USER="tester", USERNAME="tester")
    done = subprocess.run(
        [sys.executable, str(flow), "--no-pylint", "check"],
        check=False,
        capture_output=True,
        text=True,
        timeout=180,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_snakemake_reads_the_rule(tmp_path):
    text = advise(tmp_path, "--for", "snakemake", gpus=1)
    advice = advised(tmp_path, gpus=1)
    assert f"mem_mb={-(-advice['memory_bytes']['value'] // 1_000_000)}" in text
    (tmp_path / "Snakefile").write_text(
        f'rule align:\n    output:\n        "done.txt"\n{text}    shell:\n        "touch {{output}}"\n'
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            "8",
            "--dry-run",
            "--printshellcmds",
            "--directory",
            str(tmp_path),
            "--snakefile",
            str(tmp_path / "Snakefile"),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=180,
        cwd=tmp_path,
        env=dict(os.environ, HOME=str(tmp_path)),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout + done.stderr
    assert "threads: 4" in shown
    assert f"mem_mb={-(-advice['memory_bytes']['value'] // 1_000_000)}" in shown
    assert "gpu=1" in shown


def test_aws_batch_passes_the_service_model(tmp_path):
    definition = json.loads(advise(tmp_path, "--for", "aws-batch", gpus=1))
    kinds = {n["type"] for n in definition["containerProperties"]["resourceRequirements"]}
    assert kinds == {"VCPU", "MEMORY", "GPU"}
    model = ServiceModel(Loader().load_service_model("batch", "service-2"))
    shape = model.operation_model("RegisterJobDefinition").input_shape
    report = ParamValidator().validate(definition, shape)
    assert not report.has_errors(), report.generate_report()


def test_docker_client_accepts_the_flags(tmp_path):
    text = advise(tmp_path, "--for", "docker", gpus=1)
    words = next(line for line in text.splitlines() if not line.startswith("#")).split()
    assert words[:2] == ["docker", "run"] and words[-2:] == ["IMAGE", "COMMAND"]
    client = shutil.which("docker")
    if client is None:
        pytest.skip("no docker client")
    # The flags are read before the engine is asked; there is no engine behind this socket.
    words[0], words[-2] = client, "image"
    environment = dict(os.environ, DOCKER_HOST=f"unix://{tmp_path}/no-engine.sock")
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60, env=environment)
    assert "no-engine.sock" in done.stderr, done.stderr
    wrong = subprocess.run(
        [*words[:2], "--memory=lots", *words[3:]],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert "invalid" in wrong.stderr, "the client does check its flags"


def nextflow(tmp_path, text):
    """The configuration as Groovy, the language of Nextflow, understands it."""
    java, groovy = shutil.which("java"), shutil.which("groovy")
    assert java and groovy, "no groovy: `tools/ensure-packages groovy` installs it"
    home = os.path.dirname(os.path.dirname(os.path.realpath(java)))
    config = tmp_path / "nextflow.config"
    config.write_text(text)
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nextflow_reader.groovy")
    return subprocess.run(
        [groovy, reader, str(config)],
        check=False,
        capture_output=True,
        text=True,
        timeout=180,
        env=dict(os.environ, JAVA_HOME=home, HOME=str(tmp_path)),
    )


def test_groovy_reads_the_nextflow_block(tmp_path):
    text = advise(tmp_path, "--for", "nextflow", name="a'b${x}\n}", gpus=2)
    advice = advised(tmp_path, gpus=2)
    done = nextflow(tmp_path, text)
    assert done.returncode == 0, done.stderr
    block = json.loads(done.stdout)["process"]["a-b-x"]
    assert block.pop("accelerator") == 2 and block.pop("cpus") == 4
    assert block.pop("memory") == f"{advice['memory_bytes']['value'] >> 20} MB"
    assert block.pop("time") == f"{-(-advice['time_s']['value'] // 60)} min"
    assert block.pop("disk").endswith(" MB") and block == {}
    wrong = nextflow(tmp_path, text[: text.rindex("}")])
    assert wrong.returncode != 0 and "expecting '}'" in wrong.stderr, "Groovy does check what it reads"


def test_slurm_directives_survive_a_shell(tmp_path):
    text = advise(tmp_path, "--for", "slurm", name="x\n#SBATCH --exclusive\nrm -rf /")
    assert all(line.startswith("#") for line in text.splitlines())
    assert "--exclusive\n" not in text
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n" + text + "echo ran\n")
    done = subprocess.run(["sh", str(script)], check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout == "ran\n"


def test_input_size_scales(tmp_path):
    runs = [summary(memory=int((2 + 0.5 * i) * 10**9), input=f"{i}GB") for i in range(1, 9)]
    advice = json.loads(advise(tmp_path, "--json", "--input", "20GB", runs=runs))["advice"]
    assert 12e9 < advice["memory_bytes"]["need"] < 15e9
    assert advice["memory_bytes"]["fit"]["r_squared"] > 0.99


def test_mistakes_are_one_sentence(tmp_path):
    for arguments, wanted in [
        (["advise", str(tmp_path / "nowhere.json")], "cannot read run"),
        (["servers", "--vendor", "contoso"], "known: alibaba, aws"),
        (["servers", "--vram", "2TiB"], "--vram is in the way"),
        (["servers", "--memory", "lots"], "is not a size"),
    ]:
        done = subprocess.run([BINARY, *arguments], check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 125 and wanted in done.stderr and done.stderr.count("\n") == 1, done.stderr
