"""The program that lab.py runs on two hosts of a lab, to measure the link between them."""

import itertools
import signal
import socket
import sys
import time

PORT = 7000
SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>; Python has no name for it
BUFFER_BYTES = 4 << 20
BATCH = 20  # datagrams that no queue is too short for


def ready():
    print("ready", flush=True)


def accepted():
    """The first connection that comes."""
    with socket.create_server(("", PORT)) as server:
        server.settimeout(30)
        ready()
        connection, _ = server.accept()
    connection.settimeout(30)
    return connection


def receive():
    """Takes a connection to its end; says how many bytes came after the first ones, and how long
    that took."""
    with accepted() as connection:
        connection.recv(1 << 20)
        begin = end = time.monotonic()
        received = 0
        while chunk := connection.recv(1 << 20):
            received += len(chunk)
            end = time.monotonic()
    print(received, end - begin)


def send(address, size):
    with socket.create_connection((address, PORT), timeout=30) as connection:
        connection.sendall(bytes(int(size)))


class Enough(Exception):
    """SIGTERM has come."""


def count(seconds=60):
    """Says how many datagrams came, within some seconds or until SIGTERM."""
    def stop(*_):
        raise Enough

    signal.signal(signal.SIGTERM, stop)
    received = 0
    end = time.monotonic() + float(seconds)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        hold_many(receiver)
        receiver.bind(("", PORT))
        ready()
        try:
            while (left := end - time.monotonic()) > 0:
                receiver.settimeout(left)
                receiver.recv(2048)
                received += 1
        except (Enough, socket.timeout):
            pass
        print(received + rest_of(receiver))


def hold_many(receiver):
    """A buffer that loses no datagram while the receiver waits for a CPU."""
    try:
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    except PermissionError:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)


def rest_of(receiver):
    """What has come and was not looked at yet."""
    receiver.setblocking(False)
    received = 0
    try:
        while receiver.recv(2048):
            received += 1
    except BlockingIOError:
        pass
    return received


def datagrams(address, number, size):
    """Sends so many, or, where that is 0, goes on until it is killed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for done in itertools.count(1) if number == "0" else range(1, int(number) + 1):
            try:
                sender.sendto(bytes(int(size)), (address, PORT))
            except OSError:
                pass  # the link is down: a datagram less
            if number == "0" or done % BATCH == 0:
                time.sleep(0.002)


def echo(number):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("", PORT))
        server.settimeout(10)
        ready()
        for _ in range(int(number)):
            server.sendto(*server.recvfrom(2048))


def round_trips(address, number):
    """The shortest of so many questions with their answers, in seconds."""
    times = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        for _ in range(int(number)):
            begin = time.monotonic()
            client.sendto(b"?", (address, PORT))
            client.recv(2048)
            times.append(time.monotonic() - begin)
    print(min(times))


def stream_echo():
    """The other end of stream_round_trips(), to its end."""
    with accepted() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while message := connection.recv(8):
            connection.sendall(message)


def stream_round_trips(address, number=2000):
    """The median of so many over one connection, in seconds."""
    times = []
    with socket.create_connection((address, PORT), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(int(number)):
            begin = time.monotonic()
            connection.sendall(b"12345678")
            connection.recv(8)
            times.append(time.monotonic() - begin)
    print(sorted(times)[len(times) // 2])


if __name__ == "__main__":
    {function.__name__: function for function in (
        receive, send, count, datagrams, echo, round_trips, stream_echo, stream_round_trips)}[
        sys.argv[1]](*sys.argv[2:])
