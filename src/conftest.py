"""Without PyTorch the examples of modules that need it are not run."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["subgame/abstraction/blueprint.py"]
