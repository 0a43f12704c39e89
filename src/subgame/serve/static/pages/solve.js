// Solve: setting up a spot of hold'em.
import {
  html,
  api,
  route,
  withQuery,
  go,
  jobs,
  Field,
  Problem,
  bytes,
  whole,
  typed,
  FileOrText,
  Tabs,
} from "../lib/core.js";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { BoardPicker, BoardText, Card, cards } from "../lib/cards.js";
import { ranksOf } from "../lib/draw.js";
import { RangeEditor } from "../lib/range_editor.js";
import { PRESETS, smaller } from "../lib/presets.js";
import { JobList } from "./jobs.js";

const STREETS = ["flop", "turn", "river"];
const DEFAULTS = {
  board: "Qs Jh 2h 8d 3c",
  pot: "100",
  s0: "300",
  s1: "300",
  oop: "66+,A8s+,A5s-A4s,KTs+,QTs+,JTs,T9s,98s,87s,ATo+,KQo",
  ip: "QQ-22,A2s+,K9s+,Q9s+,J9s+,T8s+,97s+,86s+,75s+,65s,54s,ATo+,KTo+,QTo+,JTo",
  min: "1",
  cap: "",
  allin: "",
  flop_b: "0.33x 0.75x",
  flop_r: "2.5r a",
  turn_b: "0.5x 1x",
  turn_r: "2.5r a",
  river_b: "0.5x 1x a",
  river_r: "2.5r a",
  turn_d: "",
  river_d: "",
  flop_ib: "0.33x 0.75x",
  flop_ir: "2.5r a",
  turn_ib: "0.5x 1x",
  turn_ir: "2.5r a",
  river_ib: "0.5x 1x a",
  river_ir: "2.5r a",
  split: "",
  force: "",
  addall: "",
  added: "",
  removed: "",
  rake: "",
  rakecap: "",
  dead: "",
  deck: "full",
  folded: "",
  flops: "",
  target: "0.3",
  seconds: "120",
  schedule: "hs-dcfr",
  storage: "float32",
  name: "",
};
// What a deck without 2 to 5 begins with.
const SHORT = {
  board: "Qs Jh 9h 8d 6c",
  oop: "99+,A9s+,KTs+,QTs+,J9s+,T8s+,97s+,ATo+,KTo+,QJo",
  ip: "QQ-66,A6s+,K8s+,Q8s+,J8s+,T7s+,97s+,86s+,A9o+,KTo+,QTo+,JTo",
};
const DECKS = {
  full: "52 cards",
  short: "Short deck",
  "short-trips": "Short deck, trips beat straights",
};
const KINDS = { b: "bets", r: "raises", d: "donks" };
// The names that the server has for the fields.
const FIELD = {
  min_bet: "min",
  "stacks.0": "s0",
  "stacks.1": "s1",
  all_in: "allin",
  force_all_in: "force",
  add_all_in: "addall",
  rake_cap: "rakecap",
  "stop.target": "target",
  "stop.seconds": "seconds",
  ...Object.fromEntries(
    STREETS.flatMap((street) =>
      Object.entries(KINDS).flatMap(([key, kind]) => [
        [`${street}.${kind}`, `${street}_${key}`],
        [`ip_streets.${street}.${kind}`, `${street}_i${key}`],
      ]),
    ),
  ),
};
const MORE = ["force", "addall", "added", "removed", "rake", "rakecap", "dead", "folded"];

// The address of the set-up of a job's spot.
export function setUp({ task }) {
  const { spot } = task,
    share = (value) =>
      value === null || value === undefined ? "" : String(Number((100 * value).toFixed(6)));
  const split = Object.keys(spot.ip_streets || {}).length > 0;
  const value = {
    board: spot.board,
    pot: spot.pot,
    s0: spot.stacks[0],
    s1: spot.stacks[1],
    min: spot.min_bet,
    oop: spot.oop,
    ip: spot.ip,
    cap: spot.cap ?? "",
    split: split ? "1" : "",
    allin: share(spot.all_in),
    force: share(spot.force_all_in),
    addall: share(spot.add_all_in),
    added: spot.added.join("; "),
    removed: spot.removed.join("; "),
    rake: spot.rake ? share(spot.rake) : "",
    rakecap: spot.rake_cap ?? "",
    dead: spot.dead,
    deck: spot.deck ?? "full",
    folded: spot.folded ?? "",
    flops: task.flops || "",
    target: task.target ?? "",
    seconds: task.seconds ?? "",
    schedule: task.schedule || DEFAULTS.schedule,
    storage: task.storage || DEFAULTS.storage,
    ...Object.fromEntries(
      [
        ["", spot.streets],
        ["i", spot.ip_streets || {}],
      ].flatMap(([who, streets]) =>
        Object.entries(streets).flatMap(([street, sizes]) =>
          Object.entries(KINDS).map(([key, kind]) => [`${street}_${who}${key}`, sizes[kind] ?? ""]),
        ),
      ),
    ),
  };
  const query = new URLSearchParams();
  for (const [key, usual] of Object.entries(DEFAULTS))
    if (key in value && String(value[key]) !== usual) query.set(key, String(value[key]) || " ");
  return `/solve?${query}`;
}

// The shape of a set-up: whether it is a report over many flops, and the streets that are played.
function shape(value) {
  const many = !!value.flops.trim();
  const first = many ? 0 : Math.max(0, Math.min(2, cards(value.board).length - 3));
  return { many, streets: STREETS.slice(first), split: value.split.trim() === "1" };
}

// The spot that the fields describe as the server wants it, and what is wrong with them.
function spotOf(value) {
  const { many, streets, split } = shape(value),
    wrong = {};
  const lines = (key) =>
    value[key]
      .split(/[\n;]/)
      .map((line) => line.trim())
      .filter(Boolean);
  const amount = (
    key,
    label,
    usual,
    fits = (n) => n > 0,
    allowed = "a number of chips above 0",
  ) => {
    if (!value[key].trim() && usual !== undefined) return usual;
    const n = value[key].trim() ? Number(value[key]) : NaN;
    if (!fits(n)) wrong[key] = `${label} must be ${allowed}.`;
    return n;
  };
  const share = (key, label, most) => {
    const n = amount(
      key,
      label,
      null,
      (part) => part >= 0 && part <= most,
      `a percentage from 0 to ${most}`,
    );
    return n === null ? n : n / 100;
  };
  const sizes = (before) =>
    Object.fromEntries(
      streets.map((street) => [
        street,
        {
          bets: value[`${street}_${before}b`].trim(),
          raises: value[`${street}_${before}r`].trim(),
          ...(before || street === streets[0] ? {} : { donks: value[`${street}_d`].trim() }),
        },
      ]),
    );
  const body = {
    board: many ? "AsKsQs" : value.board,
    pot: amount("pot", "The pot"),
    stacks: [amount("s0", "A stack"), amount("s1", "A stack")],
    min_bet: amount("min", "The smallest bet"),
    oop: value.oop.trim() || "AA:0",
    ip: value.ip.trim() || "AA:0",
    streets: sizes(""),
    ip_streets: split ? sizes("i") : {},
    cap: amount(
      "cap",
      "The cap",
      null,
      (n) => Number.isInteger(n) && n >= 0 && n <= 20,
      "a whole number from 0 to 20",
    ),
    all_in: value.allin.trim() === "0" ? null : share("allin", "The threshold", 100),
    force_all_in: share("force", "The threshold", 1000),
    add_all_in: share("addall", "The threshold", 1000),
    added: lines("added"),
    removed: lines("removed"),
    dead: value.dead.trim(),
    deck: value.deck,
    folded: value.folded.trim(),
    rake: share("rake", "The rake", 99) ?? 0,
    rake_cap: amount("rakecap", "The cap of the rake", null, (n) => n >= 0, "a number of chips"),
  };
  if (!many && cards(value.board).length < 3) wrong.board = "Choose 3, 4 or 5 cards.";
  return [body, wrong];
}

// Starts the solve of a set-up; the answer is the job, or what is wrong with the fields.
async function submit(value) {
  const [body, wrong] = spotOf(value),
    stop = {};
  for (const [key, label] of [
    ["target", "The target"],
    ["seconds", "The time"],
  ]) {
    if (!value[key].trim()) continue;
    stop[key] = Number(value[key]);
    if (!(stop[key] > 0)) wrong[key] = `${label} must be a number above 0.`;
  }
  if (Object.keys(wrong).length) return { wrong };
  const name = value.name.trim();
  return shape(value).many
    ? api("/reports", { spot: body, flops: value.flops, target: stop.target ?? 0.5, name })
    : api("/spots/solve", {
        spot: body,
        stop,
        schedule: value.schedule,
        storage: value.storage,
        name,
      });
}

export function Solve() {
  const query = route.value.query;
  const value = Object.fromEntries(
    Object.entries(DEFAULTS).map(([key, usual]) => [key, query.get(key) ?? usual]),
  );
  const set = (key) => (eventOrText) => {
    change({ [key]: typeof eventOrText === "string" ? eventOrText : eventOrText.target.value });
  };
  const errors = useSignal({}),
    problem = useSignal(null),
    counted = useSignal(null),
    busy = useSignal(false);
  const { many, streets, split } = shape(value),
    first_street = streets[0];
  const said = (error) => {
    const fields = Object.fromEntries(
      Object.entries(error.fields || {}).map(([key, text]) => [
        FIELD[key] || FIELD[key.replace("streets.", "")] || key.replace(/\.\d+$/, ""),
        text,
      ]),
    );
    errors.value = fields;
    problem.value = Object.keys(fields).some((key) => key in DEFAULTS) ? null : error;
    counted.value = null;
  };
  // The size is counted again a moment after the last change; a size that is still asked for is
  // given up, and one of another set-up is not shown.
  const keyed = Object.keys(DEFAULTS)
    .filter((key) => !["target", "seconds", "storage", "name"].includes(key))
    .map((key) => value[key])
    .join("|");
  const quote = counted.value?.of === keyed ? counted.value : null;
  useEffect(() => {
    const ended = new AbortController(),
      more = { signal: ended.signal };
    problem.value = null;
    const timer = setTimeout(async () => {
      const [body, wrong] = spotOf(value);
      errors.value = wrong;
      if (Object.keys(wrong).length) return;
      try {
        const size = await (many
          ? api("/reports/quote", { spot: body, flops: value.flops }, more)
          : api("/spots/quote", { spot: body, schedule: value.schedule }, more));
        counted.value = { ...size, of: keyed };
      } catch (error) {
        said(error);
      }
    }, 350);
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [keyed]);

  const start = async (chosen) => {
    busy.value = true;
    try {
      const job = await submit(chosen);
      if (job.wrong) errors.value = job.wrong;
      else go(`/solve/${job.id}`);
    } catch (error) {
      said(error);
    } finally {
      busy.value = false;
    }
  };
  // A preset on the flop that is chosen already.
  const preset = ({ value: own }) => ({
    ...DEFAULTS,
    ...own,
    board: cards(value.board).slice(0, 3).join(" "),
  });
  const change = (changes) => {
    const kept = Object.entries(changes).map(([key, text]) => [
      key,
      text === DEFAULTS[key] ? null : text || " ",
    ]);
    go(withQuery(Object.fromEntries(kept)), { replace: true });
  };
  // Fields that were not changed take the cards of the new deck.
  const shuffle = ({ target }) => {
    const [from, to] = [value.deck, target.value].map((deck) =>
      deck === "full" ? DEFAULTS : SHORT,
    );
    const kept = Object.keys(SHORT).filter((key) => value[key] === from[key]);
    change({ deck: target.value, ...Object.fromEntries(kept.map((key) => [key, to[key]])) });
  };
  const needed = quote?.memory[many ? "float32" : value.storage],
    large = needed > quote?.limit;
  const input = (key, label, more = {}) =>
    html`<${Field} key=${key} id=${key} label=${label} error=${errors.value[key]} hint=${more.hint}>
      <input
        id=${key}
        value=${value[key] === " " ? "" : value[key]}
        inputmode=${more.mode || "numeric"}
        placeholder=${more.placeholder}
        aria-invalid=${errors.value[key] ? "true" : undefined}
        aria-describedby=${errors.value[key] ? `${key}-error` : more.hint ? `${key}-hint` : undefined}
        onInput=${set(key)}
    /><//>`;
  const solved = Object.values(jobs.value)
    .filter((job) => job.kind !== "game" && (job.kind !== "refine" || job.result?.spot))
    .sort((a, b) => b.made - a.made);
  return html`<div class="page solve">
    <form
      onSubmit=${(event) => {
        event.preventDefault();
        start(value);
      }}
      novalidate
    >
      <h1>Solve a spot</h1>
      <p class="lead">
        The rest of a heads-up hand: a board, the pot and the stacks, and a range for each player.
      </p>
      ${many || value.deck !== "full" ? null : html`<${Presets} board=${value.board} busy=${busy.value} solve=${(one) => start(preset(one))} setUp=${(one) => change(preset(one))} />`}
      <div class="setup">
        <div class="stack">
          <fieldset class="box board-box">
            <legend>${many ? "Flops" : "Board"}</legend>
            <${Tabs}
              segments
              label="One board or many"
              options=${[
                ["", "One board"],
                ["25", "Many flops"],
              ]}
              value=${many ? "25" : ""}
              onPick=${(flops) => {
                if (many !== !!flops) set("flops")(flops);
              }}
            />
            <label class="choices" for="deck"
              >Deck${" "}
              <select id="deck" class="inline" value=${value.deck} onChange=${shuffle}>
                ${Object.entries(DECKS).map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
              </select></label
            >
            ${
              many
                ? html`<${Flops}
                    value=${value.flops}
                    set=${set("flops")}
                    error=${errors.value.flops}
                  />`
                : html` <div class="board-row">
                      ${[0, 1, 2, 3, 4].map((k) => (cards(value.board)[k] ? html`<${Card} key=${k} card=${cards(value.board)[k]} />` : html`<span key=${k} class="card empty" aria-hidden="true"></span>`))}
                      <span class="soft"
                        >${["", "", "", "flop", "turn", "river"][cards(value.board).length] || "choose 3 to 5 cards"}</span
                      ><${BoardText}
                        value=${value.board}
                        onChange=${set("board")}
                        ranks=${ranksOf(value.deck)}
                      />
                    </div>
                    <${BoardPicker}
                      value=${value.board}
                      onChange=${set("board")}
                      error=${errors.value.board}
                      ranks=${ranksOf(value.deck)}
                    />
                    ${errors.value.board ? html`<p class="error" role="alert">${errors.value.board}</p>` : null}`
            }
          </fieldset>
          <fieldset class="box">
            <legend>Chips</legend>
            <div class="fields">
              ${input("pot", "Pot")}${input("s0", "Stack OOP")}${input("s1", "Stack IP")}${input("min", "Smallest bet")}
            </div>
          </fieldset>
          <div class="box">
            <details
              class="more"
              open=${MORE.some((key) => value[key].trim() || errors.value[key])}
            >
              <summary>More: rake, dead cards, folded players, single lines</summary>
              <div class="fields">
                ${input("rake", "Rake, % of the pot", { mode: "decimal", placeholder: "0" })}${input("rakecap", "At most, chips", { mode: "decimal", placeholder: "no limit" })}${input("dead", "Dead cards", { mode: "text", placeholder: "2c 7d" })}
              </div>
              <div class="fields two">
                ${input("force", "All-in if it leaves, % of the pot", { mode: "decimal", placeholder: "never" })}${input("addall", "Add all-in up to, % of the pot", { mode: "decimal", placeholder: "never" })}
              </div>
              <div class="fields two">
                ${input("added", "Lines to add", { mode: "text", placeholder: "c r50 r150; c c / r20" })}${input("removed", "Lines to remove", { mode: "text", placeholder: "r300" })}
              </div>
              ${input("folded", "Ranges of players who folded", { mode: "text", placeholder: "random,77+:0,AT+:0; random,22+:0,A2s+:0" })}
              <p class="hint">
                Semicolons separate ranges: up to three, on the river four. It is exact, but slower.
              </p>
              <p class="hint">
                A line is c (check, call), f (fold) and r with the total on the street; / comes
                between streets. Semicolons separate lines.
              </p>
            </details>
          </div>
          <div class="box"><${Import} /></div>
        </div>
        <div class="stack">
          <fieldset class="box bets-box">
            <legend>Bet sizes</legend>
            ${(split ? ["", "i"] : [""]).map(
              (who) =>
                html`<div key=${who}>
                  ${split ? html`<h3 class="third">${who ? "In position (IP)" : "Out of position (OOP)"}</h3>` : null}
                  ${streets.map((street) => html`<div class="fields sizes" key=${street}>${input(`${street}_${who}b`, `${street[0].toUpperCase()}${street.slice(1)} bets`, { mode: "text" })}${input(`${street}_${who}r`, "Raises", { mode: "text" })}${who || street === first_street ? null : input(`${street}_d`, "Donk bets", { mode: "text", placeholder: "as bets" })}</div>`)}
                </div>`,
            )}
            <label class="check"
              ><input
                id="split"
                type="checkbox"
                checked=${split}
                onChange=${(e) => set("split")(e.target.checked ? "1" : "")}
              />${" "} each player has sizes of their own</label
            >
            <div class="fields two">
              ${input("cap", "Most bets and raises", { placeholder: "no limit" })}${input("allin", "All-in from, % of the stack", { placeholder: "never" })}
            </div>
            <p class="hint">
              0.5x or 50% is half of the pot, 2.5r is 2.5 times the bet, 250 is chips, e is
              geometric, a is all-in.
            </p>
          </fieldset>
          <fieldset class="box run-box">
            <legend>Run</legend>
            <div class="fields">
              ${input("target", "Target, % of the pot", { mode: "decimal" })}${
                many
                  ? null
                  : html`${input("seconds", "Time, seconds", { mode: "decimal" })}
                      <${Field} id="schedule" label="Method"
                        ><select id="schedule" value=${value.schedule} onChange=${set("schedule")}>
                          ${["hs-dcfr", "dcfr", "cfr+", "pcfr+", "pdcfr+"].map((name) => html`<option value=${name}>${name.toUpperCase()}</option>`)}
                        </select><//
                      >
                      <${Field} id="storage" label="Numbers"
                        ><select id="storage" value=${value.storage} onChange=${set("storage")}>
                          <option value="float32">32 bits</option>
                          <option value="int16">16 bits</option>
                        </select><//
                      >`
              }
            </div>
            ${input("name", "Name", { mode: "text", placeholder: many ? "the number of flops" : "the board" })}
            <p class="quote" role="status">
              ${quote ? html`${quote.flops ? html`<b>${whole(quote.flops)}</b> ${quote.flops === 1 ? "flop" : "flops"}, each <b>${whole(quote.nodes)}</b>` : html`<b>${whole(quote.nodes)}</b>`} nodes · <b>${bytes(quote.memory.float32)}</b> in 32 bits · <b>${bytes(quote.memory.int16)}</b> in 16 bits · ${quote.combos.map((n) => whole(Math.round(n))).join(" and ")} hands` : Object.keys(errors.value).length ? "Some fields need another look." : problem.value ? "" : "Counting the nodes"}
            </p>
            <${Problem} error=${problem.value} />
            ${large ? html`<p class="problem" role="alert">Solving this needs ${bytes(needed)}, and ${bytes(quote.limit)} may be used.</p>` : null}
            ${large || problem.value?.fields?.memory ? html`<${Smaller} value=${value} change=${change} />` : null}
            <button class="primary large" disabled=${busy.value}>
              ${many ? "Solve the flops" : "Solve"}
            </button>
          </fieldset>
        </div>
        <fieldset class="box ranges">
          <legend>Ranges</legend>
          <div class="two-ranges">
            <${RangeEditor}
              id="oop"
              label="Out of position (OOP)"
              value=${value.oop}
              onChange=${set("oop")}
              error=${errors.value.oop}
              deck=${value.deck}
            />
            <${RangeEditor}
              id="ip"
              label="In position (IP)"
              value=${value.ip}
              onChange=${set("ip")}
              error=${errors.value.ip}
              deck=${value.deck}
            />
          </div>
        </fieldset>
      </div>
    </form>
    <section class="below">
      <h2>Solutions</h2>
      <${Upload} /> <${JobList} rows=${solved} empty="Nothing solved yet." />
    </section>
  </div>`;
}

// Set-ups to begin with: solved at once, or filled in.
function Presets({ board, busy, solve, setUp }) {
  const flop = cards(board).slice(0, 3);
  return html`<section class="presets" aria-label="Presets">
    ${PRESETS.map(
      (one) =>
        html`<div class="box preset" key=${one.id}>
          <h2 class="third">${one.name}</h2>
          <p class="soft">${one.about} 100 big blinds deep.</p>
          <p class="preset-row">
            <button
              type="button"
              class="primary"
              disabled=${busy || flop.length < 3}
              aria-label=${`Solve the ${one.name.toLowerCase()}`}
              onClick=${() => solve(one)}
            >
              Solve</button
            ><button type="button" disabled=${flop.length < 3} onClick=${() => setUp(one)}>
              Fill in
            </button>
          </p>
        </div>`,
    )}
  </section>`;
}

// What can be clicked when a set-up needs too much memory.
const Smaller = ({ value, change }) =>
  html`<div class="smaller" role="group" aria-label="Make it smaller">
    <p>Click to make it smaller, or narrow the ranges:</p>
    ${smaller(value).map(([name, changes]) => html`<button type="button" key=${name} onClick=${() => change(changes)}>${name}</button>`)}
  </div>`;

const SUBSETS = [
  ["25", "25 flops that represent all"],
  ["49", "49 flops"],
  ["95", "95 flops"],
  ["184", "184 flops"],
  ["all", "all 1,755 flops"],
];

// The flops of a report: a subset with weights, or a list.
function Flops({ value, set, error }) {
  const listed = !SUBSETS.some(([key]) => key === value);
  return html`<${Field} id="flops-set" label="Which flops"
      ><select
        id="flops-set"
        value=${listed ? "list" : value}
        onChange=${(e) => set(e.target.value === "list" ? "Ah Kd 2c" : e.target.value)}
      >
        ${SUBSETS.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
        <option value="list">a list of my own</option>
      </select><//
    >
    ${
      listed
        ? html`<${Field}
            id="flops"
            label="One flop in each line, with or without a weight"
            error=${error}
          >
            <textarea
              id="flops"
              rows="6"
              spellcheck="false"
              value=${value}
              aria-invalid=${error ? "true" : undefined}
              aria-describedby=${error ? "flops-error" : undefined}
              onInput=${(e) => set(e.target.value)}
            ></textarea>
          <//>`
        : html`<p class="hint">
            The subsets have weights, so that their means are close to those over all flops. Each
            flop is solved with the same ranges, chips and sizes; rows appear as they are solved.
          </p>`
    }`;
}

function Upload() {
  const error = useSignal(null),
    busy = useSignal(false),
    path = useSignal("");
  const open = async (event) => {
    event.preventDefault();
    busy.value = true;
    try {
      go(`/solve/${(await api("/solutions/open", { path: path.value })).id}`);
    } catch (e) {
      error.value = e;
    } finally {
      busy.value = false;
    }
  };
  const send = async (event) => {
    const file = event.target.files[0];
    event.target.value = "";
    if (!file) return;
    busy.value = true;
    try {
      const name =
        file.name
          .replace(/\.safetensors$/, "")
          .replace(/[^\w .,()+-]/g, " ")
          .slice(0, 80) || "Uploaded solution";
      const job = await api(`/solutions?name=${encodeURIComponent(name)}`, file);
      go(`/solve/${job.id}`);
    } catch (e) {
      error.value = e;
    } finally {
      busy.value = false;
    }
  };
  return html`<div class="upload">
    <label class="button" for="upload">${busy.value ? "Reading" : "Load a saved solution"}</label>
    <input id="upload" class="visually-hidden" type="file" accept=".safetensors" onChange=${send} />
    <form class="open-path" onSubmit=${open} novalidate>
      <label for="path">or open a file of any size by its path</label
      ><input
        id="path"
        spellcheck="false"
        placeholder="/home/me/flop.safetensors"
        ...${typed(path)}
      /><button disabled=${busy.value || !path.value.trim()}>Open</button>
    </form>
    <${Problem} error=${error.value} />
  </div>`;
}

// A set-up of another solver: a file, or its text. What the page cannot hold is said.
function Import() {
  const text = useSignal(""),
    error = useSignal(null),
    left = useSignal(null);
  const take = async (set_up) => {
    error.value = null;
    left.value = null;
    try {
      const { program, spot, left_out } = await api("/spots/import", { text: set_up });
      left.value = { program, left_out };
      go(setUp({ task: { spot } }), { replace: true });
    } catch (failed) {
      error.value = failed;
    }
  };
  return html`<details class="more">
    <summary>Import a set-up of PioSOLVER, TexasSolver or wasm-postflop</summary>
    <${FileOrText}
      id="import"
      label="or its text: a script, tree settings, commands, or JSON"
      text=${text}
      rows="4"
      error=${error.value?.fields?.text}
      onFile=${() => take(text.value)}
    />
    <${Problem} error=${error.value?.fields?.text ? null : error.value} />
    <button type="button" disabled=${!text.value.trim()} onClick=${() => take(text.value)}>
      Take it over
    </button>
    ${left.value ? html`<p role="status">The set-up of ${left.value.program} is in the fields below. ${left.value.left_out.join(" ")}</p>` : null}
  </details>`;
}
