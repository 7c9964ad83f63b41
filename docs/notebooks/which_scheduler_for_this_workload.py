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
# A small service: requests come at random and most are short, some are ten times as long; a job in the background takes what is
# left; a monitor wakes every 10 ms and must not be late. Two CPUs with plausible costs. Which of the shipped schedulers serves it
# best?

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
# The run is the unit, not the request: requests of one run are not independent of each other, runs are.

# %%
comparison = schedlab.compare(service, policy="cfs,eevdf,mlfq,rr:quantum=5ms,ule", runs=20)
print(comparison)

# %% [markdown]
# ## How sure?
#
# Each scheduler against the first one, with the interval of the ratio at 95 %. Where the interval holds 1, this experiment has
# not seen a difference, which is not to say that there is none.

# %%
differences = comparison.differences.to_polars().filter(role="request", metric="response_ns.p99")
shown = differences.select("policy", "ratio", low="ratio_interval.low", high="ratio_interval.high", verdict="verdict")
shown

# %% [markdown]
# ## What it costs the others
#
# A scheduler that is good to requests takes the time from somebody.

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
# The same question from a light load to a heavy one. What was best here need not be best there.

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
# The next step is a real kernel: `schedlab.compare(service, policy="kernel", venue="host")` measures what this machine's own
# scheduler does with the same scenario, and `venue="vm"` runs these very schedulers inside one.
