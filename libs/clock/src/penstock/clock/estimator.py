"""Estimates how far a device's clock is from ours, and how wrong that can be.

In:  what earlier requests left behind, and one request: sent t1 (device), received t2 (server), and the
     exchange it completes, if it echoes one (reply sent t3, server; reply received t4, device).
Out: the offset (server minus device) as of t1, an interval that the true offset cannot leave while the clock
     drifts less than `drift_ppm_max`, and what to leave for the next request.
Pure: no clock is read here, and nothing is a float.

The interval. A request cannot arrive before it was sent: offset <= t2 - t1. Nor can a reply: offset >= t3 - t4.
A request that echoes a reply was sent after it: offset >= t3 - t1, even if the clock was set in between.
Edges move apart by drift while time passes and are intersected with every exchange.

The point is the middle while both edges are alike. After an offline day the lower one is stale by seconds and
the upper one is this very request; then the point is half of a good round trip below the upper edge. So a
request that narrows the interval leaves the point no further off than the greater of that half and what
`received - sent` would have given.

Sets. An empty interval means that the clock was set: a new one starts, and the old one is handed on for events
that are older. A wall clock set backwards looks like a late request until an echo tells, so the upper edge on
the wall clock is always this request's own; and since lateness can hide a clock set forwards, a late request
gives up its lower edge, too, for the one that holds regardless. A steady clock is never set and keeps both.

Without echoes there is no lower edge. The point is the quickest of the recent requests.
"""

from penstock.clock.estimate import Estimate
from penstock.clock.state import TIME_MAX_US, ClockState, Domain, Echo, Method, Prior, Settings, drift_us

DEFAULTS = Settings()


def observe(
    state: ClockState | None,
    *,
    domain: Domain,
    sent_us: int,
    received_us: int,
    echo: Echo | None = None,
    settings: Settings = DEFAULTS,
) -> Estimate:
    """Takes one request into account.

    `state` is what the echoed token holds, or on a stream whatever is newest; `echo` is the exchange of the
    token that came with this very request. A state of another domain is ignored; a steady one of another boot
    is for the caller to leave out.
    """
    if state is None or state.domain != domain:
        return _first_contact(domain, sent_us, received_us, settings)
    return _Round(state, domain, sent_us, received_us, echo, settings).estimate()


def _first_contact(domain: Domain, sent_us: int, received_us: int, settings: Settings) -> Estimate:
    upper = received_us - sent_us
    state = ClockState(domain, sent_us, received_us, received_us, None, upper, None, upper + settings.server_skew_us)
    return Estimate(Method.NAIVE, domain, upper, None, None, None, False, 0, state)


class _Round:
    """One request against what was known before. Each step narrows the interval or starts a new one."""

    __slots__ = (
        "aging", "delay", "domain", "echo", "hi", "late", "lo", "point", "prior", "quickest", "ran_back",
        "received", "sent", "settings", "skew", "state", "suspect", "upper", "was_set",
    )  # fmt: skip

    def __init__(
        self,
        state: ClockState,
        domain: Domain,
        sent_us: int,
        received_us: int,
        echo: Echo | None,
        settings: Settings,
    ) -> None:
        self.state, self.domain, self.echo = state, domain, echo
        self.settings, self.skew = settings, settings.server_skew_us
        self.sent, self.received, self.upper = sent_us, received_us, received_us - sent_us
        self.aging = aging = drift_us(received_us - state.received_us, settings.drift_ppm_max)
        self.lo = None if state.offset_min_us is None else state.offset_min_us - aging
        self.hi = state.offset_max_us + aging
        self.delay, self.prior, self.ran_back = state.delay_us, state.prior, state.ran_back
        self.quickest = self._relaxed(state.quickest_us)
        self.suspect: int | None = None
        self.was_set, self.late, self.point = False, 0, 0

    def estimate(self) -> Estimate:
        prior = self.prior
        if prior is not None and self.received - prior.set_before_us > self.settings.prior_kept_us:
            self.prior = None
        if self.echo is not None:
            self._take_reply(self.echo)
        self._take_request()
        low, high = self._edges()
        return Estimate(
            Method.ONE_WAY if low is None else Method.ECHO,
            self.domain,
            min(self.point, high) if low is None else max(low, min(self.point, high)),
            low,
            None if low is None else high,
            self.prior,
            self.was_set,
            self.late,
            self._next_state(),
        )

    def _take_reply(self, echo: Echo) -> None:
        """The lower edge, from the reply that the device echoes."""
        arrived = echo.reply_received_us
        if arrived is None or not 0 <= arrived < TIME_MAX_US:
            return
        aging = drift_us(self.received - echo.replied_us, self.settings.drift_ppm_max)
        edge = echo.replied_us - arrived - self.skew - aging
        if arrived > self.sent:
            # The device's clock ran backwards between our reply and its request. A steady clock cannot.
            if self.domain is Domain.WALL:
                self._raise_low(edge)
                self._start_anew()
            return
        if self.prior is not None and echo.replied_us < self.prior.set_before_us:
            return  # older than the set that we know of: says nothing about the clock as it is now
        if edge > self.hi:
            self._start_anew(settled=self.ran_back)
        self._raise_low(edge)
        self.ran_back = False
        self._take_exchange(echo, arrived, aging)

    def _take_exchange(self, echo: Echo, arrived: int, aging: int) -> None:
        """Half of a good round trip, from the whole exchange: the quickest, slowly giving way to others."""
        up = echo.received_us - echo.sent_us
        delay = up + arrived - echo.replied_us + 1 >> 1
        if not 0 <= delay <= self.settings.delay_us_max:
            return
        if self.delay is None or delay < self.delay:
            self.delay = delay
        else:
            self.delay += (delay - self.delay) >> 3
        if self.was_set:
            self.hi = min(self.hi, up + self.skew + aging)

    def _take_request(self) -> None:
        """The upper edge, from the request itself, and the point, from both."""
        edge = self.upper + self.skew
        if self.lo is not None and edge < self.lo:
            self._start_anew()
        elif self.lo is not None and self.domain is Domain.WALL and self._could_hide_a_set(edge):
            self._remember(self._low_before())
        self.late = max(0, self.upper - (self.delay or 0) - self._guess(self.hi, edge))
        if self.late > self.settings.late_us and self.domain is Domain.WALL:
            self._explain()
        self.point = self._guess(min(self.hi, edge), edge)
        self.hi, self.quickest = min(self.hi, edge), min(self.quickest, self.upper)

    def _could_hide_a_set(self, edge: int) -> bool:
        """Whether what was known was so wide that a clock set since contradicts nothing: by a silence in which drift
        alone could explain it, or by a stall of the only exchange so far."""
        return max(self.aging, self.hi - edge) > self.settings.late_us

    def _low_before(self) -> int:
        """The lower edge without the newest echo, which may have come after a set."""
        low = self.state.offset_min_us
        return self.hi - self.settings.travel_us_max if low is None else low - self.aging

    def _relaxed(self, quickest: int) -> int:
        """Without echoes: the quickest request fades into newer ones, no faster than a clock may drift."""
        memory = self.settings.memory_us
        elapsed = min(memory, max(0, self.received - self.state.received_us))
        return quickest + min(self.aging, max(0, self.upper - quickest) * elapsed // memory)

    def _guess(self, high: int, edge: int) -> int:
        if self.lo is None:
            return min(self.quickest, high - self.skew) - (self.delay or 0)
        middle = self.lo + high >> 1
        return middle if high < edge else max(middle, high - self.skew - (self.delay or 0))

    def _explain(self) -> None:
        """A late request: a stall, a resend with the time of the first attempt, or a clock set backwards."""
        ran_back = self.state.sent_us - self.sent > self.settings.travel_us_max
        if ran_back or self.late > self.settings.stale_us_max:
            self._start_anew()
            self.late = 0
        elif self.lo is None:
            self._suspect()

    def _suspect(self) -> None:
        """Without echoes: one late request is a stall, a second one just as late is a clock set backwards."""
        before = self.state.suspect_us
        if before is None or abs(self.upper - before) > self.settings.late_us + self.aging:
            self.suspect = self.upper
            return
        self.quickest = min(self.upper, before + self.aging)
        self.hi = self.quickest + self.skew
        self.was_set, self.late = True, 0

    def _start_anew(self, *, settled: bool = False) -> None:
        """The clock was set: what was known becomes what it was before, and this request is all that is known.

        `settled`: an event younger than the set came with an earlier request, and with it all that are older.
        """
        self._remember(self._low_before() if self.lo is None else self.lo)
        if settled:
            self.prior = None
        self.was_set, self.ran_back = True, False
        self.lo, self.hi, self.quickest = self._causal(), self.upper + self.skew, self.upper

    def _remember(self, low: int) -> None:
        """Keeps the interval so far for events older than this request, beside what was kept before."""
        before = (low, self.hi) if self.prior is None else (low, self.hi, *self.prior[:2])
        self.prior = Prior(min(before), max(before), self.received)

    def _raise_low(self, edge: int) -> None:
        if self.lo is None or self.lo < edge:
            self.lo = edge

    def _causal(self) -> int | None:
        """The lower edge that holds whatever befell the clock: the echoed reply left before this request."""
        return None if self.echo is None else self.echo.replied_us - self.sent - self.skew

    def _edges(self) -> tuple[int | None, int]:
        """The interval as of this request's time of sending."""
        low, high, causal = self.lo, self.hi, self._causal()
        # A newer request may have overtaken this one; the clock has drifted in between.
        overtaken = drift_us(self.state.sent_us - self.sent, self.settings.drift_ppm_max)
        if self.domain is Domain.STEADY:
            high += overtaken
        else:
            high = self.upper + self.skew
            if self.late > self.settings.late_us:
                low = None
        if low is not None:
            low -= overtaken
        if causal is not None and (low is None or low < causal):
            low = causal
        return low, high

    def _next_state(self) -> ClockState:
        return ClockState(
            self.domain, self.sent, self.received, self.received, self.delay, self.quickest,
            self.lo, self.hi, self.prior, self.state.floor, self.ran_back, self.suspect,
        )  # fmt: skip
