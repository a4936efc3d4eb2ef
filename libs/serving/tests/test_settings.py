from __future__ import annotations

from pathlib import Path

import pytest
import trustme
from penstock.serving.errors import ConfigError
from penstock.serving.settings import describe, raise_if, read, rows, text, tls_faults, usage, whole

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


def test_tls_settings_go_together(tmp_path: Path) -> None:
    certificate = trustme.CA().issue_cert("localhost")
    pem = tmp_path / "both.pem"
    certificate.private_key_and_cert_chain_pem.write_to_path(str(pem))
    assert tls_faults("P_", {"tls_certificate": pem, "tls_key": pem, "tls_client_ca": pem}) == []
    assert len(tls_faults("P_", {"tls_key": pem, "tls_client_ca": pem})) == 2
    pem.write_text("garbage")
    (fault,) = tls_faults("P_", {"tls_certificate": pem, "tls_key": pem})
    assert "P_TLS_CERTIFICATE and P_TLS_KEY are no PEM certificate and its key" in fault


def test_an_unknown_argument_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert usage("penstock.x", ["--port", "3"], ROWS) == 2
    assert "unknown argument '--port'" in capsys.readouterr().err
    assert usage("penstock.x", ["--help"], ROWS) == 0
    assert "how large [3]" in capsys.readouterr().out


def test_help_shows_variable_meaning_and_default() -> None:
    assert "PENSTOCK_X_SIZE  how large [3]" in describe(ROWS)
    assert "PENSTOCK_NAME    shared with other services [none]" in describe(ROWS)
