"""Counts values in buckets of fixed number, so that quantiles of any number of values take the same memory.

In:  whole numbers from 0 up (microseconds, here). Out: their number, the greatest, and quantiles within 2 %.
"""

# Values below 64 have a bucket each; above, every power of two has 32.
_EXACT = 64
_PER_POWER = 32
_BITS_MAX = 56
_BUCKETS = _EXACT + (_BITS_MAX - 6) * _PER_POWER


class Histogram:
    __slots__ = ("_counts", "count", "greatest")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0
        self.greatest = 0

    def add(self, value: int) -> None:
        """Counts a value; the negative count as 0, the astronomical (over 2,000 years) as the greatest there is."""
        value = min(max(value, 0), (1 << _BITS_MAX) - 1)
        self._counts[_bucket(value)] += 1
        self.count += 1
        if value > self.greatest:
            self.greatest = value

    def quantile(self, share: float) -> int | None:
        """The value that this share of the values does not exceed. None: there are no values."""
        if self.count == 0:
            return None
        wanted = max(1, round(share * self.count))
        passed = 0
        for bucket, count in enumerate(self._counts):
            passed += count
            if passed >= wanted:
                return min(_middle(bucket), self.greatest)
        raise AssertionError("the buckets hold fewer values than were counted")


def _bucket(value: int) -> int:
    if value < _EXACT:
        return value
    shift = value.bit_length() - 6
    return _EXACT + (shift - 1) * _PER_POWER + (value >> shift) - _PER_POWER


def _middle(bucket: int) -> int:
    if bucket < _EXACT:
        return bucket
    power, within = divmod(bucket - _EXACT, _PER_POWER)
    shift = power + 1
    return ((within + _PER_POWER) << shift) + (1 << shift >> 1)
