"""What was seen, in plain words, and whether it is as we promise.

In:  the scene, when everything has been read from the logs. Out: text of at most 79 columns, and the verdict. Pure.
"""

from collections.abc import Iterator
from typing import NamedTuple

from penstock.demo import texts
from penstock.demo.accuracy import COVERAGE_LEAST
from penstock.demo.ending import CATCH_UP_S
from penstock.demo.hops import latency_text
from penstock.demo.scene import ERROR_HEADINGS, ErrorRow, Scene, changes_text, error_rows, joins_text

# Each with room for the widest that it may hold and a blank: 190,000,000 events, 119 min, ± 119 min, 100.00 %.
_WIDTHS = (24, 12, 8, 8, 8, 10, 9)
_LINE = 75
_EXAMPLES = 5


class Finding(NamedTuple):
    """One promise, whether it was kept, and the numbers."""

    kept: bool
    title: str
    lines: tuple[str, ...]


def findings(scene: Scene) -> Iterator[Finding]:
    """All of them have to be kept."""
    yield _nothing_lost(scene)
    yield _once(scene)
    yield _joined(scene)
    yield _table(scene)
    yield _timelines(scene)
    yield _latency(scene)
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
    lines = [f"acknowledged {ledger.acknowledged:,} · in the raw log {ledger.in_log:,} · lost {lost:,}"]
    if left:
        lines.append(f"{left:,} more were still on the devices when time was up")
    if scene.tally.failed:
        failed = ", ".join(f"{code} {count:,}" for code, count in scene.tally.failed.most_common())
        lines.append(f"calls that failed and were repeated: {failed}")
    if not scene.is_log_read:
        return Finding(False, "The log could not be read to its end in time; is this machine too busy?", tuple(lines))
    if ledger.acknowledged == 0:
        return Finding(False, "Nothing was acknowledged.", tuple(lines))
    title = "Every acknowledged event is durable." if lost == 0 else "Acknowledged events are not in the log!"
    return Finding(lost == 0, title, tuple(lines))


def _once(scene: Scene) -> Finding:
    ledger, tally, fresh_us = scene.ledger, scene.tally, scene.fresh_us
    lost, doubled = ledger.unenriched, ledger.doubled
    lines = (
        f"enriched {ledger.enriched:,} · lost {lost:,} · doubled {doubled:,}",
        f"to be read {texts.span(fresh_us.quantile(0.5))} after ingestion had them,"
        f" 99 % within {texts.span(fresh_us.quantile(0.99))}",
        f"replies lost {tally.replies_lost:,} · events that came again {tally.duplicates:,}"
        f" · twice in the raw log {ledger.copies_in_log:,}",
    )
    if doubled:
        return Finding(False, "Events are in the enriched log more than once!", lines)
    if lost:
        return Finding(False, f"Enrichment did not bring out every event within {CATCH_UP_S:.0f} s!", lines)
    if not scene.is_enriched_log_read:
        return Finding(False, "The enriched log could not be read to its end in time.", lines)
    return Finding(True, "Every one of them came out enriched, exactly once.", lines)


def _joined(scene: Scene) -> Finding:
    joins = scene.joins
    lines = [
        joins_text(scene),
        f"so as first emitted; {joins.corrections:,} were corrected when a change had come later",
        f"judged by the times of PostgreSQL's commits {joins.judged:,} · wrong {joins.wrong:,}",
    ]
    if joins.wrong or joins.unjudged:
        lines += [f"{joins.unjudged:,} could not be judged"] if joins.unjudged else []
        lines += [f"for example {joins.example}"] if joins.example else []
        return Finding(False, f"Joins were not right within {CATCH_UP_S:.0f} s!", tuple(lines))
    return Finding(True, "Every join is with the profile that was valid when the event happened.", tuple(lines))


def _table(scene: Scene) -> Finding:
    lines = (f"{changes_text(scene)} in SQL", f"rows compared {scene.rows_compared:,}")
    if scene.rows_differing is None:
        return Finding(False, "The table could not be compared with the database.", lines)
    title = "Enrichment's table is what the database has."
    if scene.rows_differing:
        title = f"Enrichment's table is not what the database has after {CATCH_UP_S:.0f} s!"
    return Finding(scene.rows_differing == 0, title, (lines[0], f"{lines[1]} · differing {scene.rows_differing:,}"))


def _timelines(scene: Scene) -> Finding:
    audit = scene.audit
    if audit is None or audit.failure is not None:
        reason = audit.failure if audit is not None and audit.failure is not None else "nobody asked for it"
        return Finding(False, "Timelines could not be computed again and compared.", (texts.cut(reason, _LINE),))
    lines = [
        f"users {audit.users:,} · entries {audit.entries:,} · differences {audit.differences:,}",
        f"of {texts.count(audit.posts)} posts and {texts.count(audit.follows)} follows, by Spark,"
        f" in {audit.took_s:.0f} s",
        f"entries written {texts.count(scene.timeline.added)} · removed {texts.count(scene.timeline.removed)}"
        f" · timelines refilled {texts.count(scene.timeline.refilled or 0)}",
    ]
    if audit.differences:
        lines += [texts.cut(texts.printable(one), _LINE) for one in audit.examples[:_EXAMPLES]]
        return Finding(False, "Timelines are not what the logs of posts and follows say!", tuple(lines))
    if not scene.are_timelines_caught_up:
        return Finding(False, f"Timelines did not catch up within {CATCH_UP_S:.0f} s!", tuple(lines))
    if not audit.entries:
        return Finding(False, "Nobody's timeline had a post.", tuple(lines))
    title = "Every timeline is what the logs of posts and follows say, computed again."
    return Finding(True, title, tuple(lines))


def _latency(scene: Scene) -> Finding:
    probe = scene.probe
    unseen = probe.under_way + probe.given_up
    line = f"publish → timeline {latency_text(scene)} · probes {probe.latency_us.count:,} · not seen {unseen:,}"
    if unseen:
        return Finding(False, "Posts were published that their author's follower was not shown!", (line,))
    return Finding(True, "Followers were shown posts as they were published.", (line,))


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
        f"the truth is within the bound for {texts.percent(ours.coverage)} of {ours.bound_us.count:,}; "
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
