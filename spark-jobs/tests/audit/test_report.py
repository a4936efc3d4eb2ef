from __future__ import annotations

import json
from collections import Counter

from penstock.jobs.audit.report import Report


def test_that_a_clean_report_says_so() -> None:
    report = Report(posts=1200, follows=3, users=2, entries=5, served=5, rounds=1)
    assert report.text().splitlines() == [
        "1,200 posts and 3 follows make 5 entries in the timelines of 2 users; 5 entries are served",
        "differences: 0",
    ]
    assert json.loads(report.json())["differences"] == 0


def test_that_differences_are_counted_and_the_first_are_shown() -> None:
    report = Report(rounds=3, kinds=Counter(lost=12, ghost=1), first=["u1: lost ann/p1 should be there"])
    text = report.text()
    assert "compared 3 times" in text
    assert "differences: 13  (12 lost, 1 ghost)" in text
    assert "… and 12 more" in text
    assert json.loads(report.json())["kinds"] == {"lost": 12, "ghost": 1}
