"""How regrets and averages are kept: in float32, bfloat16, or 16-bit integers with scales.

Arithmetic is float32 whatever is kept. What an iteration adds is often less than half of the last
bit that sixteen have, and to the nearest it would be lost again and again; so it is rounded up or
down by chance, in proportion to what is left over. Chance is a hash of the place and the
iteration: runs repeat, and all devices draw alike.

Integers share a scale with the `LINE` hands beside them, which one program of a kernel works on. A
line's greatest numbers, which are those that matter, then have fifteen bits, not bfloat16's eight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from subgame.engines.devices import Storage as Storage
from subgame.engines.rounding import LEAST, MIX, TOP
from subgame.engines.torch.runtime import load_torch

if TYPE_CHECKING:
    import torch

Tensor = Any
LINE = 256
"""Hands of one action, boards one after another, that share a scale."""
ALIGNED = 32
"""A street's boards are cut at multiples of this, for lines to begin there, four at a time."""
FACTORS = {"seed": 0x2545F491, "action": 0x1B873593, "salt": 0x3C6EF372}
"""What the hash of a place is made of, besides the place itself."""
REGRET, AVERAGE = 0, 1
"""Salts: numbers in the same place draw apart."""


def stored_bytes(kind: str, actions: int, hands: int) -> int:
    """Bytes of a block with so many hands on all boards."""
    if kind == "int16":
        return actions * (2 * hands + 4 * lines(hands))
    return actions * hands * (2 if kind == "bfloat16" else 4)


def padded_bytes(kind: str, shape: tuple[int, int, int]) -> int:
    """The same, up to a full line of memory: what `laid` takes."""
    return -(-stored_bytes(kind, shape[0], shape[1] * shape[2]) // LINE) * LINE


def lines(hands: int) -> int:
    """Scales per action."""
    return -(-hands // LINE)


class Kept:
    """A block ``[action, unit, hand]`` that is no tensor: it knows its `kind`, and its numbers."""

    kind: str
    tensors: tuple[Tensor, ...]
    """What its numbers are kept in."""

    def __getitem__(self, actions: Any) -> Tensor:
        return self.load(actions, load_torch().float32)

    def zero_(self) -> Self:
        for tensor in self.tensors:
            tensor.zero_()
        return self

    def load(self, actions: Any, dtype: torch.dtype) -> Tensor:
        """Numbers of some actions."""
        raise NotImplementedError

    def peek(self, units: slice) -> Tensor:
        """All actions on some boards, wherever those lie."""
        raise NotImplementedError

    def cut(self, units: slice) -> object:
        """Some boards of it, on the device."""
        raise NotImplementedError


class Scaled(Kept):
    """A block ``[action, unit, hand]`` of 16-bit integers, with scales ``[action, line]``.

    It can be read and written by actions, like a tensor; what comes and goes is float32.
    """

    kind = "int16"

    def __init__(self, ints: Tensor, scales: Tensor) -> None:
        self.ints, self.scales = ints, scales
        self.tensors = (ints, scales)

    @property
    def shape(self) -> Any:
        return self.ints.shape

    def load(self, actions: Any, dtype: torch.dtype) -> Tensor:
        units, wide = self.shape[1:]
        scales = self.scales[actions].to(dtype).repeat_interleave(LINE, -1)[..., : units * wide]
        return self.ints[actions].to(dtype) * scales.unflatten(-1, (units, wide))

    def write(self, actions: Any, values: Tensor, noise: Tensor | None = None) -> None:
        """Overwrite some actions; `noise` in [0, 1) is added before numbers are rounded down."""
        torch, (units, wide) = load_torch(), self.shape[1:]
        rest = self.scales.shape[-1] * LINE - units * wide
        flat = torch.nn.functional.pad(values.flatten(-2), (0, rest)).unflatten(-1, (-1, LINE))
        scales = flat.abs().amax(-1).clamp(min=LEAST) * (1 / TOP)
        spread = scales.repeat_interleave(LINE, -1)[..., : units * wide]
        shares = values / spread.unflatten(-1, (units, wide))
        self.ints[actions] = (shares + (0.5 if noise is None else noise)).floor().to(torch.int16)
        self.scales[actions] = scales

    def __setitem__(self, actions: object, values: Tensor) -> None:
        self.write(actions, values.to(self.scales.dtype))

    def peek(self, units: slice) -> Tensor:
        wide = self.shape[2]
        begin, end = units.start * wide, units.stop * wide
        first = begin // LINE
        scales = self.scales[:, first : lines(end)].repeat_interleave(LINE, 1)
        some = scales[:, begin - first * LINE : end - first * LINE].unflatten(1, (-1, wide))
        return self.ints[:, units].to(scales.dtype) * some

    def cut(self, units: slice) -> Scaled:
        wide, whole = self.shape[2], units.stop == self.shape[1]
        begin, end = units.start * wide, units.stop * wide
        assert begin % LINE == 0
        assert whole or end % LINE == 0
        return Scaled(self.ints[:, units], self.scales[:, begin // LINE : lines(end)])

    def clone(self) -> Scaled:
        return Scaled(self.ints.clone(), self.scales.clone())

    def copy_(self, other: Scaled | Tensor) -> Scaled:
        if isinstance(other, Scaled):
            self.ints.copy_(other.ints)
            self.scales.copy_(other.scales)
        else:
            for action in range(self.shape[0]):  # one at a time: what comes may be large
                self[action] = other[action]
        return self


Block = Any
"""A tensor ``[action, unit, hand]``, or `Kept`."""


def blank(kind: str, shape: tuple[int, int, int], device: torch.device | str) -> Block:
    """A block of zeros."""
    torch = load_torch()
    if kind == "int16":
        scales = torch.zeros((shape[0], lines(shape[1] * shape[2])), device=device)
        return Scaled(torch.zeros(shape, dtype=torch.int16, device=device), scales)
    return torch.zeros(shape, dtype=getattr(torch, kind), device=device)


def laid(kind: str, shape: tuple[int, int, int], raw: Tensor) -> Block:
    """A block whose numbers are these bytes."""
    torch, (actions, units, wide) = load_torch(), shape
    cells, scales = actions * units * wide, actions * lines(units * wide)
    if kind == "int16":
        ints, rest = raw[: 2 * cells], raw[2 * cells : 2 * cells + 4 * scales]
        table = rest.view(torch.float32).view(actions, lines(units * wide))
        return Scaled(ints.view(torch.int16).view(shape), table)
    dtype = getattr(torch, kind)
    return raw[: cells * dtype.itemsize].view(dtype).view(shape)


def kind_of(block: Block | None) -> str:
    """How a block is kept; "float32" where there is none."""
    if isinstance(block, Kept):
        return block.kind
    return "float32" if block is None or block.element_size() != 2 else "bfloat16"


def cut(block: Block, units: slice) -> Block:
    """Some boards of a block."""
    return block.cut(units) if isinstance(block, Kept) else block[:, units]


def peek(block: Block, units: slice) -> Tensor:
    """[action, u, h] numbers on some boards, in float32."""
    return block.peek(units) if isinstance(block, Kept) else block[:, units].float()


def load(block: Block, actions: Any, dtype: torch.dtype) -> Tensor:
    """Numbers of some actions, to work with."""
    return block.load(actions, dtype) if isinstance(block, Kept) else block[actions].to(dtype)


class Chance(NamedTuple):
    """What rounds 16-bit numbers up or down on one iteration."""

    rates: Tensor  # [4] the iteration's discounts, and its number below 2^24
    first: int  # the place of the first hand, among those of all boards of the street
    above: Tensor  # [u, h] negative where there is no hand

    def draw(self, actions: slice, salt: int) -> Tensor:
        """[action, u, h] whole numbers below 2^32."""
        torch, (units, wide) = load_torch(), self.above.shape
        device, mask = self.above.device, 0xFFFFFFFF
        place = self.first + torch.arange(units * wide, device=device).view(units, wide)
        action = torch.arange(actions.start, actions.stop, device=device)[:, None, None]
        key = place + self.rates[3].long() * FACTORS["seed"] + salt * FACTORS["salt"]
        bits = (key + action * FACTORS["action"]) & mask
        for shift, factor in MIX:
            bits = ((bits ^ (bits >> shift)) * factor) & mask
        return bits

    def keep(self, block: Block, actions: slice, values: Tensor, salt: int | None) -> None:
        """Write some actions; to the nearest where there is no salt."""
        if isinstance(block, Scaled):
            noise = None if salt is None else (self.draw(actions, salt) >> 8).float() * 2.0**-24
            block.write(actions, values * (self.above >= 0), noise)
        elif salt is None or block.element_size() != 2:
            block[actions] = values
        else:
            torch = load_torch()
            bits = values.contiguous().view(torch.int32)
            bits = bits + (self.draw(actions, salt) >> 16).to(torch.int32)
            block[actions] = (bits >> 16 << 16).view(torch.float32).to(block.dtype)
