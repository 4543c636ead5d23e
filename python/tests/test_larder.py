"""The package as it is installed."""

import pickle
import threading
import time

import numpy as np
import pytest

import larder

SPEC = "zipf:keys=20000:skew=0.8:size=const/100:requests=200000:seed=3"


@pytest.fixture(scope="module")
def trace():
    return larder.generate(SPEC)


def test_arrays_go_in_and_out(trace):
    assert trace.keys.dtype == np.uint64 and len(trace.keys) == len(trace) == 200_000
    assert set(np.unique(trace.sizes)) == {100}
    keys = np.array([1, 2, 1, 3, 1], dtype=np.uint64)
    made = larder.Trace(keys, sizes=np.array([10, 20, 10, 30, 10], dtype=np.uint64))
    (lru,) = larder.simulate(made, "lru", 1000)
    assert (lru.reads, lru.misses) == (5, 3)
    words = larder.Trace(["1", "2", "1"])
    assert list(words.keys) == list(made.keys[:3]), "a number is its text, as in a file"
    ops = np.array([1, 0, 2, 0], dtype=np.uint8)
    (lru,) = larder.simulate(larder.Trace(["a"] * 4, ops=ops), "lru", 10)
    assert (lru.reads, lru.misses) == (2, 1)


def test_columns_are_those_that_were_given():
    made = larder.Trace(
        np.array([1, 2, 1, 2], dtype=np.uint64),
        sizes=np.array([10, 20, 15, 99], dtype=np.uint64),
        times=np.array([0.0, 0.5, 2.0, 2.5]),
        ops=np.array([0, 1, 0, 2], dtype=np.uint8),
        tenants=np.array([0, 1, 0, 1], dtype=np.uint16),
    )
    assert list(made.times) == [0.0, 0.5, 2.0, 2.5]
    assert list(made.ops) == [0, 1, 0, 2] and list(made.tenants) == [0, 1, 0, 1]
    assert made.footprint == 15 + 20, "each object at its largest; a delete has no size"


def test_wrong_arguments_are_told(trace):
    with pytest.raises(ValueError, match="one for each key"):
        larder.Trace([1, 2], sizes=np.array([1], dtype=np.uint64))
    with pytest.raises(ValueError, match="no such policy|unknown|policy"):
        larder.simulate(trace, "nosuch", "1%")
    with pytest.raises(ValueError, match="not a size"):
        larder.simulate(trace, "lru", "x%")
    with pytest.raises(OSError, match="no such file"):
        larder.read("/nowhere/trace.csv")
    with pytest.raises(ValueError, match="unknown model"):
        larder.Model("nosuch")
    with pytest.raises(ValueError, match="for example"):
        larder.Model("krr", part=(5, 4))
    with pytest.raises(ValueError, match="damaged|not counts"):
        larder.Counts(b"larder py counts 1\n12345678x")


def test_a_file_is_read(tmp_path, trace):
    path = tmp_path / "t.csv"
    rows = zip(range(1000), trace.keys[:1000])
    path.write_text("".join(f"{at},{key},3,100,0,get,0\n" for at, key in rows))
    seen = []
    read = larder.read(str(path), progress=seen.append)
    assert len(read) == 1000 and seen == [1000]
    assert len(larder.read(str(path), limit=10)) == 10


def test_curves_are_what_simulation_says(trace):
    curve = larder.curve(trace, model="olken")
    for share in ("2%", "10%", "50%"):
        (lru,) = larder.simulate(trace, "lru", share)
        assert abs(curve(lru.size) - lru.miss_ratio) < 0.002
    assert curve.size_for(curve(100_000)) <= 100_000
    assert (np.diff(curve.miss_ratios) <= 1e-9).all()


@pytest.mark.parametrize("name", ["olken", "shards", "krr", "aet", "kaet"])
def test_counts_add_up_and_are_pickled(trace, name):
    def counted(at):
        model = larder.Model(name, part=(at, 4))
        model.access(trace)
        return pickle.loads(pickle.dumps(model.counts()))

    parts = [counted(at) for at in (3, 1, 4, 2)]
    whole = larder.merge(parts)
    assert whole.parts == ([1, 2, 3, 4], 4)
    curve, merged = larder.curve(trace, model=name), whole.curve()
    sizes = np.linspace(20_000, 2_000_000, 30).astype(int)
    error = np.mean([abs(curve(int(size)) - merged(int(size))) for size in sizes])
    assert error < 0.003
    with pytest.raises(ValueError, match="twice"):
        parts[0] + parts[0]


def test_other_threads_run_meanwhile(trace):
    """A thread of Python counts while a simulation runs in another."""
    done, ticks = threading.Event(), []

    def play():
        larder.simulate(trace, ["lhd", "lru", "arc"], ["1%", "10%"])
        done.set()

    thread = threading.Thread(target=play)
    thread.start()
    while not done.is_set():
        ticks.append(time.monotonic())
        time.sleep(0.001)
    thread.join()
    assert len(ticks) > 5


def test_samples_of_samples_are_independent():
    loop = larder.generate("loop:keys=20000:size=const/100:requests=100000")
    sample = loop.sample(0.1)
    assert sample.rate == pytest.approx(0.1)
    kept = len(np.unique(sample.sample(0.1).keys))
    assert 140 < kept < 260, "a tenth of the 2 000 keys"
    fits = larder.curve(sample, rate=0.1).size_for(0.3)
    assert 140_000 < fits < 260_000, "the sample has 2 000 keys of 100 bytes"


def test_a_plan_divides(trace):
    loop = larder.generate("loop:keys=1000:size=const/100:requests=20000")
    curves = {"zipf": larder.curve(trace), "loop": larder.curve(loop)}
    plan = larder.plan(curves, "300kb", penalties={"loop": 0.05, "zipf": 0.001})
    assert plan.bytes["loop"] >= 95_000 and sum(plan.bytes.values()) <= 307_200
    assert plan.miss_ratios["loop"] < 0.2
    waits = {"loop": 0.05 * plan.miss_ratios["loop"], "zipf": 0.001 * plan.miss_ratios["zipf"]}
    assert plan.cost == pytest.approx(sum(waits.values()), rel=0.01), "seconds per second"
    floor = larder.plan(curves, "300kb", penalties={"loop": 0.05}, floors={"zipf": 250_000})
    assert floor.bytes["zipf"] >= 250_000
    with pytest.raises(ValueError, match="'10%' is a share"):
        larder.plan(curves, "10%")
