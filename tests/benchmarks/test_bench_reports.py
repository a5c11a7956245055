"""Reports over 100,000 rows: all tables, figures and pages in under 20 seconds.

Run with ``pytest tests/benchmarks/test_bench_reports.py --benchmark-enable --benchmark-only``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from reports.build import build_report
from tests.reports.synthetic import many


def test_report_over_many_rows(benchmark: Any, tmp_path: Path) -> None:
    """40 methods on 2,500 instances, with traces; 200 pages.  CPU seconds ignore other load."""
    rows = many(2500 if benchmark.enabled else 50, 40)
    begun = time.process_time()
    written = benchmark.pedantic(build_report, (rows, tmp_path), rounds=1)
    seconds = time.process_time() - begun
    benchmark.extra_info["rows"] = len(rows)
    benchmark.extra_info["CPU seconds"] = seconds
    benchmark.extra_info["files"] = len(written)
    benchmark.extra_info["page, MB"] = (tmp_path / "index.html").stat().st_size / 1e6
    assert seconds < 20
