// Games: Coin Toss as the opening example, the catalogue, and the public tree of any game.
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
  jobs,
  typed,
  selected,
  FileOrText,
} from "../lib/core.js";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Story } from "./story.js";
import { Watch, Techniques } from "./watch.js";
import { Tree } from "../lib/tree.js";
import { Curve } from "../lib/curve.js";

export function Games({ game }) {
  if (game === "story" || !game) return html`<${Opening} list=${!game} />`;
  return html`<${OneGame} key=${game} game=${game} />`;
}

function Opening() {
  return html`<${Story} /><${Catalogue} />`;
}

function Catalogue() {
  const list = useMemo(() => asked(api("/games")), []).value;
  const text = useSignal(""),
    name = useSignal(""),
    other = useSignal(""),
    errors = useSignal({}),
    problem = useSignal(null);
  const add = async (event) => {
    event.preventDefault();
    try {
      const made = await api("/games", { name: name.value || "My game", text: text.value });
      go(`/games/${encodeURIComponent(made.name)}`);
    } catch (error) {
      errors.value = error.fields;
      problem.value = Object.keys(error.fields || {}).length ? null : error;
    }
  };
  return html`<section class="page" aria-labelledby="games-title">
    <h2 id="games-title">Games</h2>
    <p class="lead">
      Walk the public tree of a game, look at strategies and best responses, solve it, and watch
      gadgets. Whole games of hold'em are walked with few cards; spots with ranges of your own are
      on the page <a href="/solve">Solve</a>.
    </p>
    ${
      list.state === "waiting"
        ? html`<${Wait}>Loading the games<//>`
        : list.state === "failed"
          ? html`<${Problem} error=${list.error} />`
          : html` ${[
              ["Games", (one) => !one.holdem],
              ["Hold'em", (one) => one.holdem],
            ].map(
              ([title, fits]) =>
                html`<h3 class="third" key=${title}>${title}</h3>
                  <ul class="games">
                    ${list.value.filter(fits).map(
                      (one) =>
                        html`<li key=${one.name}>
                          <a href=${`/games/${encodeURIComponent(one.small || one.name)}`}
                            ><b>${one.uploaded ? one.summary : one.name}</b>
                            <span>${one.uploaded ? "uploaded" : one.summary}</span
                            >${one.holdem ? html`<em>${one.small === one.name ? "a river, all hands" : "with ten cards"}</em>` : null}</a
                          >
                        </li>`,
                    )}
                  </ul>`,
            )}`
    }
    <form
      class="row-form"
      onSubmit=${(event) => {
        event.preventDefault();
        if (other.value.trim()) go(`/games/${encodeURIComponent(other.value.trim())}`);
      }}
      novalidate
    >
      <${Field}
        id="other"
        label="With parameters of your own"
        hint=${
          list.value
            ? `For instance ${list.value
                .filter((one) => !one.holdem && Object.keys(one.parameters).length)
                .slice(0, 2)
                .map(
                  (one) =>
                    `${one.name}(${Object.entries(one.parameters)
                      .slice(0, 2)
                      .map(([key, value]) => `${key}=${value}`)
                      .join(", ")})`,
                )
                .join(" or ")}.`
            : ""
        }
        ><input
          id="other"
          ...${typed(other)}
          placeholder="goofspiel(cards=3)"
          spellcheck="false" /><//
      ><button disabled=${!other.value.trim()}>Open</button>
    </form>
    <details class="box">
      <summary>Add a game in Gambit's format (.efg)</summary>
      <form onSubmit=${add} novalidate>
        <${Problem} error=${problem.value} />
        <${Field} id="efg-name" label="Name" error=${errors.value.name}
          ><input id="efg-name" ...${typed(name)} maxlength="80"
        /><//>
        <${FileOrText}
          id="efg"
          label="or its text"
          text=${text}
          rows="5"
          accept=".efg,.txt"
          error=${errors.value.text}
          onFile=${(file) => {
            name.value ||= file.name.replace(/\.efg$/i, "");
          }}
        />
        <button class="primary">Add the game</button>
      </form>
    </details>
  </section>`;
}

function OneGame({ game }) {
  const [at, strategy, hands] = ["at", "strategy", "hands"].map(
    (key) => route.value.query.get(key) || "",
  );
  const answer = useMemo(
    () => asked(api(`/tree?${new URLSearchParams({ game, at, strategy, hands })}`)),
    [game, at, strategy, hands],
  );
  const kept = useSignal(null);
  if (answer.value.state === "ready") kept.value = answer.value.value;
  const tree = kept.value;
  if (answer.value.state === "failed")
    return html`<section class="page">
      <h1>${game}</h1>
      <${Problem} error=${answer.value.error} /><${Instead} game=${game} />
    </section>`;
  if (!tree)
    return html`<section class="page">
      <h1>${game}</h1>
      <${Wait}>Compiling the game<//>
    </section>`;
  const here = tree.nodes.find((node) => node.id === tree.at);
  return html`<section class="page">
    <p class="crumb"><a href="/games">Games</a></p>
    <h1>${tree.title.match(/^[\w+-]+(?=\(.*\)$)/)?.[0] || tree.title}</h1>
    ${/^[\w+-]+\(.*\)$/.test(tree.title) ? html`<p class="soft">${tree.title.slice(tree.title.indexOf("(") + 1, -1)}</p>` : null}
    <p class="facts">
      <span>${whole(tree.public_states)} public states</span
      ><span>${whole(tree.infosets[0])} + ${whole(tree.infosets[1])} infosets</span
      >${tree.sequences ? html`<span>${whole(tree.sequences[0])} + ${whole(tree.sequences[1])} sequences</span>` : null}
    </p>
    <div class="toolbar">
      <div class="field inline">
        <label for="strategy">Strategy</label>
        <select
          id="strategy"
          value=${tree.strategy}
          onChange=${(e) => go(withQuery({ strategy: e.target.value }))}
        >
          <option value="uniform">uniform</option>
          ${tree.blueprints.map((name) => html`<option value=${name}>${name} (literature)</option>`)}
          ${tree.solutions.map((solution) => html`<option value=${solution.id}>${solution.name}</option>`)}
        </select>
      </div>
      <p class="facts big">
        <span>exploitability <b>${number(tree.figures.exploitability, 4)}</b></span
        ><span>value <b>${number(tree.figures.value, 4)}</b></span>
        <span
          >best responses win <b>${number(tree.figures.per_seat[1], 4)}</b> as player 1,${" "}
          <b>${number(tree.figures.per_seat[0], 4)}</b> as player 2</span
        >
      </p>
    </div>
    <div class="box tree-box">
      <${Tree}
        tree=${tree}
        onGo=${(id) => go(withQuery({ at: id || null, hands: null }), { stay: true })}
      />
    </div>
    <p class="path" aria-label="Where you are">
      ${tree.path.map((id, k) => {
        const node = tree.nodes.find((one) => one.id === id);
        return html`${k ? " › " : ""}<a
            href=${withQuery({ at: id || null, hands: null })}
            aria-current=${id === tree.at ? "true" : undefined}
            >${node?.name || "start"}</a
          >`;
      })}
    </p>
    <div class="columns">
      <div>
        <h2>
          ${tree.infosets_here.length ? (here.player === 2 ? "Player 1 and 2 act" : `${tree.seats[here.player]} acts`) : here.children ? "Chance moves" : "The game is over"}
        </h2>
        ${
          tree.grid
            ? html`<p class="facts">
                  <span><${Lately} file=${CARDS} part="Cards" text=${tree.board} small /></span
                  ><span>pot ${whole(tree.pot)}</span>
                </p>
                <div class="range-small">
                  <${Lately}
                    file=${RANGE_GRID}
                    part="RangeGrid"
                    range=${tree.grid}
                    picked=${hands || null}
                    onPick=${(name) => go(withQuery({ hands: name }), { replace: true })}
                    label="${tree.seats[here.player]} by class of hands"
                  />
                </div>`
            : null
        }
        ${tree.infosets_here.length ? html`<${Infosets} tree=${tree} hands=${hands} />` : html`<p class="soft">${here.children ? "Choose what happens in the tree above." : "There is nothing to decide here."}</p>`}
      </div>
      <${SolveBox} game=${game} tree=${tree} />
    </div>
    <${Watch} game=${game} tree=${tree} />
  </section>`;
}

// A part of another file, which is read when it is needed.
const CARDS = () => import("../lib/cards.js"),
  RANGE_GRID = () => import("../lib/range_grid.js");
function Lately({ file, part, ...rest }) {
  const [Part, set] = useState(null);
  useEffect(() => {
    file().then((all) => set(() => all[part]));
  }, []);
  return Part ? html`<${Part} ...${rest} />` : null;
}

// What can be opened instead of a game that is too large.
function Instead({ game }) {
  const name = game.split("(")[0],
    list = useMemo(() => asked(api("/games")), []).value.value || [];
  const small = list.find((one) => one.name === name)?.small;
  return html`<p>
    ${small && small !== game ? html`<a href="/games/${encodeURIComponent(small)}">${name} with fewer cards</a> · <a href="/play?game=${name}">Play ${name}</a> · ` : null}<a
      href="/games"
      >All games</a
    >
  </p>`;
}

const Infosets = ({ tree, hands }) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="Infosets">
      <table class="infosets">
        <thead>
          <tr>
            <th>${tree.grid ? "hand" : "infoset"}</th>
            <th>action</th>
            <th>probability</th>
            <th class="num">value</th>
          </tr>
        </thead>
        <tbody>
          ${tree.infosets_here.map((row) =>
            row.actions.map(
              (action, k) =>
                html`<tr key=${row.infoset + action.name} class=${k ? "" : "first"}>
                  ${k ? null : html`<th scope="rowgroup" rowspan=${row.actions.length}>${tree.grid ? html`<${Lately} file=${CARDS} part="Cards" text=${row.infoset} small />` : html`<code>${row.infoset || "start"}</code>`}</th>`}
                  <td>${action.name}</td>
                  <td class="bar-cell">
                    <span
                      class="bar"
                      style=${{ width: `${Math.round(100 * action.probability)}%` }}
                    ></span
                    ><span>${percent(action.probability)}</span>
                  </td>
                  <td class="num">
                    ${number(action.value)}${action.best ? html` <span class="tick" title="a best response takes this" role="img" aria-label="best response">◆</span>` : null}
                  </td>
                </tr>`,
            ),
          )}
        </tbody>
      </table>
    </div>
    ${tree.hands_in_all > tree.infosets_here.length ? html`<p class="hint">${whole(tree.infosets_here.length)} of ${whole(tree.hands_in_all)} hands. Choose a class in the grid to see its hands.</p>` : hands ? html`<p class="hint">The hands of ${hands}. <a href=${withQuery({ hands: null })}>All hands</a></p>` : null}
    <p class="hint">
      The value of an action is what it wins on average against the opponent's strategy, with a best
      response
      afterwards${tree.grid ? ": chips of the pot here, less what is still put in, so that folding is 0" : ""}.
      ◆ marks the best response.
    </p>`;

function SolveBox({ game, tree }) {
  const errors = useSignal({}),
    problem = useSignal(null),
    made = useSignal(null);
  const schedule = useSignal("pcfr+"),
    target = useSignal(String(tree.target)),
    technique = useSignal("resolve"),
    at = useSignal(tree.frontiers[0] || (tree.holdem ? "root" : ""));
  const start = async (event) => {
    event.preventDefault();
    try {
      const stop = schedule.value === "lp" ? {} : { target: Number(target.value) };
      made.value = (await api("/games/solve", { game, schedule: schedule.value, stop })).id;
      problem.value = null;
      errors.value = {};
    } catch (error) {
      errors.value = error.fields || {};
      problem.value = error;
    }
  };
  const refine = async (event) => {
    event.preventDefault();
    try {
      made.value = (
        await api("/refine", { of: tree.strategy, technique: technique.value, at: at.value })
      ).id;
      problem.value = null;
    } catch (error) {
      problem.value = error;
    }
  };
  const job = made.value ? jobs.value[made.value] : null;
  const curve = job?.curve || [];
  const solution = tree.solutions.some((solution) => solution.id === tree.strategy);
  const series = useMemo(
    () => [{ label: "exploitability", values: curve.map((p) => p[2]) }],
    [curve],
  );
  return html`<aside class="box">
    <h2>Solve it</h2>
    <form onSubmit=${start} class="row-form" novalidate>
      <${Field} id="schedule" label="Method"
        ><select id="schedule" ...${selected(schedule)}>
          ${["pcfr+", "pdcfr+", "cfr+", "dcfr", "cfr", ...(tree.holdem ? [] : ["lp"])].map((name) => html`<option value=${name}>${name === "lp" ? "linear program" : name.toUpperCase()}</option>`)}
        </select><//
      >
      <${Field}
        id="target"
        label=${tree.holdem ? "Until exploitability, chips" : "Until exploitability"}
        error=${errors.value["stop.target"]}
        ><input
          id="target"
          inputmode="decimal"
          ...${typed(target)}
          disabled=${schedule.value === "lp"}
      /><//>
      <button class="primary">Solve</button>
    </form>
    ${
      solution
        ? html`<form onSubmit=${refine} class="row-form" novalidate>
            <${Field} id="technique" label="Refine this solution by"
              ><select id="technique" ...${selected(technique)}>
                ${Techniques()}
              </select><//
            >
            <${Field} id="frontier" label="in the subgames"
              ><input id="frontier" list="frontiers" ...${typed(at)} placeholder="after round 1"
            /><//>
            <datalist id="frontiers">
              ${tree.frontiers.map((name) => html`<option value=${name} />`)}
            </datalist>
            <button>Refine</button>
          </form>`
        : null
    }
    <${Problem} error=${problem.value} />
    ${
      job
        ? html`<p class="status" role="status">
              ${job.state === "failed" ? job.error : job.state === "done" ? "Done." : job.phase || "Waiting"}
            </p>
            ${job.state === "running" ? html`<progress value=${job.share} max="1" aria-label="Progress"></progress>` : null}
            ${curve.length > 1 ? html`<${Curve} xs=${curve.map((p) => p[0])} series=${series} label="Exploitability by iteration" height=${170} />` : null}
            ${job.state === "done" && job.result ? html`<p>Exploitability <b>${job.result.exploitability.toPrecision(3)}</b>. <a href=${withQuery({ strategy: job.id })}>Look at the strategy</a></p>` : null}`
        : null
    }
  </aside>`;
}
