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
# # Which scheduler for this workload, and how sure are we?
#
# A small service runs on two CPUs with plausible costs. Requests arrive at random; most are short, some are ten times as long. A
# background job takes the rest of the CPU time. A monitor wakes every 10 ms and must not be late. Which shipped scheduler serves
# this workload best?

# %%
import altair
import polars as pl

import schedlab

altair.renderers.enable("svg")  # drawings that need no network

service = schedlab.Scenario(
    name="service",
    about="Requests, a background job and a monitor on two CPUs.",
    machine={"cpus": 2, "tick": "1ms", "costs": {"switch": "1.5us", "wakeup": "1us", "migration": "5us"}},
    task=[
        {"name": "request", "arrivals": "exp(2ms)", "once": [{"compute": "lognormal(1ms, 1.0)"}]},
        {"name": "background", "count": 2, "loop": [{"compute": "50ms"}]},
        {"name": "monitor", "loop": [{"sleep": "10ms"}, {"compute": "200us"}]},
    ],
    run={"duration": "10s", "warmup": "500ms"},
)

# %% [markdown]
# ## Run them all, twenty seeds each
#
# The run is the unit, not the request: requests of one run depend on each other, runs do not.

# %%
comparison = schedlab.compare(service, policy="cfs,eevdf,mlfq,rr:quantum=5ms,ule", runs=20)
print(comparison)

# %% [markdown]
# ## How sure?
#
# Each scheduler is compared with the first one, with the 95 % interval of the ratio. If the interval contains 1, this experiment
# shows no difference, which does not mean that there is none.

# %%
differences = comparison.differences.to_polars().filter(role="request", metric="response_ns.p99")
shown = differences.select("policy", "ratio", low="ratio_interval.low", high="ratio_interval.high", verdict="verdict")
shown

# %% [markdown]
# ## The cost for the other tasks
#
# A scheduler that favours requests takes the time from other tasks.

# %%
roles = comparison.roles.to_polars()
costs = (
    roles.group_by("policy", "name", maintain_order=True)
    .agg(
        p99_ms=pl.col("response_ns.p99").mean() / 1e6,
        cpu_share=pl.col("cpu_share").mean(),
        late_ms=pl.col("wakeup_latency_ns.p99").mean() / 1e6,
    )
    .sort("name", "p99_ms")
)
costs

# %%
comparison.charts["response"]

# %% [markdown]
# ## Does it hold at another load?
#
# The same question from a light load to a heavy one. The best scheduler may change with the load.

# %%
loads = pl.concat(
    schedlab.compare(
        service.replace({"task.request.arrivals": f"exp({gap}us)"}),
        policy="cfs,eevdf,mlfq,rr:quantum=5ms,ule",
        runs=5,
        charts=False,
    )
    .roles.to_polars()
    .filter(name="request")
    .group_by("policy", maintain_order=True)
    .agg(p99_ms=pl.col("response_ns.p99").mean() / 1e6)
    .with_columns(requests_per_s=pl.lit(1e6 / gap))
    for gap in (5000, 2500, 1700)
)
loads.pivot(on="requests_per_s", index="policy", values="p99_ms")

# %%
loads.plot.line(x="requests_per_s:Q", y="p99_ms:Q", color="policy:N")

# %% [markdown]
# The next step is a real kernel: `schedlab.compare(service, policy="kernel", venue="host")` measures this machine's own scheduler
# with the same scenario, and `venue="vm"` runs the same schedulers inside a kernel.
