"""What the verbs do on sequence trees: they go along histories, one subgame at a time."""
