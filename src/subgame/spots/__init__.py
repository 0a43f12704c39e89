"""Hold'em as players study it: endgames, decisions, lines, locks, reports, opening ranges."""
