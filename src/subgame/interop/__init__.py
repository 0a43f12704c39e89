"""OpenSpiel and Gambit: what is exchanged with them. Their games are read in `games`."""
