"""Attacks on a listener, without a job key. Its address is that of socket.connect(): (host, port),
or the name of a Unix socket."""

import os
import re
import select
import socket
import struct
import threading
import time

CHALLENGE_BYTES = 40
HELLO_BYTES = 96
HELLO_MAGIC = b"PLh1"
NOBODY = 65534
FLOOD = 1000
DIAL_S = 20


def dial(door):
    family = socket.AF_UNIX if isinstance(door, (str, bytes)) else socket.AF_INET
    connection = socket.socket(family)
    connection.settimeout(DIAL_S)
    connection.connect(door)
    return connection


def gigabyte_length():
    """Headers of the framing between ranks and of the store that announce a gigabyte."""
    length = 1 << 30
    return struct.pack("<IIQ", 0x316D4C50, 0, length) + struct.pack("<I", length) * 30


def half_a_hello():
    return HELLO_MAGIC + os.urandom(HELLO_BYTES // 2)


def knock(door, words):
    """Connects, says `words`, and where they are less than a hello that no more will come."""
    connection = dial(door)
    try:
        connection.sendall(words)
        if 0 < len(words) < HELLO_BYTES:
            connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # it has hung up already
    return connection


def refused(connections, limit_s, leave=0):
    """Waits until the other side has ended all but `leave` of the connections; fails if one of
    them is told more than a challenge. Returns the seconds that it took."""
    begin = time.monotonic()
    poll = select.poll()
    told = {connection.fileno(): 0 for connection in connections}
    by_fd = {connection.fileno(): connection for connection in connections}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    while len(told) > leave:
        left_s = begin + limit_s - time.monotonic()
        if left_s <= 0:
            raise AssertionError(f"{len(told)} attackers are still connected after {limit_s} s")
        for fd, _ in poll.poll(1000 * left_s):
            try:
                came = by_fd[fd].recv(4096)
            except ConnectionError:
                came = b""
            told[fd] += len(came)
            if told[fd] > CHALLENGE_BYTES:
                raise AssertionError("an unauthenticated connection got more than a challenge")
            if not came:
                poll.unregister(fd)
                del told[fd]
    for connection in connections:
        connection.close()
    return time.monotonic() - begin


def as_another_user(action):
    """Runs `action` as the user nobody, in a process of its own; what it returns is a number."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            code = action()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Relay:
    """A man in the middle: passes on what both sides say, and records the hellos.

    Where `also_data` is set, the address that a rank leaves in the store is exchanged for that of
    another relay, so that its peers come through that one."""

    def __init__(self, target, also_data=False):
        self.target = target
        self.hellos = []
        self.data = Relay(None) if also_data else None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
                server = dial(self.target)
            except OSError:
                return
            client.settimeout(None)
            server.settimeout(None)
            for source, sink in ((client, server), (server, client)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pump, args=(source, sink, source is client),
                                 daemon=True).start()

    def _pump(self, source, sink, is_dialer):
        try:
            while said := source.recv(1 << 16):
                if is_dialer and said.startswith(HELLO_MAGIC):
                    self.hellos.append(said[:HELLO_BYTES])
                if is_dialer and self.data:
                    said = re.sub(rb"127\.0\.0\.1:(\d{5})", self._exchange, said)
                sink.sendall(said)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _exchange(self, match):
        self.data.target = ("127.0.0.1", int(match[1]))
        other = b"127.0.0.1:%d" % self.data.port
        return other if len(other) == len(match[0]) else match[0]

    def close(self):
        self.listener.close()
        if self.data:
            self.data.close()
