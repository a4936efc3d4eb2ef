"""What each way of correcting clocks makes of the same requests.

In:  the exchanges of simulated devices. Out: per method, the time that every event gets, and its bound if any.
The shipped clock runs as it does in production: tokens are sealed and opened, stamps are serialised and read back,
and every event is corrected from its stamp. All other methods know the wall clock only.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.clock import ClockState, Corrected, Domain, Settings, batch_clock, newest, observe, stamp
from penstock.events.v1.event_pb2 import DeviceTime
from penstock.events.v1.raw_batch_pb2 import Stamp
from penstock.ingestion.tokens import TokenSealer
from penstock.simulation import Exchange, Reading

SETTINGS = Settings()

DEVICE, RECEIVED, PEERS = "device time as it is", "receive time", "received − sent (peers)"
AMPLITUDE, RELAY, MIN_OF_8 = "peers, if over 60 s (Amplitude)", "peers, if over 55 min (Relay)", "least of 8 (peers)"
WALL, STEADY, NO_TOKENS = "penstock, wall clock", "penstock, steady clock", "penstock, no tokens"
MIDDLE = "  same, middle of the interval"
OURS = (WALL, STEADY, NO_TOKENS)
METHODS = (DEVICE, RECEIVED, PEERS, AMPLITUDE, RELAY, MIN_OF_8, NO_TOKENS, WALL, MIDDLE, STEADY)


@dataclass
class Times:
    """What one method made of the events, device by device, in sequence. A bound of -1: none."""

    corrected_us: list[int] = field(default_factory=list)
    bound_us: list[int] = field(default_factory=list)

    def add(self, corrected_us: int, bound_us: int | None = None) -> None:
        self.corrected_us.append(corrected_us)
        self.bound_us.append(-1 if bound_us is None else bound_us)


class Service:
    """The shipped clock for one device, put together as ingestion does it."""

    def __init__(self, device_id: str, domain: Domain, *, tokens: bool) -> None:
        self._sealer = TokenSealer([b"a key that only benchmarks use"])
        self._device_id, self._domain, self._tokens = device_id, domain, tokens
        self._replies: list[bytes] = []
        self._cached: ClockState | None = None

    def serve(self, exchange: Exchange, echoed: Reading | None) -> Iterator[tuple[Corrected, int]]:
        """For each event its corrected time, and what the middle of the interval would give."""
        boot = str(exchange.sent.boot)
        opened = self._open(exchange, boot)
        estimate = observe(
            opened if self._tokens else self._cached,
            domain=self._domain,
            sent_us=self._us(exchange.sent),
            received_us=exchange.received_us,
            echo=None if opened is None or echoed is None else opened.echo(self._us(echoed)),
            settings=SETTINGS,
        )
        state = estimate.next_state
        assert state is not None
        stamped = stamp(
            estimate, received_us=exchange.received_us, drift_ppm_max=SETTINGS.drift_ppm_max
        ).SerializeToString()
        clock = batch_clock(self._device_time(exchange.sent), Stamp.FromString(stamped))
        least, floor = state.offset_min_us, state.floor
        middle = estimate.offset_us if least is None else (least + state.offset_max_us) // 2
        for event in exchange.events:
            occurred, same_boot = self._device_time(event.occurred), event.occurred.boot == exchange.sent.boot
            steady_us = occurred.steady_us if occurred.HasField("steady_us") else None
            corrected = clock.correct(event.seq, occurred.wall_us, steady_us, same_boot=same_boot)
            yield corrected, self._us(event.occurred) + middle
            if same_boot and event is exchange.events[-1]:
                floor = newest(floor, event.seq, corrected)
        self._cached = left = estimate.replied(exchange.replied_us, floor)
        assert left is not None
        self._replies.append(self._sealer.seal(left, self._device_id, boot))

    def _open(self, exchange: Exchange, boot: str) -> ClockState | None:
        if not self._tokens or exchange.echoes is None:
            return None
        token = self._replies[exchange.echoes]
        opened = self._sealer.open(token, self._device_id, boot, exchange.received_us)
        return opened if isinstance(opened, ClockState) else None

    def _us(self, reading: Reading) -> int:
        return reading.steady_us if self._domain is Domain.STEADY else reading.wall_us

    def _device_time(self, reading: Reading) -> DeviceTime:
        steady_us = reading.steady_us if self._domain is Domain.STEADY else None
        return DeviceTime(wall_us=reading.wall_us, steady_us=steady_us)


def measure_shipped(exchanges: list[Exchange], device_id: str, times: dict[str, Times]) -> None:
    """The shipped clock: with tokens on either of the device's clocks, and without tokens."""
    for method, domain in ((WALL, Domain.WALL), (STEADY, Domain.STEADY)):
        service = Service(device_id, domain, tokens=True)
        for exchange in exchanges:
            echoed = None if exchange.echoes is None else exchanges[exchange.echoes].reply_received
            for corrected, middle_us in service.serve(exchange, echoed):
                times[method].add(corrected.corrected_us, corrected.error_bound_us)
                if method == WALL:
                    times[MIDDLE].add(middle_us)
    service = Service(device_id, Domain.WALL, tokens=False)
    for exchange in exchanges:
        if exchange.events:  # a client without tokens does not open with a clock exchange
            for corrected, _ in service.serve(exchange, None):
                times[NO_TOKENS].add(corrected.corrected_us, corrected.error_bound_us)


def measure_others(exchanges: list[Exchange], times: dict[str, Times]) -> None:
    """What others do with the same requests."""
    recent: list[int] = []
    for exchange in exchanges:
        if not exchange.events:
            continue
        offset_us = exchange.received_us - exchange.sent.wall_us
        recent = [*recent[-7:], offset_us]
        offsets = {
            DEVICE: 0,
            PEERS: offset_us,
            AMPLITUDE: offset_us if abs(offset_us) > 60_000_000 else 0,
            RELAY: offset_us if abs(offset_us) > 55 * 60_000_000 else 0,
            MIN_OF_8: min(recent),
        }
        for event in exchange.events:
            times[RECEIVED].add(exchange.received_us)
            for method, by_us in offsets.items():
                times[method].add(event.occurred.wall_us + by_us)
