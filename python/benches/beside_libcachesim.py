"""The same trace by this package and by libcachesim: misses, and processor time of both.

Usage: python beside_libcachesim.py  (pip install libcachesim)
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import libcachesim as lcs

import larder

REQUESTS, ROUNDS = 2_000_000, 5
SPEC = f"zipf:keys=200000:skew=1:size=const/100:requests={REQUESTS}:seed=42"
SIZE = 2_000_000
POLICIES = {"lru": lcs.LRU, "fifo": lcs.FIFO, "sieve": lcs.Sieve, "s3fifo": lcs.S3FIFO}


def timed(work):
    begun = time.process_time()
    made = work()
    return time.process_time() - begun, made


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "t.oracleGeneral")
        generate = [program, "trace", "convert", f"synth:{SPEC}", path]
        subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)
        print(f"{'policy':8} {'misses':>8} {'theirs':>8} {'time by theirs':>15}")
        for name, cache in POLICIES.items():
            ratios = []
            for _ in range(ROUNDS):
                params = lcs.ReaderInitParam(ignore_obj_size=False)
                theirs, (missed, _) = timed(
                    lambda: cache(cache_size=SIZE).process_trace(
                        lcs.TraceReader(path, lcs.TraceType.ORACLE_GENERAL_TRACE, params)
                    )
                )
                ours, (result,) = timed(
                    lambda: larder.simulate(larder.read(path), name, SIZE)
                )
                ratios.append(ours / theirs)
            ratio = statistics.median(ratios)
            print(f"{name:8} {result.miss_ratio:8.4f} {missed:8.4f} {ratio:15.2f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "larder")
