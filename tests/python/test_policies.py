"""Policies in Python."""

import functools
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import schedlab
from schedlab.policy import Policy, Task


class Lottery(Policy):
    """The example of the package."""

    def init(self) -> None:
        self.waiting: list[Task] = []

    def enqueue(self, task: Task, flags: int) -> None:
        self.waiting.append(task)

    def dequeue(self, task: Task, flags: int) -> None:
        if task in self.waiting:
            self.waiting.remove(task)

    def dispatch(self, cpu: int, prev: Task | None) -> None:
        able = [task for task in self.waiting if cpu in task.cpus]
        if prev is not None and prev.runnable:
            able.append(prev)
        if able:
            [winner] = self.random.choices(able, [task.weight for task in able])
            if winner == prev:
                prev.slice_ns = 10_000_000
            else:
                self.waiting.remove(winner)
                self.insert(winner, self.LOCAL, slice_ns=10_000_000)


SHARES: dict[str, Any] = {
    "name": "shares",
    "machine": {"cpus": 1},
    "task": [
        {"name": "rich", "nice": -5, "loop": [{"compute": "5ms"}]},
        {"name": "poor", "nice": 0, "loop": [{"compute": "5ms"}]},
    ],
    "run": {"duration": "60s"},
}


def test_a_lottery_gives_shares_by_weight_and_the_seed_decides() -> None:
    result = schedlab.run(SHARES, policy=Lottery, seed=1, check=True)
    rich, poor = (role["cpu_share"] for role in result.data["roles"])
    assert rich + poor == pytest.approx(1.0)
    assert rich / poor == pytest.approx(schedlab_weight(-5) / schedlab_weight(0), rel=0.1)
    again, other = (schedlab.run(SHARES, policy=Lottery, seed=seed).data["roles"] for seed in (1, 2))
    assert again == result.data["roles"] != other
    assert result.data["policy"]["name"] == "Lottery"


def schedlab_weight(nice: int) -> float:
    """The kernel's weights are a geometric series: 1.25 for each nice value."""
    return 1.25**-nice


class Fifo(Policy):
    """As policies/fcfs."""

    ENDLESS = (1 << 64) - 1

    def init(self) -> None:
        self.create_queue(0)

    def select_cpu(self, task: Task, prev_cpu: int, wake_flags: int) -> int:
        cpu, idle = self.select_cpu_default(task, prev_cpu, 0)
        if idle:
            self.insert(task, self.LOCAL, self.ENDLESS)
        return cpu

    def enqueue(self, task: Task, flags: int) -> None:
        self.insert(task, 0, self.ENDLESS, flags)

    def dispatch(self, cpu: int, prev: Task | None) -> None:
        self.move_to_local(0)


def test_the_same_rules_give_the_same_run_as_a_bpf_object() -> None:
    mixed = {
        "name": "mixed",
        "machine": {"cpus": 2},
        "task": [
            {"name": "worker", "count": 3, "loop": [{"compute": "exp(5ms)"}, {"sleep": "exp(5ms)"}]},
            {"name": "shell", "loop": [{"sleep": "exp(20ms)"}, {"compute": "100us"}]},
        ],
        "run": {"duration": "10s"},
    }
    mine = schedlab.run(mixed, policy=Fifo, check=True).data
    shipped = schedlab.run(mixed, policy="fcfs", check=True).data
    assert [role["response_ns"] for role in mine["roles"]] == [role["response_ns"] for role in shipped["roles"]]
    assert mine["cpus"] == shipped["cpus"] and mine["events"] == shipped["events"]


def test_a_policy_is_compared_with_others() -> None:
    comparison = schedlab.compare(SHARES, policy=[Lottery, "rr"], runs=2, threads=2)
    assert comparison.policies == ["Lottery", "rr"]


def broken(method: str, body: Any) -> type[Policy]:
    return type("Broken", (Fifo,), {method: body})


def wrong_queue(self: Fifo, task: Task, flags: int) -> None:
    self.insert(task, 77)


def not_a_task(self: Fifo, task: Task, flags: int) -> None:
    self.kernel.call("scx_bpf_dsq_insert", 12345, 0, 1, 0)


def forgets(self: Fifo, task: Task, flags: int) -> None:
    pass


@pytest.mark.parametrize(
    ("method", "body", "line"),
    [
        ("enqueue", lambda self, task, flags: 1 / 0, "in ops.enqueue for .*: ZeroDivisionError: division by zero"),
        ("enqueue", wrong_queue, "non-existent DSQ 0x4d for "),
        ("enqueue", not_a_task, "passes 0x3039 as a task, which it is not"),
        ("enqueue", forgets, "the policy has lost it or starves it"),
        ("init", lambda self: -1, r"ops.init\(\) failed \(-1\)"),
        ("init", lambda self: "x", r"init: a whole number is needed, not str \(.*test_policies\.py, line \d+, "),
        ("enqueue", lambda self, task, flags: self.insert(task, 0, -5), "slice: a whole number from 0 to .* is needed"),
        ("enqueue", lambda self, task, flags: self.insert(task, 0, 0), "slice_ns: a whole number above 0 is needed"),
        ("enqueue", lambda self, task, flags: self.insert_by_vtime(task, 0, -1), "vtime: a whole number from 0 to"),
        ("enqueue", lambda self, task, flags: self.insert(task, task), "dsq_id: a number is needed, not a task"),
        ("init", lambda self: [self.create_queue(0), self.create_queue(0)], "FileExistsError: .*File exists: queue 0"),
        ("dispatch", lambda self, cpu, prev: self.queued(7), "FileNotFoundError: .*No such file or directory: queue 7"),
        ("dispatch", lambda self, cpu, prev: self.kernel.call("no_such"), "there is no kernel function no_such"),
        ("dispatch", lambda self, cpu, prev: self.kick(1 << 70), "scx_bpf_kick_cpu: cpu: a whole number from -21474"),
        ("dispatch", lambda self, cpu, prev: self.kernel.call("scx_bpf_kick_cpu", 0), "takes 2 arguments, not 1"),
        ("dispatch", lambda self, cpu, prev: self.kick(99), "invalid CPU 99"),
        ("__init__", lambda self, kernel, seed: kernel.now_ns, "RuntimeError: the kernel is there only while"),
    ],
)
def test_what_goes_wrong_ends_the_run_in_a_line(method: str, body: Any, line: str) -> None:
    with pytest.raises(schedlab.RunError, match=line) as caught:
        schedlab.run(SHARES, policy=broken(method, body))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "body", "line"),
    [
        ("select_cpu", lambda self, task, prev, flags: None, "select_cpu returns None: return the number of the CPU"),
        ("select_cpu", lambda self, task, prev, flags: 1 << 32, "the result of select_cpu: a whole number from -21"),
        ("select_cpu", lambda self, task, prev, flags: 9, "CPU 9"),
        ("exit", lambda self: 1 / 0, "in ops.exit: ZeroDivisionError: division by zero"),
        ("exit_task", lambda self, task: 1 / 0, "in ops.exit_task for .*: ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_wake_up_or_the_end_finds_ends_the_run_too(method: str, body: Any, line: str) -> None:
    sleeper = {"name": "sleeper", "loop": [{"sleep": "10ms"}, {"compute": "1ms"}]}
    with pytest.raises(schedlab.RunError, match=line):
        schedlab.run({**SHARES, "machine": {"cpus": 2}, "task": [sleeper]}, policy=broken(method, body))


def refuses(self: Fifo, task: Task, flags: int) -> None:
    try:
        raise KeyError("deep")
    except KeyError as error:
        raise ValueError("bad") from error


def passes_no_task(self: Fifo, task: Task, flags: int) -> None:
    self.insert(0.5, 0)  # type: ignore[arg-type]


def draws_from_nothing(self: Fifo, task: Task, flags: int) -> None:
    self.random.choice([])


def sets_too_little(self: Fifo, task: Task, flags: int) -> None:
    task.slice_ns = -1


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (refuses, ValueError, "bad"),
        (passes_no_task, TypeError, "scx_bpf_dsq_insert: p: a whole number is needed, not float"),
        (draws_from_nothing, IndexError, ""),
        (sets_too_little, ValueError, "slice_ns: a whole number from 0 to 18446744073709551615 is needed, not -1"),
    ],
)
def test_an_error_keeps_the_exception_behind_it(body: Callable[..., None], kind: type[Exception], says: str) -> None:
    calls: list[Callable[..., object]] = [schedlab.run, schedlab.compare]
    for call in calls:
        with pytest.raises(schedlab.RunError) as caught:
            call(SHARES, broken("enqueue", body))
        cause = caught.value.__cause__
        assert isinstance(cause, kind) and says in str(cause) and says in str(caught.value)
        [own] = [line for line in traceback.extract_tb(cause.__traceback__) if line.filename == __file__]
        assert own.name == body.__name__
        assert str(caught.value).endswith(f" ({__file__}, line {own.lineno}, in {own.name})")
        assert isinstance(cause.__cause__, KeyError) == (body is refuses)


def test_an_error_that_no_line_raised_names_the_definition() -> None:
    class Strict(Fifo):
        def __init__(self, kernel: schedlab.policy.Kernel) -> None:
            super().__init__(kernel, 0)

    with pytest.raises(schedlab.RunError, match=r"TypeError: .* \(.*test_policies\.py, line \d+, in __init__\)$"):
        schedlab.run(SHARES, Strict)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_is_not_an_error_of_the_policy_ends_the_call(kind: type[BaseException]) -> None:
    def ends(self: Fifo, task: Task, flags: int) -> None:
        raise kind

    policy = broken("enqueue", ends)
    calls: list[Callable[[], object]] = [
        lambda: schedlab.run(SHARES, policy),
        lambda: schedlab.compare(SHARES, [policy, "rr"], runs=3),
        lambda: schedlab.search(policy, scenarios=2),
    ]
    for call in calls:
        with pytest.raises(kind) as caught:
            call()
        assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "ends"


def test_the_kernel_is_not_there_afterwards() -> None:
    kept: list[Task] = []
    leaky = broken("enable", lambda self, task: kept.append(task))
    schedlab.run({**SHARES, "run": {"duration": "1s"}}, policy=leaky)
    with pytest.raises(RuntimeError, match="only while a method"):
        _ = kept[0].pid


def test_it_exists_in_the_simulator_alone() -> None:
    with pytest.raises(schedlab.InputError, match="use --venue sim"):
        schedlab.run(SHARES, policy=Lottery, venue="host")
    with pytest.raises(TypeError, match=r"a class of schedlab\.policy\.Policy is needed"):
        schedlab.run(SHARES, policy=int)  # type: ignore[arg-type]


def test_a_policy_hears_of_cpus_that_go_and_come() -> None:
    heard: list[tuple[str, int]] = []

    class Plugged(Fifo):
        def cpu_offline(self, cpu: int) -> None:
            heard.append(("offline", cpu))

        def cpu_online(self, cpu: int) -> None:
            heard.append(("online", cpu))

    away = [{"at": "100ms", "offline": "1"}, {"at": "200ms", "online": "1"}]
    scenario = {**SHARES, "machine": {"cpus": 2}, "hotplug": away}
    schedlab.run(scenario, policy=Plugged)
    assert heard == [("offline", 1), ("online", 1)]
    with pytest.raises(schedlab.RunError, match="CPU 1 goes offline and the policy has no `cpu_offline`"):
        schedlab.run(scenario, policy=Fifo)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("enque", "enqueue"), ("enuque", "enqueue"), ("runable", "runnable"), ("select_cpus", "select_cpu")),
        *(("tikc", "tick"), ("inti", "init"), ("exti", "exit"), ("yeild", "yield_"), ("yield", "yield_")),
        *(("initTask", "init_task"), ("exitTask", "exit_task"), ("selectCPU", "select_cpu")),
        *(("on_tick", "tick"), ("on_enqueue", "enqueue"), ("enqueue_task", "enqueue"), ("ops_enqueue", "enqueue")),
        *(("task_init", "init_task"), ("taskExit", "exit_task"), ("task_tick", "tick"), ("select", "select_cpu")),
        *(("enq", "enqueue"), ("pick_next_task", "dispatch"), ("select_task_rq", "select_cpu"), ("setup", "init")),
        *(("SelectCpu", "select_cpu"), ("initialize", "init"), ("onTick", "tick"), ("cpu_ofline", "cpu_offline")),
    ],
)
def test_a_misspelt_operation_is_an_error(name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"`{name}` is not an operation of sched_ext; did you mean `{meant}`"):
        type("Mine", (Policy,), {name: lambda self, *words: None})
    mixin = type("Mixin", (), {name: lambda self, *words: None})
    with pytest.raises(TypeError, match=f"did you mean `{meant}`"):
        type("Mine", (mixin, Policy), {})


def test_own_methods_may_have_other_names() -> None:
    names = ["pick_the_next_task", "_enque", "_tikc", "queue", "queues", "pick", "requeue", "tickets", "ranking", "kik"]
    type("Mine", (Policy,), {"flags": 0, **{name: lambda self: None for name in names}})
    # A method that the class uses may have another word for an operation, and a class that has the operation means
    # something else by a longer name.
    type("Mine", (Policy,), {"update": lambda self: None, "dispatch": lambda self, cpu, prev: self.update()})
    type("Mine", (Fifo,), {"enqueue_task": lambda self, task: None, "dispatch_one": lambda self: None})


def test_a_method_that_nothing_calls_is_an_error_when_the_policy_runs() -> None:
    # The whole name is nowhere in this module.
    idle = type("Mine", (Fifo,), {"_".join(["lies", "idle"]): lambda self: None})
    with pytest.raises(TypeError, match=r"^Mine: nothing calls `lies_idle`: it is not an operation of sched_ext"):
        schedlab.run(SHARES, idle)

    def wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def outer(*words: Any) -> Any:
            return method(*words)

        return outer

    class Used(Fifo):
        def dispatch(self, cpu: int, prev: Task | None) -> None:
            self.serve()
            getattr(self, "count")()  # noqa: B009

        @wrapped
        def serve(self) -> None:
            self.take()

        def take(self) -> None:
            self.move_to_local(0)

        def count(self) -> None:
            pass

        def shown(self) -> str:
            return "used below"

    schedlab.run({**SHARES, "run": {"duration": "1s"}}, Used)


def _shows(policy: Any) -> str:
    return str(policy.shown())


def test_flags_are_those_of_the_kernel() -> None:
    for flags, why in ((1 << 40, "ops.flags has unknown bits"), (1 << 3, "SCX_OPS_SWITCH_PARTIAL"), (-1, "from 0 to")):
        with pytest.raises((schedlab.InputError, ValueError), match=why):
            schedlab.run(SHARES, type("Mine", (Fifo,), {"flags": flags}))
    with pytest.raises(TypeError, match=r"Mine\.flags: a whole number is needed, not str"):
        schedlab.run(SHARES, type("Mine", (Fifo,), {"flags": "no"}))


def test_numbers_may_be_numpys() -> None:
    numpy = pytest.importorskip("numpy")

    class Counted(Fifo):
        def enqueue(self, task: Task, flags: int) -> None:
            self.insert(task, numpy.uint64(0), numpy.int64(5_000_000))
            task.slice_ns = numpy.int32(5_000_000)

        def select_cpu(self, task: Task, prev_cpu: int, wake_flags: int) -> int:
            chosen: int = numpy.int64(prev_cpu)
            return chosen

    schedlab.run({**SHARES, "run": {"duration": "1s"}}, Counted)


def test_what_the_kernel_gives_has_its_sign() -> None:
    seen: list[object] = []

    class Asks(Fifo):
        def init(self) -> None:
            super().init()
            seen.extend(self.kernel.call("scx_bpf_dsq_nr_queued", dsq) for dsq in (0, 9))
            seen.append(self.kernel.call("scx_bpf_create_dsq", 0, -1))
            seen.append(self.kernel.call("scx_bpf_nr_cpu_ids"))

    schedlab.run({**SHARES, "run": {"duration": "1s"}}, Asks)
    assert seen == [0, -2, -17, 1]


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (lambda self, cpu: None, r"\(self, cpu\)"),
        (lambda self, cpu, prev, more: None, r"\(self, cpu, prev, more\)"),
        (staticmethod(lambda cpu: None), r"\(cpu\)"),
    ],
)
def test_an_operation_takes_what_the_kernel_passes(body: Any, written: str) -> None:
    line = rf"^Mine: `dispatch{written}` does not take what the kernel passes: write `def dispatch\(self, cpu, prev\)`$"
    with pytest.raises(TypeError, match=line):
        type("Mine", (Policy,), {"dispatch": body})
    late = type("Mine", (Fifo,), {})
    type.__setattr__(late, "dispatch", body)
    with pytest.raises(TypeError, match=line):
        schedlab.run(SHARES, late)


def test_arguments_are_in_the_kernels_order() -> None:
    line = r"^Mine: `dispatch` has `prev` in another place than the kernel: write `def dispatch\(self, cpu, prev\)`$"
    for body in (lambda self, prev, cpu: None, staticmethod(lambda prev, cpu: None)):
        with pytest.raises(TypeError, match=line):
            type("Mine", (Policy,), {"dispatch": body})


def test_an_operation_may_take_more_than_the_kernel_passes() -> None:
    for body in (lambda self, *words: None, lambda me, here, who, more=1: None, staticmethod(lambda cpu, prev: None)):
        type("Mine", (Policy,), {"dispatch": body})
    with pytest.raises(TypeError, match="`dispatch` is an operation of sched_ext and needs a method, not 7"):
        type("Mine", (Policy,), {"dispatch": 7})
