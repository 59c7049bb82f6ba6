#!/usr/bin/env python3
"""Attacks listeners from a host that has no job key.

Reads lines of "ADDRESS PORT" and attacks each of these listeners at once with every attack that it
knows. When its input and all connections have ended, it prints a line for each connection. The line
has the attack, the listener, the number of bytes of the answer, and how the connection ended.
"""

import contextlib
import os
import socket
import ssl
import sys
import threading
import time

PATIENCE_S = 30
SILENT = 20  # connections that say nothing
LENGTH = (1 << 30).to_bytes(4, "little")


def header(name, value):
    """A field of HPACK (RFC 7541, 6.2.2): literal, not indexed, not compressed."""
    return b"\0" + b"".join(bytes([len(text)]) + text for text in (name, value))


def frame(kind, flags, stream, payload=b""):
    """Of HTTP/2 (RFC 9113, 4.1)."""
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
            + payload)


def call_without_token():
    """A call of gRPC's to the head, as an agent makes it, but without its token."""
    fields = ((b":method", b"POST"), (b":scheme", b"https"), (b":authority", b"paceline-head"),
              (b":path", b"/paceline.launcher.messages.Agents/Serve"), (b"te", b"trailers"),
              (b"content-type", b"application/grpc"), (b"paceline-host", b"1"))
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
            + frame(1, 4, 1, b"".join(header(*field) for field in fields))
            + frame(0, 0, 1, b"\0" + (5).to_bytes(4, "big") + b"hello"))


WORDS = {"noise": lambda: os.urandom(1000), "long noise": lambda: os.urandom(100_000),
         "http": lambda: b"GET / HTTP/1.1\r\nHost: head\r\n\r\n", "lengths": lambda: 30 * LENGTH,
         "http/2": call_without_token, "half a hello": lambda: b"PLh1" + bytes(40)}
TLS_WORDS = {"tls": lambda: b"", "tls and noise": lambda: os.urandom(1000),
             "tls and http/2 without a token": call_without_token}


def talk(connection, words):
    """What comes back, and how it ends."""
    heard = 0
    with contextlib.suppress(OSError):
        connection.sendall(words)
    try:
        while some := connection.recv(4096):
            heard += len(some)
    except socket.timeout:
        return heard, "stays"
    except OSError:
        pass
    return heard, "ended"


def wrap(connection):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(connection)


def attack(door, name, words, tls, results):
    heard, how = 0, "never came about"
    try:
        with socket.create_connection(door, timeout=5) as connection:
            connection.settimeout(PATIENCE_S)
            how = "ended"
            if tls:
                with wrap(connection) as inside:
                    heard, how = talk(inside, words)
                    name += ", greeted"
            else:
                heard, how = talk(connection, words)
    except OSError:
        pass
    results.append(f"{door[0]}:{door[1]}\t{name}\t{heard}\t{how}")


def main():
    threads, results = [], []
    print("ready", flush=True)
    for line in sys.stdin:
        address, port = line.split()
        tries = [(name, make(), False) for name, make in WORDS.items()]
        tries += [(name, make(), True) for name, make in TLS_WORDS.items()]
        tries += SILENT * [("silence", b"", False)]
        for name, words, tls in tries:
            threads.append(threading.Thread(target=attack, daemon=True, args=(
                (address, int(port)), name, words, tls, results)))
            threads[-1].start()
    end = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    print("\n".join(results), flush=True)


if __name__ == "__main__":
    main()
