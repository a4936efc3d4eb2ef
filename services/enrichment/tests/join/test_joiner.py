from penstock.enrichment.join.joiner import Joiner, Plan, join_fresh, plans_of
from penstock.enrichment.tables import DELETE, TRUNCATE, UPSERT, Change, History, Status, Table, Version
from penstock.events.v1.event_pb2 import Event
from penstock.pipeline import load

PLAN = Plan(0, "user", "profiles", "tables.profiles.v1", ("user",), None, 0)
PAIR = Plan(1, "link", "links", "tables.links.v1", ("user", "page"), frozenset({"a"}), 0)
EVENT = Event(type="page.viewed", attributes={"user": "ann", "page": "a/b"})


class Tables(dict[str, Table]):
    def __init__(self) -> None:
        super().__init__({name: Table(name, History(3, 10**15)) for name in ("profiles", "links")})
        self.joiner = Joiner({"page.viewed": (PLAN, PAIR)}, self)
        self.offset = 0

    def change(self, table: str, key: str, valid_from_us: int, columns: dict[str, str], op: int = UPSERT) -> None:
        self.offset += 1
        version = Version(valid_from_us, self.offset.to_bytes(4, "big"))
        applied = self[table].apply(Change(key, op, columns, (), version), 0, self.offset)
        self.joiner.row_changed(table, applied.key)

    def ask(self, t_us: int) -> tuple[Status, dict[str, str]]:
        """What the first enrichment says; the same as without any memory."""
        _, answers = self.joiner.join(EVENT, t_us)
        assert list(answers) == join_fresh((PLAN, PAIR), self, EVENT, t_us)
        event = Event.FromString(answers[0].encoded)
        return answers[0].status, dict(event.enrichments[0].columns)


def test_the_version_that_was_valid_at_the_time() -> None:
    tables = Tables()
    assert tables.ask(50) == (Status.MISSING, {})
    tables.change("profiles", "ann", 100, {"name": "Ann"})
    tables.change("profiles", "ann", 200, {"name": "Anna"})
    for _ in range(2):  # the second time from memory
        assert tables.ask(99) == (Status.MISSING, {})
        assert tables.ask(100) == (Status.MATCHED, {"name": "Ann"})
        assert tables.ask(199) == (Status.MATCHED, {"name": "Ann"})
        assert tables.ask(200) == (Status.MATCHED, {"name": "Anna"})
    tables.change("profiles", "ann", 150, {"name": "late"})
    assert tables.ask(160) == (Status.MATCHED, {"name": "late"})
    tables.change("profiles", "ann", 300, {}, DELETE)
    assert tables.ask(299) == (Status.MATCHED, {"name": "Anna"})
    assert tables.ask(300) == (Status.DELETED, {})


def test_a_truncate_is_a_change_of_all_rows() -> None:
    tables = Tables()
    tables.change("profiles", "ann", 100, {"name": "Ann"})
    assert tables.ask(150)[0] is Status.MATCHED
    tables.change("profiles", "", 140, {}, TRUNCATE)
    assert tables.ask(139)[0] is Status.MATCHED
    assert tables.ask(150)[0] is Status.DELETED


def test_an_evicted_past_is_never_answered_from_memory_of_the_present() -> None:
    tables = Tables()
    for t_us in range(100, 600, 100):
        tables.change("profiles", "ann", t_us, {"name": str(t_us)})
    assert tables.ask(150)[0] is Status.HISTORY_EVICTED
    assert tables.ask(550) == (Status.MATCHED, {"name": "500"})
    assert tables.ask(150)[0] is Status.HISTORY_EVICTED


def test_keys_of_several_values_and_chosen_columns() -> None:
    tables = Tables()
    tables.change("links", "ann/a%2Fb", 1, {"a": "1", "b": "2"})
    rows, answers = tables.joiner.join(EVENT, 5)
    assert [(row.table, row.key) for row in rows] == [("profiles", "ann"), ("links", "ann/a%2Fb")]
    (link,) = Event.FromString(answers[1].encoded).enrichments
    assert dict(link.columns) == {"a": "1"}
    assert tables.joiner.again(rows, 5) == answers
    assert answers[1].label == ("links", "matched")


def test_a_value_that_nobody_knows_is_said_to_be_unknown() -> None:
    tables = Tables()
    tables["links"].apply(Change("ann/a%2Fb", UPSERT, {"b": "2"}, ("a", "c"), Version(1, b"p")), 0, 0)
    _, answers = tables.joiner.join(EVENT, 5)
    (link,) = Event.FromString(answers[1].encoded).enrichments
    assert (dict(link.columns), list(link.unknown_columns)) == ({}, ["a"])  # the other columns were not asked for


def test_an_enrichment_that_was_emitted_says_what_it_asked_for() -> None:
    tables = Tables()
    rows, answers = tables.joiner.join(EVENT, 5)
    for row, answer in zip(rows, answers, strict=True):
        (one,) = Event.FromString(answer.encoded).enrichments
        assert tables.joiner.row_of(EVENT, one) == row
    one.name = "of a former pipeline"
    assert tables.joiner.row_of(EVENT, one) is None


def test_what_has_no_enrichment_gets_none() -> None:
    assert Tables().joiner.join(Event(type="search.made"), 5) == ((), ())


def test_the_default_pipeline_has_plans_for_every_type() -> None:
    pipeline = load()
    plans = plans_of(pipeline, {name: f"tables.{name}.v1" for name in pipeline.tables})
    assert plans.keys() == pipeline.event_types.keys()
    assert any(plans.values())
