import pytest
from penstock.document import InvalidDocumentError
from penstock.topics import loads
from penstock.topics.schema import is_prefix


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidDocumentError) as caught:
        loads(text, "m")
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("retention", "ms"), [("45s", 45_000), ("30m", 1_800_000), ("7d", 604_800_000), ("unlimited", -1)]
)
def test_retention_is_told_to_kafka_in_milliseconds(small: str, retention: str, ms: int) -> None:
    assert loads(small.replace("7d", retention), "m")["things.made.v1"].retention_ms == ms


def test_the_key_chooses_the_partition_unless_something_else_is_named(small: str) -> None:
    text = small.replace("    partitions: 4", "    partitioned_by: author\n    partitions: 4")
    assert loads(small, "m")["things.made.v1"].partition_subject == "key"
    assert loads(text, "m")["things.made.v1"].partition_subject == "author"


MADE = "topics.things.made.v1"


@pytest.mark.parametrize(
    ("sound", "spoilt", "where", "remedy"),
    [
        ("version: 1", "version: 2", "1:10: version", "should be 1"),
        ("    key: key\n", "", f"6:3: {MADE}", "add `key:` (The field that is also the record's key)"),
        ("  things.made.v1:", "  Things.v1:", "6:3: topics.Things.v1", "such as events.raw.v1"),
        ("Event\n", "event\n", f"8:14: {MADE}.message", "such as penstock.events.v1.Event"),
        ("key: key", "key: Key", f"9:10: {MADE}.key", "should be the name of a field, such as device_id"),
        ("partitions: 4", "partitions: 0", f"10:17: {MADE}.partitions", "greater than or equal to 1"),
        ("partitions: 4", "partitions: four", f"10:17: {MADE}.partitions", "should be a whole number"),
        ("cleanup: delete", "cleanup: shred", f"11:14: {MADE}.cleanup", "should be 'delete' or 'compact'"),
        ("cleanup: delete", "cleanup: compact", f"12:16: {MADE}.retention", "should be unlimited"),
        ("retention: 7d", "retention: 7 days", f"12:16: {MADE}.retention", "such as 7d, or unlimited"),
        ("retention: 7d", "retention: 0s", f"12:16: {MADE}.retention", "should be 1s to 36500d, or unlimited"),
        (
            "    max_message_bytes: 2048",
            "    compaction_lag: 1d\n    max_message_bytes: 2048",
            f"13:21: {MADE}.compaction_lag",
            "remove it, or say `cleanup: compact`",
        ),
        ("things.odd.v1:", "things.{table}.v1:", "17:3: topics.things.{table}.v1", "such as events.raw.v1"),
        ("[maker]", "[makr]", f"14:17: {MADE}.producers[0]", "did you mean 'maker'?"),
        ("[maker]", "[maker, maker]", f"14:24: {MADE}.producers[1]", "remove one of them"),
        ("things.odd.v1", "things.od.v1", f"16:19: {MADE}.dead_letters", "did you mean 'things.odd.v1'?"),
        (
            "dead_letters: things.odd.v1",
            "dead_letters: things.{event-table}.v1",
            f"16:19: {MADE}.dead_letters",
            "stands for the topics of tables; name a single topic, or say none",
        ),
        (": none", ":", "27:5: topics.things.odd.v1.dead_letters", "name a topic, or say none"),
        ("Makes things.", "''", "3:10: steps.maker", "should be a sentence"),
    ],
)
def test_each_fault_has_its_line_and_a_remedy(small: str, sound: str, spoilt: str, where: str, remedy: str) -> None:
    assert sound in small
    text = small.replace("dead_letters: things.odd.v1", "dead_letters: none") if "{table}" in spoilt else small
    [fault] = faults(text.replace(sound, spoilt, 1))
    assert fault.startswith(f"{where}: ")
    assert fault.endswith(remedy)


def test_a_misspelt_key_is_unknown_and_missed(small: str) -> None:
    assert faults(small.replace("partitions: 4", "partition: 4")) == [
        f"6:3: {MADE}: the key 'partitions' is missing; add `partitions:` (How many partitions)",
        f"10:5: {MADE}.partition: 'partition' is not a key of this section; did you mean 'partitions'?",
    ]


def test_all_faults_come_at_once_and_none_follows_from_another(small: str) -> None:
    text = small.replace("partitions: 1", "partitions: one").replace("[taker]", "[tacker]").replace("7d", "1y")
    assert [fault.split(":")[0] for fault in faults(text)] == ["12", "15", "21", "25"]


@pytest.mark.parametrize(("prefix", "sound"), [("", True), ("staging-", True), ("a b", False), ("x" * 101, False)])
def test_prefixes(prefix: str, sound: bool) -> None:
    assert is_prefix(prefix) is sound
