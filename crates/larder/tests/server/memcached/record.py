"""Records the replies of memcached 1.6 to requests.txt. Usage: record.py PORT > recorded.txt

Each line of requests.txt is a request, with its data behind a bar; `-> any` marks a reply that
differs from run to run. A line that gets no reply is followed by `mn`, whose reply ends it.
"""

import pathlib
import socket
import sys

sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
stream = sock.makefile("rb")


def replies():
    """Everything up to the reply to mn."""
    lines = []
    while True:
        line = stream.readline()
        if line == b"MN\r\n":
            return b"".join(lines)
        lines.append(line)


requests = pathlib.Path(__file__).with_name("requests.txt")
for line in requests.read_text().splitlines():
    if not line or line.startswith("#"):
        continue
    request, _, any_reply = line.partition(" -> ")
    request, bar, data = request.partition("|")
    sock.sendall(request.encode() + b"\r\n" + (data.encode() + b"\r\n" if bar else b"") + b"mn\r\n")
    reply = replies()
    text = "(any)" if any_reply else reply.decode().replace("\r\n", "\\r\\n")
    print(f"{line.partition(' -> ')[0]}\n  {text}")
