// A gadget at work: who enters a subgame, iteration by iteration.
import {
  html,
  api,
  asked,
  go,
  route,
  withQuery,
  number,
  percent,
  whole,
  Problem,
  Wait,
  Field,
} from "../lib/core.js";
import { useMemo } from "preact/hooks";
import { signal } from "@preact/signals";
import { Curve } from "../lib/curve.js";

const techniques = asked(api("/techniques"));
// Options of a list of techniques; those that are safe are marked.
export const Techniques = () =>
  (techniques.value.value || []).map(
    (technique) =>
      html`<option key=${technique.name} value=${technique.name}>
        ${technique.name}${technique.safe ? " (safe)" : ""}
      </option>`,
  );
const ENTRY = {
  leave:
    "At each root infoset the opponent enters the subgame or takes the alternative payoff. Where entering pays more, it enters more often.",
  choose:
    "The opponent picks one root infoset and pays its alternative to enter: the one where the refined player loses most. So the smallest margin grows.",
  blueprint:
    "The opponent enters as in the blueprint, whatever entering pays. That is why nothing is guaranteed.",
  custom:
    "The opponent enters with the blueprint's range, made wider, so that no infoset is left out.",
  random:
    "The alternative payoff is a random number: the more entering pays, the likelier it is that the opponent enters.",
};

export function Watch({ game, tree }) {
  const query = route.value.query;
  const technique = query.get("watch"),
    at = query.get("frontier") ?? (tree.frontiers[0] || (tree.holdem ? "root" : "depth 1")),
    which = query.get("subgame") || "",
    player = query.get("refined") === "0" ? 0 : 1;
  const answer = useMemo(
    () =>
      technique
        ? asked(
            api(
              `/gadget?${new URLSearchParams({ game, strategy: tree.strategy, technique, at, subgame: which, player })}`,
            ),
          )
        : signal({ state: "none" }),
    [game, tree.strategy, technique, at, which, player],
  ).value;
  const set = (changes) => go(withQuery(changes), { replace: true });
  const watched = answer.value;
  return html`<section class="box watch">
    <h2>Watch a gadget</h2>
    <p class="soft">
      A technique solves a subgame behind a gadget, which decides how the opponent enters it. This
      is what it does with the strategy above as the blueprint.
    </p>
    <div class="row-form">
      <${Field} id="watch-technique" label="Technique"
        ><select
          id="watch-technique"
          value=${technique || ""}
          onChange=${(e) => set({ watch: e.target.value })}
        >
          <option value="">choose one</option>
          ${Techniques()}
        </select><//
      >
      <${Field} id="watch-at" label="Subgames at"
        ><input
          id="watch-at"
          list="watch-frontiers"
          value=${at}
          onChange=${(e) => set({ frontier: e.target.value, subgame: null })}
      /><//>
      <datalist id="watch-frontiers">
        ${[...tree.frontiers, ...(tree.holdem ? ["root"] : ["depth 1", "depth 2", "after chance"])].map((name) => html`<option key=${name} value=${name} />`)}
      </datalist>
      ${
        watched
          ? html`<${Field} id="watch-subgame" label="Subgame"
              ><select
                id="watch-subgame"
                value=${watched.subgame}
                onChange=${(e) => set({ subgame: e.target.value })}
              >
                ${watched.subgames.map((name) => html`<option key=${name} value=${name}>${name || "start"}</option>`)}
              </select><//
            >`
          : null
      }
      <${Field} id="watch-player" label="Refined"
        ><select
          id="watch-player"
          value=${player}
          onChange=${(e) => set({ refined: e.target.value === "0" ? "0" : null })}
        >
          <option value="0">player 1</option>
          <option value="1">player 2</option>
        </select><//
      >
    </div>
    ${answer.state === "waiting" ? html`<${Wait}>Solving the subgame behind its gadget<//>` : answer.state === "failed" ? html`<${Problem} error=${answer.error} />` : watched ? html`<${Steps} watched=${watched} set=${set} />` : null}
  </section>`;
}

function Steps({ watched, set }) {
  const last = watched.steps.length,
    now = Math.min(Math.max(1, Number(route.value.query.get("iteration") || 1)), last);
  const step = watched.steps[now - 1];
  const xs = useMemo(() => watched.results.map((row) => row.iteration), [watched]);
  const series = useMemo(
    () => [
      { label: "the best response wins", values: watched.results.map((row) => row.best_response) },
      {
        label: "against the blueprint",
        values: watched.results.map(() => watched.before),
        dash: [4, 4],
        colour: "--soft",
      },
    ],
    [watched],
  );
  const most = Math.max(...step.enter, 1e-9),
    picks = watched.entry === "choose";
  return html`<p>${ENTRY[watched.entry]} <span class="soft">${watched.promise}</span></p>
    <div class="watch-step">
      <label for="iteration">Iteration <b class="num">${whole(now)}</b> of ${whole(last)}</label
      ><input
        id="iteration"
        type="range"
        min="1"
        max=${last}
        value=${now}
        onInput=${(e) => set({ iteration: e.target.value })}
      />
    </div>
    <div class="watch-body">
      <div class="scroll" tabindex="0" role="region" aria-label="Root infosets">
        <table>
          <thead>
            <tr>
              <th>root infoset</th>
              <th class="num">before (CBV)</th>
              <th class="num">alternative</th>
              <th class="num">entering pays</th>
              <th>${picks ? "is picked" : "enters"}</th>
            </tr>
          </thead>
          <tbody>
            ${watched.infosets.map(
              (name, k) =>
                html`<tr key=${name}>
                  <td><code>${name}</code></td>
                  <td class="num">${number(watched.cbv[k])}</td>
                  <td class="num">${number(watched.alternative[k])}</td>
                  <td
                    class="num ${step.value?.[k] > watched.alternative[k] + 1e-9 ? "bad" : "good"}"
                  >
                    ${number(step.value?.[k])}
                  </td>
                  <td class="bar-cell">
                    <span
                      class="bar"
                      style=${{ width: `${Math.round((100 * step.enter[k]) / Math.max(1, most))}%` }}
                    ></span
                    ><span>${percent(step.enter[k])}</span>
                  </td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <div>
        <${Curve}
          xs=${xs}
          series=${series}
          logY=${false}
          height=${200}
          label="What a best response wins in the whole game after so many iterations"
        />
        <p class="hint">
          Exact evaluations of the average strategy. The smallest margin is${" "}
          ${number(watched.results.at(-1).margin)} after
          ${whole(watched.results.at(-1).iteration)}${" "} iterations.
        </p>
      </div>
    </div>`;
}
