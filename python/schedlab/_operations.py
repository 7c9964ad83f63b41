"""Whether the methods of a policy are what the kernel calls: their names, and what they take."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ._used import used_in_class, used_in_module

HELPERS = frozenset(
    {"insert", "insert_by_vtime", "create_queue", "move_to_local", "queued", "kick", "select_cpu_default"}
)
"""The methods of the base class that a policy calls. All its others are operations, which the kernel calls."""

BEFORE = frozenset({"on", "op", "ops", "do", "handle", "scx", "sched", "task"})
"""Words that other frameworks write before the name of an operation."""
BEHIND = frozenset({"task", "op", "hook", "handler", "callback"})
"""Words that they write behind it."""
ALIASES = {
    "balance": "dispatch",
    "bootup": "init",
    "cleanup": "exit",
    "enqueuetask": "enqueue",
    "dequeuetask": "dequeue",
    "initialise": "init",
    "initialize": "init",
    "picknext": "dispatch",
    "picknexttask": "dispatch",
    "picktask": "dispatch",
    "putprevtask": "stopping",
    "reweighttask": "set_weight",
    "rqoffline": "cpu_offline",
    "rqonline": "cpu_online",
    "selecttaskrq": "select_cpu",
    "setaffinity": "set_cpumask",
    "setcpusallowed": "set_cpumask",
    "setnexttask": "running",
    "setup": "init",
    "shutdown": "exit",
    "start": "init",
    "taskdead": "exit_task",
    "taskfork": "init_task",
    "tasknew": "init_task",
    "taskwoken": "runnable",
    "teardown": "exit",
    "wakeup": "runnable",
    "yieldtask": "yield_",
}
"""Other words for an operation, among them those of the kernel's own scheduling classes, without underscores."""
SHORTEST = 3
"""The least letters of a word that is the beginning of an operation's name, as `enq`."""


def check_whole(policy: type, base: type) -> None:
    """The same when a policy is to run, and nothing can be added to it: also refuses a method that is no operation and
    that nothing in the policy's module calls.

    :raises TypeError: with the operation that was probably meant, if there is one
    """
    check(policy, base)
    owners = _own_classes(policy, base)
    used = {word for owner in owners for word in used_in_class(owner)}
    used |= {word for module in {owner.__module__ for owner in owners} for word in used_in_module(module)}
    for name in _own_methods(policy, base):
        if not hasattr(base, name) and name not in used:
            raise TypeError(
                f"{policy.__name__}: nothing calls `{name}`: it is not an operation of sched_ext, and no function of "
                f"the module uses it. A method that you call from elsewhere begins with an underscore"
            )


def check(policy: type, base: type) -> None:
    """Refuses a policy with a method that the kernel would never call, or could not, or not as it is meant.

    :param base: the base class of policies
    :raises TypeError: with the operation that was probably meant, or with its arguments
    """
    operations = [name for name in vars(base) if _is_public_method(base, name) and name not in HELPERS]
    used = {word for owner in _own_classes(policy, base) for word in used_in_class(owner)}
    for name in _own_methods(policy, base):
        if name in operations:
            _check_arguments(policy, name, getattr(base, name))
        elif not hasattr(base, name):
            missing = [one for one in operations if not _defines(policy, base, one)]
            _check_name(policy, name, missing, is_used=name in used)


def _own_methods(policy: type, base: type) -> Iterator[str]:
    """The names of the public methods that a policy and its other base classes define, and of attributes that stand for
    an operation."""
    for owner in _own_classes(policy, base):
        yield from (name for name in vars(owner) if _is_public_method(owner, name) or hasattr(base, name))


def _own_classes(policy: type, base: type) -> list[type]:
    """A policy and its other base classes."""
    return [owner for owner in policy.__mro__ if owner is not object and not issubclass(base, owner)]


def _is_public_method(owner: type, name: str) -> bool:
    return not name.startswith("_") and isinstance(vars(owner)[name], FunctionType | staticmethod | classmethod)


def _defines(policy: type, base: type, operation: str) -> bool:
    return getattr(policy, operation) is not getattr(base, operation)


def _check_name(policy: type, name: str, operations: list[str], *, is_used: bool) -> None:
    """An operation that the policy defines itself is not meant by another name. A method that the policy uses may be
    called by another word for an operation."""
    near = [(distance, one) for one in operations if (distance := _far(name, one, is_used=is_used)) is not None]
    if near:
        raise TypeError(
            f"{policy.__name__}: `{name}` is not an operation of sched_ext; did you mean `{min(near)[1]}`? "
            f"A method of your own with such a name begins with an underscore"
        )


def _far(name: str, operation: str, *, is_used: bool) -> float | None:
    """How far a name, or a part of it, is from that of an operation; None where it does not stand for it."""
    plain = operation.replace("_", "")
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    distances = [_distance("".join(words), plain)] if _is_like("".join(words), plain) else []
    if not is_used and (ALIASES.get("".join(words)) == operation or _means(words, operation.split("_"))):
        distances.append(0.25)
    words = words[1:] if words[:1] and words[0] in BEFORE else words
    words = words[:-1] if words[1:] and words[-1] in BEHIND else words
    word = "".join(words)
    distances += [_distance(word, plain) + 0.5] if _is_like(word, plain) else []
    if not is_used and (ALIASES.get(word) == operation or _means(words, operation.split("_"))):
        distances.append(0.75)
    # Of short words many that differ by two letters are words of their own.
    bound = 2 if len(plain) <= 4 else 3
    return min((distance for distance in distances if distance < bound), default=None)


def _means(words: list[str], operation: list[str]) -> bool:
    """Whether these are the words of an operation in another order, or its first word alone, or how that begins."""
    if len(words) == 1:
        return words[0] == operation[0] or (len(words[0]) >= SHORTEST and operation[0].startswith(words[0]))
    return sorted(words) == sorted(word for word in operation if word)


def _is_like(name: str, operation: str) -> bool:
    """Whether both begin alike: a word of another first letter is another word, as `pick` and `requeue` are."""
    return name[:1] == operation[:1] or sorted(name[:2]) == sorted(operation[:2])


def _distance(one: str, other: str) -> float:
    """How many letters are missing, too many or exchanged with their neighbour; another letter counts as two.

    The optimal string alignment of Damerau and Levenshtein, row by row.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            costs = [above[j] + 1, row[-1] + 1, above[j - 1] + (0 if letter == wanted else 2)]
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 1] + other[j - 2]:
                costs.append(before[j - 2] + 1)
            row.append(min(costs))
        before = above
    return row[-1]


def _check_arguments(policy: type, name: str, declared: Callable[..., Any]) -> None:
    method, static = getattr(policy, name), inspect.getattr_static(policy, name)
    if method is declared:
        return
    if not callable(method):
        raise TypeError(f"{policy.__name__}: `{name}` is an operation of sched_ext and needs a method, not {method!r}")
    wanted = list(inspect.signature(declared).parameters)
    # Nothing binds the object to what is not a function of the class.
    given = wanted if isinstance(static, FunctionType) else wanted[1:]
    try:
        signature = inspect.signature(method, follow_wrapped=False)
    except (TypeError, ValueError, NameError):
        # It is not written in Python, or has annotations of names that are not there.
        return
    try:
        signature.bind(*given)
    except TypeError:
        raise TypeError(
            f"{policy.__name__}: `{name}{signature}` does not take what the kernel passes: write "
            f"`def {name}({', '.join(wanted)})`"
        ) from None
    moved = [one for at, one in enumerate(signature.parameters) if one in given and given.index(one) != at]
    if moved:
        raise TypeError(
            f"{policy.__name__}: `{name}` has `{moved[0]}` in another place than the kernel: write "
            f"`def {name}({', '.join(wanted)})`"
        )
