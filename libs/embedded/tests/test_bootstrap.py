"""bootstrap.sh on machines made of stubs: what it says, what it installs, and that it is idle the second time."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "bootstrap.sh"
TOOLS = ("sh", "sed", "grep", "head", "cat", "dirname", "rm", "env", "mkdir", "cp", "touch")
JAVA_NEEDED = "Java 17 or newer with the module jdk.incubator.vector is needed"
PYTHON = """#!/bin/sh
exit 0
"""
UV = """#!/bin/sh
echo "uv $* with $UV_PYTHON, downloads $UV_PYTHON_DOWNLOADS"
mkdir -p .venv/bin && cp "$UV_PYTHON" .venv/bin/python
"""


def java(version: str, *modules: str) -> str:
    lines = [f"    java.version = {version}", *(f"{module}@{version}" for module in modules)]
    return "#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines)


GOOD_JAVA = java("17.0.15", "java.base", "jdk.incubator.vector")


class Machine:
    """A repository and a PATH that hold nothing but what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a repository"
        self.path = folder / "bin"
        self.script = self.root / "libs" / "embedded" / "bootstrap.sh"
        self.script.parent.mkdir(parents=True)
        self.path.mkdir()
        shutil.copy(SCRIPT, self.script)
        (self.root / "uv.lock").touch()
        for tool in TOOLS:
            (self.path / tool).symlink_to(shutil.which(tool) or pytest.fail(f"no {tool}"))
        self.put("python3", PYTHON)
        self.put("id", "#!/bin/sh\necho 1000\n")
        uv = self.root / ".tools" / "bin" / "uv"
        uv.parent.mkdir(parents=True)
        _write(uv, UV)
        (self.root / ".tools" / "uv.version").write_text("0.13.7\n")

    def put(self, name: str, content: str) -> Path:
        return _write(self.path / name, content)

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(self.script)],
            env={"PATH": str(self.path), **environment},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def _write(path: Path, content: str) -> Path:
    path.write_text(content)
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_first_run_installs_and_the_second_is_silent(machine: Machine) -> None:
    machine.put("java", GOOD_JAVA)
    first = machine.run()
    assert first.returncode == 0, first.stderr
    assert "==> installing the locked packages" in first.stdout
    assert f"uv sync --locked with {machine.path}/python3, downloads never" in first.stdout
    second = machine.run()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_a_changed_lock_is_installed_again(machine: Machine) -> None:
    machine.put("java", GOOD_JAVA)
    machine.run()
    synced = (machine.root / ".venv" / "penstock-synced").stat().st_mtime
    member = machine.root / "libs" / "clock" / "pyproject.toml"
    member.parent.mkdir()
    member.touch()
    os.utime(member, (synced + 10, synced + 10))
    assert "uv sync --locked" in machine.run().stdout


def test_no_java_and_no_way_to_install_one(machine: Machine) -> None:
    result = machine.run()
    assert result.returncode != 0
    assert f"{JAVA_NEEDED} (no java in JAVA_HOME or on PATH): install" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (java("11.0.2", "java.base"), "is Java 11"),
        (java("1.8.0_292"), "is Java 8"),
        (java("21.0.1", "java.base"), "lacks the module jdk.incubator.vector"),
        ("#!/bin/sh\nexit 1\n", "did not say its version"),
    ],
)
def test_a_java_that_will_not_do_is_named_with_its_fault(machine: Machine, found: str, fault: str) -> None:
    executable = machine.put("java", found)
    result = machine.run()
    assert result.returncode != 0
    assert f"{JAVA_NEEDED} ({executable} {fault})" in result.stderr


def test_java_home_may_be_right_where_the_path_is_wrong(machine: Machine, tmp_path: Path) -> None:
    machine.put("java", java("11.0.2"))
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    _write(home / "bin" / "java", GOOD_JAVA)
    assert machine.run(JAVA_HOME=str(home)).returncode == 0


def test_java_is_installed_where_that_is_permitted(machine: Machine, tmp_path: Path) -> None:
    ready = _write(tmp_path / "packaged-java", GOOD_JAVA)
    machine.put("id", "#!/bin/sh\necho 0\n")
    machine.put("apt-get", f'#!/bin/sh\n[ "$1" = update ] || cp {ready} {machine.path}/java\n')
    result = machine.run()
    assert result.returncode == 0, result.stderr
    assert "==> no usable Java (none found): installing default-jre-headless" in result.stdout


def test_without_the_right_to_install_the_package_manager_is_left_alone(machine: Machine) -> None:
    machine.put("apt-get", f"#!/bin/sh\ntouch {machine.root}/touched\n")
    result = machine.run()
    assert result.returncode != 0
    assert JAVA_NEEDED in result.stderr
    assert not (machine.root / "touched").exists()


def test_no_python(machine: Machine) -> None:
    (machine.path / "python3").unlink()
    result = machine.run()
    assert result.returncode != 0
    assert "Python 3.11 or newer is needed" in result.stderr


def test_a_python_without_venv_is_told_what_to_install(machine: Machine) -> None:
    machine.put("python3", '#!/bin/sh\ncase "$2" in *ensurepip) exit 1 ;; *print*) echo python3.11-venv ;; esac\n')
    (machine.root / ".tools" / "uv.version").unlink()
    result = machine.run()
    assert result.returncode != 0
    assert "has no venv module: install the package python3.11-venv." in result.stderr
