"""A container image of the command alone, as an archive that `podman load` and `docker load` take.

The command is linked statically against musl, so that the image needs nothing else, and `COPY --from` of it works in any
other image. A static program cannot load NVIDIA's library: for GPUs use the wheel or a package inside the container.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
from pathlib import Path

from .packages import NAMES
from .staging import tar
from .surroundings import ROOT, TARGET_FOLDER, epoch, version


def build(out: Path, machine: str) -> Path:
    target = f"{machine}-unknown-linux-musl"
    command = ["cargo", "zigbuild", "--release", "--locked", "--package", "jobmeter-cli", "--target", target]
    subprocess.run(command, cwd=ROOT, check=True)
    program = TARGET_FOLDER / target / "release" / "jobmeter"
    path = out / f"jobmeter-{version()}-image-{NAMES[machine]}.tar"
    path.write_bytes(image(program.read_bytes(), NAMES[machine]))
    return path


def image(program: bytes, architecture: str) -> bytes:
    layer = tar({"jobmeter": (program, 0o755)})
    digest = hashlib.sha256(layer).hexdigest()
    when = datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": when,
        "config": {"Entrypoint": ["/jobmeter"], "Cmd": ["--help"], "Labels": {"org.opencontainers.image.version": version()}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": when, "created_by": "jobmeter"}],
    }
    config_bytes = json.dumps(config, sort_keys=True).encode()
    config_name = f"{hashlib.sha256(config_bytes).hexdigest()}.json"
    layer_name = f"{digest}.tar"
    manifest = [{"Config": config_name, "RepoTags": [f"jobmeter:{version()}"], "Layers": [layer_name]}]
    return tar({
        config_name: (config_bytes, 0o644),
        layer_name: (layer, 0o644),
        "manifest.json": (json.dumps(manifest, sort_keys=True).encode(), 0o644),
    })
