"""The spots of `subgame bench holdem`, and what the peer takes for some of them.

Where all hands are held, hands that are equivalent by suit symmetry are merged; in spots named
"apart" suits are distinguished. `REAL` are spots as players have them: ranges of a single raised or
a 3-bet pot, button against big blind, as they arrive at the street, with weights and with hands
chosen by suit (draws, blockers, mixed hands). They leave no suit symmetry.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import subgame as sg
from subgame.tree.ranges.tree import Merge, RangeTree, range_tree

OOP = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
IP = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"


@dataclass(frozen=True)
class Peer:
    """What the peer takes: seconds an iteration, iterations to each target, MiB."""

    seconds: float
    iterations: tuple[int | None, int | None]
    memory: float


@dataclass(frozen=True)
class Spot:
    """An endgame, and what the peer takes for it by number of threads."""

    board: str
    pot: int
    stack: int
    bets: str
    peers: dict[int, Peer] = field(default_factory=dict)
    ranges: tuple[str, str] = ("random", "random")
    most: int = 800
    """Iterations after which a target is given up."""
    merge: Merge = True
    """Whether hands are merged by suit symmetry, which ranges that distinguish suits forbid."""
    storage: str = "float32"

    def tree(self) -> RangeTree:
        game = sg.holdem.endgame(self.board, self.pot, self.stack, self.ranges, self.bets)
        return range_tree(sg.compile(game, memory_limit="12GiB", merge=self.merge))


THREE, TWO = "all: 0.5x 1x a", "all: 0.5x a"
RANDOM = {
    "river-45": Spot("QsJh2h8d3c", 100, 200, THREE, {1: Peer(0.285e-3, (50, 135), 4)}),
    "river-177": Spot("QsJh2h8d3c", 100, 1000, THREE, {1: Peer(1.24e-3, (120, 495), 5)}),
    "turn": Spot(
        "QsJh2h8d",
        100,
        300,
        THREE,
        {1: Peer(98.6e-3, (90, 330), 97), 2: Peer(55.4e-3, (90, 330), 97)},
        most=500,
    ),
    "flop-a": Spot("QsJh2h", 200, 900, TWO, {2: Peer(0.940, (110, None), 1126)}, (OOP, IP), 200),
    "flop-b": Spot("QsJh2h", 200, 900, TWO, {2: Peer(4.43, (None, None), 5734)}, most=0),
}
APART = {
    f"{name}-apart": replace(spot, merge="boards")
    for name, spot in RANDOM.items()
    if name != "flop-a"
}
"""Those spots without merged hands, as where ranges distinguish suits (flop-a)."""
HALVES = {
    "turn-16bit": replace(RANDOM["turn"], storage="int16", peers={}),
    "flop-b-16bit": replace(
        RANDOM["flop-b"], storage="int16", peers={2: Peer(3.85, (None, None), 2867)}
    ),
}
"""Two of them with regrets and averages in 16 bits; the peer's time is known for one of them."""
REAL = {
    # The big blind called a bet on the flop and one on the turn; the flush comes in.
    "river-srp": Spot(
        "Kh8h4c2s9h",
        230,
        890,
        "river: 0.33x 0.75x 1.5x a / raise 0.6x a",
        ranges=(
            "KQs:0.5,KJs:0.8,KTs:0.9,K9s,K7s-K5s:0.7,KQo:0.4,KJo:0.8,KTo,K9o:0.5,TT:0.6,99:0.7,"
            "88:0.4,44:0.5,A8s,87s,86s:0.7,T8s,J8s:0.6,Q8s:0.5,98s,A8o:0.4,98o:0.3,QhJh:0.8,QhTh,"
            "Qh9h,JhTh,Jh9h,Th9h,Th7h,7h6h,7h5h,6h5h,6h4h,5h4h:0.8,5h3h,AhJh:0.5,AhTh,Ah9h,Ah7h,"
            "Ah6h,Ah5h:0.8,Ah3h,Ah2h,3h2h,AhQc:0.2,AhJd:0.4,AhJs:0.4,AhTc:0.5,AhTs:0.5,JhTc:0.3,"
            "A4s:0.6,5s4s,6s4s:0.5,JcTc:0.2,QsJs:0.2",
            "AA,KK,88,44,22,AKs,AKo,KQs,KJs,KTs:0.8,K9s:0.7,K8s,KQo,KJo:0.9,QQ:0.4,JJ:0.3,AhQh,"
            "AhJh,AhTh,Ah9h,Ah7h:0.9,Ah6h:0.9,Ah5h,Ah4h,Ah3h,Ah2h,QhJh,QhTh,JhTh,Th9h,Th8h:0.8,"
            "9h7h,8h7h:0.6,7h6h,6h5h,AhQd:0.6,AhQs:0.6,AhJc:0.5,AhTd:0.3,QcJc:0.5,QdJd:0.5,QsJs,"
            "JsTs,Ts9s:0.6,7s6s:0.8,6s5s,7c6c:0.5,A5s:0.4,Ac3c:0.3,As3s:0.7,QhJc:0.5,QhTs:0.3",
        ),
    ),
    # The big blind reraised and bet twice.
    "river-3bet": Spot(
        "AdQs6s3dJc",
        620,
        640,
        "river: 0.33x 0.75x a / raise a",
        ranges=(
            "AA,QQ:0.9,JJ:0.6,KK:0.3,66:0.2,AKs,AKo:0.9,AQs,AQo:0.8,AJs,AJo:0.5,ATs:0.7,A6s,A5s,"
            "A4s:0.8,A3s,KsTs,KdTd,KcTc:0.6,KhTh:0.4,KsJs,KdJd:0.5,KsTd:0.2,Ts9s,9s8s:0.8,8s7s,"
            "7s5s:0.6,5s4s,5d4d,7d6d:0.3,KsQd:0.3,KsQs,QsTs,KdQd:0.5,JsTs,Td9d:0.4",
            "QQ:0.2,66,33:0.8,AKs:0.3,AKo:0.2,AQs:0.9,AQo,AJs,AJo:0.8,ATs,ATo:0.5,A9s,A8s:0.9,A7s,"
            "A5s:0.7,A4s:0.8,A3s:0.6,A2s:0.5,KQs,KQo:0.6,QJs,QTs:0.8,KsJs,KsTs,KdTd:0.6,JsTs,Ts9s,"
            "9s8s,8s7s,7s6s,KhTh:0.3,Td9d:0.5,5d4d:0.6,KsJd:0.4,KsQd,KsQc,TT:0.3,JJ:0.7",
        ),
    ),
    # The big blind called a bet on the flop; the flush comes in.
    "turn-srp": Spot(
        "Ts9s4d2s",
        130,
        465,
        "all: 0.5x a / raise 0.6x a",
        ranges=(
            "JJ:0.2,TT:0.4,99:0.5,44,22:0.4,88:0.9,77,66:0.7,ATs,ATo:0.8,KTs,KTo:0.6,QTs,"
            "QTo:0.5,JTs,JTo,T8s,T7s,T9s,T9o:0.5,A9s,A9o:0.6,K9s,Q9s,J9s,98s,97s,96s:0.5,QJs,QJo,"
            "KQs:0.5,KJs:0.6,KQo:0.2,87s,86s:0.7,76s,J8s,Q8s:0.4,AsJs:0.3,As8s,As7s,As6s,As5s:0.8,"
            "As3s:0.8,AsQd:0.3,AsJc:0.5,AsJd:0.5,Ks8s,Ks7s,Ks6s,Ks5s:0.7,Qs7s:0.6,7s5s,6s5s,6s4s,"
            "5s4s,5s3s:0.7,A4s:0.7,Kd4d:0.4,5c4c:0.6,6h4h:0.2,KsJd:0.3,KsQc:0.3",
            "AA-JJ,TT,99,44,22:0.7,88:0.4,AKs:0.6,AKo:0.4,ATs,ATo,KTs,KTo:0.7,QTs,JTs,JTo:0.6,T8s,"
            "T9s,A9s:0.7,K9s:0.6,QJs,QJo,KQs,KQo:0.6,KJs,KJo:0.5,87s,J8s,76s:0.8,Q8s:0.5,AsQs,AsJs,"
            "As8s,As7s,As6s,As5s,As4s,As3s,AsQd,AsQc:0.7,AsJc,AsJd:0.7,AsKd,AsKc,Ks8s,Ks7s,Ks6s,"
            "Qs7s:0.4,7s5s:0.6,6s5s,5s4s,AhQh:0.3,AdJd:0.4,Ad5d:0.6,Ad3d:0.7,KsQd,KsJh:0.6",
        ),
        most=500,
    ),
    # The button called a reraise and a small bet on the flop.
    "turn-3bet": Spot(
        "AhJs6c4h",
        400,
        800,
        "all: 0.33x 0.75x a / raise a",
        ranges=(
            "AA,KK:0.8,QQ:0.5,JJ,TT:0.3,AKs,AKo,AQs,AQo:0.7,AJs,ATs:0.8,A5s,A4s:0.9,A9s:0.4,KQs,"
            "KJs,KTs:0.7,QJs:0.8,QTs:0.5,JTs:0.7,KQo:0.4,T9s:0.4,98s:0.3,KhTh,KhQh,QhTh,Th9h,9h8h,"
            "8h7h,7h6h,6h5h,5h3h:0.4,87s:0.4,76s:0.6,65s:0.6,54s:0.5,AhKd:0,KhQd:0.6,KhQc:0.6",
            "QQ:0.3,JJ:0.8,TT,99:0.7,88:0.4,66,44,AQs,AQo:0.9,AJs,AJo,ATs,ATo:0.4,A9s,A8s,A7s:0.8,"
            "A6s,A5s,A4s,A3s:0.6,A2s:0.5,KQs,KQo:0.5,KJs,KJo:0.3,QJs,JTs,J9s:0.6,KTs,QTs,T9s:0.6,"
            "98s:0.3,KhTh,QhTh,Th9h,9h8h,8h7h,7h6h,76s:0.5,65s:0.4,5h4h,KhQd,KhJd:0.6,QhJc:0.5",
        ),
        most=500,
    ),
    # Before the first bet; both mix offsuit hands by suit.
    "flop-srp": Spot(
        "QhTh5c",
        56,
        340,
        "flop: 0.33x / raise a; turn, river: 0.75x / raise a",
        ranges=(
            "TT:0.35,99:0.35,AJo:0.35,KQo:0.35,88-22,ATo:0.9,A9s-A2s:0.8,ATs:0.6,K9s-K7s,KTs,KJo,"
            "KTo:0.6,"
            "QJs:0.7,QTs,Q9s,Q8s,QJo,QTo:0.6,JTs:0.6,J9s-J8s,T9s,T8s,98s,97s,87s,86s,76s,75s,65s,"
            "64s,54s,53s,AhKd:0.1,Ah9c:0.5,Ah8c:0.4,KhJc:0,Jh9h,Td9h:0.4,JdTh:0.7",
            "22+,A2s+,AJo+,ATo:0.8,A9o:0.5,K8s+,KJo+,KTo:0.7,Q9s+,QJo,QTo:0.5,J9s+,JTo:0.5,T8s+,"
            "98s,87s,76s,65s,54s:0.6,KhTc:0.4,KcTh:0.9,Qd8d:0.4,Ah8d:0.6,Ah5d:0.7,Ad5h:0.7",
        ),
        most=300,
    ),
}
"""Two rivers, two turns and a flop whose ranges distinguish suits."""
SPOTS = RANDOM | APART | HALVES | REAL
