"""The real Ivy, on a Maven repository of a few files."""

from pathlib import Path

import pytest
from penstock.embedded.ivy import Ivy, jars_below
from penstock.embedded.jarlock import Jar, Wanted
from penstock.embedded.java import find_java

POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.{name}</groupId><artifactId>{name}</artifactId><version>{version}</version>
<dependencies>{needs}</dependencies></project>"""
NEEDS = "<dependency><groupId>org.{0}</groupId><artifactId>{0}</artifactId><version>{1}</version></dependency>"


def publish(repository: Path, name: str, version: str, *needs: tuple[str, str], classifier: str = "") -> None:
    folder = repository / "org" / name / name / version
    folder.mkdir(parents=True, exist_ok=True)
    pom = POM.format(name=name, version=version, needs="".join(NEEDS.format(*need) for need in needs))
    (folder / f"{name}-{version}.pom").write_text(pom)
    (folder / f"{name}-{version}{classifier and '-'}{classifier}.jar").write_text(f"{name} {version}")


@pytest.fixture
def ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ivy:
    repository = tmp_path / "repository"
    publish(repository, "app", "1", ("log", "3"), ("library", "1"), ("unwanted", "1"))
    publish(repository, "library", "1", ("log", "2"))
    publish(repository, "log", "1")
    publish(repository, "native", "5", classifier="linux")
    monkeypatch.setenv("PENSTOCK_MAVEN_REPOSITORY", repository.as_uri())
    return Ivy(find_java().executable, tmp_path / "work")


def test_a_root_brings_what_it_needs_and_wins_over_other_versions(ivy: Ivy, tmp_path: Path) -> None:
    arrived: list[str] = []
    wanted = Wanted("set", ("org.app:app:1", "org.log:log:1"), exclude=("org.unwanted:unwanted",))
    ivy.resolve(wanted, tmp_path / "jars", arrived.append)
    found = [coordinates for coordinates, _ in jars_below(tmp_path / "jars")]
    assert found == ["org.app:app:1", "org.library:library:1", "org.log:log:1"]
    assert sorted(arrived) == ["app.jar", "library.jar", "log.jar"]


def test_locked_jars_come_alone(ivy: Ivy, tmp_path: Path) -> None:
    jars = [Jar("org.app:app:1", "app-1.jar", ""), Jar("org.native:native:5:linux", "native-5-linux.jar", "")]
    ivy.fetch(jars, tmp_path / "jars", lambda _: None)
    found = {coordinates: path.name for coordinates, path in jars_below(tmp_path / "jars")}
    assert found == {jar.coordinates: jar.file for jar in jars}
