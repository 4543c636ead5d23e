"""redis-py with its default settings, and with RESP2. Usage: test_redis_py.py PORT

The server has a user bob with the password pw, and a tenant that is bob's.
"""

import sys

import redis

PORT = int(sys.argv[1])


def operations(client):
    client.flushall()
    assert client.ping() is True
    assert client.set("k", "v") is True
    assert client.get("k") == b"v"
    assert client.set("k", "w", nx=True) is None
    assert client.set("k", "w", xx=True, get=True) == b"v"
    assert client.set("t", "v", ex=100) and 99 <= client.ttl("t") <= 100
    assert client.set("t", "x", keepttl=True) and client.ttl("t") > 90
    assert client.persist("t") and client.ttl("t") == -1
    assert client.expire("t", 50) and client.pttl("t") > 40_000
    assert client.getex("t", ex=10) == b"x" and client.ttl("t") <= 10
    assert client.getdel("t") == b"x" and client.exists("t") == 0
    assert client.mset({"a": 1, "b": 2}) is True
    assert client.mget("a", "b", "no") == [b"1", b"2", None]
    assert client.incrby("a", 5) == 6 and client.decr("a") == 5
    assert client.incrbyfloat("f", 0.1) == 0.1 and client.incrbyfloat("f", 0.2) == 0.3
    assert client.append("s", "abc") == 3 and client.getrange("s", 1, -1) == b"bc"
    assert client.setrange("s", 1, "XY") == 3 and client.strlen("s") == 3
    assert client.delete("a", "b", "no") == 2
    assert sorted(client.scan_iter("*")) == [b"f", b"k", b"s"]
    assert sorted(client.keys("[fs]")) == [b"f", b"s"]
    assert client.dbsize() == 3 and client.type("k") == "string" or client.type("k") == b"string"
    with client.pipeline(transaction=True) as pipe:
        assert pipe.set("p", 1).incr("p").get("p").execute() == [True, 2, b"2"]
    with client.pipeline(transaction=False) as pipe:
        for i in range(1000):
            pipe.set(f"n:{i}", i)
        assert pipe.execute() == [True] * 1000
    client.set("w", 1)

    def twice(pipe):
        value = int(pipe.get("w"))
        pipe.multi()
        pipe.set("w", value * 2)

    client.transaction(twice, "w")
    assert client.get("w") == b"2"
    try:
        client.incr("k")
        raise AssertionError("a word is no number")
    except redis.ResponseError as error:
        assert "not an integer" in str(error)
    info = client.info()
    assert info["redis_mode"] == "standalone" and any(name.startswith("db") for name in info)
    assert client.config_get("maxmemory")["maxmemory"] == "0"
    assert client.config_set("timeout", 0)
    assert client.client_setname("me") and client.client_getname() in ("me", b"me")
    assert any(one["name"] == "me" for one in client.client_list())
    assert client.command_count() > 70 and "get" in client.command()
    assert client.memory_usage("k") > 0
    assert client.object("encoding", "p") in ("int", b"int")
    pubsub = client.pubsub()
    pubsub.subscribe("news")
    assert pubsub.get_message(timeout=5)["type"] == "subscribe"
    assert client.publish("news", "hi") == 1
    assert pubsub.get_message(timeout=5)["data"] == b"hi"
    pubsub.close()


operations(redis.Redis(port=PORT))
operations(redis.Redis(port=PORT, protocol=2))
operations(redis.Redis(port=PORT, db=3, client_name="named"))

bob = redis.Redis(port=PORT, username="bob", password="pw")
redis.Redis(port=PORT).set("whose", "everyone's")
assert bob.get("whose") is None
try:
    redis.Redis(port=PORT, username="bob", password="wrong").ping()
    raise AssertionError("the password is wrong")
except redis.AuthenticationError:
    pass
