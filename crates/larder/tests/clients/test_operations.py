"""redis-py, RESP3 and RESP2, and the shared list of operations. Usage: test_operations.py PORT"""

import json
import pathlib
import sys

import redis

OPERATIONS = json.loads(pathlib.Path(__file__).with_name("operations.json").read_text())


def plain(reply):
    """What redis-py makes of some replies, made plain again."""
    if reply is True:
        return "OK"
    if isinstance(reply, float):
        return repr(reply)
    return reply


for protocol in (3, 2):
    client = redis.Redis(port=int(sys.argv[1]), protocol=protocol, decode_responses=True)
    client.response_callbacks.clear()
    with client.client() as one:
        one.response_callbacks.clear()
        for args, expected in OPERATIONS:
            reply = plain(one.execute_command(*args))
            if protocol == 2 and isinstance(expected, dict):
                reply = dict(zip(reply[::2], reply[1::2]))
            assert reply == expected, (protocol, args, reply, expected)
print(len(OPERATIONS))
