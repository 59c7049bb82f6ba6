"""A rank of a job on two hosts. Rank 1 sends to rank 0, which sends everything back.

`link_rank.py tcp SECONDS`: rank 1 prints a line for each round trip: when it began, and seconds.

`link_rank.py udp COUNT`: rank 0 prints how many datagrams arrived, and how many of them after a
later one; rank 1 prints how many came back.
"""

import itertools
import os
import socket
import sys
import time

FAULT_BEGINS_S = 1.0  # udp: the first datagram is later
SILENCE_S = 1.0
CONNECT_S = 10
STEP_S = 0.02
SPACING_S = 0.0005
ROOM_BYTES = 4 << 20  # for thousands of datagrams, in case this process does not run for a while
SO_RCVBUFFORCE = 33
PLACE = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
FAMILY = socket.AF_INET6 if ":" in PLACE[0] else socket.AF_INET


def echo_tcp(_):
    with socket.create_server(PLACE, family=FAMILY) as server:
        server.settimeout(CONNECT_S)
        connection = server.accept()[0]
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while byte := connection.recv(1):
                connection.sendall(byte)


def ask_tcp(seconds):
    begin = time.monotonic()
    while True:
        try:
            connection = socket.create_connection(PLACE, timeout=CONNECT_S)
            break
        except ConnectionRefusedError:
            if time.monotonic() > begin + CONNECT_S:
                raise
            time.sleep(STEP_S)
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (sent := time.monotonic()) < begin + seconds:
            connection.sendall(b"x")
            connection.recv(1)
            print(f"{sent - begin:.3f} {time.monotonic() - sent:.4f}", flush=True)
            time.sleep(STEP_S)


def udp_socket():
    end = socket.socket(FAMILY, socket.SOCK_DGRAM)
    try:
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM_BYTES)
    except PermissionError:  # root of a user namespace
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
    return end


def echo_udp(_):
    numbers = []
    with udp_socket() as end:
        end.bind(PLACE)
        end.settimeout(FAULT_BEGINS_S + CONNECT_S)
        try:
            while True:
                data, sender = end.recvfrom(16)
                numbers.append(int(data))
                end.sendto(data, sender)
                end.settimeout(SILENCE_S)
        except TimeoutError:
            print("arrived", len(numbers))
            latest = itertools.accumulate(numbers, max)
            print("overtaken", sum(one < other for one, other in zip(numbers, latest)))


def ask_udp(count):
    returned = 0
    with udp_socket() as end:
        time.sleep(FAULT_BEGINS_S)
        for number in range(int(count)):
            end.sendto(str(number).encode(), PLACE)
            returned += takes_datagram(end, SPACING_S)
        while takes_datagram(end, SILENCE_S):
            returned += 1
    print("returned", returned)


def takes_datagram(end, patience_s):
    end.settimeout(patience_s)
    try:
        return bool(end.recv(16))
    except TimeoutError:
        return False


ACTS = {("tcp", "0"): echo_tcp, ("tcp", "1"): ask_tcp, ("udp", "0"): echo_udp,
        ("udp", "1"): ask_udp}
ACTS[sys.argv[1], os.environ["RANK"]](float(sys.argv[2]))
