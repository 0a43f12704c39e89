"""Protocols: how agents meet programs of other projects, and how hands are written down.

| module | what it holds |
| --- | --- |
| `notation` | the one place where amounts of chips are converted between our names and others' |
| `acpc` | lines of the ACPC protocol 2.0.0 and of its logs |
| `wire` | lines over a socket, with time limits |
| `remote` | an ACPC program as an `Agent`: the dealer's side |
| `follow` | an agent of ours in a hand that somebody else deals |
| `client` | an agent of ours at an ACPC dealer |
| `slumbot` | an agent of ours against Slumbot's HTTP API |
| `histories` | hands as PHH and ACPC logs, out and in; replay through PokerKit |
"""
