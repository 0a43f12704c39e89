// Blockers: how the frequencies of a decision change with a card that the opponent holds.
import { html, percent } from "../lib/core.js";
import { useSignal } from "@preact/signals";
import { Deck, SIGN } from "../lib/cards.js";
import { css, inkOn, ramp } from "../lib/grid.js";

const points = (change) =>
  `${change > 0.0005 ? "+" : ""}${(100 * change).toFixed(1).replace("-0.0", "0.0")}`;

export function Blockers({ here, opponent }) {
  const chosen = useSignal(null);
  if (!here.blockers) return null;
  const { cards, often } = here.blockers;
  const usual = Math.max(
    0,
    here.actions.findIndex((action) => action.kind !== "check" && action.kind !== "fold"),
  );
  const at = here.actions[chosen.value] ? chosen.value : usual,
    base = here.actions[at].frequency;
  const change = Object.fromEntries(
    cards.map((card, k) => [card, often[k][at] === null ? null : often[k][at] - base]),
  );
  const most = Math.max(1e-4, ...Object.values(change).map((value) => Math.abs(value ?? 0)));
  return html`<details class="box blockers">
    <summary>Blockers</summary>
    <p class="hint">
      How much more or less often the action is taken, in percentage points, when ${opponent} holds
      the card: the hands that have it are out of this range.
    </p>
    <label class="choices" for="blocked"
      >action${" "}
      <select
        id="blocked"
        class="inline"
        value=${at}
        onChange=${(event) => {
          chosen.value = Number(event.target.value);
        }}
      >
        ${here.actions.map((action, k) => html`<option key=${action.id} value=${k}>${action.name}: ${percent(action.frequency)}</option>`)}
      </select></label
    >
    <div class="shaded-deck">
      <${Deck}
        label="Change by card"
        ranks=${here.ranks}
        draw=${(card, more) => {
          const value = change[card];
          if (value === undefined || value === null)
            return html`<span key=${card} class="pick gone" aria-hidden="true"></span>`;
          const shade = ramp(0.5 + value / (2 * most));
          return html`<span
            key=${card}
            class="pick shaded"
            role="img"
            aria-label="${more["aria-label"]}: ${points(value)} points"
            style=${{ background: css(shade), color: inkOn(shade) }}
            >${card[0]}${SIGN[card[1]]} <small>${points(value)}</small></span
          >`;
        }}
      />
    </div>
  </details>`;
}
