"""Hold'em in which one player has other bet sizes than the opponent."""

from __future__ import annotations

from dataclasses import dataclass, field

from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting


@dataclass(frozen=True, repr=False)
class Wider(Holdem):
    """Hold'em in which the player `seat` has the bet sizes `wider`, and the opponent `bets`."""

    wider: BetSizes = field(default_factory=BetSizes)
    seat: int = 0

    def actions(self, betting: Betting) -> tuple[str, ...]:
        return betting.actions(self.wider if betting.player == self.seat else self.bets)

    @property
    def parameters(self) -> dict[str, object]:
        return {**super().parameters, "wider": str(self.wider), "seat": self.seat}


def widened(game: Holdem, wider: BetSizes | str, seat: int) -> Wider:
    """`game` with the bet sizes `wider` for the player `seat`.

    >>> from subgame.games.holdem import endgame
    >>> small = endgame("Qs Jh 2h 8d 3c", pot=100, stacks=200, bets="river: 1x")
    >>> large = widened(small, "river: 0.5x 1x", 0)
    >>> small.actions(small.start()), large.actions(large.start())
    (('c', 'r100'), ('c', 'r50', 'r100'))
    """
    sizes = BetSizes.parse(wider) if isinstance(wider, str) else wider
    own = {name: getattr(game, name) for name in Holdem.__dataclass_fields__}
    return Wider(**own, wider=sizes, seat=seat)
