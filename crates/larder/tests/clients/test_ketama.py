"""pymemcache's HashClient over several servers. Usage: test_ketama.py PORT PORT…"""

import sys

from pymemcache.client.base import Client
from pymemcache.client.hash import HashClient

PORTS = [int(port) for port in sys.argv[1:]]
client = HashClient([("127.0.0.1", port) for port in PORTS])
for at in range(1000):
    assert client.set(f"k{at}", str(at))
assert all(client.get(f"k{at}") == str(at).encode() for at in range(1000))
many = client.get_many([f"k{at}" for at in range(100)])
assert len(many) == 100
held = [int(Client(("127.0.0.1", port)).stats()[b"curr_items"]) for port in PORTS]
assert sum(held) == 1000 and min(held) > 100, held
assert client.delete_many([f"k{at}" for at in range(1000)])
