# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     name: python3
#     display_name: Python 3
#     language: python
# ---

# %% [markdown]
# # What MLFQ's parameters do
#
# A multilevel feedback queue guesses which tasks are interactive: a task that uses a whole slice sinks by one queue, and a task that
# blocks earlier rises. The shipped `mlfq` follows Torrey, Coleman and Miller (2007). This notebook shows what three of its
# parameters do for a person at a keyboard, and what they cost the other tasks.

# %%
import tempfile

import altair
import polars as pl

import schedlab

altair.renderers.enable("svg")  # drawings that need no network

scenario = schedlab.Scenario.load("interactive")
print(scenario.about)

# %% [markdown]
# ## One sweep
#
# It varies the number of queues, the slice of the highest one, and how slices grow from queue to queue, with five seeds each. A sweep
# has one row for each run and role, and does not repeat runs that are already in the folder.

# %%
folder = tempfile.TemporaryDirectory()
sweep = schedlab.sweep(
    {
        "name": "mlfq",
        "scenario": "interactive",
        "policy": "mlfq",
        "runs": 5,
        "set": {"run.duration": "10s"},
        "axis": {
            "policy.levels": [2, 4, 8, 20],
            "policy.step": ["1ms", "5ms", "20ms"],
            "policy.slices": ["linear", "exp2"],
        },
        "measures": ["response_ns.mean", "response_ns.p99", "throughput_per_s", "switches.involuntary"],
    },
    folder.name,
)
rows = sweep.frame.to_polars()
print(sweep.runs, "runs,", sweep.failed, "failed;", len(rows), "rows:", ", ".join(rows.columns))

# %% [markdown]
# ## The editor
#
# The 99th percentile of its response times, in milliseconds, averaged over the seeds.

# %%
editor = (
    rows.filter(role="editor", **{"policy.slices": "linear"})
    .group_by("policy.levels", "policy.step_ns")
    .agg(p99_ms=pl.col("response_ns.p99").mean() / 1e6)
    .sort("policy.levels", "policy.step_ns")
    .with_columns(step_ms=pl.col("policy.step_ns") / 1e6)
)
editor.pivot(on="step_ms", index="policy.levels", values="p99_ms")

# %%
editor.plot.line(x="policy\\.levels:Q", y="p99_ms:Q", color="step_ms:N")

# %% [markdown]
# ## The cost for the compilers
#
# A short slice in the highest queue causes more switches for tasks that sink. These are the involuntary switches of the compilers, and
# the work that they completed:

# %%
compilers = (
    rows.filter(role="compiler")
    .group_by("policy.step_ns", "policy.slices")
    .agg(pl.col("switches.involuntary").mean().round(0), pl.col("throughput_per_s").mean())
    .sort("policy.step_ns", "policy.slices")
)
compilers

# %%
forced = compilers.filter(**{"policy.slices": "linear"})["switches.involuntary"].to_list()
assert forced[0] > forced[-1], "short slices force more switches"

# %% [markdown]
# ## Starvation
#
# With many queues a task at the bottom waits as long as any task above wants the CPU. `starve=age` raises tasks that have waited long
# enough. The longest wait of a compiler shows the effect:

# %%
comparison = schedlab.compare(scenario.replace({"run.duration": "10s"}), policy="mlfq,mlfq:starve=age(50ms),rr", runs=5)
longest = (
    comparison.roles.to_polars()
    .filter(name="compiler")
    .group_by("policy", maintain_order=True)
    .agg(longest_wait_ms=pl.col("longest_wait_ns").max() / 1e6)
)
longest

# %%
comparison.charts["wakeup-distribution"]

# %%
folder.cleanup()
