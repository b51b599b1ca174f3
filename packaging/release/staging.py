"""The files beside the command, and the tar archive with an installer that needs no root."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from .surroundings import ROOT, epoch, version

# Content and mode by path below a prefix such as /usr or ~/.local.
Files = dict[str, tuple[bytes, int]]


def shared_files(command: Path) -> Files:
    """Manual pages, completions and licences, the same for every machine."""
    files: Files = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([command, "man", "--into", folder], check=True)
        for page in sorted(Path(folder).iterdir()):
            packed = gzip.compress(page.read_bytes(), 9, mtime=0)
            files[f"share/man/man1/{page.name}.gz"] = (packed, 0o644)
    for shell, path in (
        ("bash", "share/bash-completion/completions/jobmeter"),
        ("zsh", "share/zsh/site-functions/_jobmeter"),
        ("fish", "share/fish/vendor_completions.d/jobmeter.fish"),
    ):
        text = subprocess.run([command, "completions", shell], check=True, capture_output=True).stdout
        files[path] = (text, 0o644)
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"):
        files[f"share/doc/jobmeter/{name}"] = ((ROOT / name).read_bytes(), 0o644)
    return files


def archive(out: Path, machine: str, files: Files) -> Path:
    """`bin/` and `share/` as they go below a prefix, and `install.sh`."""
    stem = f"jobmeter-{version()}-{machine}-linux"
    installer = (ROOT / "packaging" / "install.sh").read_bytes()
    path = out / f"{stem}.tar.gz"
    entries = {f"{stem}/{name}": entry for name, entry in files.items()}
    entries[f"{stem}/install.sh"] = (installer, 0o755)
    path.write_bytes(gzip.compress(tar(entries), 9, mtime=epoch()))
    return path


def tar(files: Files) -> bytes:
    """Sorted, with the time of the commit and without anybody's name."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, epoch()
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
