// Play: a table against an agent.
import {
  html,
  api,
  asked,
  go,
  route,
  withQuery,
  jobs,
  number,
  percent,
  whole,
  Field,
  Problem,
  Wait,
  typed,
  selected,
  Tabs,
} from "../lib/core.js";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Card, Cards, cards } from "../lib/cards.js";
import { RangeGrid } from "../lib/range_grid.js";

const ABOUT = {
  blueprint: "a solved strategy of the whole game",
  nested: "solves what follows again while it plays, safely",
  limited: "solves a few moves ahead while it plays",
  uniform: "every action equally often",
  call: "always checks or calls",
  raise: "always makes the least raise",
  fold: "folds to every bet",
  "best-response": "wins most against uniform",
};

export function Play() {
  const query = route.value.query;
  const list = useMemo(() => asked(api("/games")), []).value.value || [];
  const tables = useMemo(() => asked(api("/tables")), []).value.value || [];
  const error = useSignal(null),
    busy = useSignal(false);
  const game = query.get("game") || "hunl";
  const agents =
    useMemo(() => asked(api(`/agents?game=${encodeURIComponent(game)}`)), [game]).value.value || [];
  const solved = Object.values(jobs.value).filter(
    (job) => job.result && (job.state === "done" || job.state === "paused"),
  );
  const spots = solved.filter((job) => job.result.spot);
  const fits = solved.filter((job) =>
    game.startsWith("job:")
      ? job.result.spot && (`job:${job.id}` === game || job.of === game.slice(4))
      : job.result.game === game || job.task?.game === game,
  );
  const wanted = query.get("opponent"),
    known = [...fits.map((job) => `job:${job.id}`), ...agents];
  const opponent =
    known.includes(wanted) || !agents.length || wanted?.startsWith("job:") ? wanted : known[0];
  const open = async (event) => {
    event.preventDefault();
    busy.value = true;
    try {
      go(`/play/${(await api("/tables", { game, opponent })).id}`);
    } catch (failed) {
      error.value = failed;
    } finally {
      busy.value = false;
    }
  };
  const set = (key) => (event) => go(withQuery({ [key]: event.target.value }), { replace: true });
  const solvable = list.filter((game) => !game.holdem);
  return html`<section class="page narrow">
    <h1>Play</h1>
    <p class="lead">
      Sit down against an agent, or against a strategy that you solved. You change seats after every
      hand. <a href="/hands">Hands that you played elsewhere</a> can be graded by the spots that you
      solved, or by the agent.
    </p>
    <form class="box" onSubmit=${open} novalidate>
      <${Field} id="game" label="Game"
        ><select id="game" value=${game} onChange=${set("game")}>
          <optgroup label="Hold'em">
            ${list.filter((game) => game.holdem).map((game) => html`<option key=${game.name} value=${game.name}>${game.name}: ${game.summary}</option>`)}
          </optgroup>
          ${spots.length ? html`<optgroup label="Spots that you solved">${spots.map((job) => html`<option key=${job.id} value="job:${job.id}">${job.name}</option>`)}</optgroup>` : null}
          <optgroup label="Other games">
            ${solvable.map((game) => html`<option key=${game.name} value=${game.name}>${game.uploaded ? game.summary : `${game.name}: ${game.summary}`}</option>`)}
          </optgroup>
        </select><//
      >
      <fieldset class="opponents">
        <legend class="small-legend">Opponent</legend>
        ${[
          ...fits.map((job) => [`job:${job.id}`, job.name, "a solution of yours"]),
          ...agents.map((name) => [name, name, ABOUT[name] || ""]),
        ].map(
          ([key, name, about]) =>
            html`<label key=${key} class="choice"
              ><input
                type="radio"
                name="opponent"
                value=${key}
                checked=${opponent === key}
                onChange=${set("opponent")}
              /><span><b>${name}</b><small>${about}</small></span></label
            >`,
        )}
        ${agents.length ? null : html`<${Wait}>Asking who plays this game<//>`}
      </fieldset>
      <${Problem} error=${error.value} /><button
        class="primary large"
        disabled=${busy.value || !agents.length}
      >
        Sit down
      </button>
    </form>
    ${
      tables.length
        ? html`<section class="tables">
            <h2>Your tables</h2>
            <ul class="job-list">
              ${tables.map((row) => html`<li key=${row.id}><a class="job-name" href="/play/${row.id}">${row.title}</a><span class="soft">against ${row.opponent.startsWith("job:") ? jobs.value[row.opponent.slice(4)]?.name || "a solution" : row.opponent}</span><span class="num">${row.hands} hands</span></li>`)}
            </ul>
          </section>`
        : null
    }
  </section>`;
}

export function Table({ id }) {
  const view = useSignal(null),
    error = useSignal(null),
    busy = useSignal(false);
  const newest = useRef(0); // an answer that was asked for before a newer one is not shown
  const take = (promise) => {
    const mine = (newest.current += 1);
    return promise.then(
      (table) => {
        if (mine !== newest.current) return;
        view.value = table;
        error.value = null;
      },
      (failed) => {
        if (mine === newest.current) error.value = failed;
      },
    );
  };
  useEffect(() => {
    take(api(`/tables/${id}`));
  }, [id]);
  useEffect(() => {
    // an opponent that thinks is asked again, and so are grades that are still missing
    if (!view.value || view.value.error) return undefined;
    const { state, counting, grading } = view.value;
    if (state !== "thinking" && !counting && !grading) return undefined;
    const wait = state === "thinking" || counting ? 400 : 1500;
    const timer = setTimeout(() => busy.value || take(api(`/tables/${id}`)), wait);
    return () => clearTimeout(timer);
  }, [view.value]);
  const now = view.value;
  const sure = useSignal(""); // an all-in that was chosen once; the second time it is done
  const act = async (action) => {
    if (busy.value) return;
    const { holdem } = view.value;
    if (holdem && action === `r${holdem.most}` && sure.value !== action) {
      sure.value = action;
      return;
    }
    sure.value = "";
    busy.value = true;
    await take(api(`/tables/${id}/act`, { action }));
    busy.value = false;
  };
  const deal = async () => {
    busy.value = true;
    await take(api(`/tables/${id}/next`, {}));
    busy.value = false;
  };
  useEffect(() => {
    const keys = (event) => {
      const { target, key } = event;
      if (
        target.closest("input, select, textarea") ||
        event.ctrlKey ||
        event.metaKey ||
        !view.value
      )
        return;
      const { state } = view.value,
        goes_on = (key === "Enter" || key === " ") && !target.closest("button, a, summary");
      if (state === "your turn") {
        const chosen = choices(view.value).find((choice) => choice.key === key.toLowerCase());
        if (chosen) act(chosen.id);
        else sure.value = "";
        if (key.toLowerCase() === "r" && document.getElementById("bet")) {
          event.preventDefault();
          document.getElementById("bet").focus();
        }
      }
      if (state === "over" && goes_on) {
        event.preventDefault();
        deal();
      }
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  if (!now)
    return html`<section class="page narrow">
      <h1>Table</h1>
      ${error.value ? html`<${Problem} error=${error.value} />` : html`<${Wait}>Setting the table<//>`}
    </section>`;
  const { result } = now;
  return html`<section class="page narrow play">
    <p class="crumb"><a href="/play">Play</a></p>
    <div class="result-head">
      <h1>
        ${now.holdem && now.game.startsWith("job:") ? html`Spot on <${Cards} text=${now.title} />` : now.title === "hunl" ? "Heads-up no-limit hold'em" : now.title}
      </h1>
      <p class="facts">
        <span
          >against${" "}<b>${now.opponent_name}</b>${ABOUT[now.opponent] ? `: ${ABOUT[now.opponent]}` : ""}</span
        ><span>hand ${whole(now.number)}</span>
      </p>
    </div>
    <${Score} result=${result} />
    ${now.holdem ? html`<${Felt} now=${now} />` : html`<${Plain} now=${now} />`}
    <${Problem} error=${error.value || (now.error ? new Error(now.error) : null)} />
    <div class="acting" aria-live="polite">
      ${now.state === "thinking" && !now.error ? html`<${Thinking} now=${now} />` : null}
      ${now.state === "your turn" ? html`<${Actions} key=${now.holdem?.line.length} now=${now} act=${act} busy=${busy.value} sure=${sure.value} />` : null}
      ${
        now.state === "over"
          ? html`<p class="outcome">
                <b class=${now.last.won >= 0 ? "good" : "bad"}
                  >${now.last.won > 0 ? "You win" : now.last.won < 0 ? "You lose" : "Even"}${now.last.won ? ` ${number(Math.abs(now.last.won), now.last.won % 1 ? 1 : 0)} chips` : ""}</b
                >
              </p>
              <button
                type="button"
                class="primary large"
                onClick=${deal}
                disabled=${busy.value}
                autofocus
              >
                Next hand
              </button>`
          : null
      }
    </div>
    ${
      now.state === "over" && (now.last.grades?.length || (now.grading && !now.last.grades))
        ? html`<section class="box">
            <h2>Your decisions</h2>
            ${
              now.last.grades
                ? html`<${Grades}
                    rows=${now.last.grades}
                    job=${now.game.slice(4)}
                    label="Grades of this hand"
                  />`
                : html`<${Wait}>Being graded; play on meanwhile<//>`
            }
          </section>`
        : null
    }
    ${now.state === "over" ? html`<${Reveal} now=${now} />` : null}
    ${now.grading || now.past.some((hand) => hand.grades.length) ? html`<${Past} hands=${now.past} grading=${now.grading} job=${now.game.slice(4)} />` : null}
  </section>`;
}

// The result so far: what was won, and without most of the luck.
function Score({ result }) {
  if (!result.hands) return html`<p class="score" role="status">No hand played yet.</p>`;
  const mean = ({ mean: of, interval95: wide }) =>
    html`<b>${number(of, 1)}${wide === null ? "" : ` ± ${number(wide, 1)}`}</b> ${result.unit}`;
  return html`<div class="score figures" role="status">
    <div class="figure">
      <b class=${result.chips >= 0 ? "good" : "bad"}
        >${result.chips > 0 ? "+" : ""}${number(result.chips, result.chips % 1 ? 1 : 0)}</b
      ><span>chips in ${whole(result.hands)} ${result.hands === 1 ? "hand" : "hands"}</span>
    </div>
    <div class="figure">
      ${mean(result)}<span
        >on
        average${result.interval95 === null ? "" : ", 95% interval"}${result.unit === "mbb/h" ? "; 1,000 is a big blind a hand" : ""}</span
      >
    </div>
    ${result.grades ? html`<div class="figure"><b>${percent(result.grades.lost_pots, 2)}</b><span>of the pot lost by a decision; ${whole(result.grades.right)} of ${whole(result.grades.decisions)} right, ${number(result.grades.lost, 1)} chips in all</span></div>` : null}
    ${result.aivat ? html`<div class="figure">${mean(result.aivat)}<span>by AIVAT, with most of the luck taken out</span></div>` : null}
  </div>`;
}

// What can be done, each with its key: F folds, C checks or calls, digits bet, A is all-in.
function choices(now) {
  const { holdem } = now;
  if (!holdem)
    return now.legal.map(({ id, name }, k) => ({ id, name, key: String(k + 1), more: "" }));
  const plain = now.legal
    .filter(({ id }) => id === "f" || id === "c")
    .map(({ id, name }) => ({ id, name, key: id, more: "" }));
  return holdem.least === null ? plain : [...plain, ...sizes(now)];
}

// Bets: those of a solved spot, or shares of the pot.
function sizes(now) {
  const { holdem } = now,
    whole_chips = Number.isInteger(holdem.most);
  const called = holdem.bets[now.seat] + holdem.to_call;
  const share = (part) => {
    const total = called + part * (holdem.pot + holdem.to_call);
    return whole_chips ? Math.round(total) : Number(total.toFixed(2));
  };
  const bets = now.game.startsWith("job:")
    ? now.legal
        .filter(({ id }) => id.startsWith("r"))
        .map(({ id, name }) => [name, Number(id.slice(1))])
    : SHARES.map(([name, part]) => [`${name} pot`, share(part)]);
  const open = bets
    .filter(([, total]) => total >= holdem.least && total < holdem.most)
    .map(([name, total], k) => ({
      id: `r${total}`,
      name,
      key: String(k + 1),
      more: chips(total, holdem),
    }));
  return [
    ...open,
    { id: `r${holdem.most}`, name: "all-in", key: "a", more: chips(holdem.most, holdem) },
  ];
}

const SHARES = [
  ["⅓", 1 / 3],
  ["½", 0.5],
  ["¾", 0.75],
  ["1", 1],
  ["1½", 1.5],
  ["2", 2],
];

// Chips, and the same in big blinds.
const chips = (count, { big_blind: blind }) =>
  blind > 1 ? `${whole(count)} · ${Number((count / blind).toFixed(1))} bb` : whole(count);

// An amount that was written: chips, 2.5bb, 50% or 0.5x of the pot.
function amount(text, now) {
  const [, count, unit] = text.trim().match(/^([\d.,]+)\s*(bb|%|x|)$/i) || [],
    value = Number((count || "").replace(/,/g, ""));
  const { holdem } = now;
  if (!count || !unit || !holdem) return count ? value : NaN;
  if (unit.toLowerCase() === "bb") return value * holdem.big_blind;
  const part = unit === "%" ? value / 100 : value;
  return Math.round(holdem.bets[now.seat] + holdem.to_call + part * (holdem.pot + holdem.to_call));
}

function Actions({ now, act, busy, sure }) {
  const bets = now.holdem || now.bets || {};
  const total = useSignal(""),
    wrong = useSignal("");
  const send = (event) => {
    event.preventDefault();
    const count = amount(total.value, now);
    wrong.value =
      count >= bets.least && count <= bets.most
        ? ""
        : `A bet here is a total from ${whole(bets.least)} to ${whole(bets.most)} chips; write 600, 6bb or 50%.`;
    if (!wrong.value) act(`r${count}`);
  };
  return html`<div class="actions" role="group" aria-label="Your actions">
      ${choices(now).map(
        (choice) =>
          html`<button
            type="button"
            key=${choice.id}
            class=${sure === choice.id ? "primary" : ""}
            disabled=${busy}
            onClick=${() => act(choice.id)}
          >
            <kbd>${choice.key.toUpperCase()}</kbd>${" "}
            ${sure === choice.id ? "all-in: are you sure?" : choice.name}${choice.more ? html` <small class="num">${choice.more}</small>` : null}
          </button>`,
      )}
    </div>
    ${
      bets.least
        ? html`<form class="row-form bet-form" onSubmit=${send} novalidate>
            <${Field}
              id="bet"
              label=${html`${now.holdem ? html`<kbd>R</kbd> ` : null}Another total, ${whole(bets.least)} to ${whole(bets.most)}`}
              error=${wrong.value}
              ><input
                id="bet"
                placeholder=${now.holdem ? "600, 6bb or 50%" : ""}
                ...${typed(total)}
                aria-invalid=${wrong.value ? "true" : undefined}
                aria-describedby=${wrong.value ? "bet-error" : undefined} /><//
            ><button disabled=${busy || !total.value}>Bet</button>
          </form>`
        : null
    }`;
}

const Thinking = ({ now }) =>
  html`<${Wait}
      >${now.thinking.preparing ? `${now.opponent_name} gets ready: it loads or solves its blueprint` : `${now.opponent_name} thinks`},${" "}
      ${number(now.thinking.seconds, 0)} s<//
    >
    ${now.thinking.most ? html`<progress value=${now.thinking.seconds} max=${now.thinking.most} aria-label="Time of ${now.opponent_name}"></progress>` : null}`;

const Plain = ({ now }) =>
  html`<div class="felt plain">
    <p class="soft">You are player ${now.seat + 1}. You know:</p>
    <p class="knows">
      <code>${now.knows || (now.state === "over" ? "the hand is over" : "…")}</code>
    </p>
  </div>`;

function Felt({ now }) {
  const { holdem } = now,
    you = now.seat,
    foe = 1 - you;
  const hand = (p) => {
    const held = cards(holdem.hands[p]);
    return held.length ? held : [null, null];
  };
  const Player = ({ p, name }) =>
    html`<div class="player ${p === you ? "you" : "foe"}">
      <span class="hand">${hand(p).map((card, k) => html`<${Card} key=${k} card=${card} />`)}</span>
      <span class="player-info"
        ><b>${name}</b>${p === 1 ? html`<span class="dealer" title="dealer">D</span>` : null}<span
          class="num soft"
          >${chips(holdem.behind[p], holdem)} behind</span
        ></span
      >
      ${holdem.bets[p] ? html`<span class="chips num">${chips(holdem.bets[p], holdem)}</span>` : null}
    </div>`;
  return html`<div class="felt">
      <${Player} p=${foe} name=${now.opponent_name} />
      <div class="middle">
        <span class="board"
          >${[0, 1, 2, 3, 4].map((k) => (holdem.board[k] ? html`<${Card} key=${k} card=${holdem.board[k]} />` : html`<span key=${k} class="card empty" aria-hidden="true"></span>`))}</span
        ><span class="pot num">pot ${chips(holdem.pot, holdem)}</span>
      </div>
      <${Player} p=${you} name="You" />
    </div>
    <p class="line" aria-label="What happened">
      ${holdem.line.map((step, k) => html`<span key=${k} class=${step.who}>${step.who === "board" ? html`<${Cards} text=${step.text} small />` : html`${step.who === "you" ? "You" : now.opponent_name}: ${step.text}`}</span>`)}
    </p>`;
}

function Reveal({ now }) {
  const steps = now.last.reveal,
    ranged = steps.map((step, k) => [step, k]).filter(([step]) => step.range);
  const chosen = useSignal(null);
  const at = steps[chosen.value]?.range ? chosen.value : ranged.at(-1)?.[1];
  const said = (step, id) => step.range?.actions.find((action) => action.id === id)?.name || id;
  return html`<section class="box reveal">
    <h2>What ${now.opponent_name} had in mind</h2>
    ${
      steps.length
        ? html`<div class="scroll">
            <table class="plain">
              <thead>
                <tr>
                  <th>it knew</th>
                  <th>its strategy there</th>
                  <th>it did</th>
                </tr>
              </thead>
              <tbody>
                ${steps.map(
                  (step, k) =>
                    html`<tr key=${k}>
                      <td>
                        ${now.holdem ? html`<${Knew} infoset=${step.infoset} />` : html`<code>${step.infoset}</code>`}
                      </td>
                      <td>
                        ${step.policy ? step.policy.map(([action, p]) => html`<span class="policy ${action === step.action ? "taken" : ""}" key=${action}>${said(step, action)} <b class="num">${percent(p, 0)}</b></span>`) : "not known"}
                      </td>
                      <td>
                        <b>${said(step, step.action)}</b>${
                          step.why
                            ? html`<details>
                                <summary>why</summary>
                                <p class="why">${step.why}</p>
                              </details>`
                            : null
                        }
                      </td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
        : html`<p class="soft">It had nothing to decide.</p>`
    }
    ${
      ranged.length
        ? html`<h3 class="third">Its range, and what it does with each hand</h3>
            <${Tabs}
              label="Decisions"
              options=${ranged.map(([step, k]) => [k, place(step.infoset)])}
              value=${at}
              onPick=${(k) => {
                chosen.value = k;
              }}
            />
            <div class="range-small">
              <${RangeGrid}
                range=${steps[at].range}
                label="Range of the opponent by class of hands"
              />
            </div>`
        : null
    }
    ${now.holdem ? null : html`<p class="hint">The whole hand: ${now.last.moves.map(([player, action]) => `${player < 0 ? "dealt" : now.last.seats[player] === 0 ? "you" : now.opponent_name} ${action}`).join(", ")}</p>`}
    ${now.holdem && !now.game.startsWith("job:") ? html`<p><a class="button" href="/api/tables/${now.id}/hands.phhs" download>Save all hands as PHH</a></p>` : null}
  </section>`;
}

// What graded a decision, where that is no solved spot.
const BY = {
  blueprint: "by the blueprint's values",
  "depth limit": "solved to the end of the street",
  solve: "solved to the end of the hand",
};

// What one's own decisions cost, street by street, beside every action's EV and the solution's mix.
export const Grades = ({ rows, job, label }) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table class="plain grades">
      <thead>
        <tr>
          <th>street</th>
          <th>you did</th>
          <th class="num">EV lost</th>
          <th>the solution</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row, k) =>
            html`<tr key=${k}>
              <td>
                ${BY[row.by] ? html`${row.street}${" "}<small class="soft">${BY[row.by]}</small>` : html`<a href="/solve/${job}?line=${encodeURIComponent(row.at)}">${row.street}</a>`}
              </td>
              <td><b>${row.action}</b></td>
              <td class="num ${row.lost === null ? "" : row.right ? "good" : "bad"}">
                ${row.lost === null ? "not in the solution" : `${number(row.lost, 2)} (${percent(row.lost / row.pot)} of the pot)`}
              </td>
              <td>
                ${row.options.map((option) => html`<span class="policy ${option.name === row.best ? "taken" : ""}" key=${option.name}>${option.name} <b class="num">${percent(option.share, 0)}</b> EV ${number(option.ev, 1)}</span>`)}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

// Whether a hand has a mistake, on a street or anywhere.
export const wrong = (hand, street = null) =>
  hand.grades.some(
    (row) => row.lost !== null && !row.right && (street === null || row.street === street),
  );

// Which hands of a list are shown.
export const SHOWN = {
  all: ["all", () => true],
  graded: ["graded", (hand) => hand.lost !== null],
  wrong: ["with mistakes", (hand) => wrong(hand)],
  preflop: ["mistakes before the flop", (hand) => wrong(hand, "preflop")],
  flop: ["mistakes on the flop", (hand) => wrong(hand, "flop")],
  turn: ["mistakes on the turn", (hand) => wrong(hand, "turn")],
  river: ["mistakes on the river", (hand) => wrong(hand, "river")],
};

// A list of hands with what each lost; one of them is shown with its grades.
export function HandList({ rows, about, lost, grades }) {
  const chosen = useSignal(null);
  return html`<ul class="past-hands">
    ${rows.map(
      (hand) =>
        html`<li key=${hand.number}>
          <button
            type="button"
            class="ghost"
            aria-expanded=${chosen.value === hand.number}
            onClick=${() => {
              chosen.value = chosen.value === hand.number ? null : hand.number;
            }}
          >
            ${whole(hand.number)} <${Cards} text=${hand.held} small />${" "}${about(hand)}${" "}
            <span class="num ${hand.lost === null ? "soft" : wrong(hand) ? "bad" : "good"}"
              >${hand.lost !== null ? `lost ${lost(hand)}` : hand.waits ? "waits for its grades" : "not graded"}</span
            >
          </button>
          ${chosen.value === hand.number ? grades(hand) : null}
        </li>`,
    )}
  </ul>`;
}

// The hands that were played, all or some; one of them is shown with its grades.
function Past({ hands, grading, job }) {
  const shown = useSignal("all");
  const rows = hands.filter(SHOWN[shown.value][1]).reverse();
  return html`<section class="box past">
    <div class="range-head">
      <h2>Hands played</h2>
      <label class="choices" for="past-shown"
        >show${" "}
        <select id="past-shown" class="inline" ...${selected(shown)}>
          ${Object.entries(SHOWN).map(([key, [name]]) => html`<option key=${key} value=${key}>${name}</option>`)}
        </select></label
      >
    </div>
    ${grading ? html`<${Wait}>The agent grades your decisions: ${whole(grading)} ${grading === 1 ? "hand" : "hands"} left<//>` : null}
    <${HandList}
      rows=${rows}
      about=${(hand) => html`${["OOP", "IP"][hand.seat]}${" "}<span class="num">${hand.won > 0 ? "+" : ""}${number(hand.won, 0)}</span>`}
      lost=${(hand) => number(hand.lost, 2)}
      grades=${(hand) => (hand.grades.length ? html`<${Grades} rows=${hand.grades} job=${job} label=${`Grades of hand ${hand.number}`} />` : html`<p class="hint">${hand.waits ? "It waits for its grades." : hand.why}</p>`)}
    />
    ${rows.length ? null : html`<p class="soft">No hand of that kind.</p>`}
  </section>`;
}

// The street of an infoset of hold'em, and the betting on it.
function place(infoset) {
  const [, board, betting] = infoset.split(" | ");
  return `${["preflop", "", "", "flop", "turn", "river"][cards(board).length]} ${betting.trim().split("/").at(-1)}`.trim();
}

// A hand, and the board where the agent acted.
const Knew = ({ infoset }) =>
  html`<${Cards} text=${infoset.split(" | ")[0]} small />${" "}
    ${cards(infoset.split(" | ")[1]).length ? html`<span class="soft">on</span> <${Cards} text=${infoset.split(" | ")[1]} small />` : html`<span class="soft">preflop</span>`}`;
