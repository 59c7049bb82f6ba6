#!/usr/bin/python3
"""The steps of `paceline bench gradient` through PyTorch's DistributedDataParallel with gloo, in
its default buckets of 25 MB. paceline-probe provides the trace, and
launcher/tools/measure/probe/gradient/gradient_rows.h defines the lines.

DDP has two advantages here over a real model. Gradients are in its buckets already, so none is
copied, and the thread of autograd has no other work.
"""

import ctypes
import datetime
import fcntl
import math
import os
import pathlib
import resource
import socket
import struct
import subprocess
import sys
import time

try:
    import torch
    import torch.distributed as dist
except ImportError as why:
    sys.exit(f"paceline-peer-ddp: no PyTorch here ({why}); Debian: python3-torch")

FOLDER = pathlib.Path(__file__).resolve().parent
PROBE, BURN = FOLDER / "paceline-probe", FOLDER / "paceline-burn.so"
# DDP decides its buckets anew after the first step; from the second on gradients lie in the final
# ones.
FIRST_STEPS = 2
PATTERN = 61  # as replay.cc has it
SIOCGIFADDR = 0x8915


def interface_towards(host, port):
    """The name of the network interface whose address packets to `host` leave with."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        address = probe.getsockname()[0]
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:
                continue  # it has no address
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None


class Clockwork:
    """Computing that sleeps to moments counted from the begin of the step, or burns its core."""

    def __init__(self, orders):
        self.due = 0
        self.rounds_per_us = float(orders.get("burn_per_us", 0))
        self.burn = None
        if orders.get("compute") == "burn":
            self.burn = ctypes.CDLL(str(BURN)).paceline_burn
            self.burn.argtypes = [ctypes.c_uint64]

    def begin(self):
        self.due = time.monotonic_ns()

    def compute(self, microseconds):
        if self.burn:
            self.burn(int(microseconds * self.rounds_per_us))
            return
        self.due += microseconds * 1e3
        left = self.due - time.monotonic_ns()
        if left > 0:
            time.sleep(left / 1e9)


class Step:
    """What backward of a layer asks for."""

    def __init__(self, clockwork, tensors):
        self.clockwork, self.tensors = clockwork, tensors
        self.places = None  # in DDP's buckets
        self.pattern = None  # what gradients are to be; None: whatever lies there
        self.computed = 0

    def gradient(self, index):
        count, microseconds = self.tensors[index]
        self.clockwork.compute(microseconds)
        if index == 0:
            self.computed = time.monotonic_ns()
        if self.places is None:
            return torch.ones(count)
        if self.pattern:
            self.places[index].copy_(self.pattern(index, count))
        return self.places[index].detach()  # another tensor on the same memory: nothing is copied


class Layer(torch.autograd.Function):
    """One parameter, whose gradient backward makes."""

    @staticmethod
    def forward(ctx, activation, _, step, index):
        ctx.step, ctx.index = step, index
        return activation.view_as(activation)

    @staticmethod
    def backward(ctx, gradient):
        own = ctx.step.gradient(ctx.index)
        return gradient if ctx.needs_input_grad[0] else None, own, None, None


class Model(torch.nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step = step
        self.parts = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.zeros(count)) for count, _ in step.tensors])

    def forward(self, activation):
        for index, part in enumerate(self.parts):
            activation = Layer.apply(activation, part, self.step, index)
        return activation


class Replay:
    def __init__(self, orders):
        self.orders = orders
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.forward_us, tensors = read_trace(orders)
        self.step = Step(Clockwork(orders), tensors)
        self.model = Model(self.step)
        self.ddp = torch.nn.parallel.DistributedDataParallel(
            self.model, broadcast_buffers=False, gradient_as_bucket_view=True)
        self.activation = torch.zeros(1)

    def run(self):
        warm_ups = max(int(self.orders.get("warm_ups", 1)), FIRST_STEPS + 1)
        self.take_steps(FIRST_STEPS)
        self.step.places = [part.grad for part in self.model.parts]
        self.take_steps(warm_ups - FIRST_STEPS)
        for _ in range(int(self.orders.get("turns", 5))):
            self.pass_and_await_turn()
            rows = self.take_steps(int(self.orders.get("steps", 5)))
            self.say("turn")
            self.publish(rows)
        self.pass_and_await_turn()
        self.say(f"verified {self.verify():.9g}")
        self.say("passed")

    def pass_and_await_turn(self):
        self.say("passed")
        if self.rank == 0 and not sys.stdin.readline():
            sys.exit("paceline-peer-ddp: `paceline bench` has closed standard input")
        dist.barrier()

    def take_steps(self, count):
        rows = []
        for _ in range(count):
            rows.append(self.take_step())
            self.say("alive")
        return rows

    def take_step(self):
        for part in self.model.parts:
            part.grad = None
        dist.barrier()
        cpu_before, begin = cpu_us(), time.monotonic_ns()
        self.step.clockwork.begin()
        self.step.clockwork.compute(self.forward_us)
        self.ddp(self.activation).sum().backward()
        end = time.monotonic_ns()
        return [(end - begin) / 1e3, (self.step.computed - begin) / 1e3, cpu_us() - cpu_before]

    def publish(self, rows):
        """Of all ranks: the longest times, and the mean of the CPU's. What is exposed counts from
        where the last rank has computed."""
        longest = torch.tensor(rows, dtype=torch.float64)
        sums = longest.clone()
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        dist.all_reduce(sums)
        for (step, computed, _), cpu in zip(longest.tolist(), (sums[:, 2] / self.ranks).tolist()):
            values = [step, computed, step - computed, cpu, 0, 0]
            self.say("step " + " ".join(f"{value:.9g}" for value in values))

    def average(self, index, count):
        return self.ranks * ((torch.arange(count) + index) % PATTERN).to(torch.float32)

    def own(self, index, count):
        return self.average(index, count) + self.ranks * (2 * self.rank - (self.ranks - 1))

    def verify(self):
        """How far all averages of a step are together from what they have to be, relatively."""
        self.step.pattern = self.own
        self.take_step()
        squares = wrong = 0.0
        for index, part in enumerate(self.model.parts):
            wanted = self.average(index, part.numel())
            squares += float((wanted.double() ** 2).sum())
            wrong += float(((part.grad.double() - wanted) ** 2).sum())
            if part.grad.data_ptr() != self.step.places[index].data_ptr():
                print("paceline-peer-ddp: gradients were copied", file=sys.stderr)
        error = torch.tensor([math.sqrt(wrong / squares)], dtype=torch.float64)
        dist.all_reduce(error, op=dist.ReduceOp.MAX)
        return float(error)

    def say(self, line):
        if self.rank == 0:
            print(line, flush=True)


def cpu_us():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return 1e6 * (usage.ru_utime + usage.ru_stime)


def read_trace(orders):
    """What forward takes, and the count of each tensor with what backward takes to it."""
    words = [f"{name}={orders[name]}" for name in ("trace", "scale", "compute_us")
             if name in orders]
    shown = subprocess.run([PROBE, "gradient", "task=show", *words], check=True, text=True,
                           capture_output=True, timeout=60).stdout.splitlines()
    tensors = [line.split()[2:] for line in shown[1:]]
    return float(shown[0].split()[1]), [(int(count), float(us)) for count, us in tensors]


def main():
    orders = dict(word.split("=", 1) for word in sys.argv[2:])
    torch.set_num_threads(1)
    port = int(os.environ["MASTER_PORT"])
    name = interface_towards(os.environ["MASTER_ADDR"], port)
    if name and "GLOO_SOCKET_IFNAME" not in os.environ:
        os.environ["GLOO_SOCKET_IFNAME"] = name
    timeout = datetime.timedelta(seconds=int(orders.get("timeout_s", 300)))
    dist.init_process_group("gloo", timeout=timeout)
    Replay(orders).run()
    dist.barrier()
    # What is taken apart at the end of Python ends with abort() now and then: PyTorch 1.13.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
