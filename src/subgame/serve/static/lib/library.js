// Preflop ranges heads up by stack; the file is made by `tools/preflop_ranges.py`.
export const LIBRARY = await (await fetch("/static/preflop_ranges.json")).json();
