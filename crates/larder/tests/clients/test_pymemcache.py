"""pymemcache with its default settings. Usage: test_pymemcache.py PORT"""

import sys

from pymemcache import serde
from pymemcache.client.base import Client

client = Client(("127.0.0.1", int(sys.argv[1])), default_noreply=False, serde=serde.pickle_serde)
assert client.flush_all() is True
assert client.get("a") is None
assert client.set("a", "text") is True and client.get("a") == "text"
assert client.set("n", 7) is True and client.get("n") == 7, "its flags tell an int from a text"
assert client.set("o", {"x": [1, 2]}) and client.get("o") == {"x": [1, 2]}
assert client.add("a", "no") is False and client.add("b", "yes") is True
assert client.replace("zz", "no") is False and client.replace("b", "y2") is True
assert client.get_many(["a", "b", "zz"]) == {"a": "text", "b": "y2"}
assert client.set_many({f"k{i}": str(i) for i in range(100)}) == []
assert len(client.get_many([f"k{i}" for i in range(200)])) == 100
value, cas = client.gets("a")
assert value == "text" and client.cas("a", "new", cas) is True
assert client.cas("a", "newer", cas) is False and client.cas("zz", "x", cas) is None
assert client.incr("n", 3) == 10 and client.decr("n", 20) == 0 and client.incr("zz", 1) is None
assert client.touch("a", 100) is True and client.touch("zz", 100) is False
assert client.delete("a") is True and client.delete("a") is False
raw = Client(("127.0.0.1", int(sys.argv[1])), default_noreply=False)
assert raw.set("r", b"b") and raw.append("r", b"c") and raw.prepend("r", b"a")
assert raw.get("r") == b"abc"
assert raw.set("big", b"x" * 1_000_000) and len(raw.get("big")) == 1_000_000
try:
    raw.set("bigger", b"x" * 1_100_000)
    raise AssertionError("above the limit")
except Exception as error:
    assert "object too large for cache (memcached-item-size-max)" in str(error), error
assert raw.get("r") == b"abc", "the connection goes on"
assert b"limit_maxbytes" in raw.stats() and raw.version()
assert raw.set("later", b"x", noreply=True) and raw.get("later") == b"x"
