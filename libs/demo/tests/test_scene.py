from penstock.demo.scene import Scene, changes_text, error_rows, joins_text


def test_ours_stand_beside_the_peers_and_the_devices(scene: Scene) -> None:
    rows = list(error_rows(scene.accuracy))
    names = ["penstock", "  clock tokens", "  first contact", "peers: + received − sent", "the device's own clock"]
    assert [row.name for row in rows] == names
    ours, peers = rows[0], rows[3]
    assert ours[1:] == ("100", "5.0 ms", "5.0 ms", "5.0 ms", "± 40 ms", "100.00 %")
    assert peers[4:] == ("860 ms", "none", "–")


def test_time_is_shown_against_the_duration_if_there_is_one(scene: Scene) -> None:
    assert scene.time_text == "00:30 of 00:30"
    scene.duration_s = None
    assert scene.time_text == "00:30"


def test_the_hints_can_be_typed_as_they_are(scene: Scene) -> None:
    assert scene.hints == (
        "penstock timeline you --follow --server 127.0.0.1:20007",
        "penstock post u1 'Hello, you' --server 127.0.0.1:20002",
        "penstock follow you u2 --server 127.0.0.1:20002",
        "penstock tail events.enriched.v1 --bootstrap 127.0.0.1:20001",
        "penstock lookup profiles u1 --server 127.0.0.1:20004",
    )


def test_where_there_is_little_room_the_methods_are_left_out(scene: Scene) -> None:
    assert [row.name for row in error_rows(scene.accuracy, by_method=False)] == [
        "penstock",
        "peers: + received − sent",
        "the device's own clock",
    ]


def test_joins_and_changes_in_words(scene: Scene) -> None:
    assert joins_text(scene) == "matched 100 · missing 0 · deleted 0 · history evicted 0"
    assert changes_text(scene) == "1 update, 0 inserts, 0 deletes"
