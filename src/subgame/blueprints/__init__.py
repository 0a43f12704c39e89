"""Blueprints of whole hold'em games: trained in buckets by sampled boards, stored in a small file.

| module | what it holds |
| --- | --- |
| `recipe` | `Recipe`: what is trained and how, from a TOML file |
| `betting` | `BettingArrays`: the betting sequences of a game as flat arrays, without boards |
| `cards` | `CardBuckets`: the bucket of each hand on any board, from centroids |
| `strengths` | the distribution of a hand's strength at the showdown, by PyTorch or Numba |
| `training` | `Trainer`: sampled boards, regrets, checkpoints, several processes |
| `stored` | `StoredBlueprint`: the averages in one byte a probability, memory-mapped |
"""
