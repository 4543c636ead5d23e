"""The curve of one large trace, each part of its keys in a task of its own, by Ray."""

import ray

import larder

TRACE = "zipf:keys=50000:skew=0.9:size=const/200:requests=400000:seed=1"
PARTS = 4


@ray.remote
def counted(at):
    model = larder.Model("krr", part=(at, PARTS))
    model.access(larder.generate(TRACE))  # or larder.read("trace.csv.zst")
    return model.counts()


if __name__ == "__main__":
    ray.init(num_cpus=2)
    parts = ray.get([counted.remote(at + 1) for at in range(PARTS)])
    curve = larder.merge(parts).curve()
    for share in (1, 2, 5, 10, 20, 50):
        print(f"{share:3} % of 10 MB: {curve(share * 100_000):.3f} missed")
