// A range by made hands and draws: how much of it each is and how it plays; one of them filters.
import { html, go, number, percent, route, withQuery } from "../lib/core.js";
import { css } from "../lib/grid.js";

const KINDS = [
  ["made", "Made hands"],
  ["draws", "Draws"],
];

// The decision with only the hands that the address asks for.
export function filtered(here) {
  const wanted = KINDS.map(([key]) => [key, route.value.query.get(key)]).filter(([, name]) => name);
  if (!wanted.length || !here.made) return here;
  const kept = here.hands
    .map((_, k) => k)
    .filter((k) => wanted.every(([key, name]) => here[key][k] === name));
  const only = (list) => kept.map((k) => list[k]);
  const { values } = here;
  return {
    ...here,
    ...Object.fromEntries(
      ["hands", "reach", "chance", "probs", "made", "draws"].map((key) => [key, only(here[key])]),
    ),
    values: values && {
      ...values,
      hand_ev: only(values.hand_ev),
      hand_equity: only(values.hand_equity),
      action_ev: only(values.action_ev),
    },
  };
}

// What the hands of each kind are together.
function rowsOf(here, key) {
  const rows = new Map();
  here[key].forEach((name, k) => {
    const row = rows.get(name) || { name, chance: 0, mix: here.actions.map(() => 0), ev: 0 };
    row.chance += here.chance[k];
    here.probs[k].forEach((p, a) => {
      row.mix[a] += here.chance[k] * p;
    });
    row.ev += here.chance[k] * (here.values?.hand_ev[k] ?? 0);
    rows.set(name, row);
  });
  return [...rows.values()]
    .filter((row) => row.chance > 0)
    .sort((a, b) => here.kinds[key].indexOf(a.name) - here.kinds[key].indexOf(b.name));
}

export function Makeup({ here, shades }) {
  const query = route.value.query,
    filters = KINDS.some(([key]) => query.get(key));
  const toggle = (key, name) =>
    go(withQuery({ [key]: query.get(key) === name ? null : name, hand: null }), { replace: true });
  return html`<details class="box makeup" open=${filters}>
    <summary>Made hands and draws</summary>
    <p class="hint">Click one to see only its hands.</p>
    <div class="columns-two">
      ${KINDS.map(
        ([key, title]) =>
          html`<table key=${key} class="plain">
            <thead>
              <tr>
                <th>${title}</th>
                <th class="num">share</th>
                <th>strategy</th>
                <th class="num">EV</th>
              </tr>
            </thead>
            <tbody>
              ${rowsOf(here, key).map(
                (row) =>
                  html`<tr key=${row.name}>
                    <td>
                      <button
                        type="button"
                        class="ghost"
                        aria-pressed=${query.get(key) === row.name}
                        onClick=${() => toggle(key, row.name)}
                      >
                        ${row.name}
                      </button>
                    </td>
                    <td class="num">${percent(row.chance)}</td>
                    <td class="mix-cell">
                      <span
                        class="mix"
                        role="img"
                        aria-label=${here.actions.map((a, j) => `${a.name} ${percent(row.mix[j] / row.chance, 0)}`).join(", ")}
                        >${here.actions.map((a, j) => html`<i key=${a.id} style=${{ width: `${(100 * row.mix[j]) / row.chance}%`, background: css(shades[j]) }}></i>`).reverse()}</span
                      >
                    </td>
                    <td class="num">${here.values ? number(row.ev / row.chance, 1) : "–"}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`,
      )}
    </div>
  </details>`;
}
