// A drill: a decision of a solution is dealt again and again, and each answer is graded at once.
import { html, number, percent, whole } from "../lib/core.js";
import { useSignal } from "@preact/signals";
import { Cards } from "../lib/cards.js";

const GOOD = 0.005; // a share of the pot: who loses at most this is right

// A hand of the range here, by its chance.
function dealt(here) {
  let left = Math.random() * here.chance.reduce((sum, chance) => sum + chance, 0);
  const k = here.chance.findIndex((chance) => (left -= chance) < 0);
  return k < 0 ? here.chance.findIndex((chance) => chance > 0) : k;
}

export function Drill({ here, seat }) {
  const hand = useSignal(null),
    answer = useSignal(null),
    score = useSignal({ answers: 0, right: 0, lost: 0 });
  const values = here.values?.action_ev;
  const next = () => {
    hand.value = dealt(here);
    answer.value = null;
  };
  const k = hand.value,
    evs = k === null || !values ? [] : values[k];
  const best = Math.max(...evs.filter((ev) => ev !== null)),
    lost = (j) => Math.max(0, best - evs[j]);
  const say = (j) => {
    answer.value = j;
    const { answers, right, lost: sum } = score.value;
    score.value = {
      answers: answers + 1,
      right: right + (lost(j) <= GOOD * here.pot ? 1 : 0),
      lost: sum + lost(j),
    };
  };
  const sum = score.value,
    good = answer.value !== null && lost(answer.value) <= GOOD * here.pot;
  return html`<details class="box drill">
    <summary>Drill this decision</summary>
    <p class="hint">
      You are ${seat}. A hand of the range here is dealt; choose what to do with it. An answer that
      loses at most 0.5% of the pot is right.
    </p>
    ${sum.answers ? html`<p role="status"><b>${whole(sum.right)}</b> of <b>${whole(sum.answers)}</b> right, <b>${number(sum.lost / sum.answers, 2)}</b> chips lost by an answer</p>` : null}
    ${
      !values
        ? html`<p class="soft">computing EV …</p>`
        : k === null
          ? html`<button type="button" class="primary" onClick=${next}>Deal a hand</button>`
          : html`<p class="drill-hand"><${Cards} text=${here.hands[k]} /></p>
              <div class="actions" role="group" aria-label="Your answer">
                ${here.actions.map(
                  (action, j) =>
                    html`<button
                      type="button"
                      key=${action.id}
                      disabled=${answer.value !== null || evs[j] === null}
                      onClick=${() => say(j)}
                    >
                      ${action.name}${answer.value === null ? null : html` <small class="num">${percent(here.probs[k][j], 0)}, EV ${number(evs[j], 1)}</small>`}
                    </button>`,
                )}
              </div>
              ${
                answer.value === null
                  ? null
                  : html`<p class=${good ? "good" : "bad"} role="status">
                        ${here.actions[answer.value].name}
                        ${good ? " is right." : ` loses ${number(lost(answer.value), 2)} chips.`}
                      </p>
                      <button type="button" class="primary" onClick=${next}>Next hand</button>`
              }`
    }
  </details>`;
}
