"""What is known about a device's clock as of one request, and what of it the next request inherits.

In:  the estimator's findings; then the time of our reply and the newest event of the request.
Out: the `ClockState` to seal into the token. A clock from before a set is dropped from it as soon as an event is
     proved to be younger than the set, because events come in the order of their sequence.
"""

from typing import NamedTuple

from penstock.clock.state import ClockState, Domain, Floor, Method, Prior


class Estimate(NamedTuple):
    """What is known about a device's clock as of one request."""

    method: Method
    # None: the request named no usable time.
    domain: Domain | None
    offset_us: int
    # Both present or both absent.
    offset_min_us: int | None
    offset_max_us: int | None
    prior: Prior | None
    # This request revealed that the clock had been set.
    clock_was_set: bool
    # How much longer this request took than it should have: a stall, or a wall clock set backwards.
    late_us: int
    # What the next request starts from, but for the reply to this one.
    next_state: ClockState | None

    @property
    def error_bound_us(self) -> int | None:
        """The true offset is within plus or minus this. None where nothing bounds it."""
        if self.offset_min_us is None or self.offset_max_us is None:
            return None
        return max(self.offset_us - self.offset_min_us, self.offset_max_us - self.offset_us)

    def replied(self, replied_us: int, newest: Floor | None = None) -> ClockState | None:
        """What to leave for the next request: when the reply leaves, and the newest event so far."""
        state = self.next_state
        if state is None:
            return None
        if newest is None or (state.floor is not None and newest.seq <= state.floor.seq):
            return state._replace(replied_us=replied_us)
        prior, ran_back = _settle(state, newest)
        return state._replace(replied_us=replied_us, floor=newest, prior=prior, ran_back=ran_back)


def unusable() -> Estimate:
    """For a request that names no usable time: its events get the receive time."""
    return Estimate(Method.RECEIVED, None, 0, None, None, None, False, 0, None)


def _settle(state: ClockState, newest: Floor) -> tuple[Prior | None, bool]:
    """Forgets the clock before the set once an event is proved to be younger: so are all that follow it."""
    ran_back = state.floor is not None and newest.device_us < state.floor.device_us
    prior = state.prior
    if prior is None:
        return None, state.ran_back or ran_back
    if ran_back or newest.device_us + prior.offset_min_us > prior.set_before_us:
        return None, False
    return prior, state.ran_back
