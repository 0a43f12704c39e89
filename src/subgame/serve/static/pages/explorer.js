// A solution: its strategy at every decision of every street, the next cards, another solution, locks.
import {
  html,
  api,
  asked,
  jobs,
  route,
  withQuery,
  go,
  number,
  percent,
  whole,
  Field,
  Problem,
  Wait,
  typed,
  Tabs,
} from "../lib/core.js";
import { useEffect, useMemo } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { Grid, colours, css, ramp, inkOn } from "../lib/grid.js";
import { Curve } from "../lib/curve.js";
import { Card, Cards, Deck, SIGN, classOf, handsOf } from "../lib/cards.js";

import { Blockers } from "./blockers.js";
import { Drill } from "./drill.js";
import { Makeup, filtered } from "./makeup.js";

export const SEATS = ["OOP", "IP"];
const VIEWS = [
  ["strategy", "Strategy"],
  ["ev", "EV"],
  ["equity", "Equity"],
  ["eqr", "EQR"],
  ["reach", "Reach"],
];
const BARS = [
  ["", "by reach, the highest is full"],
  ["absolute", "by reach, absolute"],
  ["full", "all full"],
];
const HELD = [120, 134, 143]; // a range without a strategy: the player who waits
const ABOUT = {
  ev: "Chips of the pot here that a hand wins on average, less what it still puts in. Folding is 0.",
  equity: "Share of the pot without further betting, against the range that the opponent has here.",
  eqr: "EV divided by the equity's share of the pot: above 100% a hand wins more than its share.",
  reach: "How much of a class is left in the range here.",
};

// Places of solutions -------------------------------------------------------------------------
const seen = new Map();

// The place after a line: first the strategy, then the same with EV and equity.
function place(id, line, stamp) {
  const key = `${id}|${line}|${stamp}`;
  if (seen.has(key)) return seen.get(key);
  const out = signal({ state: "waiting" });
  const at = `/jobs/${id}/decision?line=${encodeURIComponent(line)}`;
  const show = (value) => {
    out.value = { state: "ready", value };
  };
  api(at)
    .then(async (plain) => {
      show(plain);
      if (plain.kind === "decision") show(await api(`${at}&values=true`));
    })
    .catch((error) => {
      out.value = { ...out.value, state: "failed", error };
      seen.delete(key);
    });
  seen.set(key, out);
  if (seen.size > 60) seen.delete(seen.keys().next().value);
  return out;
}

// What is known of a place; until a new one is there, the last one.
function usePlace(id, line, stamp) {
  const kept = useSignal(null);
  const answer = useMemo(
    () => (id ? place(id, line, stamp) : signal({ state: "none" })),
    [id, line, stamp],
  );
  useEffect(() => {
    if (answer.value.value) kept.value = answer.value.value;
  }, [answer.value]);
  return [answer.value.value || kept.value, answer.value];
}

// Everything of a decision by class of hands, or by hand where `name` is the hand itself.
function classes(decision, values = decision.values, name = classOf) {
  const out = {};
  decision.hands.forEach((hand, k) => {
    const cell = (out[name(hand)] ||= {
      hands: [],
      reach: 0,
      chance: 0,
      mix: decision.actions.map(() => 0),
      ev: 0,
      equity: 0,
      known: 0,
    });
    cell.hands.push(k);
    cell.reach += decision.reach[k];
    cell.chance += decision.chance[k];
    decision.probs?.[k].forEach((p, a) => {
      cell.mix[a] += p * decision.chance[k];
    });
    const [ev, equity] = [values?.hand_ev[k] ?? null, values?.hand_equity[k] ?? null];
    if (ev !== null && equity !== null) {
      cell.ev += decision.chance[k] * ev;
      cell.equity += decision.chance[k] * equity;
      cell.known += decision.chance[k];
    }
  });
  for (const cell of Object.values(out)) {
    cell.reach /= cell.hands.length;
    if (cell.chance > 0) cell.mix = cell.mix.map((p) => p / cell.chance);
    if (cell.known > 0) {
      cell.ev /= cell.known;
      cell.equity /= cell.known;
    } else {
      cell.ev = cell.equity = null;
    }
  }
  return out;
}

// What the grid draws. `bars`: null is reach over the highest reach, "absolute" reach, "full" all high.
// `single`: every hand of a class is drawn for itself.
function cellsOf(decision, view, bars, single) {
  const cells = classes(decision);
  if (!single) return drawn(cells, decision, view, bars);
  const one = drawn(
      classes(decision, decision.values, (hand) => hand),
      decision,
      view,
      bars,
    ),
    known = {};
  for (const [hand, cell] of Object.entries(one))
    known[[hand.slice(0, 2), hand.slice(2)].sort().join("")] = cell;
  return Object.fromEntries(
    Object.keys(cells).map((name) => [
      name,
      {
        hands: handsOf(name).map(
          (hand) => known[[hand.slice(0, 2), hand.slice(2)].sort().join("")] || null,
        ),
        text: "",
      },
    ]),
  );
}

function drawn(cells, decision, view, bars) {
  const shades = colours(decision.actions),
    out = {};
  const most = Math.max(...Object.values(cells).map((cell) => cell.reach), 1e-9);
  const evs = Object.values(cells)
    .map((cell) => cell.ev)
    .filter((ev) => ev !== null);
  const top = Math.max(...evs, 1e-9);
  for (const [name, cell] of Object.entries(cells)) {
    const height = bars === "full" ? 1 : cell.reach / (bars === "absolute" ? 1 : most);
    const eqr = cell.equity > 0.02 ? cell.ev / (decision.pot * cell.equity) : null;
    const shade = {
      ev: cell.ev === null ? null : [cell.ev / top, number(cell.ev, top < 10 ? 1 : 0)],
      equity: cell.equity === null ? null : [cell.equity, percent(cell.equity, 0)],
      eqr: eqr === null || cell.ev === null ? null : [eqr / 2, percent(eqr, 0)],
      reach: [cell.reach / most, percent(cell.reach, 0)],
    }[view];
    if (view === "strategy") {
      const parts = decision.probs
        ? cell.mix.map((share, a) => [shades[a], share]).reverse()
        : [[HELD, 1]];
      out[name] = { parts, height: cell.chance > 0 ? height : 0, text: "" };
    } else if (shade) out[name] = { parts: [[ramp(shade[0]), 1]], height, text: shade[1] };
  }
  return out;
}

// The page ------------------------------------------------------------------------------------
export function Explorer({ job }) {
  const query = route.value.query;
  const line = query.get("line") || "";
  const others = Object.values(jobs.value)
    .filter((other) => other.id !== job.id && other.result?.spot)
    .sort((a, b) => b.made - a.made);
  const against =
    query.get("against") ?? (job.of && jobs.value[job.of]?.result?.spot ? job.of : "");
  const [here, asking] = usePlace(job.id, line, `${job.state}${job.result.iterations}`);
  const [old, asking_old] = usePlace(against || null, line, "");
  if (!here)
    return asking.state === "failed"
      ? html`<${Problem} error=${asking.error} />`
      : html`<${Wait}>Reading the solution<//>`;
  const shades = here.kind === "decision" ? colours(here.actions) : [];
  return html`<div class="explorer">
    <${ActionBar} here=${here} shades=${shades} />
    ${asking.state === "failed" ? html`<${Problem} error=${asking.error} />` : null}
    ${
      here.kind === "card"
        ? html`<${NextCard} job=${job} here=${here} key=${here.line} />`
        : html`<${Decision}
            job=${job}
            here=${here}
            shades=${shades}
            against=${against}
            old=${old?.kind === "decision" ? old : null}
          />`
    }
    ${against && asking_old.state === "failed" ? html`<p class="hint">The other solution has no such decision. ${asking_old.error.message}</p>` : null}
    ${
      others.length
        ? html`<div class="tabs">
            <label for="against">Compare with</label
            ><select
              id="against"
              value=${against}
              onChange=${(e) => go(withQuery({ against: e.target.value }), { replace: true })}
            >
              <option value="">nothing</option>
              ${others.map((other) => html`<option key=${other.id} value=${other.id}>${other.name}</option>`)}
            </select>
          </div>`
        : null
    }
    ${here.kind === "decision" ? html`<${Drill} key=${`drill ${here.line}`} here=${here} seat=${SEATS[here.player]} />` : null}
    ${here.kind === "decision" ? html`<${LockBox} job=${job} here=${here} />` : null}
  </div>`;
}

function ActionBar({ here, shades }) {
  const at = (line) => withQuery({ line: line || null, report: null });
  return html`<nav class="action-bar" aria-label="Line of play">
    ${here.path.map((step) => html`<a key=${step.line} class="step" href=${at(step.line)}>${step.card ? html`<small>${step.street}</small><${Card} card=${step.card} small />` : html`<small>${SEATS[step.player]}</small>${step.name}`}</a>`)}
    ${
      here.kind === "card"
        ? html`<div class="step here">
            <small>${here.street} · pot ${whole(here.pot)}</small
            >${route.value.query.get("report") ? "choose a card below" : html`<${CardLinks} here=${here} />`}
          </div>`
        : html`<div class="step here">
            <small>${SEATS[here.player]} to act · pot ${whole(here.pot)}</small>
            <span class="options"
              >${here.actions.map((action, k) => {
                const inside = html`<i style=${{ background: css(shades[k]) }}></i
                  ><b>${action.name}</b
                  ><span class="num">${percent(action.frequency)}</span
                  >${action.ev === undefined || action.ev === null ? null : html`<em class="num">EV ${number(action.ev, 1)}</em>`}`;
                return action.next === "decision" || action.next === "card"
                  ? html`<a key=${action.id} class="option" href=${at(action.line)}
                      >${inside}${action.next === "card" ? html`<em>next card</em>` : null}</a
                    >`
                  : html`<span key=${action.id} class="option end"
                      >${inside}<em>${action.next}</em></span
                    >`;
              })}</span
            >
          </div>`
    }
  </nav>`;
}

// The cards that can come; with a report each has the colour of its number.
function CardLinks({ here, rows, measure }) {
  const free = new Set(here.cards),
    values =
      rows && measure ? Object.fromEntries(rows.map((row) => [row.card, measure.of(row)])) : {};
  const known = Object.values(values).filter((value) => value !== null && value !== undefined);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const first = [..."shdc"]
    .flatMap((suit) => [...here.ranks].map((rank) => rank + suit))
    .find((card) => free.has(card));
  return html`<${Deck}
    label="Next card"
    ranks=${here.ranks}
    draw=${(card, more) => {
      if (!free.has(card))
        return html`<span key=${card} class="pick gone" aria-hidden="true"></span>`;
      const value = values[card],
        shade =
          value === undefined || value === null
            ? null
            : ramp(high > low ? (value - low) / (high - low) : 0.5);
      const label = shade
        ? more["aria-label"].replace(",", ` ${measure.text(value)},`)
        : more["aria-label"];
      return html`<a
        ...${more}
        aria-label=${label}
        class="pick ${shade ? "shaded" : card[1]}"
        tabindex=${card === first ? 0 : -1}
        href=${withQuery({ line: `${here.line} / ${card}`, report: null })}
        style=${shade ? { background: css(shade), color: inkOn(shade) } : undefined}
        >${card[0]}${SIGN[card[1]]}${shade ? html` <small>${measure.text(value)}</small>` : null}</a
      >`;
    }}
  />`;
}

// Decimals with which numbers can be told apart: three digits of the widest difference.
function digitsFor(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const span = Math.max(...known) - Math.min(...known);
  return span > 0 ? Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(span)))) : 1;
}

// Every next card, by EV, equity or what is played.
function NextCard({ job, here }) {
  const chosen = route.value.query.get("report");
  const answer = useMemo(
    () =>
      chosen
        ? asked(api(`/jobs/${job.id}/runouts?line=${encodeURIComponent(here.line)}`))
        : signal({ state: "none" }),
    [job.id, job.state, here.line, !!chosen],
  ).value;
  const rows = answer.value;
  const measures = [
    ...SEATS.flatMap((seat) =>
      [
        ["ev", "EV"],
        ["equity", "equity"],
      ].map(([key, name]) => {
        const of = (row) => row[`${key}_${seat.toLowerCase()}`],
          digits = key === "ev" ? digitsFor((rows || []).map(of)) : 0;
        return {
          id: `${key}_${seat.toLowerCase()}`,
          name: `${seat} ${name}`,
          of,
          text: (v) => (key === "ev" ? number(v, digits) : percent(v, 0)),
        };
      }),
    ),
    ...(rows ? [...new Set(rows.flatMap((row) => Object.keys(row.often)))] : []).map((name) => ({
      id: name,
      name,
      of: (row) => row.often[name] ?? 0,
      text: (v) => percent(v, 0),
    })),
  ];
  const measure = measures.find((one) => one.id === chosen) || measures[0];
  const show = (id) => go(withQuery({ report: id }), { replace: true });
  if (!chosen)
    return html`<p class="hint">
      Choose a card above, or${" "}
      <button type="button" class="ghost" onClick=${() => show("ev_oop")}>see all of them</button>
    </p>`;
  if (answer.state === "failed") return html`<${Problem} error=${answer.error} />`;
  if (!rows) return html`<${Wait}>Computing every next card<//>`;
  const sorted = [...rows].sort((a, b) => (measure.of(b) ?? -1) - (measure.of(a) ?? -1));
  return html`<section class="report">
    <h2>Every ${here.street}</h2>
    <${Tabs}
      label="What the cards show"
      options=${measures.map(({ id, name }) => [id, name])}
      value=${measure.id}
      onPick=${show}
    />
    <div class="report-body">
      <div class="shaded-deck">
        <${CardLinks} here=${here} rows=${rows} measure=${measure} />
        <p class="hint">Orange is high, blue is low.</p>
      </div>
      <div class="scroll" tabindex="0" role="region" aria-label="Next cards">
        <table>
          <thead>
            <tr>
              <th>card</th>
              <th class="num">chance</th>
              ${measures.map((column) => html`<th key=${column.id} class="num">${column.name}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${sorted.map(
              (row) =>
                html`<tr key=${row.card}>
                  <td>
                    <a href=${withQuery({ line: `${here.line} / ${row.card}`, report: null })}
                      ><${Card} card=${row.card} small
                    /></a>
                  </td>
                  <td class="num">${percent(row.chance)}</td>
                  ${measures.map((column) => html`<td key=${column.id} class="num">${column.text === undefined ? "" : column.of(row) === null ? "–" : column.text(column.of(row))}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </div>
  </section>`;
}

function Decision({ job, here: whole_range, shades, against, old }) {
  const query = route.value.query;
  const here = useMemo(
    () => filtered(whole_range),
    [whole_range, query.get("made"), query.get("draws")],
  );
  const view = query.get("view") || "strategy",
    picked = query.get("hand"),
    bars = query.get("bars"),
    single = query.get("suits") === "single";
  const both = query.get("both") === "1" && !old;
  const byClass = useMemo(() => classes(here), [here]);
  const cells = useMemo(() => cellsOf(here, view, bars, single), [here, view, bars, single]);
  const oldCells = useMemo(
    () => (old ? cellsOf(old, view, bars, single) : null),
    [old, view, bars, single],
  );
  const waiting = useMemo(() => {
    const other = both && here.values?.opponent;
    return other
      ? cellsOf({ ...other, actions: [], pot: here.pot, values: other }, view, bars, single)
      : null;
  }, [here, view, bars, single, both]);
  const set = (changes) => go(withQuery(changes), { replace: true });
  const pick = (name, kind) => {
    if (kind !== "paint") go(withQuery({ hand: name }), { replace: true });
  };
  const about = (name) => {
    const cell = byClass[name];
    return !name
      ? ""
      : !cell
        ? `${name} is not in the range`
        : `${name}: ${here.actions.map((a, k) => `${a.name} ${percent(cell.mix[k], 0)}`).join(", ")}`;
  };
  const values = here.values,
    other = jobs.value[against];
  return html`<p class="facts here-facts">
      ${here.line ? html`<span>this line is played <b>${percent(here.frequency)}</b></span>` : null}
      ${values ? SEATS.map((seat, p) => html`<span key=${seat}>${seat} EV <b>${number(values.ev[p], 2)}</b>, equity <b>${percent(values.equity[p])}</b>, EQR <b>${values.equity[p] > 0.001 ? percent(values.ev[p] / (values.equity[p] * here.pot), 0) : "–"}</b></span>`) : html`<span>computing EV and equity …</span>`}
    </p>
    <${Tabs}
      label="What the grid shows"
      options=${VIEWS}
      value=${view}
      onPick=${(key) => go(withQuery({ view: key === "strategy" ? null : key }), { replace: true })}
    >
      <span class="choices"
        ><label for="bars">Bars</label
        ><select id="bars" value=${bars || ""} onChange=${(e) => set({ bars: e.target.value })}>
          ${BARS.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
        </select>
        <label for="suits">Suits</label
        ><select
          id="suits"
          value=${single ? "single" : ""}
          onChange=${(e) => set({ suits: e.target.value })}
        >
          <option value="">grouped</option>
          <option value="single">single</option>
        </select>
        ${old ? null : html`<label class="check"><input id="both" type="checkbox" checked=${both} onChange=${(e) => set({ both: e.target.checked ? "1" : null })} /> both players</label>`}</span
      >
    <//>
    <div class="explore-body ${oldCells ? "pair" : waiting ? "two" : ""}">
      ${
        oldCells
          ? html`<div>
              <h2 class="third compared">${other?.name || "The other"}</h2>
              <${Grid}
                cells=${oldCells}
                selected=${picked}
                onPick=${pick}
                label=${`The other solution: ${view}`}
                ranks=${here.ranks}
              />
            </div>`
          : null
      }
      <div>
        ${oldCells || waiting ? html`<h2 class="third compared">${waiting ? `${SEATS[here.player]}, to act` : job.name}</h2>` : null}
        <${Grid}
          cells=${cells}
          selected=${picked}
          onPick=${pick}
          label=${`${SEATS[here.player]} by class of hands: ${view}`}
          summary=${about}
          ranks=${here.ranks}
        />
        <${Scale} view=${view} here=${here} cells=${byClass} />
        ${ABOUT[view] || single ? html`<p class="hint">${ABOUT[view]} ${single ? "Each hand of a class has a field of its own: from the left and the top ♠ ♥ ♦ ♣, first of the higher card." : ""}</p>` : null}
      </div>
      ${
        waiting
          ? html`<div>
              <h2 class="third compared">
                ${SEATS[1 - here.player]}, ${view === "strategy" ? "the range here" : "waits"}
              </h2>
              <${Grid}
                cells=${waiting}
                selected=${picked}
                onPick=${pick}
                label=${`${SEATS[1 - here.player]} by class of hands: ${view}`}
                ranks=${here.ranks}
              />
            </div>`
          : null
      }
      ${oldCells ? html`<${Difference} job=${job} against=${against} here=${here} picked=${picked} pick=${pick} />` : null}
      <${Combos} here=${here} cells=${byClass} picked=${picked} shades=${shades} />
    </div>
    <${Makeup} here=${whole_range} shades=${shades} />
    <${Blockers} here=${whole_range} opponent=${SEATS[1 - whole_range.player]} />
    <${Spread} here=${here} />`;
}

// What the colours of the grid stand for.
function Scale({ view, here, cells }) {
  if (view === "strategy" || (view !== "reach" && !here.values)) return null;
  const evs = Object.values(cells).map((cell) => cell.ev ?? 0),
    most = Math.max(...Object.values(cells).map((cell) => cell.reach), 1e-9);
  const high = {
    ev: number(Math.max(...evs, 1e-9), 1),
    equity: "100%",
    eqr: "200%",
    reach: percent(most, 0),
  }[view];
  const stops = [0, 0.25, 0.5, 0.75, 1].map((part) => css(ramp(part))).join(", ");
  return html`<p class="scale" role="img" aria-label="Blue is 0, orange is ${high}">
    <span class="num">${view === "ev" ? "0 and less" : "0%"}</span
    ><i style=${{ background: `linear-gradient(to right, ${stops})` }}></i
    ><span class="num">${high}</span>
  </p>`;
}

// Equity or EV of both ranges here, from their weakest hands to their best.
function Spread({ here }) {
  const kind = route.value.query.get("spread");
  const spread = here.values?.spread,
    ready = kind && spread?.every((part) => part[kind]?.length);
  const xs = useMemo(
    () =>
      ready
        ? spread[0][kind].map((_, k, all) => Number(((100 * (k + 0.5)) / all.length).toFixed(1)))
        : [],
    [here, kind],
  );
  const series = useMemo(
    () =>
      ready
        ? SEATS.map((seat, p) => ({
            label: seat,
            values: spread[p][kind].map((value) => (kind === "equity" ? 100 * value : value)),
            dash: p ? [6, 4] : undefined,
          }))
        : [],
    [here, kind],
  );
  const show = (next) => go(withQuery({ spread: next }), { replace: true });
  return html`<details
    class="box run"
    open=${!!kind}
    onToggle=${(e) => {
      if (e.target.open !== !!kind) show(e.target.open ? "equity" : null);
    }}
  >
    <summary>How equity and EV are spread over both ranges</summary>
    ${
      kind
        ? html`<${Tabs}
              label="What the curve shows"
              options=${[
                ["equity", "Equity, %"],
                ["ev", "EV, chips"],
              ]}
              value=${kind}
              onPick=${show}
            />
            ${ready ? html`<${Curve} xs=${xs} series=${series} x="% of the range" logX=${false} logY=${false} label=${`${kind} of both players' hands, from the weakest to the best`} />` : html`<p class="hint">Not known here.</p>`}
            <p class="hint">
              From the weakest hands of each range on the left to its best on the right, in percent
              of the range.
            </p>`
        : null
    }
  </details>`;
}

// How this solution differs from another one, by class of hands.
function Difference({ job, against, here, picked, pick }) {
  const both = useMemo(
    () =>
      asked(api(`/jobs/${against}/compare?other=${job.id}&line=${encodeURIComponent(here.line)}`)),
    [against, job.id, here.line, job.state],
  ).value;
  const wanted = route.value.query.get("diff"),
    compared = both.value;
  const shown = compared
    ? ["ev", ...compared.actions].includes(wanted)
      ? wanted
      : compared.actions.at(-1)
    : "";
  const cells = useMemo(() => {
    if (!compared) return {};
    const rows = compared.classes.filter((row) => row[`${shown} diff`] !== null);
    const top = shown === "ev" ? Math.max(...rows.map((row) => Math.abs(row["ev diff"])), 1e-6) : 1;
    const text = (value) =>
      shown === "ev" ? number(value, top < 10 ? 1 : 0) : number(100 * value, 0);
    return Object.fromEntries(
      rows.map((row) => [
        row.class,
        {
          parts: [[ramp(0.5 + row[`${shown} diff`] / top / 2), 1]],
          height: 1,
          text: text(row[`${shown} diff`]),
        },
      ]),
    );
  }, [compared, shown]);
  if (both.state === "failed")
    return html`<div>
      <h2 class="third">Difference</h2>
      <${Problem} error=${both.error} />
    </div>`;
  if (!compared)
    return html`<div>
      <h2 class="third">Difference</h2>
      <${Wait}>Comparing<//>
    </div>`;
  return html`<div>
    <h2 class="third compared">
      <label for="diff">Difference in</label>${" "}
      <select
        id="diff"
        class="inline"
        value=${shown}
        onChange=${(e) => go(withQuery({ diff: e.target.value }), { replace: true })}
      >
        ${[...compared.actions, "ev"].map((name) => html`<option key=${name} value=${name}>${name === "ev" ? "EV" : name}</option>`)}
      </select>
    </h2>
    <${Grid}
      cells=${cells}
      selected=${picked}
      onPick=${pick}
      label=${`Difference in ${shown}, by class of hands`}
      ranks=${here.ranks}
    />
    <p class="hint">
      ${shown === "ev" ? "In chips" : "In percentage points"}: orange is more in this solution, blue
      is less.
    </p>
    <table class="plain">
      <tbody>
        ${compared.summary.map(
          (row) =>
            html`<tr key=${row.player}>
              <td>${row.player.toUpperCase()} EV</td>
              <td class="num">${number(row["ev one"], 2)} → ${number(row["ev two"], 2)}</td>
              <td class="num">
                ${row.lost === undefined ? "" : `${number(row["ev two"] - row.lost, 2)} if ${row.player.toUpperCase()} alone plays as in ${jobs.value[against]?.name || "the other"}`}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

const MOST_HANDS = 200; // rows of the table of hands

function Combos({ here, cells, picked, shades }) {
  const one = picked && cells[picked],
    values = here.values,
    byAction = one && values && here.actions.length <= 6;
  const sorts = {
    reach: ["reach", (k) => here.reach[k]],
    ...(values ? { ev: ["EV", (k) => values.hand_ev[k] ?? -Infinity] } : {}),
    ...(values ? { equity: ["equity", (k) => values.hand_equity[k] ?? -Infinity] } : {}),
    ...Object.fromEntries(here.actions.map((a, j) => [a.id, [a.name, (k) => here.probs[k][j]]])),
  };
  const wanted = route.value.query.get("sort"),
    sort = wanted in sorts ? wanted : values ? "ev" : "reach",
    by = sorts[sort][1];
  const all = one ? cells[picked].hands : here.hands.map((_, k) => k);
  const chosen = [...all]
    .sort((a, b) => by(b) - by(a) || here.chance[b] - here.chance[a])
    .slice(0, MOST_HANDS);
  return html`<div class="combos">
    <div class="range-head">
      <h2 class="third">
        ${one ? picked : picked ? `${picked} is not in the range` : `${whole(all.length)} hands`}
      </h2>
      <label class="choices" for="sort"
        >most${" "}
        <select
          id="sort"
          class="inline"
          value=${sort}
          onChange=${(e) => go(withQuery({ sort: e.target.value }), { replace: true })}
        >
          ${Object.entries(sorts).map(([key, [name]]) => html`<option key=${key} value=${key}>${name}</option>`)}
        </select>
        first</label
      >
    </div>
    <div class="scroll" tabindex="0" role="region" aria-label="Hands">
      <table>
        <thead>
          <tr>
            <th>hand</th>
            <th>strategy</th>
            <th class="num">reach</th>
            <th class="num">EV</th>
            <th class="num">equity</th>
            ${byAction ? here.actions.map((action) => html`<th class="num" key=${action.id}>EV ${action.name}</th>`) : null}
          </tr>
        </thead>
        <tbody>
          ${chosen.map(
            (k) =>
              html`<tr key=${here.hands[k]}>
                <td><${Cards} text=${here.hands[k]} small /></td>
                <td class="mix-cell">
                  <span
                    class="mix"
                    role="img"
                    aria-label=${here.actions.map((a, j) => `${a.name} ${percent(here.probs[k][j], 0)}`).join(", ")}
                    >${here.actions.map((a, j) => (here.probs[k][j] > 0.004 ? html`<i key=${a.id} style=${{ width: `${100 * here.probs[k][j]}%`, background: css(shades[j]) }} title="${a.name} ${percent(here.probs[k][j])}"></i>` : null)).reverse()}</span
                  >
                </td>
                <td class="num">${percent(here.reach[k], 0)}</td>
                <td class="num">${number(values?.hand_ev[k], 1)}</td>
                <td class="num">${percent(values?.hand_equity[k], 0)}</td>
                ${byAction ? here.actions.map((action, j) => html`<td class="num" key=${action.id}>${number(values.action_ev[k][j], 1)}</td>`) : null}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </div>`;
}

// Locks: fixed frequencies of some hands, and the spot solved again around them. Once opened the box
// stays open, also if the page is drawn anew.
const locking = signal(false);
function LockBox({ job, here }) {
  const picked = route.value.query.get("hand") || "";
  const text = useSignal((job.result.locks || []).join("\n")),
    limit = useSignal("30"),
    hands = useSignal(picked),
    every = useSignal(false),
    shares = useSignal({}),
    wrong = useSignal({});
  useEffect(() => {
    hands.value = picked;
  }, [picked]);
  useEffect(() => {
    shares.value = {};
  }, [here.line]);
  const cards = here.path.some((step) => step.card);
  const add = async () => {
    const sum = here.actions.reduce((all, action) => all + Number(shares.value[action.id] || 0), 0);
    if (!hands.value.trim()) {
      wrong.value = { hands: "Name the hands: a class such as AKs, or a range." };
      return;
    }
    if (!(Math.abs(sum - 100) < 0.01)) {
      wrong.value = { shares: `The shares must add up to 100%, not to ${number(sum, 0)}%.` };
      return;
    }
    try {
      await api("/ranges/parse", { text: hands.value.trim() });
    } catch (failed) {
      wrong.value = { hands: failed.fields?.text || failed.message };
      return;
    }
    const line = every.value ? here.line.replace(/\/ \w\w/g, "/ *") : here.line;
    const mix = here.actions
      .filter((action) => Number(shares.value[action.id] || 0) > 0)
      .map((action) => `${action.name} ${Number(shares.value[action.id])}%`);
    text.value =
      `${text.value.trim()}\n${line || "start"}: ${hands.value.trim()} = ${mix.join(", ")}`.trim();
    wrong.value = {};
  };
  const start = async (event) => {
    event.preventDefault();
    if (!(Number(limit.value) > 0)) {
      wrong.value = { seconds: "The time must be a number above 0." };
      return;
    }
    try {
      const made = await api("/locks", {
        of: job.id,
        locks: text.value
          .split("\n")
          .map((word) => word.trim())
          .filter(Boolean),
        stop: { target: 0.3, seconds: Number(limit.value) },
      });
      go(`/solve/${made.id}?line=${encodeURIComponent(here.line)}`);
    } catch (failed) {
      wrong.value = Object.keys(failed.fields || {}).length
        ? failed.fields
        : { locks: failed.message };
    }
  };
  return html`<details
    class="box locks"
    open=${locking.value}
    onToggle=${(e) => {
      locking.value = e.target.open;
    }}
  >
    <summary>Lock hands here and solve again</summary>
    <form onSubmit=${start} novalidate>
      <div class="row-form">
        <${Field} id="lock-hands" label="Hands of ${SEATS[here.player]}" error=${wrong.value.hands}
          ><input id="lock-hands" ...${typed(hands)} placeholder="AKs, QQ+"
        /><//>
        ${here.actions.map(
          (action) =>
            html`<${Field} key=${action.id} id="share-${action.id}" label="${action.name}, %"
              ><input
                id="share-${action.id}"
                class="short"
                inputmode="decimal"
                value=${shares.value[action.id] ?? ""}
                placeholder="0"
                onInput=${(e) => {
                  shares.value = { ...shares.value, [action.id]: e.target.value };
                }}
            /><//>`,
        )}
        <button type="button" onClick=${add}>Add the lock</button>
      </div>
      ${
        cards
          ? html`<label class="check"
              ><input
                type="checkbox"
                checked=${every.value}
                onChange=${(e) => {
                  every.value = e.target.checked;
                }}
              />${" "} on every card, not only this one</label
            >`
          : null
      }
      ${wrong.value.shares ? html`<p class="error" role="alert">${wrong.value.shares}</p>` : null}
      <${Field}
        id="locks"
        label="Locks, one on each line"
        error=${wrong.value.locks}
        hint="LINE: HANDS = ACTION SHARE, … Every solve keeps to them; the other hands are solved around them."
      >
        <textarea id="locks" rows="3" spellcheck="false" ...${typed(text)}></textarea>
      <//>
      <div class="row-form">
        <${Field} id="lock-seconds" label="Seconds" error=${wrong.value.seconds}
          ><input id="lock-seconds" class="short" inputmode="decimal" ...${typed(limit)} /><//
        ><button class="primary">Solve with these locks</button>
      </div>
    </form>
  </details>`;
}
