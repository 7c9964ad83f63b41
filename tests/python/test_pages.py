"""Pages: the call on each gives the same again."""

import html
import re
from pathlib import Path
from typing import Any

import numpy
import pytest

import schedlab
from schedlab.policy import Policy, Task


class Global(Policy):
    """All tasks in one queue."""

    def enqueue(self, task: Task, flags: int) -> None:
        self.insert(task, self.GLOBAL)


def call_on(page: Path) -> str:
    [call] = re.findall(r'<pre class="command">(.*?)</pre>', page.read_text(), re.DOTALL)
    return html.unescape(call)


def listing(page: Path, title: str) -> str:
    [text] = re.findall(rf"<summary>{re.escape(title)}</summary><pre>(.*?)</pre>", page.read_text(), re.DOTALL)
    return html.unescape(text)


def again(page: Path, **names: Any) -> Any:
    """What the call on a page gives."""
    exec(re.sub(r"(?m)^schedlab\.", "same = schedlab.", call_on(page), count=1), names | {"schedlab": schedlab}, names)
    return names["same"]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a page, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "page.html"


def test_a_changed_scenario_is_the_one_that_is_listed(page: Path) -> None:
    changed = schedlab.Scenario.load("interactive").replace({"run.duration": "2s"})
    result = schedlab.run(changed, "mlfq", seed=3, runs=2)
    result.save(page)
    assert call_on(page).splitlines() == [
        "# interactive.toml is listed below: save it first.",
        "schedlab.run('interactive.toml', 'mlfq', seed=3, runs=2)",
    ]
    Path("interactive.toml").write_text(listing(page, "interactive.toml"))
    assert again(page).data == result.data


def test_a_shipped_scenario_has_its_name_and_defaults_are_left_out(page: Path) -> None:
    schedlab.run(schedlab.Scenario.load("heavy-load"), "rr", venue="sim", runs=1, seed=numpy.int64(1)).save(page)
    assert call_on(page) == "schedlab.run('heavy-load', 'rr', seed=1)"


def test_a_class_is_imported_or_listed(small: dict[str, Any], page: Path) -> None:
    class Inner(Global):
        def dispatch(self, cpu: int, prev: Task | None) -> None:
            pass

    vary: dict[str, Any] = {"machine.cpus": numpy.array([1, 2])}
    compared = schedlab.compare(small, [Global, Inner, "rr"], perturb=3, vary=vary)
    compared.save(page)
    call = call_on(page)
    assert "from test_pages import Global\n" in call and "# The class Inner is listed below.\n" in call
    assert "[Global, Inner, 'rr']" in call and "vary={'machine.cpus': [1, 2]}" in call and "perturb=3" in call
    names: dict[str, Any] = {"Policy": Policy, "Task": Task}
    for name in ("Global", "Inner"):
        exec(listing(page, name), names)
    assert again(page, Inner=names["Inner"]).data == compared.data


def test_classes_of_one_name_are_refused_or_told_apart(small: dict[str, Any], page: Path) -> None:
    def made(slice_ns: int) -> type[Policy]:
        class Twice(Policy):
            def enqueue(self, task: Task, flags: int) -> None:
                self.insert(task, self.GLOBAL, slice_ns)

        return Twice

    class Twice(Policy):
        def enqueue(self, task: Task, flags: int) -> None:
            self.insert(task, self.GLOBAL, slice_ns=1_000_000)

    first = Twice

    class Twice(Policy):  # type: ignore[no-redef]
        def enqueue(self, task: Task, flags: int) -> None:
            self.insert(task, self.GLOBAL, slice_ns=50_000_000)

    for policies in ([first, Twice], [made(1_000_000), made(50_000_000)]):
        with pytest.raises(schedlab.InputError, match=r"^policy: two classes are called Twice: give each a name"):
            schedlab.compare(small, policies)
    for policy, its, other in ((first, "1_000_000", "50_000_000"), (Twice, "50_000_000", "1_000_000")):
        schedlab.compare(small, [policy, policy], perturb=0).save(page)
        assert f"slice_ns={its}" in listing(page, "Twice") and other not in listing(page, "Twice")


def test_a_class_without_a_source_is_said_to_be_elsewhere(small: dict[str, Any], page: Path) -> None:
    made = type("Made", (Policy,), {"enqueue": lambda self, task, flags: self.insert(task, self.GLOBAL)})
    made.__module__ = "__main__"
    schedlab.run(small, made).save(page)
    assert call_on(page).startswith("# The class Made is in the program that made this page.\n")


def test_a_search_for_a_limit_keeps_its_arguments(limited: dict[str, Any], page: Path) -> None:
    limits = schedlab.quota(limited, "max=12ms", control_group="web", role="server", period="50ms", runs=2)
    limits.save(page)
    assert again(page).data == limits.data


def test_a_page_is_a_file_of_html(small: dict[str, Any], page: Path) -> None:
    result = schedlab.run(small, "rr")
    for wrong in ("page.svg", "page", Path("page.pdf")):
        with pytest.raises(schedlab.InputError, match=f"^{wrong}: name a file that ends in .html$"):
            result.save(wrong)
    assert list(page.parent.iterdir()) == []


def test_the_charts_of_a_page_can_be_read(small: dict[str, Any], page: Path) -> None:
    compared = schedlab.compare(small, "rr,fcfs", perturb=0)
    compared.save(page)
    read = schedlab.read_page(page)
    assert read.commands == [call_on(page)] and read.title in str(read) and read.title != ""
    assert list(read.charts) == list(compared.charts) != []
    for name in read.charts:
        assert read.charts[name].to_dict()["mark" if "mark" in read.charts.specification(name) else "config"]
        assert read.charts.specification(name) == compared.charts.specification(name)
    Path("other.html").write_text("<h1>Hello</h1>")
    with pytest.raises(schedlab.InputError, match="this is not a page of schedlab"):
        schedlab.read_page("other.html")
    with pytest.raises(schedlab.NotFoundError):
        schedlab.read_page("no.html")
