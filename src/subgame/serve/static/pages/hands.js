// Hands that were played elsewhere or here, in PHH: each decision graded by a spot that was solved,
// or by the agent, which solves what no spot covers.
import {
  html,
  api,
  number,
  percent,
  whole,
  Problem,
  Wait,
  selected,
  FileOrText,
} from "../lib/core.js";
import { useSignal } from "@preact/signals";
import { Cards } from "../lib/cards.js";
import { Grades, HandList, SHOWN } from "./play.js";

const CHUNK = 10;
const counted = (n, what) => `${whole(n)} ${what}${n === 1 ? "" : "s"}`;

export function Hands() {
  const text = useSignal(""),
    history = useSignal(null),
    error = useSignal(null),
    busy = useSignal(false),
    done = useSignal(""),
    solves = useSignal(true);

  // Reads the hands, then grades them: all by solved spots, a few at a time, then one by one what is
  // left by the agent. A newer call ends an older one.
  const read = async (player = "") => {
    const mine = (busy.value = {});
    error.value = null;
    done.value = "Reading the hands";
    try {
      const body = { text: text.value, player };
      const list = await api("/histories", body);
      if (busy.value !== mine) return;
      history.value = list;
      const count = list.hands.length;
      const grade = async (first, some) => {
        const asks = { ...body, player: list.player, first, ...some };
        const part = await api("/histories/grades", asks);
        if (busy.value !== mine) return false;
        const hands = [...history.value.hands];
        hands.splice(first, part.hands.length, ...part.hands);
        history.value = { ...history.value, hands };
        return true;
      };
      for (let first = 0; first < count; first += CHUNK) {
        done.value = `Looking for solved spots: ${whole(first)} of ${whole(count)}`;
        if (!(await grade(first, { count: CHUNK }))) return;
      }
      if (!solves.value) return;
      const left = [...list.hands.keys()].filter((k) => history.value.hands[k].lost === null);
      left.sort((a, b) => list.hands[a].board.length - list.hands[b].board.length || a - b);
      for (const [k, first] of left.entries()) {
        done.value = `Solving hand ${whole(first + 1)}, ${whole(k + 1)} of ${whole(left.length)}: those that ended soonest come first`;
        if (!(await grade(first, { count: 1, agent: true }))) return;
      }
    } catch (failed) {
      if (busy.value === mine) error.value = failed;
    } finally {
      if (busy.value === mine) busy.value = false;
    }
  };
  return html`<section class="page narrow">
    <h1>Hands</h1>
    <p class="lead">
      Hands in the Poker Hand History format (PHH). Each of your decisions is graded: after the flop
      by a spot that you solved, if one has the same board, and the same pot and stacks in
      proportion. Other hands of two players are graded by the agent: its blueprint before the flop,
      its solves afterwards.
    </p>
    <form
      class="box"
      novalidate
      onSubmit=${(event) => {
        event.preventDefault();
        read();
      }}
    >
      <${FileOrText}
        id="phh"
        label="or the text of one"
        text=${text}
        rows="6"
        accept=".phh,.phhs,.toml,text/plain"
        error=${error.value?.fields?.text}
        onFile=${() => read()}
      />
      <${Problem} error=${error.value?.fields?.text ? null : error.value} />
      <p>
        <label class="choices one-line" for="solves"
          ><input
            id="solves"
            type="checkbox"
            checked=${solves.value}
            onChange=${(event) => {
              solves.value = event.target.checked;
            }}
          />${" "}Let the agent solve what no spot covers; a hand takes up to half a minute</label
        >
      </p>
      <button class="primary" disabled=${!text.value.trim()}>Grade the hands</button>
      ${
        busy.value
          ? html`${" "}<button
                type="button"
                onClick=${() => {
                  busy.value = false;
                }}
              >
                Stop
              </button>`
          : null
      }
    </form>
    ${history.value ? html`<${List} history=${history.value} busy=${busy.value} done=${done.value} onPlayer=${read} />` : null}
  </section>`;
}

// The list of hands with filters, and the score of all of them.
function List({ history, busy, done, onPlayer }) {
  const shown = useSignal("all");
  const rows = history.hands.filter(SHOWN[shown.value][1]);
  return html`<section class="box past" aria-live="polite">
    <div class="range-head">
      <h2>${counted(history.hands.length, "hand")}</h2>
      <label class="choices" for="hands-player"
        >decisions of${" "}
        <select
          id="hands-player"
          class="inline"
          value=${history.player}
          onChange=${(event) => onPlayer(event.target.value)}
        >
          ${history.players.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select></label
      >
      <label class="choices" for="hands-shown"
        >show${" "}
        <select id="hands-shown" class="inline" ...${selected(shown)}>
          ${Object.entries(SHOWN).map(([key, [name]]) => html`<option key=${key} value=${key}>${name}</option>`)}
        </select></label
      >
    </div>
    <${Score} hands=${history.hands} />
    ${busy ? html`<${Wait}>${done}<//>` : null}
    <${HandList}
      rows=${rows}
      about=${(hand) => (hand.board ? html`<span class="soft">on</span>${" "}<${Cards} text=${hand.board} small />` : null)}
      lost=${(hand) => `${number(hand.lost_blinds, 2)} bb`}
      grades=${(hand) => (hand.grades.length ? html`<${Grades} rows=${hand.grades} job=${hand.solution} label=${`Grades of hand ${hand.number}`} />${hand.solution_name ? html`<p class="hint">Graded by ${hand.solution_name}.</p>` : null}` : html`<p class="hint">${hand.why}</p>`)}
    />
    ${rows.length ? null : html`<p class="soft">No hand of that kind.</p>`}
  </section>`;
}

function Score({ hands }) {
  const rows = hands.flatMap((hand) => hand.grades).filter((row) => row.lost !== null);
  if (!rows.length) return null;
  const right = rows.filter((row) => row.right).length;
  const pots = rows.reduce((sum, row) => sum + row.lost / row.pot, 0) / rows.length;
  const blinds = hands.reduce((sum, hand) => sum + (hand.lost_blinds || 0), 0);
  const graded = hands.filter((hand) => hand.lost !== null).length;
  const said = [
    `${percent(right / rows.length, 0)} of ${counted(rows.length, "decision")}`,
    `in ${counted(graded, "hand")} were right; ${number(blinds, 2)} big blinds were lost,`,
    `${percent(pots, 2)} of the pot per decision.`,
  ];
  return html`<p class="score">${said.join(" ")}</p>`;
}
