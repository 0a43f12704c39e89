"""What the verbs do on hold'em trees: they work on ranges, on all boards at once."""
