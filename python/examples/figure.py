"""A figure: the curve of a model, and what simulation says of several policies."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import larder

trace = larder.generate("zipf:keys=20000:skew=0.8:size=const/200:requests=300000:seed=1")
sizes = np.linspace(0.02, 1, 40) * trace.footprint
for model, label in (("olken", "LRU, exact"), ("krr", "5-LRU, modelled in one pass")):
    curve = larder.curve(trace, model=model)
    plt.plot(sizes / 1e6, [curve(int(size)) for size in sizes], label=label)
shares = ["2%", "5%", "10%", "20%", "40%"]
for policy in ("lhd", "s3fifo"):
    results = larder.simulate(trace, policy, shares)
    points = [result.size / 1e6 for result in results], [result.miss_ratio for result in results]
    plt.plot(*points, "o", label=f"{policy}, simulated")
plt.xlabel("MB")
plt.ylabel("miss ratio")
plt.legend()
plt.savefig("curves.png", dpi=100)
