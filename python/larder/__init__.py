"""Cache traces, simulations, miss ratio curves and plans.

>>> import larder
>>> trace = larder.generate("zipf:keys=2000:skew=0.9:size=const/100:requests=50000:seed=1")
>>> len(trace), trace.footprint <= 200_000
(50000, True)
>>> lru, lhd = larder.simulate(trace, ["lru", "lhd"], "10%")
>>> lru.policy, lru.requests, lru.miss_ratio < 0.6
('lru', 50000, True)
>>> curve = larder.curve(trace, model="olken")
>>> abs(curve(lru.size) - lru.miss_ratio) < 0.01
True

Counts of parts of the keys add up, even if several processes made them:

>>> parts = []
>>> for at in (1, 2, 3):
...     model = larder.Model("olken", part=(at, 3))
...     model.access(trace)
...     parts.append(model.counts())
>>> whole = larder.merge(parts).curve()
>>> abs(whole(lru.size) - lru.miss_ratio) < 0.01
True

A plan divides memory among tenants by their curves:

>>> loop = larder.generate("loop:keys=500:size=const/100:requests=20000")
>>> plan = larder.plan({"zipf": curve, "loop": larder.curve(loop, model="olken")}, 100_000)
>>> plan.bytes["loop"] >= 50_000
True
"""

from ._larder import (
    Counts,
    Curve,
    Model,
    Plan,
    Result,
    Trace,
    curve,
    formats,
    generate,
    generators,
    merge,
    models,
    plan,
    policies,
    read,
    simulate,
)

__all__ = [
    "Counts",
    "Curve",
    "Model",
    "Plan",
    "Result",
    "Trace",
    "curve",
    "formats",
    "generate",
    "generators",
    "merge",
    "models",
    "plan",
    "policies",
    "read",
    "simulate",
]
