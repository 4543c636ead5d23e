"""The examples, as they are."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_dask():
    pytest.importorskip("dask")
    runpy.run_path(str(EXAMPLES / "dask_parts.py"), run_name="__main__")


def test_ray():
    pytest.importorskip("ray")
    runpy.run_path(str(EXAMPLES / "ray_parts.py"), run_name="__main__")


def test_figure(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "figure.py"), run_name="__main__")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
