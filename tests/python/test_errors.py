"""Errors read as they do on the command line, and the interpreter lives on."""

import _thread
import errno
import math
import pickle
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schedlab
from conftest import CommandLine
from schedlab import InputError, NotFoundError, RunError, Scenario


def test_the_line_is_that_of_the_command_line(command_line: CommandLine) -> None:
    def same(call: Callable[[], object], kind: type[Exception], *arguments: str) -> None:
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == command_line.complaint(*arguments)

    run = ("run", "heavy-load", "--policy")
    same(lambda: schedlab.run("heavy-load", "rrr"), NotFoundError, *run, "rrr")
    same(lambda: schedlab.run("heavy-load", "./no.bpf.c"), NotFoundError, *run, "./no.bpf.c")
    same(lambda: schedlab.run("heavy-load", "rr:quantum=0"), InputError, *run, "rr:quantum=0")
    same(lambda: schedlab.run("heavy-load", "rr:quanta=1ms"), InputError, *run, "rr:quanta=1ms")
    same(lambda: schedlab.run("heavy-lod", "rr"), NotFoundError, "run", "heavy-lod", "--policy", "rr")
    same(lambda: schedlab.run("./no.toml", "rr"), NotFoundError, "run", "./no.toml", "--policy", "rr")
    same(lambda: schedlab.study("gpo"), NotFoundError, "study", "gpo")
    wrong = command_line.folder / "wrong.toml"
    wrong.write_text('name = "w"\n[[task]]\nname = "t"\nloop = [{ compite = "1ms" }]\n')
    same(lambda: schedlab.run(wrong, "rr"), InputError, "run", str(wrong), "--policy", "rr")
    words = command_line.folder / "words.txt"
    words.write_text("words\n")
    same(lambda: schedlab.read_trace(words), InputError, "trace", str(words))
    same(lambda: schedlab.read_trace("no.parquet"), NotFoundError, "trace", "no.parquet")
    same(lambda: schedlab.sweep("no.toml", "out"), NotFoundError, "sweep", "no.toml", "-o", "out")


def test_exceptions_are_what_python_expects_too() -> None:
    assert issubclass(InputError, ValueError) and issubclass(RunError, RuntimeError)
    assert issubclass(NotFoundError, FileNotFoundError) and issubclass(NotFoundError, InputError)


def test_what_is_missing_says_whether_it_is_a_file(tmp_path: Path) -> None:
    missing = str(tmp_path / "no.toml")
    files: list[tuple[Callable[[], object], str]] = [
        (lambda: Scenario.from_file(missing), missing),
        (lambda: schedlab.run(missing, "rr"), missing),
        (lambda: schedlab.run("heavy-load", "./no.bpf.c"), "./no.bpf.c"),
        (lambda: schedlab.run("heavy-load", Path("no/no.bpf.o")), "no/no.bpf.o"),
        (lambda: schedlab.read_trace("no.parquet"), "no.parquet"),
        (lambda: schedlab.study("./no.toml"), "./no.toml"),
        (lambda: schedlab.gate("no.gate.toml"), "no.gate.toml"),
        (lambda: schedlab.predict("no.parquet", "rr"), "no.parquet"),
    ]
    for call, file in files:
        with pytest.raises(NotFoundError) as caught:
            call()
        error = pickle.loads(pickle.dumps(caught.value))
        assert (error.errno, error.filename, str(error)) == (errno.ENOENT, file, str(caught.value))
        assert file in str(error) and "[Errno" not in str(error)
    names: list[Callable[[], object]] = [
        lambda: schedlab.run("heavy-lod", "rr"),
        lambda: schedlab.run("heavy-load", "rrr"),
        lambda: schedlab.study("gpo"),
    ]
    for call in names:
        with pytest.raises(NotFoundError) as caught:
            call()
        assert (caught.value.errno, caught.value.filename) == (None, None)
    (tmp_path / "there.html").touch()
    with pytest.raises(InputError) as wrong:
        schedlab.run(tmp_path / "there.html", "rr")
    assert not isinstance(wrong.value, NotFoundError), "the file is there"


@pytest.mark.parametrize(
    ("change", "kind", "line"),
    [
        ({"run": {"duration": math.nan}}, ValueError, "scenario.run.duration: NaN is not a number"),
        ({"run": {"duration": math.inf}}, ValueError, "scenario.run.duration: inf is not a number"),
        ({"task": [{"name": "t", "count": 1 << 80}]}, ValueError, "scenario.task[0].count: 1208925819614629174706176"),
        ({"task": [{"name": {1, 2}}]}, TypeError, "scenario.task[0].name: a number, a text"),
        ({"task": [{3: "t"}]}, TypeError, "scenario.task[0]: a key is a text, not int"),
        ({"run": {"duration": 7}}, InputError, "the time 7 has no unit"),
        ({"name": "\ud800"}, ValueError, "scenario.name: this text is no Unicode"),
        ({"rnu": {}}, InputError, "scenario: rnu: unknown key `rnu`: did you mean `run`?"),
        ({"machine": {"cpus": "two"}}, InputError, 'scenario: machine.cpus: "two" does not fit here'),
        ({"machine": []}, InputError, "scenario: machine: a list does not fit here: write a table"),
        ({"task": [{"name": "t", "loop": [{"compute": 5}]}]}, InputError, "task[0].loop[0].compute: the time 5"),
    ],
)
def test_wrong_values_are_told_with_their_place(
    small: dict[str, Any], change: dict[str, Any], kind: type[Exception], line: str
) -> None:
    with pytest.raises(kind) as caught:
        Scenario(**{**small, **change})
    assert line in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"seed": -1}, "seed: a whole number from 0 to 18446744073709551615 is needed, not -1"),
        ({"seed": 2**64}, "seed: a whole number from 0 to 18446744073709551615 is needed, not 18446744073709551616"),
        ({"runs": 0}, "runs: a whole number from 1 to 100000 is needed, not 0"),
        ({"runs": 2**32 - 1}, "runs: a whole number from 1 to 100000 is needed, not 4294967295"),
        ({"threads": -3}, "threads: a whole number from 1 to 4294967295 is needed, not -3"),
    ],
)
def test_numbers_out_of_their_range_are_told(small: dict[str, Any], arguments: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        schedlab.run(small, "rr", **arguments)
    assert str(caught.value) == line
    with pytest.raises(TypeError, match=r"^seed: a whole number is needed, not float$"):
        schedlab.run(small, "rr", seed=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: schedlab.compare("heavy-load", "rr", perturb=-1), "perturb: a whole number from 0 to 1000 is needed"),
        (lambda: schedlab.compare("heavy-load", "rr", perturb=1001), "perturb: a whole number from 0 to 1000 is"),
        (lambda: schedlab.study("gpos", seeds=1001), "seeds: a whole number from 1 to 1000 is needed, not 1001"),
        (lambda: schedlab.study("gpos", seeds=-1), "seeds: a whole number from 1 to 1000 is needed, not -1"),
        (lambda: schedlab.search("rr", scenarios=-1), "scenarios: a whole number from 1 to 18446744073709551615"),
    ],
)
def test_numbers_of_every_call_have_bounds(call: Callable[[], object], line: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(line)


UNTYPED: Any = schedlab
"""The package as a notebook sees it."""


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: UNTYPED.run("heavy-load", "rr", kernel=5), "kernel: a text is needed, not int"),
        (lambda: UNTYPED.run("heavy-load", "rr", venue=["sim"]), "venue: a text is needed, not list"),
        (lambda: UNTYPED.run("heavy-load", "rr", check="no"), "check: True or False is needed, not str"),
        (lambda: UNTYPED.run("heavy-load", "rr", trace=5), "trace: a path is needed, not int"),
        (lambda: UNTYPED.compare("heavy-load", 5), "policy: one or a list is needed, not int"),
        (lambda: UNTYPED.compare("heavy-load", {"rr", "fcfs"}), "policy: one or a list is needed, not set"),
        (lambda: UNTYPED.compare("heavy-load", {"rr": 1}), "policy: one or a list is needed, not dict"),
        (lambda: UNTYPED.quota("container-limit", "p99=5ms", burst="x"), "burst: a number is needed, not str"),
        (lambda: UNTYPED.model("a", 5), "output: a path is needed, not int"),
        (lambda: UNTYPED.search("rr", ignore="stall"), "ignore: a list of texts is needed, not str"),
        (lambda: UNTYPED.study(5), "name: a path is needed, not int"),
        (lambda: UNTYPED.gate(b"x"), "file: a path is needed, not bytes"),
    ],
)
def test_a_wrong_type_is_told_with_its_argument(call: Callable[[], object], line: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: schedlab.compare("heavy-load", "rr", venue=[]), "venue: at least one is needed"),
        (lambda: schedlab.compare("heavy-load", []), "policy: at least one is needed"),
        (lambda: schedlab.predict(__file__, []), "policy: at least one is needed"),
        (lambda: schedlab.search("rr", budget="0s"), "budget: a time above 0 is needed"),
        (lambda: schedlab.search("rr", scenarios=1, kernel="nope"), "there is no kernel `nope`"),
        (lambda: schedlab.sweep({"scenario": "heavy-load", "policy": "rr"}, ""), "output: the path is empty"),
        (lambda: schedlab.study("gpos:tomorrow"), "has no question `tomorrow`"),
        (lambda: schedlab.run("heavy-load", "rr", load="dance"), "load: "),
    ],
)
def test_a_request_for_nothing_or_for_what_is_not_there_is_refused(call: Callable[[], object], line: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert line in str(caught.value)


def test_what_is_read_is_not_replaced(small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schedlab.run(small, "rr", trace="rec.parquet", for_model=True)
    Path("small.toml").write_text(Scenario(**small).to_toml())
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    Path("link.toml").symlink_to("rec.parquet")
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: schedlab.model("rec.parquet", "rec.parquet"), "name a file that ends in .toml"),
        (lambda: schedlab.model("rec.parquet", "link.toml"), "this would replace the recording"),
        (lambda: schedlab.import_recording("rec.parquet", "./rec.parquet"), "this would replace the recording"),
        (lambda: schedlab.run("small.toml", "rr", trace=tmp_path / "small.toml"), "this would replace the scenario"),
    ]
    for call, line in calls:
        with pytest.raises(InputError, match=line):
            call()
    assert {file: file.read_bytes() for file in before} == before


def test_what_another_process_needs_can_be_copied(small: dict[str, Any], tmp_path: Path) -> None:
    scenario = Scenario(**small)
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    result = schedlab.run(small, "rr", events=True)
    for frame in (result.roles, result.events, result.means):
        copy = pickle.loads(pickle.dumps(frame))
        assert copy.columns == frame.columns and copy.to_polars().equals(frame.to_polars())
    schedlab.run({**small, "run": {"duration": "4s"}}, "rr", trace=tmp_path / "rec.parquet", for_model=True)
    model = schedlab.model(tmp_path / "rec.parquet", tmp_path / "model.toml")
    with pytest.raises(TypeError, match="with recorded steps cannot be copied to another process"):
        pickle.dumps(model.scenario)


def test_an_argument_that_the_venue_does_not_use_is_a_warning(small: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match=r"^`kernel` has no effect in sim: only `vm` uses it$") as warned:
        schedlab.run(small, "rr", kernel="debian:12")
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="^`load` has no effect in sim: only `vm` or `host` uses it$"):
        schedlab.compare(small, "rr", load="fft")
    with pytest.warns(UserWarning, match="^`costs` has no effect in sim: only `vm` uses it$") as warned:
        schedlab.compare(small, "rr", costs=False)
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="^`for_model` has no effect: only a trace or events") as warned:
        schedlab.run(small, "rr", for_model=True)
    assert warned[0].filename == __file__


def test_a_list_that_holds_itself_ends(small: dict[str, Any]) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        Scenario(**{**small, "task": endless})


NASTY: list[Any] = [
    *(None, True, -1, 0, 1, 2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 1e308, math.nan, math.inf),
    *("", "\0", "\ud800", "a" * 9999, "5ms", "-5ms", "exp(2ms)", "rr", "heavy-load", "1" * 400, b"bytes"),
    *([], [[]], {}, {"a": None}, {1: 2}, (), set(), object(), int, len, [{"compute": "1ms"}], {"name": "x"}),
    *(Path("."), Path("/"), range(3), ..., complex(1, 2), "task.worker.count", "sim", ["sim", "sim"]),
]


def _malformed(draw: random.Random, small: dict[str, Any]) -> Callable[[], object]:
    """A call with arguments that no user would give."""

    def any_() -> Any:
        return draw.choice(NASTY)

    keys: list[Any] = draw.choice(
        [
            ["run", "duration"],
            ["task", 0, "count"],
            ["task", 0, "loop"],
            ["machine", "cpus"],
            ["name"],
            ["task", 1, "nice"],
        ]
    )
    broken = _with(small, keys, any_())
    fast = {"machine": {"cpus": 1}, **small}
    calls: list[Callable[[], object]] = [
        lambda: Scenario(**broken),
        lambda: Scenario.from_dict(any_()),
        lambda: Scenario.from_toml(any_()),
        lambda: Scenario.from_file(any_()),
        lambda: Scenario.load(any_()),
        lambda: Scenario(**small).replace(any_()),
        lambda: Scenario(**small).replace({str(any_()): any_()}),
        lambda: schedlab.run(fast, any_()),
        lambda: schedlab.run(any_(), "rr", threads=any_(), runs=any_()),
        lambda: schedlab.run(fast, "rr", venue=any_()),
        lambda: schedlab.run(fast, "rr", seed=any_(), engine=any_()),
        lambda: schedlab.compare(fast, [any_(), any_()], venue=["sim", any_()]),
        lambda: schedlab.read_trace(any_()),
        lambda: schedlab.schema(any_()),
        lambda: schedlab.study(any_(), quick=any_(), seed=any_(), threads=any_()),
        lambda: schedlab._schedlab.Plan({"scenario": any_(), "policy": any_(), "axis": any_()}),
        lambda: schedlab._schedlab.Plan(any_(), any_()),
    ]
    return draw.choice(calls)


def _with(value: Any, keys: list[Any], new: Any) -> Any:
    if not keys:
        return new
    copy = list(value) if isinstance(value, list) else dict(value)
    inner = copy[keys[0]] if isinstance(copy, list) else copy.get(keys[0], {})
    copy[keys[0]] = _with(inner, keys[1:], new)
    return copy


def test_malformed_arguments_by_the_thousand_never_take_the_interpreter_down(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    told = 0
    for _ in range(5000):
        call = _malformed(draw, small)
        try:
            call()
        except (TypeError, ValueError, OSError, schedlab.SchedlabError) as error:
            assert "a defect of schedlab" not in str(error)
            told += 1
    assert told > 3000
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_a_run() -> None:
    # The parent process may have had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    endless = Scenario.load("heavy-load").replace({"run.duration": "100000000s"})
    begin = time.monotonic()
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        schedlab.run(endless, "rr")
    assert time.monotonic() - begin < 60
    assert schedlab.run("heavy-load", "rr").data["partial"] is False


def test_other_threads_go_on_while_a_run_lasts() -> None:
    long = Scenario.load("heavy-load").replace({"run.duration": "20000s"})
    steps = 0
    worker = threading.Thread(target=lambda: schedlab.run(long, "rr"))
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        steps += 1
    assert steps > 3
