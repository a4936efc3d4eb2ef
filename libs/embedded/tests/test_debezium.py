import pytest
from penstock.embedded.debezium import Cdc
from penstock.embedded.postgres import Postgres

POSTGRES = Postgres("127.0.0.1", 5432, "postgres", "secret", "app", "postgres")


def test_topics_are_named_by_prefix_database_and_table() -> None:
    cdc = Cdc(("public.profiles", "shop.rates"), topic_prefix="test-1-")
    assert cdc.topic("app", "public.profiles") == "test-1-cdc.app.profiles"
    assert cdc.topic("app", "shop.rates") == "test-1-cdc.app.rates"
    assert cdc.heartbeat_topic("app") == "test-1-__debezium-heartbeat.test-1-cdc.app"


def test_only_a_topic_that_keeps_everything_is_told_of_truncations() -> None:
    """Kafka refuses records without a key on compacted topics, and Debezium's truncations have none."""
    whole, compact = (Cdc(("public.profiles",), compact=kept).configuration(POSTGRES) for kept in (False, True))
    assert (whole["skipped.operations"], whole["topic.creation.default.cleanup.policy"]) == ("none", "delete")
    assert (compact["skipped.operations"], compact["topic.creation.default.cleanup.policy"]) == ("t", "compact")


def test_table_names_are_not_patterns() -> None:
    configuration = Cdc(("public.profiles",)).configuration(POSTGRES)
    assert configuration["table.include.list"] == r"public\.profiles"


def test_settings_of_the_user_win() -> None:
    cdc = Cdc(("public.profiles",), settings={"snapshot.mode": "never"})
    assert cdc.configuration(POSTGRES)["snapshot.mode"] == "never"


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ValueError) as refused:
        Cdc(("profiles", "a.rates", "b.rates"), name="My CDC", partitions=0)
    for fault in ("'profiles' is not schema.table", "'rates' is in two schemas", "the name must be", "0 partitions"):
        assert fault in str(refused.value)


def test_no_table_is_a_fault() -> None:
    with pytest.raises(ValueError, match="names no table"):
        Cdc(())
