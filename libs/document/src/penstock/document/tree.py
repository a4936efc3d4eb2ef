"""Turns YAML text into plain values that remember where they stood.

In:  the text of one YAML 1.2 document.
Out: a tree of nodes and the faults of the text itself: syntax, repeated keys, unknown tags, excess size.
Lists become tuples and nothing else is converted: dates stay text, `yes` stays text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.document.faults import Fault, Place, path_text
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StreamMark, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as YamlNode
from ruamel.yaml.tokens import FlowMappingEndToken, FlowMappingStartToken, FlowSequenceEndToken, FlowSequenceStartToken

TEXT_CHARS_MAX = 1_000_000
DEPTH_MAX = 32
NODES_MAX = 100_000

_TAG = "tag:yaml.org,2002:"
_START = Place(1, 1)


@dataclass(frozen=True, slots=True)
class Node:
    """A value, where it starts, where its key starts, and what is below it."""

    value: object
    place: Place
    key_place: Place
    children: Mapping[str | int, "Node"] = field(default_factory=dict)


def parse(text: str) -> tuple[Node | None, list[Fault]]:
    """Read a document. There is no tree if the text is not YAML at all."""
    if len(text) > TEXT_CHARS_MAX:
        return None, [Fault(_START, "", f"has {len(text)} characters; at most {TEXT_CHARS_MAX} are read")]
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        return None, [_syntax_fault(error, text)]
    except YAMLError as error:
        return None, [Fault(_START, "", f"is not YAML: {' '.join(str(error).split())}")]
    except RecursionError:
        return None, [Fault(_START, "", f"is nested too deeply; at most {DEPTH_MAX} levels are read")]
    if root is None:
        return None, [Fault(_START, "", "is empty", "declare at least `version: 1`")]
    planting = _Planting()
    return planting.plant(root, (), _place(root.start_mark)), planting.faults


class _Planting:
    """One walk over the nodes of a document; collects faults on its way."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._nodes_left = NODES_MAX
        self._constructor = YAML(typ="safe", pure=True).constructor

    def plant(self, source: YamlNode, path: tuple[str | int, ...], key_place: Place) -> Node:
        place = _place(source.start_mark)
        self._nodes_left -= 1
        if len(path) > DEPTH_MAX:
            self._fault(place, path[:4], f"is nested too deeply; at most {DEPTH_MAX} levels are read")
        elif self._nodes_left < 0:
            if self._nodes_left == -1:
                self._fault(place, path, f"is one value too many; at most {NODES_MAX} are read")
        elif isinstance(source, MappingNode):
            return self._mapping(source, path, key_place)
        elif isinstance(source, SequenceNode):
            return self._list(source, path, key_place)
        elif isinstance(source, ScalarNode):
            # Nothing stands behind `key:`, and the next thing that does is elsewhere.
            return Node(self._scalar(source, path), place if source.value or source.style else key_place, key_place)
        return Node(None, place, key_place)

    def _mapping(self, source: MappingNode, path: tuple[str | int, ...], key_place: Place) -> Node:
        children: dict[str | int, Node] = {}
        for key_node, value_node in source.value:
            place = _place(key_node.start_mark)
            if not isinstance(key_node, ScalarNode):
                self._fault(place, path, "has a key that is not a word", "keys are plain words")
                continue
            # A key is text even where it looks like a number: `404:` is named as it is written.
            key = str(key_node.value)
            if key in children:
                first = children[key].key_place.line
                self._fault(place, (*path, key), f"is there twice (first in line {first})", "remove one of them")
                continue
            children[key] = self.plant(value_node, (*path, key), place)
        value = {key: child.value for key, child in children.items()}
        return Node(value, _place(source.start_mark), key_place, children)

    def _list(self, source: SequenceNode, path: tuple[str | int, ...], key_place: Place) -> Node:
        children: dict[str | int, Node] = {
            index: self.plant(item, (*path, index), _place(item.start_mark)) for index, item in enumerate(source.value)
        }
        value = tuple(child.value for child in children.values())
        return Node(value, _place(source.start_mark), key_place, children)

    def _scalar(self, source: ScalarNode, path: tuple[str | int, ...]) -> object:
        kind = str(source.tag).removeprefix(_TAG)
        if kind == "null":
            return None
        if kind in {"bool", "int", "float"}:
            return self._number(kind, source, path)
        if kind not in {"str", "timestamp", "value", "merge"}:
            self._fault(_place(source.start_mark), path, f"has the unknown tag {source.tag}", "remove it")
        return str(source.value)

    def _number(self, kind: str, source: ScalarNode, path: tuple[str | int, ...]) -> object:
        construct = getattr(self._constructor, f"construct_yaml_{kind}")
        try:
            value: object = construct(source)
        except (ValueError, KeyError, IndexError):
            # Only an explicit tag such as `!!int x` gets here: the resolver never calls `x` a number.
            self._fault(_place(source.start_mark), path, f"'{source.value}' cannot be read as {kind}")
            return None
        return value

    def _fault(self, place: Place, path: tuple[str | int, ...], problem: str, remedy: str = "") -> None:
        self.faults.append(Fault(place, path_text(path), problem, remedy))


def _syntax_fault(error: MarkedYAMLError, text: str) -> Fault:
    """Point to where a quote or bracket was opened rather than to the end of the file."""
    context, problem = str(error.context or ""), str(error.problem or "is not YAML")
    if "quoted scalar" in context:
        return Fault(_place(error.context_mark), "", "a quote is opened here and never closed", "close it")
    if "flow" in context and not problem.endswith("found ','"):
        return Fault(_open_bracket(error, text), "", f"a bracket opened here is not closed ({problem})")
    if "\\t" in problem:
        return Fault(_place(error.problem_mark), "", "a tab stands where spaces belong", "indent with spaces")
    began = f", {context} that begins in line {_place(error.context_mark).line}" if context else ""
    remedy = "check the indentation, and quotes and brackets above"
    return Fault(_place(error.problem_mark), "", f"is not YAML: {problem}{began}", remedy)


def _open_bracket(error: MarkedYAMLError, text: str) -> Place:
    """The innermost bracket that is open where the error is; ruamel knows it only if something stands behind it."""
    if "flow node" not in str(error.context) or error.problem_mark is None:
        return _place(error.context_mark)
    opened: list[Place] = []
    for token in YAML(typ="safe", pure=True).scan(text):
        if token.start_mark.index >= error.problem_mark.index:
            break
        if isinstance(token, FlowSequenceStartToken | FlowMappingStartToken):
            opened.append(_place(token.start_mark))
        elif isinstance(token, FlowSequenceEndToken | FlowMappingEndToken):
            opened.pop()
    return opened[-1]


def _place(mark: StreamMark | None) -> Place:
    return Place(mark.line + 1, mark.column + 1) if mark is not None else _START
