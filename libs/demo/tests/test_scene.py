from penstock.demo.scene import Scene, error_rows


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
        "penstock tail events.raw.v1 --bootstrap 127.0.0.1:20001",
        "penstock publish profile.changed user=me --server 127.0.0.1:20002",
    )
