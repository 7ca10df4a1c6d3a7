"""The build backend: maturin's, with the program `splitbar` built first, and a source distribution
of the whole workspace.

`pip install ./bindings/python` and `python -m build bindings/python` call these functions. The
setting `profile` is a profile of cargo: `pip install --config-settings profile=dev`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

LLVM = "LLVM_SYS_231_PREFIX"
"""The variable with the prefix of LLVM 23.1."""

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

LEFT_OUT = ("fixtures/", ".ci/", ".github/")
"""Folders that a source distribution lacks: data of tests, and settings of services."""

AT_THE_ROOT = {
    'backend-path = ["."]': 'backend-path = ["bindings/python"]',
    'readme = "README.md"': 'readme = "bindings/python/README.md"',
    'python-source = "python"': (
        'manifest-path = "bindings/python/Cargo.toml"\npython-source = "bindings/python/python"'
    ),
    'path = "python/splitbar/bin/*"': 'path = "bindings/python/python/splitbar/bin/*"',
}
"""Changes of pyproject.toml, which is at the root of a source distribution."""


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    import maturin

    settings = _for_maturin(config_settings)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import maturin

    _build_program(config_settings)
    return maturin.build_wheel(wheel_directory, _for_maturin(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    import maturin

    _build_program(config_settings)
    return maturin.build_editable(
        wheel_directory, _for_maturin(config_settings), metadata_directory
    )


def build_sdist(sdist_directory, config_settings=None):
    """Writes the workspace without fixtures, with pyproject.toml and PKG-INFO at its root."""
    files = {name: (ROOT / name).read_bytes() for name in _files()}
    project = (HERE / "pyproject.toml").read_text()
    if not (ROOT / "PKG-INFO").is_file():
        for old, new in AT_THE_ROOT.items():
            assert old in project, old
            project = project.replace(old, new)
        files["pyproject.toml"] = project.encode()
        files["PKG-INFO"] = _metadata()
    lines = files["PKG-INFO"].decode().splitlines()
    version = next(line.split()[1] for line in lines if line.startswith("Version: "))
    name = f"splitbar-{version}"
    # The same files give the same bytes: no times, no owners.
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(files):
            entry = tarfile.TarInfo(f"{name}/{file}")
            entry.size = len(files[file])
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(files[file]))
    packed = gzip.compress(tar.getvalue(), mtime=0)
    Path(sdist_directory, f"{name}.tar.gz").write_bytes(packed)
    return f"{name}.tar.gz"


def _files():
    """The files of the workspace: those of git, or of the source distribution that this is."""
    if (ROOT / "PKG-INFO").is_file():
        found = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
        made = ("target/", ".llvm/", "bindings/python/python/splitbar/bin/")
        return [name for name in found if not name.startswith(made) and "__pycache__" not in name]
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name]
    return [name for name in names if not name.startswith(LEFT_OUT)]


def _metadata():
    """The core metadata of the package, by maturin."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "maturin", "pep517", "write-dist-info"]
            + ["--metadata-directory", folder, "--interpreter", sys.executable],
            cwd=HERE,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (file,) = Path(folder).glob("*.dist-info/METADATA")
        return file.read_bytes()


def _profile(config_settings):
    return (config_settings or {}).get("profile", "release")


def _for_maturin(config_settings):
    settings = {key: value for key, value in (config_settings or {}).items() if key != "profile"}
    settings.setdefault("build-args", f"--profile={_profile(config_settings)}")
    return settings


def _build_program(config_settings):
    """Builds the program `splitbar`, which makes the code, into the package."""
    cargo = shutil.which("cargo")
    if cargo is None:
        sys.exit("error: splitbar is built with Rust, and there is no cargo on PATH: https://rustup.rs")
    has_sdk = (ROOT / ".llvm/sdk").exists()
    if not os.environ.get(LLVM) and not has_sdk:
        sys.exit(
            "error: splitbar is built with LLVM 23.1, which was not found.\n"
            f"Set {LLVM} to the prefix of a static LLVM 23.1 with the targets AMDGPU and NVPTX,\n"
            f"or run `cargo xtask llvm` in {ROOT}, which installs one there.\n"
            "A wheel has the program inside, and needs neither."
        )
    profile = _profile(config_settings)
    build = ["build", f"--profile={profile}", "--package=splitbar-cli", "--bin=splitbar"]
    ran = subprocess.run(
        [cargo, *build, "--message-format=json-render-diagnostics"],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    if ran.returncode != 0:
        sys.exit("error: the program splitbar does not build; the messages of cargo are above")
    place = HERE / "python/splitbar/bin"
    place.mkdir(exist_ok=True)
    shutil.copy(_executable(ran.stdout), place)
    subprocess.run(["strip", str(place / "splitbar")], check=False)


def _executable(messages):
    """The path of the program in the messages of cargo."""
    for line in messages.splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "splitbar":
            return message["executable"]
    sys.exit("error: cargo names no program")
