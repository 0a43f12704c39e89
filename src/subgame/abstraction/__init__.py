"""Abstraction: smaller games whose strategies are strategies of the whole game.

| module | what it holds |
| --- | --- |
| `cards` | `abstract`: buckets of hold'em hands, by a `Recipe`; how good they are; files, cache |
| `features` | what hands are clustered by: E[HS], E[HS²], OCHS, distributions of equity |
| `clustering` | k-means++ and k-medians, on NumPy or PyTorch |
| `points` | hands on boards, up to suit symmetry |
| `blueprint` | `Blueprint`: a tree solved in buckets, and estimates for its subgames |
| `lift` | games with coarser infosets |

>>> import subgame as sg
>>> sg.abstraction.Recipe().features
'strength-ochs'
"""

from subgame.abstraction.cards import Abstraction as Abstraction
from subgame.abstraction.cards import Quality as Quality
from subgame.abstraction.cards import Recipe as Recipe
from subgame.abstraction.cards import abstract as abstract
