"""redis-py's RedisCluster with its default settings, while slots move. Usage: test_cluster.py PORT SECONDS"""

import sys
import time

import redis

client = redis.RedisCluster(host="127.0.0.1", port=int(sys.argv[1]))
end = time.monotonic() + float(sys.argv[2])
hits = turn = 0
# A busy machine needs more time for as many hits.
while time.monotonic() < end or hits <= 200:
    assert time.monotonic() < end + 60, hits
    turn += 1
    key = f"py:{turn % 300}"
    value = client.get(key)
    assert value in (None, f"v{key}".encode()), (key, value)
    hits += value is not None
    if value is None:
        assert client.set(key, f"v{key}", ex=100)
    if turn % 50 == 0:
        assert client.mset({"{py}1": 1, "{py}2": 2})
        assert len(client.mget("{py}1", "{py}2")) == 2
        with client.pipeline() as pipe:
            for at in range(20):
                pipe.get(f"py:{at}")
            got = pipe.execute()
        assert all(value in (None, f"vpy:{at}".encode()) for at, value in enumerate(got)), got
assert len(client.get_nodes()) >= 2
assert client.cluster_keyslot("foo") == 12182
assert client.ping() is True
client.close()
