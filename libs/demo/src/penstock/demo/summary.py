"""What was seen, in plain words, and whether it is as we promise.

In:  the scene, when everything has been read from the log. Out: text of at most 79 columns, and the verdict. Pure.
"""

from collections.abc import Iterator
from typing import NamedTuple

from penstock.demo import texts
from penstock.demo.accuracy import COVERAGE_LEAST
from penstock.demo.scene import ERROR_HEADINGS, ErrorRow, Scene, error_rows

# Each with room for the widest that it may hold and a blank: 190,000,000 events, 119 min, ± 119 min, 100.00 %.
_WIDTHS = (24, 12, 8, 8, 8, 10, 9)


class Finding(NamedTuple):
    """One promise, whether it was kept, and the numbers."""

    kept: bool
    title: str
    lines: tuple[str, ...]


def findings(scene: Scene) -> Iterator[Finding]:
    """All of them have to be kept."""
    yield _nothing_lost(scene)
    yield _resends(scene)
    yield _refusals(scene)
    yield _times(scene)
    yield _bounds(scene)


def is_good(scene: Scene) -> bool:
    return all(finding.kept for finding in findings(scene))


def summary(scene: Scene) -> list[str]:
    """Line by line."""
    lines = [
        f"{scene.devices:,} devices, {scene.elapsed_s:.0f} seconds, {scene.ledger.in_log:,} events in the log.",
        "",
    ]
    for finding in findings(scene):
        lines.append(f"{'✓' if finding.kept else '✗'} {finding.title}")
        lines += [f"    {line}" for line in finding.lines]
    lines += ["", *(_table_line(row) for row in (ERROR_HEADINGS, *error_rows(scene.accuracy))), ""]
    lines += [
        "Next:  make test              everything that holds, checked on this machine",
        "       make bench-clock       the same, scenario by scenario (docs/clock.md)",
        "       docs/architecture.md   how it works, and why",
    ]
    return lines


def _nothing_lost(scene: Scene) -> Finding:
    ledger = scene.ledger
    lost, left = ledger.awaited, ledger.unacknowledged
    lines = [f"acknowledged {ledger.acknowledged:,} · in the log {ledger.in_log:,} · lost {lost:,}"]
    if left:
        lines.append(f"{left:,} more were still on the devices when time was up")
    if scene.tally.failed:
        failed = ", ".join(f"{code} {count:,}" for code, count in scene.tally.failed.most_common())
        lines.append(f"calls that failed and were repeated: {failed}")
    if not scene.is_log_read:
        return Finding(False, "The log could not be read to its end in time; is this machine too busy?", tuple(lines))
    if ledger.acknowledged == 0:
        return Finding(False, "Nothing was acknowledged.", tuple(lines))
    title = "Every acknowledged event is in the log." if lost == 0 else "Acknowledged events are not in the log!"
    return Finding(lost == 0, title, tuple(lines))


def _resends(scene: Scene) -> Finding:
    tally, copies = scene.tally, scene.ledger.copies_in_log
    again = f"events that came again {tally.duplicates:,}"
    line = f"replies lost {tally.replies_lost:,} · {again} · twice in the log {copies:,}"
    # At least once is what ingestion promises; enrichment drops the copies.
    return Finding(True, "What was sent again was recognised.", (line,))


def _refusals(scene: Scene) -> Finding:
    ledger = scene.ledger
    reasons = " · ".join(f"{reason} {count:,}" for reason, count in scene.tally.refused.most_common())
    line = f"refused {ledger.refused:,}" + (f": {reasons}" if reasons else "")
    if ledger.refused_in_log:
        return Finding(False, f"{ledger.refused_in_log:,} refused events came out as events!", (line,))
    return Finding(True, "Bad events were refused one by one, with a reason; their batches went on.", (line,))


def _times(scene: Scene) -> Finding:
    ours, peers = scene.accuracy.ours.wrong_us, scene.accuracy.peers.wrong_us
    if not ours.count:
        return Finding(True, "There were no times to compare.", ())
    lines = (
        f"half of all times are within {texts.span(ours.quantile(0.5))} of the truth, "
        f"99 % within {texts.span(ours.quantile(0.99))};",
        f"occurred + received − sent gives {texts.span(peers.quantile(0.5))} and {texts.span(peers.quantile(0.99))}",
    )
    return Finding(True, "Times were corrected, whatever the clocks and networks did.", lines)


def _bounds(scene: Scene) -> Finding:
    ours = scene.accuracy.ours
    if ours.coverage is None:
        return Finding(True, "There were no bounds to check.", ())
    line = (
        f"the truth is within the stated bound for {texts.percent(ours.coverage)} of {ours.bound_us.count:,}; "
        f"median ± {texts.span(ours.bound_us.quantile(0.5))}"
    )
    if not scene.accuracy.bounds_hold:
        return Finding(False, f"Fewer than {COVERAGE_LEAST:.1%} of the stated bounds hold!", (line,))
    how_many = "all" if ours.within == ours.bound_us.count else "nearly all"
    title = f"Times with clock tokens say how wrong they may be; {how_many} keep to it."
    return Finding(True, title, (line,))


def _table_line(row: ErrorRow) -> str:
    cells = zip(row[1:], _WIDTHS[1:], strict=True)
    return f"{row.name:<{_WIDTHS[0]}}" + "".join(f"{cell:>{width}}" for cell, width in cells)
