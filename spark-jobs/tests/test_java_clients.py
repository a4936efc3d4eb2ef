from __future__ import annotations

import pytest
from penstock.jobs.java_clients import java_settings
from penstock.serving.errors import ConfigError


def test_that_what_is_the_same_stays() -> None:
    assert java_settings({"bootstrap.servers": "a:1", "security.protocol": "ssl", "log.connection.close": "false"}) == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SSL",
    }


def test_that_a_password_becomes_a_login_module() -> None:
    java = java_settings(
        {
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "penstock",
            "sasl.password": 'a"b\\c',
            "bootstrap.servers": "a:1",
        }
    )
    assert java["sasl.mechanism"] == "SCRAM-SHA-512"
    assert java["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="penstock" password="a\\"b\\\\c";'
    )


def test_that_roots_are_trusted() -> None:
    java = java_settings(
        {"ssl.ca.location": "/etc/ca.pem", "ssl.keystore.location": "/k.p12", "ssl.keystore.password": "x"}
    )
    assert java == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/etc/ca.pem",
        "ssl.keystore.location": "/k.p12",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": "x",
    }


def test_that_what_cannot_be_carried_over_is_named_all_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        java_settings({"sasl.mechanism": "GSSAPI", "queue.buffering.max.ms": "5", "ssl.certificate.location": "/c"})
    text = str(caught.value)
    assert "sasl.mechanism='GSSAPI' must be one of PLAIN" in text
    assert "queue.buffering.max.ms of PENSTOCK_KAFKA_CONFIG_FILE has no counterpart" in text
    assert "ssl.certificate.location of PENSTOCK_KAFKA_CONFIG_FILE has no counterpart" in text
