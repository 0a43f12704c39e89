"""Abstraction: smaller games whose strategies are strategies of the whole game.

| module | what it holds |
| --- | --- |
| `recipe` | `Recipe`: how hands are put into buckets |
| `cards` | `abstract`: buckets of the hands of a tree; how good they are; files, cache |
| `card_buckets` | `CardBuckets`: buckets that are computed board by board, for blueprints |
| `features` | what hands are clustered by: E[HS], E[HS²], OCHS, distributions of equity |
| `strength_tables` | scores and quantiles of hands, in whole numbers, by Numba or PyTorch |
| `clustering` | k-means++ and k-medians, on NumPy or PyTorch |
| `points`, `boards` | hands on boards, up to suit symmetry; the canonical form of any board |
| `blueprint` | `Blueprint`: a tree solved in buckets, and estimates for its subgames |
| `lift` | games with coarser infosets |

>>> import subgame as sg
>>> sg.abstraction.Recipe().features
'strength-ochs'
"""

from subgame.abstraction.cards import Abstraction as Abstraction
from subgame.abstraction.cards import Quality as Quality
from subgame.abstraction.cards import abstract as abstract
from subgame.abstraction.recipe import Recipe as Recipe
