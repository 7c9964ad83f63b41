"""A laboratory for CPU schedulers.

A *scenario* describes tasks, a *policy* decides which task runs, and a *venue* runs both: the simulator (``sim``), a
real kernel in virtual time (``vm``), or this machine (``host``). Every venue produces the same metrics.

```pycon
>>> import schedlab
>>> result = schedlab.run("heavy-load", policy="rr", seed=1)
>>> result.roles.to_polars().select("name", "requests").rows()
[('worker', 476)]

```

Times are integers in nanoseconds in columns that end in ``_ns``; in scenarios they are strings with a unit
(``"5ms"``). Without a seed, a call uses that of the scenario: the same call gives the same numbers.
"""

from . import policy
from ._gate import Gate, gate
from ._page import Page, read_page
from ._quota import Limits, quota
from ._recording import Model, Prediction, Recording, import_recording, model, predict, record
from ._runs import Comparison, Result, compare, run
from ._schedlab import Frame, Scenario, __version__
from ._score import Score, score
from ._search import Fault, Search, search
from ._shipped import PolicyInfo, ScenarioInfo, policies, scenarios, schema, studies
from ._study import Study, study
from ._sweep import Sweep, sweep
from ._trace import Trace, read_trace
from .errors import InputError, NotFoundError, RunError, SchedlabError

__all__ = [
    "Comparison",
    "Fault",
    "Frame",
    "Gate",
    "InputError",
    "Limits",
    "Model",
    "NotFoundError",
    "Page",
    "PolicyInfo",
    "Prediction",
    "Recording",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioInfo",
    "SchedlabError",
    "Score",
    "Search",
    "Study",
    "Sweep",
    "Trace",
    "__version__",
    "compare",
    "gate",
    "import_recording",
    "model",
    "policies",
    "policy",
    "predict",
    "quota",
    "read_page",
    "read_trace",
    "record",
    "run",
    "scenarios",
    "schema",
    "score",
    "search",
    "studies",
    "study",
    "sweep",
]
