// Cards: drawn, picked, and the thirteen by thirteen classes of hands.
import { html } from "./core.js";
import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { RANKS } from "./draw.js";

export const SUITS = "shdc";
export const SIGN = { s: "♠", h: "♥", d: "♦", c: "♣" };
const NAME = { s: "spades", h: "hearts", d: "diamonds", c: "clubs" };
const LONG = { A: "ace", K: "king", Q: "queen", J: "jack", T: "ten" };
export const spoken = (card) => `${LONG[card[0]] || card[0]} of ${NAME[card[1]]}`;

export const cards = (text) => (text || "").match(/[AKQJT2-9][shdc]/g) || [];

export const Card = ({ card, small }) =>
  card
    ? html`<span
        class="card ${card[1]} ${small ? "small" : ""}"
        role="img"
        aria-label=${spoken(card)}
        ><b>${card[0]}</b><i>${SIGN[card[1]]}</i></span
      >`
    : html`<span
        class="card back ${small ? "small" : ""}"
        role="img"
        aria-label="a hidden card"
      ></span>`;

export const Cards = ({ text, small }) =>
  html`<span class="cards"
    >${cards(text).map((card) => html`<${Card} key=${card} card=${card} small=${small} />`)}</span
  >`;

// The class of a hand such as AhKd: AKo.
export function classOf(hand) {
  const [a, b] = [hand.slice(0, 2), hand.slice(2, 4)];
  const [high, low] = RANKS.indexOf(a[0]) <= RANKS.indexOf(b[0]) ? [a, b] : [b, a];
  return high[0] + low[0] + (a[0] === b[0] ? "" : a[1] === b[1] ? "s" : "o");
}

// All hands of a class, by suits: four of AKs, six of AA, twelve of AKo.
export function handsOf(name) {
  const pairs = [...SUITS].flatMap((a, k) =>
    [...SUITS].flatMap((b, j) =>
      (name[0] === name[1] ? j > k : (name[2] === "s") === (j === k)) ? [[a, b]] : [],
    ),
  );
  return pairs.map(([a, b]) => name[0] + a + name[1] + b);
}

// All cards of the deck, suit by suit, with arrow keys: `draw(card, more)` makes each.
export function Deck({ label, draw, wrong, ranks = RANKS }) {
  const box = useRef(null),
    many = ranks.length;
  const move = (event) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[
      event.key
    ];
    if (!steps) return;
    event.preventDefault();
    let [row, column] = [
      Math.floor(Number(event.target.dataset.at) / many),
      Number(event.target.dataset.at) % many,
    ];
    for (let k = 0; k < 4 * many; k += 1) {
      // over cards that cannot be chosen
      row = (row + steps[0] + 4) % 4;
      column = (column + steps[1] + many) % many;
      const next = box.current.querySelector(`[data-at='${row * many + column}']`);
      if (next && !next.disabled) {
        next.focus();
        return;
      }
    }
  };
  return html`<div
    class="picker ${wrong ? "wrong" : ""}"
    ref=${box}
    role="group"
    aria-label=${label}
    onKeyDown=${move}
  >
    ${[...SUITS].map((suit, row) => html`<div class="suit" key=${suit}>${[...ranks].map((rank, column) => draw(rank + suit, { key: rank + suit, "data-at": row * many + column, "aria-label": `${rank}${SIGN[suit]}, ${spoken(rank + suit)}` }))}</div>`)}
  </div>`;
}

// Some cards of the deck, drawn at random.
export function drawn(count, random = Math.random, ranks = RANKS) {
  const deck = [...ranks].flatMap((rank) => [...SUITS].map((suit) => rank + suit));
  return Array.from({ length: count }, () =>
    deck.splice(Math.floor(random() * deck.length), 1),
  ).flat();
}

// A board that is typed: the cards are taken over as soon as they are a board; others stay typed.
export function BoardText({ value, onChange, ranks = RANKS }) {
  const typed = useSignal(null);
  const take = (event) => {
    const text = event.target.value;
    const board = (text.replace(/10/g, "T").match(/[akqjt2-9][shdc]/gi) || []).map(
      (card) => card[0].toUpperCase() + card[1].toLowerCase(),
    );
    typed.value = text;
    if (new Set(board).size === board.length && board.length >= 3 && board.length <= 5)
      onChange(board.join(" "));
  };
  return html`<span class="board-text"
    ><label class="visually-hidden" for="board-text">Board as text</label
    ><input
      id="board-text"
      size="14"
      spellcheck="false"
      autocomplete="off"
      placeholder="Qs Jh 2h"
      value=${typed.value ?? cards(value).join(" ")}
      onInput=${take}
      onBlur=${() => {
        typed.value = null;
      }}
    /><button
      type="button"
      class="ghost"
      onClick=${() => onChange(drawn(3, Math.random, ranks).join(" "))}
    >
      Random flop
    </button></span
  >`;
}

// A board of three to five cards: one button per card of the deck.
export function BoardPicker({ value, onChange, error, ranks = RANKS }) {
  const picked = cards(value);
  const toggle = (card) => {
    const next = picked.includes(card)
      ? picked.filter((other) => other !== card)
      : [...picked.slice(0, 4), card]; // a sixth replaces the fifth
    onChange(next.join(" "));
  };
  return html`<${Deck}
    label="Board cards"
    wrong=${error}
    ranks=${ranks}
    draw=${(card, more) => {
      const on = picked.includes(card);
      return html`<button
        type="button"
        ...${more}
        tabindex=${more["data-at"] === 0 ? 0 : -1}
        class="pick ${card[1]} ${on ? "on" : ""}"
        aria-pressed=${on}
        onClick=${() => toggle(card)}
      >
        ${card[0]}${SIGN[card[1]]}
      </button>`;
    }}
  />`;
}
