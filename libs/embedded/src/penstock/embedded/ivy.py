"""Maven coordinates → jar files, by the Ivy that pyspark ships. No Maven is needed.

In:  a module description (which coordinates, with or without what they need).
Out: the jars in a folder, as group/artifact/version/file, and a call per jar as it arrives.
Hashes are the caller's to check. Jars come from Ivy's default repository, or from
PENSTOCK_MAVEN_REPOSITORY where a company keeps a mirror.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from penstock.embedded.errors import JarsError
from penstock.embedded.jarlock import Jar, Wanted

LAYOUT = "[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"
MAVEN_NAMESPACE = "http://ant.apache.org/ivy/maven"
FINISHED_TIMEOUT_S = 1200.0


@dataclass(frozen=True)
class Ivy:
    java: Path
    work: Path  # settings, log and Ivy's own cache; kept after a failure, so that a retry goes on

    def fetch(self, jars: Sequence[Jar], into: Path, arrived: Callable[[str], None]) -> None:
        """Exactly these jars. No POM is read: the lock file says all there is to know."""
        self._run(_locked_module(jars), into, arrived, use_poms=False)

    def resolve(self, wanted: Wanted, into: Path, arrived: Callable[[str], None]) -> None:
        """The roots and everything they need at run time."""
        self._run(_wanted_module(wanted), into, arrived, use_poms=True)

    def _run(self, module: Element, into: Path, arrived: Callable[[str], None], *, use_poms: bool) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        log = self.work / "ivy.log"
        command = [
            *(str(self.java), "-jar", str(_ivy_jar())),
            *("-settings", str(_write(_settings(use_poms), self.work / "ivysettings.xml"))),
            *("-ivy", str(_write(module, self.work / "ivy.xml"))),
            *("-cache", str(self.work / "cache"), "-confs", "default"),
            *("-retrieve", f"{into}/{LAYOUT}"),
        ]
        exit_code = _watch(command, log, arrived)
        if exit_code != 0:
            complaints = [line.strip() for line in log.read_text().splitlines() if "::" in line][-8:]
            raise JarsError(
                "could not download the jars; is the network there (or a mirror in "
                f"PENSTOCK_MAVEN_REPOSITORY)? Details in {log}:\n  " + "\n  ".join(complaints)
            )


def jars_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Coordinates and path of every jar that Ivy put into the folder."""
    for path in sorted(folder.rglob("*.jar")):
        group, artifact, version = path.relative_to(folder).parts[:3]
        classifier = path.stem.removeprefix(f"{artifact}-{version}").removeprefix("-")
        yield ":".join(filter(None, (group, artifact, version, classifier))), path


def _watch(command: Sequence[str], log: Path, arrived: Callable[[str], None]) -> int:
    """Runs Ivy to its end, tells of each jar that it reports, and keeps its words in the log."""
    with (
        log.open("w") as kept,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as ivy,
    ):
        deadline = Timer(FINISHED_TIMEOUT_S, ivy.kill)
        deadline.start()
        try:
            for line in ivy.stdout or ():
                kept.write(line)
                if "[SUCCESSFUL ]" in line and ".jar" in line:
                    arrived(line.partition("!")[2].partition(" ")[0].partition("(")[0])
            return ivy.wait()
        except BaseException:
            ivy.kill()  # an interrupted caller must not leave a download running
            raise
        finally:
            deadline.cancel()


def _ivy_jar() -> Path:
    pyspark = find_spec("pyspark")
    folders = pyspark.submodule_search_locations if pyspark else None
    found = sorted(Path(folders[0]).glob("jars/ivy-*.jar")) if folders else []
    if not found:
        raise JarsError("pyspark and its Ivy jar are not installed: run `make setup`")
    return found[-1]


def _settings(use_poms: bool) -> Element:
    settings = Element("ivysettings")
    # Ivy's own checks ask for a second file per jar; ours are stronger.
    SubElement(settings, "property", name="ivy.checksums", value="")
    SubElement(settings, "settings", defaultResolver="maven")
    repository = {"name": "maven", "m2compatible": "true", "usepoms": str(use_poms).lower()}
    if mirror := os.environ.get("PENSTOCK_MAVEN_REPOSITORY"):
        repository["root"] = mirror
    SubElement(SubElement(settings, "resolvers"), "ibiblio", repository)
    return settings


def _module() -> tuple[Element, Element]:
    module = Element("ivy-module", version="2.0")
    SubElement(module, "info", organisation="penstock", module="jars", revision="1")
    SubElement(SubElement(module, "configurations"), "conf", name="default")
    return module, SubElement(module, "dependencies")


def _locked_module(jars: Sequence[Jar]) -> Element:
    module, dependencies = _module()
    for jar in jars:
        group, artifact, version, classifier = jar.parts
        dependency = SubElement(dependencies, "dependency", org=group, name=artifact, rev=version, transitive="false")
        dependency.set("conf", "default->default")
        if classifier:
            artifact_of = {"name": artifact, "type": "jar", "ext": "jar"}
            artifact_of[f"{{{MAVEN_NAMESPACE}}}classifier"] = classifier
            SubElement(dependency, "artifact", artifact_of)
    return module


def _wanted_module(wanted: Wanted) -> Element:
    module, dependencies = _module()
    roots = [root.split(":") for root in wanted.roots]
    for group, artifact, version in roots:
        dependency = SubElement(dependencies, "dependency", org=group, name=artifact, rev=version)
        dependency.set("conf", "default->default")
        dependency.set("force", "true")
    for group, artifact in (name.split(":") for name in wanted.exclude):
        SubElement(dependencies, "exclude", org=group, module=artifact)
    for group, artifact, version in roots:
        SubElement(dependencies, "override", org=group, module=artifact, rev=version)
    return module


def _write(element: Element, path: Path) -> Path:
    ElementTree.register_namespace("m", MAVEN_NAMESPACE)
    ElementTree.ElementTree(element).write(path)
    return path
