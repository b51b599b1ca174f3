"""The build backend: what a wheel is made of, without compiling anything."""

from __future__ import annotations

import base64
import email
import hashlib
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python" / "backend"))

metadata_files: Any = pytest.importorskip("metadata_files", reason="the backend is not beside the tests")
compile_native: Any = pytest.importorskip("compile_native")
zip_wheel: Any = pytest.importorskip("zip_wheel")


def small_wheel(folder: Path) -> Path:
    wheel = zip_wheel.Wheel(str(folder), "thing-1.0", ["cp39-abi3-manylinux_2_17_x86_64", "cp39-abi3-manylinux2014_x86_64"])
    wheel.add_text("thing/z.py", "z\n")
    wheel.add_text("thing/a.py", "a\n")
    wheel.add_bytes("thing-1.0.data/scripts/thing", b"\x7fELF", 0o755)
    return folder / wheel.close()


def test_the_same_content_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = small_wheel(tmp_path / "first"), small_wheel(tmp_path / "second")
    assert first.name == "thing-1.0-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    assert first.read_bytes() == second.read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    assert small_wheel(tmp_path / "third").read_bytes() != first.read_bytes(), "the time counts"


def test_the_record_names_every_file_with_its_hash(tmp_path: Path) -> None:
    with zipfile.ZipFile(small_wheel(tmp_path)) as archive:
        names = archive.namelist()
        lines = archive.read("thing-1.0.dist-info/RECORD").decode().splitlines()
        assert names[:-1] == sorted(names[:-1]) and names[-1] == "thing-1.0.dist-info/RECORD"
        assert [line.split(",")[0] for line in lines] == names
        for line in lines[:-1]:
            name, digest, size = line.split(",")
            content = archive.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={wanted}", len(content))
        script = archive.getinfo("thing-1.0.data/scripts/thing")
        assert script.external_attr >> 16 & 0o777 == 0o755


def test_the_metadata_say_what_the_project_says() -> None:
    project = metadata_files.read_project()
    message = email.message_from_string(metadata_files.metadata(project))
    assert message["Name"] == "jobmeter" and message["Version"] == project.version
    assert message["Requires-Python"] == ">=3.9"
    assert "pyarrow ; extra == 'arrow'" in (message.get_all("Requires-Dist") or [])
    assert message.get_payload().startswith("# jobmeter")
    assert "jobmeter/__init__.py" in metadata_files.package_files()
    assert not [name for name in metadata_files.package_files() if name.endswith(".so")]


def test_wheels_for_others_name_the_oldest_c_library() -> None:
    tags = compile_native.wheel_tags("aarch64-unknown-linux-gnu")
    assert tags == ["cp39-abi3-manylinux_2_17_aarch64", "cp39-abi3-manylinux2014_aarch64"]
    assert len(compile_native.wheel_tags(None)) == 1
