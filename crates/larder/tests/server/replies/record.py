"""Records what redis-server answers to a list of commands, for tests/replies.rs to compare with.

    redis-server --port 7399 --save '' & python3 record.py commands.txt 7399 > recorded.txt

redis-server is 7.0.15 for commands.txt, and 7.2.6 for scripts.txt.

Each command is followed by the bytes of its reply, escaped. With a second port the replies of the
server there are compared instead, and the differences printed.
"""

import pathlib
import shlex
import socket
import sys


def words(line):
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    return [word.replace("\\n", "\n").encode() for word in lexer]


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=3)
        self.file = self.socket.makefile("rb")

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:].strip()
        if kind in b"$=" and int(rest) >= 0:
            return line + self.file.read(int(rest) + 2)
        if kind in b"*~>%" and int(rest) >= 0:
            count = int(rest) * (2 if kind == b"%" else 1)
            return line + b"".join(self.reply() for _ in range(count))
        return line

    def ask(self, line):
        args = words(line)
        self.socket.sendall(b"*%d\r\n" % len(args))
        for arg in args:
            self.socket.sendall(b"$%d\r\n%s\r\n" % (len(arg), arg))
        many = args[0].upper() in (b"SUBSCRIBE", b"PSUBSCRIBE")
        return b"".join(self.reply() for _ in range(len(args) - 1 if many else 1))


def main():
    here = pathlib.Path(__file__).parent
    lines = [line for line in (here / sys.argv[1]).read_text().splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    connections = [Connection(int(port)) for port in sys.argv[2:4]]
    for line in lines:
        replies = [connection.ask(line) for connection in connections]
        if line in ("HELLO 2", "HELLO 3"):
            # Names the server and the connection.
            replies = [b"(any)" for _ in replies]
        if len(replies) == 1:
            print(line)
            print("   ", replies[0].decode("latin1").encode("unicode_escape").decode())
        elif replies[0] != replies[1]:
            print(line, *replies, sep="\n    ")


main()
