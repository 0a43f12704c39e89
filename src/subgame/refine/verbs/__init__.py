"""The verbs of subgame solving. Each knows both kinds of tree; nothing below imports it."""
