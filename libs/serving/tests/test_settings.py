from __future__ import annotations

import pytest
from penstock.serving.errors import ConfigError
from penstock.serving.settings import describe, raise_if, read, rows, text, tls_faults, whole

ROWS = rows(
    "PENSTOCK_X_",
    ("size", "SIZE", "3", whole(1, 9), "how large"),
    ("name", "PENSTOCK_NAME", "", text, "shared with other services"),
)


def test_values_are_parsed_and_defaults_used() -> None:
    assert read("PENSTOCK_X_", ROWS, {"PENSTOCK_NAME": "n", "OTHER": "x"}) == ({"size": 3, "name": "n"}, [])


def test_faults_name_the_variable_and_what_would_be_right() -> None:
    values, faults = read("PENSTOCK_X_", ROWS, {"PENSTOCK_X_SIZE": "10", "PENSTOCK_X_SIEZ": "1"})
    assert values == {"name": ""}
    assert faults == ["PENSTOCK_X_SIZE='10' must be a whole number from 1 to 9", "PENSTOCK_X_SIEZ is not a setting"]
    with pytest.raises(ConfigError) as caught:
        raise_if(faults)
    assert caught.value.faults == faults
    raise_if([])


def test_tls_settings_go_together() -> None:
    assert tls_faults("P_", {"tls_certificate": "a", "tls_key": "b", "tls_client_ca": "c"}) == []
    assert len(tls_faults("P_", {"tls_key": "b", "tls_client_ca": "c"})) == 2


def test_help_shows_variable_meaning_and_default() -> None:
    assert "PENSTOCK_X_SIZE  how large [3]" in describe(ROWS)
    assert "PENSTOCK_NAME    shared with other services [none]" in describe(ROWS)
