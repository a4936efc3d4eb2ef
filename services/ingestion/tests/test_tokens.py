import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.clock import ClockState, Domain, Floor, Prior
from penstock.ingestion.tokens import TOKEN_BYTES, TokenRefusal, TokenSealer

DAY_US = 86_400_000_000
NOW_US = 1_790_000_000_000_000
OLD_KEY, NEW_KEY = b"o" * 32, b"n" * 32

times = st.integers(-(1 << 58), 1 << 58)
states = st.builds(
    ClockState,
    domain=st.sampled_from(Domain),
    sent_us=times,
    received_us=times,
    replied_us=st.just(NOW_US),
    delay_us=st.none() | times,
    quickest_us=times,
    offset_min_us=st.none() | times,
    offset_max_us=times,
    prior=st.none() | st.builds(Prior, times, times, times),
    floor=st.none() | st.builds(Floor, st.integers(1, (1 << 64) - 1), times, times),
    ran_back=st.booleans(),
    suspect_us=st.none() | times,
)


def a_state(domain: Domain = Domain.WALL) -> ClockState:
    return ClockState(domain, 1, 2, NOW_US, 3, 13, 4, 5, Prior(6, 7, 8), Floor(9, 10, 11), ran_back=True, suspect_us=12)


@pytest.fixture(scope="session")
def sealer() -> TokenSealer:
    return TokenSealer([NEW_KEY, OLD_KEY])


@given(states, st.text(max_size=20), st.text(max_size=20))
def test_what_was_sealed_is_what_is_opened(
    sealer: TokenSealer, state: ClockState, device_id: str, boot_id: str
) -> None:
    token = sealer.seal(state, device_id, boot_id)
    assert len(token) == TOKEN_BYTES <= 160
    assert sealer.open(token, device_id, boot_id, NOW_US) == state


@given(st.integers(0, TOKEN_BYTES * 8 - 1))
def test_any_flipped_bit_is_refused(sealer: TokenSealer, bit: int) -> None:
    token = bytearray(sealer.seal(a_state(), "device", "boot"))
    token[bit // 8] ^= 1 << bit % 8
    assert isinstance(sealer.open(bytes(token), "device", "boot", NOW_US), TokenRefusal)


@given(st.binary(max_size=2 * TOKEN_BYTES) | st.binary(min_size=TOKEN_BYTES, max_size=TOKEN_BYTES))
def test_any_bytes_are_refused_without_an_exception(sealer: TokenSealer, noise: bytes) -> None:
    assert isinstance(sealer.open(noise, "device", "boot", NOW_US), TokenRefusal)


@given(st.binary(min_size=TOKEN_BYTES - 21, max_size=TOKEN_BYTES - 21))
def test_a_genuine_head_with_a_made_up_rest_is_forged(sealer: TokenSealer, rest: bytes) -> None:
    head = sealer.seal(a_state(), "device", "boot")[:21]
    assert sealer.open(head + rest, "device", "boot", NOW_US) is TokenRefusal.FORGED


def test_keys_rotate(sealer: TokenSealer) -> None:
    before, after = TokenSealer([OLD_KEY]), TokenSealer([NEW_KEY])
    old, new = before.seal(a_state(), "d", "b"), sealer.seal(a_state(), "d", "b")
    assert sealer.open(old, "d", "b", NOW_US) == a_state()
    assert after.open(new, "d", "b", NOW_US) == a_state()
    assert after.open(old, "d", "b", NOW_US) is TokenRefusal.UNKNOWN_KEY


def test_a_token_of_another_device_is_refused(sealer: TokenSealer) -> None:
    assert sealer.open(sealer.seal(a_state(), "d", "b"), "e", "b", NOW_US) is TokenRefusal.OTHER_DEVICE


def test_a_steady_clock_ends_with_its_boot_and_a_wall_clock_does_not(sealer: TokenSealer) -> None:
    steady = sealer.seal(a_state(Domain.STEADY), "d", "b")
    assert sealer.open(steady, "d", "c", NOW_US) is TokenRefusal.OTHER_BOOT
    opened = sealer.open(sealer.seal(a_state(), "d", "b"), "d", "c", NOW_US)
    assert opened == a_state()._replace(floor=None, ran_back=False)


@pytest.mark.parametrize(
    ("later_us", "refusal"),
    [
        (14 * DAY_US, None),
        (14 * DAY_US + 1, TokenRefusal.EXPIRED),
        (-60_000_000, None),
        (-60_000_001, TokenRefusal.FROM_THE_FUTURE),
    ],
)
def test_a_token_has_its_time(sealer: TokenSealer, later_us: int, refusal: TokenRefusal | None) -> None:
    opened = sealer.open(sealer.seal(a_state(), "d", "b"), "d", "b", NOW_US + later_us)
    assert opened == (refusal or a_state())


@pytest.mark.parametrize("version", [0, 2, 255])
def test_a_token_of_another_version_is_malformed(sealer: TokenSealer, version: int) -> None:
    token = bytes([version]) + sealer.seal(a_state(), "d", "b")[1:]
    assert sealer.open(token, "d", "b", NOW_US) is TokenRefusal.MALFORMED


def test_weak_keys_are_named() -> None:
    with pytest.raises(ValueError, match="at least one"):
        TokenSealer([])
    with pytest.raises(ValueError, match="too short: number 2"):
        TokenSealer([NEW_KEY, b"secret"])
