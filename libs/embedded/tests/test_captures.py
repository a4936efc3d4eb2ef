from penstock.embedded.captures import CdcServers, open_captures


def test_closing_leaves_nothing_on_the_servers(cdc_servers: CdcServers, topic_prefix: str) -> None:
    captures = open_captures(cdc_servers, topic_prefix)
    with captures.postgres.connect() as connection:
        connection.execute("CREATE TABLE profiles (id int PRIMARY KEY)")
        captured = captures.capture("public.profiles")
        slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s"
        assert connection.execute(slots, [captured.name]).fetchone() == (1,)
        captures.close()
    with cdc_servers.postgres.connect() as connection:
        assert connection.execute(slots, [captured.name]).fetchone() == (0,)
        databases = "SELECT count(*) FROM pg_database WHERE datname = %s"
        assert connection.execute(databases, [captures.postgres.database]).fetchone() == (0,)
