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
# # Round robin against theory
#
# As its quantum goes to zero, round robin becomes *processor sharing*: all present jobs share the CPU equally. For Poisson
# arrivals there is a lot of theory (Kleinrock, *Queueing Systems* II, 1976). A job of size *x* stays
#
# > *T*(*x*) = *x* / (1 − ρ)
#
# on average, where ρ is the load, regardless of the other jobs' sizes. Under first come, first served each job waits for all jobs
# before it, and the cost depends on how much the sizes differ (Pollaczek and Khinchine):
#
# > *T*(*x*) = *x* + λ E[*S*²] / (2 (1 − ρ))
#
# Does a BPF scheduler in the simulator do what theory predicts?

# %%
import altair
import polars as pl

import schedlab

altair.renderers.enable("svg")  # drawings that need no network

# %% [markdown]
# ## Jobs of two sizes
#
# Nine of ten jobs take 2 ms and one takes 20 ms. They arrive at random, independently of each other: an *open* workload.

# %%
SHORT_MS, LONG_MS = 2.0, 20.0


def jobs(load: float, seconds: int = 300) -> dict:
    """Two roles of jobs that together keep one CPU busy for this part of the time."""
    per_ms = load / (0.9 * SHORT_MS + 0.1 * LONG_MS)
    gap = {"short": 1 / (0.9 * per_ms), "long": 1 / (0.1 * per_ms)}
    size = {"short": SHORT_MS, "long": LONG_MS}
    return {
        "name": "two-sizes",
        "machine": {"cpus": 1},
        "task": [
            {"name": name, "arrivals": f"exp({gap[name] * 1e6:.0f}ns)", "once": [{"compute": f"{size[name]:.0f}ms"}]}
            for name in ("short", "long")
        ],
        "run": {"duration": f"{seconds}s", "warmup": "20s"},
    }


comparison = schedlab.compare(jobs(0.7), policy="fcfs,rr:quantum=100us", runs=5)
print(comparison)

# %% [markdown]
# ## Loads
#
# Each load runs under each scheduler with five seeds. `roles` has a row for each run and size of job.

# %%
LOADS = [0.3, 0.5, 0.7, 0.8]
seen = pl.concat(
    schedlab.compare(jobs(load), policy="fcfs,rr:quantum=100us", runs=5, charts=False)
    .roles.to_polars()
    .select("policy", "name", "seed", mean_ms=pl.col("response_ns.mean") / 1e6)
    .with_columns(load=pl.lit(load))
    for load in LOADS
)


def expected_ms(policy: str, name: str, load: float) -> float:
    """What theory says."""
    size = SHORT_MS if name == "short" else LONG_MS
    if policy.startswith("rr"):
        return size / (1 - load)
    mean, square = 0.9 * SHORT_MS + 0.1 * LONG_MS, 0.9 * SHORT_MS**2 + 0.1 * LONG_MS**2
    return size + (load / mean) * square / (2 * (1 - load))


table = (
    seen.group_by("policy", "name", "load")
    .agg(mean_ms=pl.col("mean_ms").mean(), error_ms=pl.col("mean_ms").std() / 5**0.5)
    .with_columns(
        pl.struct("policy", "name", "load")
        .map_elements(lambda key: expected_ms(**key), return_dtype=pl.Float64)
        .alias("theory_ms")
    )
    .with_columns(off=((pl.col("mean_ms") - pl.col("theory_ms")) / pl.col("error_ms")).round(1))
    .sort("policy", "name", "load")
)
table

# %% [markdown]
# `off` is the distance between the mean of five runs and theory, in standard errors. First come, first served agrees with theory
# within chance. Round robin is slightly faster than processor sharing: a quantum of 100 µs is not zero, and a job that ends during
# its turn does not wait for the end of the turn. That saves a part of a quantum, stretched by 1 / (1 − ρ) like everything else.

# %%
distance = (table["mean_ms"] - table["theory_ms"]).abs()
assert (distance < 4 * table["error_ms"] + 0.1 / (1 - table["load"])).all(), table
table.select("policy", "name", "load", "mean_ms", "theory_ms").plot.line(
    x="load:Q", y="mean_ms:Q", color="policy:N", strokeDash="name:N"
)

# %% [markdown]
# Under round robin the long job pays for itself: it stays ten times as long as a short one, at any load. Under first come, first
# served the short jobs pay: at a load of 0.8 they wait for several times their own length.
#
# ## What if the quantum is not small?
#
# With a quantum longer than every job, round robin is first come, first served.

# %%
quanta = {"100us": 0.1, "1ms": 1.0, "5ms": 5.0, "20ms": 20.0}
by_quantum = pl.concat(
    schedlab.run(jobs(0.7), policy=f"rr:quantum={quantum}", runs=5, charts=False)
    .roles.to_polars()
    .group_by("name")
    .agg(mean_ms=pl.col("response_ns.mean").mean() / 1e6)
    .with_columns(quantum_ms=pl.lit(milliseconds))
    for quantum, milliseconds in quanta.items()
).sort("name", "quantum_ms")
by_quantum

# %%
short = by_quantum.filter(name="short")["mean_ms"].to_list()
assert short[0] < short[-1], "short jobs suffer from long quanta"
