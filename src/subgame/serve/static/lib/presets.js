// Set-ups to begin with, and what makes a set-up smaller. The keys are the fields of the page Solve.
// Amounts are chips, 100 to the big blind. The ranges are made by hand, rounded, to be changed.

const SIZES = { min: "100", allin: "67", cap: "3", target: "0.5", seconds: "900", split: "" };

export const PRESETS = [
  {
    id: "single-raised",
    name: "Single-raised pot",
    about: "The button opens to 2.5 big blinds, the big blind calls.",
    value: {
      ...SIZES,
      name: "Button against big blind, single-raised",
      pot: "550",
      s0: "9750",
      s1: "9750",
      oop: "TT:0.25,99-22,AJs:0.5,ATs-A6s,A5s-A2s:0.6,KJs:0.5,KTs-K2s,QJs:0.6,QTs-Q2s,JTs:0.7,J9s-J4s,T9s-T6s,98s-95s,87s-84s,76s-74s,65s-63s,54s-53s,43s,AJo-A5o,KQo:0.5,KJo-K9o,QJo-Q9o,JTo-J9o,T9o,98o:0.5",
      ip: "22+,A2s+,K2s+,Q4s+,J6s+,T6s+,96s+,85s+,75s+,64s+,53s+,43s,A4o+,K8o+,Q9o+,J9o+,T8o+,98o",
      flop_b: "0.33x 0.75x",
      flop_r: "3r",
      turn_b: "0.75x",
      turn_r: "3r",
      turn_d: "none",
      river_b: "0.75x a",
      river_r: "a",
      storage: "int16",
    },
  },
  {
    id: "three-bet",
    name: "Three-bet pot",
    about: "The big blind raises the button's open to 11 big blinds, the button calls.",
    value: {
      ...SIZES,
      name: "Button against big blind, three-bet",
      pot: "2250",
      s0: "8900",
      s1: "8900",
      oop: "TT+,99:0.3,AQs+,AJs:0.5,A5s-A2s:0.4,KQs,KJs:0.5,QJs:0.4,JTs:0.3,T9s:0.3,98s:0.2,87s:0.2,76s:0.2,AKo,AQo:0.6,KQo:0.3",
      ip: "QQ:0.5,JJ-55,44-22:0.5,AKs:0.3,AQs-ATs,A9s-A8s:0.5,A5s-A4s,KTs+,K9s:0.5,QTs+,Q9s:0.5,J9s+,T8s+,97s+,86s+,76s,65s,54s,AKo:0.3,AQo,AJo:0.7,KQo:0.8",
      flop_b: "0.33x 0.75x",
      flop_r: "3r a",
      turn_b: "0.5x 1x",
      turn_r: "3r a",
      river_b: "0.5x 1x a",
      river_r: "3r a",
    },
  },
  {
    id: "limped",
    name: "Limped pot",
    about: "Heads up: the button calls the blind, the big blind checks.",
    value: {
      ...SIZES,
      name: "Button against big blind, limped",
      pot: "200",
      s0: "9900",
      s1: "9900",
      oop: "55-22:0.7,A6s-A2s:0.4,K9s-K2s:0.6,Q9s-Q2s:0.7,J9s-J2s:0.7,T9s:0.5,T8s-T2s,98s:0.5,97s-92s,87s-82s,76s-72s,65s-62s,54s-52s,43s-42s,32s,A8o-A2o:0.7,KTo-K2o:0.9,QTo-Q2o,JTo-J2o,T9o-T3o,98o-94o,87o-84o,76o-74o,65o-63o,54o-53o,43o,32o",
      ip: "AA:0.2,77-22:0.6,A9s-A2s:0.4,K9s-K2s:0.7,Q9s-Q2s:0.8,J9s-J2s:0.8,T9s-T3s:0.8,98s:0.7,97s-94s,87s-84s,76s-74s,65s-63s,54s-52s,43s-42s,32s,A9o-A2o:0.7,K9o-K4o:0.8,QTo-Q5o:0.8,JTo-J7o:0.8,T9o-T7o:0.8,98o-96o,87o-86o,76o-75o,65o",
      flop_b: "0.5x",
      flop_r: "3r",
      turn_b: "0.75x",
      turn_r: "3r",
      river_b: "0.75x",
      river_r: "a",
      cap: "2",
      storage: "int16",
    },
  },
];

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
