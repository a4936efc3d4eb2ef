from pathlib import Path

from penstock.embedded.storage import is_formatted, new_id, write_storage


def test_storage_is_a_checkpoint_and_an_identity_of_its_own(tmp_path: Path) -> None:
    checkpoint = tmp_path / "bootstrap.checkpoint"
    checkpoint.write_bytes(b"levels")
    assert not is_formatted(tmp_path / "one")
    for name in ("one", "two"):
        write_storage(tmp_path / name, checkpoint)
        assert is_formatted(tmp_path / name)
        assert (tmp_path / name / "bootstrap.checkpoint").read_bytes() == b"levels"
    assert (tmp_path / "one" / "meta.properties").read_text() != (tmp_path / "two" / "meta.properties").read_text()


def test_ids_are_as_kafka_writes_them() -> None:
    ids = {new_id() for _ in range(500)}
    assert len(ids) == 500
    assert {len(text) for text in ids} == {22}
    assert not any(text.startswith("-") for text in ids)
