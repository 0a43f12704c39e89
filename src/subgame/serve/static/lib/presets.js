// Set-ups to begin with, and what makes a set-up smaller. The keys are the fields of the page Solve.
// Amounts are chips, 100 to the big blind. The ranges are made by hand, rounded, to be changed.

export const PRESETS = await (await fetch("/static/presets.json")).json();

const STREETS = ["flop", "turn", "river"];
const one = (text) => text.trim().split(/\s+/)[0];

// What can be clicked to make a set-up smaller: [what the button says, the fields that change].
export function smaller(value) {
  const keys = STREETS.flatMap((street) => ["b", "r", "ib", "ir"].map((k) => `${street}_${k}`));
  const single = Object.fromEntries(keys.map((key) => [key, one(value[key])]));
  const cap = Number(value.cap) || Infinity,
    allin = Number(value.allin) || Infinity;
  return [
    ["Numbers in 16 bits", { storage: "int16" }],
    ["All-in from 67% of the stack", allin > 67 ? { allin: "67" } : {}],
    [
      cap > 3 ? "At most 3 bets and raises" : "At most 2 bets and raises",
      cap > 2 ? { cap: cap > 3 ? "3" : "2" } : {},
    ],
    ["One size for each bet and raise", single],
  ].filter(([, changes]) => Object.keys(changes).some((key) => changes[key] !== value[key].trim()));
}
