"""Control groups, and the search for their limits."""

import json
import re
from pathlib import Path
from typing import Any

import polars
import pytest

import schedlab

POLICY = "eevdf:version=7.3"


def test_control_groups_have_a_frame(limited: dict[str, Any]) -> None:
    result = schedlab.run(limited, POLICY, runs=2)
    frame = result.control_groups.to_polars()
    assert frame["path"].to_list() == ["idle", "web"] * 2 and frame["quota_ns"].to_list() == [None, 50_000_000] * 2
    web = frame.filter(path="web")
    # Nothing is random, so both runs are like a single one.
    [group] = [group for group in schedlab.run(limited, POLICY).data["control_groups"] if group["path"] == "web"]
    assert web["nr_throttled"].to_list() == [group["nr_throttled"]] * 2
    assert all(0.45 < share < 0.55 for share in web["usage_share"])
    named = set(re.findall(r"``([a-z0-9_.]+)``", str(schedlab.Result.control_groups.__doc__).split("Columns:")[1]))
    assert named - {"_ns"} <= set(frame.columns), named - set(frame.columns)
    means = result.means.to_polars().filter(of="control_group", name="web", metric="usage_share")
    assert means["value"][0] == pytest.approx(web["usage_share"].mean())


def test_usage_has_a_chart(limited: dict[str, Any]) -> None:
    charts = schedlab.run(limited, POLICY).charts
    rows = charts.specification("control-group-usage")["data"]["values"]
    web = [row for row in rows if row["panel"] == "web"]
    assert {row["series"] for row in web} == {"CPUs used", "limit in CPUs", "throttled tasks"}
    assert all(row["value"] == 0.5 for row in web if row["series"] == "limit in CPUs")


def test_the_smallest_limit_is_that_of_the_command(limited: dict[str, Any], command_line: Any, tmp_path: Path) -> None:
    limits = schedlab.quota(limited, "max=12ms", control_group="web")
    least = limits.least[POLICY]
    assert least is not None and 58_000_000 <= least <= 66_000_000
    points = limits.points.to_polars()
    tried = points.filter(polars.col("quota_ns").is_not_null())
    assert tried.filter(meets=True)["quota_ns"].min() == least and points["quota_ns"][-1] is None
    named = re.findall(r"``([a-z0-9_]+)``", str(schedlab.Limits.points.__doc__).split("Columns:")[1])
    assert named == points.columns
    (tmp_path / "limited.toml").write_text(schedlab.Scenario(**limited).to_toml())
    flags = ["limited.toml", "--target", "max=12ms", "--control-group", "web"]
    assert json.loads(command_line.out("quota", *flags, "--json")) == limits.data
    assert command_line.out("quota", *flags).strip() == str(limits).strip()
    assert "max ≤ 12ms needs a limit of" in str(limits) and repr(limits).startswith("Limits('limited', search='limit'")


def test_weights_and_bursts_are_found(limited: dict[str, Any], tmp_path: Path) -> None:
    burst = schedlab.quota(limited, "mean=30ms", control_group="web", search="burst", limit="55ms/100ms")
    assert burst.least == {POLICY: 0} and set(burst.points.to_polars()["quota_ns"]) == {55_000_000}
    rival = {"name": "rival", "control_group": "idle", "loop": [{"compute": "50ms"}]}
    contended = {**limited, "task": [*limited["task"], rival]}
    weight = schedlab.quota(contended, "mean=1s", control_group="web", role="server", search="weight")
    assert weight.least == {POLICY: 1} and "weight" in weight.points.columns
    assert "quota-response" in weight.charts
    weight.save(tmp_path / "page.html")
    assert "needs a weight of 1" in (tmp_path / "page.html").read_text()


def test_without_a_curve_the_charts_say_why(limited: dict[str, Any]) -> None:
    limits = schedlab.quota(limited, "max=1ms", control_group="web")
    assert limits.least == {POLICY: None} and list(limits.charts) == []
    assert limits.points.to_polars()["quota_ns"].to_list() == [None]
    with pytest.raises(KeyError, match="there is no chart 'quota-response'; only the loosest setting was tried"):
        limits.charts["quota-response"]


def test_a_burst_has_a_setting_and_a_measure(limited: dict[str, Any]) -> None:
    web = {"path": "web", "max": "50ms/100ms", "burst": "20ms"}
    bursting = {**limited, "control_group": [web, limited["control_group"][1]]}
    groups = schedlab.run(bursting, POLICY).control_groups.to_polars()
    data = schedlab.run(bursting, POLICY).data["control_groups"]
    assert groups["max_burst_ns"].to_list() == [0, 20_000_000]
    assert groups["burst_ns"].to_list() == [group.get("burst_ns") for group in data]


def test_what_cannot_be_searched_for_is_said(limited: dict[str, Any]) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"search": "shares"}, "search: `shares` is none of limit, weight, burst"),
        ({"target": "p98=1ms"}, "target: `p98` is none of mean, p50"),
        ({"control_group": "job"}, "there is no control group `job`: idle, web"),
        ({"control_group": "idle", "search": "burst", "role": "server"}, "`idle` has no limit whose burst"),
        ({"period": "5"}, "period: "),
        ({"search": "weight", "target": "mean=1s"}, "no weight of `web` changes anything"),
    ]
    for parameters, words in cases:
        with pytest.raises(schedlab.InputError, match=re.escape(words)):
            schedlab.quota(limited, **{"target": "p99=1ms", "control_group": "web", **parameters})
