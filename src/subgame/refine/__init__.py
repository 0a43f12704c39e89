"""Re-solving: gadgets, subgames, nested solving, depth limits. Called, it is `refine.refine`."""

from subgame._verbs import callable_package

callable_package(__name__, "subgame.refine.verbs.refine", "refine")
