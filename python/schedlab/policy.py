"""Policies in Python, for teaching.

A policy is a class with the operations of sched_ext as its methods. It runs in the simulator alone, under the same
rules as a BPF object: the simulator refuses what a kernel would refuse, a task that waits too long ends the run, and
every invariant is checked. It is slow: each call costs a microsecond or two, where a BPF policy's costs ten
nanoseconds, and of several runs only one at a time has the interpreter.

A lottery (Waldspurger and Weihl, OSDI 1994) in a few lines:

```pycon
>>> import schedlab
>>> class Lottery(schedlab.policy.Policy):
...     def init(self):
...         self.waiting = []
...     def enqueue(self, task, flags):
...         self.waiting.append(task)
...     def dequeue(self, task, flags):
...         if task in self.waiting:
...             self.waiting.remove(task)
...     def dispatch(self, cpu, prev):
...         able = [task for task in self.waiting if cpu in task.cpus]
...         if prev is not None and prev.runnable:
...             able.append(prev)
...         if able:
...             [winner] = self.random.choices(able, [task.weight for task in able])
...             if winner == prev:
...                 prev.slice_ns = 10_000_000
...             else:
...                 self.waiting.remove(winner)
...                 self.insert(winner, self.LOCAL, slice_ns=10_000_000)
>>> schedlab.run("heavy-load", policy=Lottery, seed=1).data["policy"]["name"]
'Lottery'

```
"""

from __future__ import annotations

import os
import random
from typing import ClassVar

from ._operations import check
from ._schedlab import Kernel, Task

__all__ = ["Kernel", "Policy", "Task"]


class Policy:
    """The base class of a policy. Each run has its own object.

    Methods that a class does not define do not exist for the kernel either: without `select_cpu` it chooses an idle CPU
    itself, and puts the task directly into that CPU's queue. The signatures are those of ``struct sched_ext_ops``;
    `kernel` is available while a method runs.
    """

    LOCAL: ClassVar[int] = 1 << 63 | 2
    """The queue of the current CPU."""
    GLOBAL: ClassVar[int] = 1 << 63 | 1
    """The queue of all CPUs."""
    SLICE_NS: ClassVar[int] = 20_000_000
    """The kernel's own slice."""

    flags: ClassVar[int] = 0
    """``SCX_OPS_*``."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Refuses what the kernel would never call, or could not: a method whose name is nearly that of an operation,
        and an operation that takes other arguments. Names that begin with an underscore are free.

        :raises TypeError: with the operation that was probably meant, or with its arguments
        """
        super().__init_subclass__(**kwargs)
        check(cls, Policy)

    def __init__(self, kernel: Kernel, seed: int) -> None:
        self.kernel = kernel
        self.random = random.Random(seed)
        """Random numbers that follow from the run's seed: the same run draws the same numbers."""

    # What the kernel calls, in the order in which a task lives it.

    def init(self) -> int | None:
        """Once, before the first task; return a negative number to refuse."""

    def init_task(self, task: Task) -> int | None:
        """A task is created; return a negative number to refuse it."""

    def enable(self, task: Task) -> None:
        """The task is now the policy's."""

    def set_weight(self, task: Task, weight: int) -> None:
        """Its weight is this: 100 for nice 0."""

    def set_cpumask(self, task: Task) -> None:
        """The CPUs on which it may run have changed."""

    def select_cpu(self, task: Task, prev_cpu: int, wake_flags: int) -> int:
        """It wakes: return the CPU for it. You may insert it here already."""
        raise NotImplementedError

    def runnable(self, task: Task, flags: int) -> None:
        """It starts to want a CPU."""

    def enqueue(self, task: Task, flags: int) -> None:
        """The policy must insert it somewhere, now or later."""

    def dequeue(self, task: Task, flags: int) -> None:
        """It leaves the policy's data or queues: for a CPU, or because something about it changes."""

    def dispatch(self, cpu: int, prev: Task | None) -> None:
        """The CPU's queue is empty; `prev` ran there and may still want to."""

    def running(self, task: Task) -> None:
        """It gets a CPU."""

    def stopping(self, task: Task, runnable: bool) -> None:
        """It leaves its CPU, and still wants one or not."""

    def quiescent(self, task: Task, flags: int) -> None:
        """It no longer wants a CPU."""

    def tick(self, task: Task) -> None:
        """The timer tick came while it ran."""

    def yield_(self, task: Task, to: Task | None) -> bool:
        """It yields, to all or to one task; return whether it did."""
        raise NotImplementedError

    def update_idle(self, cpu: int, idle: bool) -> None:
        """A CPU becomes idle or busy. A policy with this method tracks idle CPUs itself."""

    def cpu_acquire(self, cpu: int) -> None:
        """A real-time task has given a CPU back."""

    def cpu_release(self, cpu: int) -> None:
        """A real-time task takes a CPU."""

    def cpu_online(self, cpu: int) -> None:
        """A CPU comes back (``[[hotplug]]``). A policy without this method is ended then."""

    def cpu_offline(self, cpu: int) -> None:
        """A CPU goes offline; its tasks come to `enqueue` again. A policy without this method is ended then."""

    def disable(self, task: Task) -> None:
        """The task is no longer the policy's."""

    def exit_task(self, task: Task) -> None:
        """It has ended."""

    def exit(self) -> None:
        """The run is over."""

    # What a policy asks of the kernel; `Kernel.call` has everything else.

    def insert(self, task: Task, dsq: int, slice_ns: int = SLICE_NS, flags: int = 0) -> None:
        """Puts a task at the end of a queue: ``scx_bpf_dsq_insert``.

        :raises ValueError: the slice is not above 0, or a number does not fit
        """
        self.kernel.call("scx_bpf_dsq_insert", task, dsq, _slice(slice_ns), flags)

    def insert_by_vtime(self, task: Task, dsq: int, vtime: int, slice_ns: int = SLICE_NS, flags: int = 0) -> None:
        """Puts a task into a queue by its virtual time, the smallest first: ``scx_bpf_dsq_insert_vtime``.

        :raises ValueError: the slice is not above 0, or a number does not fit
        """
        self.kernel.call("scx_bpf_dsq_insert_vtime", task, dsq, _slice(slice_ns), vtime, flags)

    def create_queue(self, dsq: int) -> None:
        """Creates a queue: ``scx_bpf_create_dsq``.

        :raises OSError: there is one with this number, or the number is the kernel's own (bit 63 is set)
        """
        _checked(self.kernel.call("scx_bpf_create_dsq", dsq, -1), dsq)

    def move_to_local(self, dsq: int) -> bool:
        """Moves the first task of a queue that may run here to this CPU's: ``scx_bpf_dsq_move_to_local``."""
        return self.kernel.call("scx_bpf_dsq_move_to_local", dsq) != 0

    def queued(self, dsq: int) -> int:
        """How many tasks are in a queue: ``scx_bpf_dsq_nr_queued``.

        :raises OSError: there is no such queue
        """
        return _checked(self.kernel.call("scx_bpf_dsq_nr_queued", dsq), dsq)

    def kick(self, cpu: int, flags: int = 0) -> None:
        """Makes a CPU choose again: ``scx_bpf_kick_cpu``; flag 1: only if it idles; 2: also if it is busy."""
        self.kernel.call("scx_bpf_kick_cpu", cpu, flags)

    def select_cpu_default(self, task: Task, prev_cpu: int, wake_flags: int) -> tuple[int, bool]:
        """The CPU that the kernel would choose, and whether it is idle: ``scx_bpf_select_cpu_dfl``."""
        return self.kernel.select_cpu_dfl(task, prev_cpu, wake_flags)


def _slice(slice_ns: int) -> int:
    """A slice. The kernel takes 0 for the slice that the task has left, or 1 ns: too little to be meant."""
    if slice_ns == 0:
        raise ValueError("slice_ns: a whole number above 0 is needed, not 0")
    return slice_ns


def _checked(result: int, dsq: int) -> int:
    """What a kernel function gives about a queue, if that is no error."""
    if result < 0:
        raise OSError(-result, f"{os.strerror(-result)}: queue {dsq}")
    return result
