"""The names of agents. The command line checks them before it loads what plays."""

from __future__ import annotations

from subgame.errors import did_you_mean
from subgame.games.actions import KINDS

UNIFORM, BEST, BLUEPRINT = "uniform", "best-response", "blueprint"
SEARCHING = ("nested", "limited")
"""Agents that solve while they play, from a blueprint; ``nested:resolve`` names the technique."""
VALUES = ("rollouts", "network")
"""Where values at a depth limit of whole hold'em come from."""
SUFFIX, PROGRAM = ".safetensors", "acpc:"
"""Of the file of a strategy, and before the command of a program."""


def check_agent(name: str) -> str:
    """The name; an error if no agent has it.

    >>> check_agent("nested:resolve"), check_agent("my.safetensors")
    ('nested:resolve', 'my.safetensors')
    """
    plain = (UNIFORM, *KINDS, BEST, BLUEPRINT)
    known = name in plain or name.partition(":")[0] in SEARCHING
    if not (known or name.endswith(SUFFIX) or name.startswith(PROGRAM)):
        all_names = [*plain, *SEARCHING, f"FILE{SUFFIX}", f"{PROGRAM}COMMAND"]
        raise did_you_mean("agent", name, all_names)
    return name


def check_values(name: str) -> str:
    """The name; an error if values do not come from there."""
    if name not in VALUES:
        raise did_you_mean("kind of values", name, VALUES)
    return name
