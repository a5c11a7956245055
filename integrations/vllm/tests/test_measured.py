"""The page of measured runs shows the figures of its CSV."""

import sys
from pathlib import Path

import pytest

from integrations.vllm import measured


def test_the_table_is_that_of_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check compares them line by line, with data also the figures, and writes nothing."""
    monkeypatch.setattr(measured, "figures", lambda _: [["other"] * len(measured.COLUMNS)])
    before = measured.FIGURES.read_bytes()
    for data, stale in (([], 0), (["DATA"], 1)):
        monkeypatch.setattr(sys, "argv", ["", *data, "--check"])
        assert measured.main() == stale
        assert measured.FIGURES.read_bytes() == before


def test_a_round_adds_up_its_kernels(tmp_path: Path) -> None:
    """Two layers of 5 + 3 µs, then 4 µs for the sample: 20 µs."""
    names = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us"
    (tmp_path / "attention.csv").write_text(f"{names}\n0,0,1,16,5\n")
    (tmp_path / "dense.csv").write_text("layer,tokens,time_us\no_proj,1,3\n")
    (tmp_path / "per_sequence.csv").write_text("layer,sequences,time_us\nsampler,1,4\n")
    assert measured.rounds(tmp_path, 2, 8, 8, 99).seconds.tolist() == pytest.approx([20e-6])
