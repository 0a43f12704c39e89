"""Gifts in hold'em trees, street by street on all boards at once (2017, Sec. 5)."""

from __future__ import annotations

import numpy as np

from subgame.engines.arrays import Array, Floats, as_numpy
from subgame.engines.contract import RangeEngine
from subgame.refine.gadgets import Gadget
from subgame.refine.subgame import carried_gift, reliable
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.tree import RangeTree


def rows(street: Street, p: int, j: int) -> slice:
    """The rows of a decision's actions."""
    return slice(street.first[p][j], street.first[p][j] + len(street.actions[p][j]))


def carried_gifts(
    run: RangeEngine,
    streets: list[Street],
    gadget: Gadget,
    o: int,
    ours: list[Array],
    values: list[Array],
    entry: Floats,
) -> list[Floats]:
    """Per street [row, board, hand] the opponent's gifts carried to each row (2017, Sec. 5).

    `streets` are the first streets of the engine's tree. `ours` and `values` are our reach and the
    opponent's values of all rows; `entry` [way, board, hand] is carried to the roots.
    """
    if gadget.gifts == "none":
        return [np.broadcast_to(np.zeros(1), tuple(value.shape)) for value in values]
    out, tree = list[Floats](), run.tree
    for s, street in enumerate(streets):
        if s > 0:
            entry = as_numpy(entered_gifts(run, gadget, o, entry, s))
        carried = np.zeros(values[s].shape)
        carried[: len(street.roots), :, : entry.shape[2]] = entry
        for j, parent in enumerate(street.parent[o]):
            here, value = rows(street, o, j), as_numpy(values[s][rows(street, o, j)])
            at = ours[s][street.at[o][j][1 - o]][None]
            reach = reliable(as_numpy(run.opposing(o, at, s)))
            size = np.maximum(_best(tree, gadget, street, o, j, value) - value, 0)
            carried[here] = carried[parent] + carried_gift(size, reach[0], gadget)
        out.append(carried)
        entry = carried[[row[o] for row in street.leaf_rows]]
    return out


def entered_gifts(run: RangeEngine, gadget: Gadget, o: int, entry: Floats, s: int) -> Array:
    """[root, board, hand] gifts at the roots of a street, from those at the leaves before it.

    They are on the engine's device.
    """
    entering = run.enter(o, entry, s)
    if gadget.split:
        return entering
    # In units of the whole game: a board is only one of many.
    weights = run.tree.units.dealt[s].weight[:, None]
    return entering / (
        weights if isinstance(entering, np.ndarray) else entering.new_tensor(weights)
    )


def _best(tree: RangeTree, gadget: Gadget, street: Street, o: int, j: int, value: Floats) -> Floats:
    """[action, board, hand] what each action is compared with: itself and those that count."""
    state, last = street.states[o][j], tree.holdem.rules.last_street
    after = [state.child(name) for name in street.actions[o][j]]
    counts = [
        gadget.gifts == "estimated" or (b.is_over and (b.folded >= 0 or b.street == last))
        for b in after
    ]
    if not any(counts):
        return value
    out: Floats = np.maximum(value, value[counts].max(0))
    return out
