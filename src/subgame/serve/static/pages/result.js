// One job of hold'em: its run, the strategy at every decision, refinements.
import { html, api, asked, jobs, loadJob, route, withQuery, go, number, percent, whole, seconds, bytes, Badge, Field, Problem, Wait } from "../lib/core.js";
import { useEffect, useMemo } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { Grid, colours, css, ramp } from "../lib/grid.js";
import { Cards, classOf, cards } from "../lib/cards.js";
import { Curve } from "../lib/curve.js";

const SEATS = ["OOP", "IP"];
const VIEWS = [["strategy", "Strategy"], ["ev", "EV"], ["equity", "Equity"], ["eqr", "EQR"], ["reach", "Reach"]];

export function Result({ id }) {
  const problem = useSignal(null);
  const job = jobs.value[id];
  useEffect(() => { loadJob(id).catch((error) => { problem.value = error; }); }, [id]);
  if (problem.value && !job) return html`<section class="page"><h1>Solution</h1><${Problem} error=${problem.value} /><p><a href="/solve">Set up a spot</a></p></section>`;
  if (!job) return html`<section class="page"><${Wait}>Loading the job<//></section>`;
  const spot = job.result?.spot;
  return html`<section class="page result">
    <p class="crumb"><a href="/solve">Solve</a>${job.of && jobs.value[job.of] ? html` › <a href="/solve/${job.of}">${jobs.value[job.of].name}</a>` : null}</p>
    <div class="result-head"><h1><${Title} job=${job} /></h1><${Badge} state=${job.state} /><${Controls} job=${job} problem=${problem} /></div>
    <${Problem} error=${problem.value} />
    ${job.error ? html`<p class="problem" role="alert">${job.error}</p>` : null}
    ${spot ? html`<p class="facts">${plainBoard(job.name) ? null : html`<span><${Cards} text=${spot.board} small /></span>`}<span>pot ${whole(spot.pot)}</span><span>stacks ${spot.stacks.split("/").map(whole).join(" and ")}</span><span class="soft">${spot.bets}</span></p>` : null}
    ${job.result ? html`<${Figures} job=${job} />` : null}
    <${Run} job=${job} />
    ${job.result?.spot ? html`<${Explorer} job=${job} />` : null}
    ${job.result?.technique ? html`<${Margins} job=${job} />` : null}
    ${job.result?.spot ? html`<${RefineBox} job=${job} />` : null}
  </section>`;
}

// Whether a name is nothing but cards.
const plainBoard = (name) => cards(name).join("").length === name.replace(/\s/g, "").length;

function Title({ job }) {
  return plainBoard(job.name) ? html`<${Cards} text=${job.name} />` : html`<span>${job.name}</span>`;
}

function Controls({ job, problem }) {
  const act = (verb) => api(`/jobs/${job.id}/${verb}`, {}).then(() => { problem.value = null; }, (error) => { problem.value = error; });
  const rename = async () => {
    const name = prompt("Name of this solution", job.name);
    if (name) await api(`/jobs/${job.id}`, { name }, "PATCH").catch((error) => { problem.value = error; });
  };
  const running = job.state === "running";
  return html`<div class="controls">
    ${running && job.kind === "endgame" ? html`<button type="button" onClick=${() => act("pause")}>Pause</button>` : null}
    ${job.state === "paused" ? html`<button type="button" onClick=${() => act("resume")}>Resume</button>` : null}
    ${running || job.state === "paused" ? html`<button type="button" onClick=${() => act("stop")}>Stop</button>` : null}
    ${running || job.state === "queued" ? html`<button type="button" onClick=${() => act("cancel")}>Cancel</button>` : null}
    ${job.result?.spot ? html`<a class="button" href="/api/jobs/${job.id}/file" download>Save to a file</a><button type="button" onClick=${rename}>Rename</button><a class="button" href="/play?game=job:${job.id}&opponent=job:${job.id}">Play it</a>` : null}
  </div>`;
}

function Figures({ job }) {
  const found = job.result;
  if (!found.ev) return null;
  return html`<div class="figures">
    <div class="figure"><b>${found.exploitability_percent.toPrecision(2)}%</b><span>of the pot exploitable</span></div>
    ${SEATS.map((seat, p) => html`<div class="figure" key=${seat}><b>${number(found.ev[p], 2)}</b><span>EV ${seat}, equity ${percent(found.equity[p])}</span></div>`)}
    <div class="figure"><b>${whole(found.iterations || 0)}</b><span>iterations${found.seconds ? `, ${seconds(found.seconds)}` : ""}</span></div>
    <div class="figure"><b>${whole(found.nodes)}</b><span>nodes${job.quote ? `, ${bytes(job.quote.memory)}` : ""}</span></div>
  </div>`;
}

function Run({ job }) {
  const curve = job.curve || [];
  const series = useMemo(() => [{ label: "exploitability", values: curve.map((point) => point[2]) }], [curve]);
  const xs = useMemo(() => curve.map((point) => point[0]), [curve]);
  if (!["running", "queued", "paused"].includes(job.state) && curve.length < 2) return null;
  const last = curve.at(-1);
  const open = job.state !== "done";
  return html`<details class="box run" open=${open}><summary>${job.state === "running" ? job.phase || "Running" : job.state === "queued" ? "Waiting for a worker" : "Convergence"}
      ${last ? html`<span class="num"> ${last[2].toPrecision(3)}% of the pot after ${whole(last[0])} iterations</span>` : null}</summary>
    ${job.state === "running" ? html`<progress value=${job.share || 0} max="1" aria-label="Progress"></progress>` : null}
    ${curve.length > 1 ? html`<${Curve} xs=${xs} series=${series} unit="%" label="Exploitability in percent of the pot, by iteration" />` : null}
  </details>`;
}

// Everything of a decision by class of hands.
function classes(decision, values) {
  const out = {};
  decision.hands.forEach((hand, k) => {
    const cell = (out[classOf(hand)] ||= { hands: [], reach: 0, chance: 0, mix: decision.actions.map(() => 0), ev: 0, equity: 0, known: 0 });
    cell.hands.push(k);
    cell.reach += decision.reach[k];
    cell.chance += decision.chance[k];
    decision.probs[k].forEach((p, a) => { cell.mix[a] += p * decision.chance[k]; });
    const row = values?.[decision.player]?.[hand];
    if (row && row[1] !== null && row[2] !== null) { cell.ev += decision.chance[k] * row[1]; cell.equity += decision.chance[k] * row[2]; cell.known += decision.chance[k]; }
  });
  for (const cell of Object.values(out)) {
    cell.reach /= cell.hands.length;
    if (cell.chance > 0) cell.mix = cell.mix.map((p) => p / cell.chance);
    if (cell.known > 0) { cell.ev /= cell.known; cell.equity /= cell.known; } else { cell.ev = cell.equity = null; }
  }
  return out;
}

function cellsOf(found, decision, view, pot, tall) {
  const shades = colours(decision.actions), out = {};
  const most = Math.max(...Object.values(found).map((cell) => cell.reach), 1e-9);
  const evs = Object.values(found).map((cell) => cell.ev).filter((ev) => ev !== null);
  const top = Math.max(...evs, 1e-9);
  for (const [name, cell] of Object.entries(found)) {
    const height = tall ? 1 : cell.reach / most;
    const eqr = cell.equity > 0.02 ? cell.ev / (pot * cell.equity) : null;
    const shade = { ev: cell.ev === null ? null : [cell.ev / top, number(cell.ev, top < 10 ? 1 : 0)], equity: cell.equity === null ? null : [cell.equity, percent(cell.equity, 0)],
      eqr: eqr === null || cell.ev === null ? null : [eqr / 2, percent(eqr, 0)], reach: [cell.reach / most, percent(cell.reach, 0)] }[view];
    if (view === "strategy") {
      const parts = cell.mix.map((share, a) => [shades[a], share]).reverse();
      out[name] = { parts, height: cell.chance > 0 ? height : 0, text: "" };
    } else if (shade) out[name] = { parts: [[ramp(shade[0]), 1]], height, text: shade[1] };
  }
  return out;
}

function useDecision(id, line, stamp) {
  const kept = useSignal(null);
  const found = useMemo(() => id ? asked(api(`/jobs/${id}/decision?line=${encodeURIComponent(line)}`)) : signal({ state: "none" }), [id, line, stamp]);
  if (found.value.state === "ready") kept.value = found.value.value;
  return [kept.value, found.value];
}

function Explorer({ job }) {
  const query = route.value.query;
  const line = query.get("line") || "", view = query.get("view") || "strategy", picked = query.get("hand"), tall = query.get("bars") === "full";
  const [decision, asking] = useDecision(job.id, line, job.state);
  const before = job.of && jobs.value[job.of]?.result?.spot ? job.of : null;
  const [old] = useDecision(before, line, "");
  const values = useMemo(() => asked(api(`/jobs/${job.id}/values`)), [job.id, job.state]).value.value;
  const found = useMemo(() => decision ? classes(decision, values) : {}, [decision, values]);
  const pot = job.result.pot;
  const cells = useMemo(() => decision ? cellsOf(found, decision, view, pot, tall) : {}, [found, decision, view, tall]);
  const oldCells = useMemo(() => old ? cellsOf(classes(old, null), old, "strategy", pot, tall) : null, [old, tall]);
  if (!decision) return asking.state === "failed" ? html`<${Problem} error=${asking.error} />` : html`<${Wait}>Reading the solution<//>`;
  const pick = (name, kind) => { if (kind !== "paint") go(withQuery({ hand: name }), { replace: true }); };
  const shades = colours(decision.actions);
  const about = (name) => { const cell = found[name]; return !name ? "" : !cell ? `${name} is not in the range` : `${name}: ${decision.actions.map((a, k) => `${a.name} ${percent(cell.mix[k], 0)}`).join(", ")}`; };
  return html`<div class="explorer">
    <${ActionBar} decision=${decision} shades=${shades} />
    ${asking.state === "failed" ? html`<${Problem} error=${asking.error} />` : null}
    <div class="tabs" role="group" aria-label="What the grid shows">${VIEWS.map(([key, name]) => html`<button type="button" key=${key} aria-pressed=${view === key} onClick=${() => go(withQuery({ view: key === "strategy" ? null : key }), { replace: true })}>${name}</button>`)}
      <label class="check"><input type="checkbox" checked=${tall} onChange=${(e) => go(withQuery({ bars: e.target.checked ? "full" : null }), { replace: true })} /> full bars</label></div>
    <div class="explore-body ${oldCells ? "pair" : ""}">
      ${oldCells && view === "strategy" ? html`<div><h2 class="third">Before</h2><${Grid} cells=${oldCells} selected=${picked} onPick=${pick} label="Strategy before the refinement" /></div>` : null}
      <div>${oldCells && view === "strategy" ? html`<h2 class="third">After ${job.result.technique}</h2>` : null}
        <${Grid} cells=${cells} selected=${picked} onPick=${pick} label=${`${SEATS[decision.player]} by class of hands: ${view}`} summary=${about} />
        ${view === "strategy" ? null : html`<p class="hint">${{ ev: "Chips of the pot that a hand wins on average, from the root, against the whole range.", equity: "Share of the pot without further betting, at the root.", eqr: "EV divided by the equity's share of the pot: above 100% a hand wins more than its share.", reach: "How much of a class is left in the range here." }[view]}</p>`}</div>
      <${Combos} decision=${decision} values=${values} found=${found} picked=${picked} shades=${shades} />
    </div></div>`;
}

function ActionBar({ decision, shades }) {
  const at = (line) => withQuery({ line: line || null });
  return html`<nav class="action-bar" aria-label="Line of play">
    ${decision.path.map((step) => html`<a key=${step.line} class="step" href=${at(step.line)}><small>${SEATS[step.player]}</small>${step.name}</a>`)}
    <div class="step here"><small>${SEATS[decision.player]} to act · pot ${whole(decision.pot)}</small>
      <span class="options">${decision.actions.map((action, k) => {
        const inside = html`<i style=${{ background: css(shades[k]) }}></i><b>${action.name}</b><span class="num">${percent(action.frequency)}</span>`;
        const next = `${decision.line} ${action.id}`.trim();
        return action.next === "decision" ? html`<a key=${action.id} class="option" href=${at(next)}>${inside}</a>` : html`<span key=${action.id} class="option end">${inside}<em>${action.next === "card" ? "next card" : action.next}</em></span>`;
      })}</span></div>
  </nav>`;
}

function Combos({ decision, values, found, picked, shades }) {
  const chosen = picked && found[picked] ? found[picked].hands : decision.hands.map((_, k) => k).sort((a, b) => decision.chance[b] - decision.chance[a]).slice(0, 40);
  const rows = chosen.map((k) => ({ hand: decision.hands[k], reach: decision.reach[k], probs: decision.probs[k], value: values?.[decision.player]?.[decision.hands[k]] }));
  return html`<div class="combos"><h2 class="third">${picked && found[picked] ? picked : picked ? `${picked} is not in the range` : "Likeliest hands"}</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Hands"><table><thead><tr><th>hand</th><th>strategy</th><th class="num">reach</th><th class="num">EV</th><th class="num">equity</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.hand}><td><${Cards} text=${row.hand} small /></td>
      <td class="mix-cell"><span class="mix" role="img" aria-label=${decision.actions.map((a, k) => `${a.name} ${percent(row.probs[k], 0)}`).join(", ")}>${decision.actions.map((a, k) => row.probs[k] > 0.004 ? html`<i key=${a.id} style=${{ width: `${100 * row.probs[k]}%`, background: css(shades[k]) }} title="${a.name} ${percent(row.probs[k])}"></i>` : null).reverse()}</span></td>
      <td class="num">${percent(row.reach, 0)}</td><td class="num">${row.value ? number(row.value[1], 1) : "–"}</td><td class="num">${row.value ? percent(row.value[2], 0) : "–"}</td></tr>`)}</tbody></table></div>${decision.line ? html`<p class="hint">EV and equity are those at the root.</p>` : null}</div>`;
}

function RefineBox({ job }) {
  const list = useMemo(() => asked(api("/techniques")), []).value.value || [];
  const technique = useSignal("maxmargin"), limit = useSignal("10"), error = useSignal(null), wrong = useSignal("");
  const mine = Object.values(jobs.value).filter((each) => each.of === job.id).sort((a, b) => b.made - a.made);
  const start = async (event) => {
    event.preventDefault();
    if (!(Number(limit.value) > 0)) { wrong.value = "The time must be a number above 0."; return; }
    try { wrong.value = ""; const made = await api("/refine", { of: job.id, technique: technique.value, seconds: Number(limit.value) }); go(`/solve/${made.id}`); } catch (failed) { error.value = failed; }
  };
  const chosen = list.find((each) => each.name === technique.value);
  return html`<section class="box refine"><h2>Solve it again, from this solution</h2>
    <form class="row-form" onSubmit=${start} novalidate>
      <${Field} id="technique" label="Technique"><select id="technique" value=${technique.value} onChange=${(e) => { technique.value = e.target.value; }}>${list.map((each) => html`<option key=${each.name} value=${each.name}>${each.name}${each.safe ? " (safe)" : ""}</option>`)}</select><//>
      <${Field} id="refine-seconds" label="Seconds" error=${wrong.value}><input id="refine-seconds" inputmode="decimal" value=${limit.value} onInput=${(e) => { limit.value = e.target.value; }} /><//>
      <button class="primary">Refine</button></form>
    <p class="hint">${chosen?.promise}</p><${Problem} error=${error.value} />
    ${mine.length ? html`<table class="plain"><thead><tr><th>refinement</th><th></th><th class="num">before</th><th class="num">after</th><th class="num">smallest margin</th></tr></thead><tbody>${mine.map((each) => html`<tr key=${each.id}><td><a href="/solve/${each.id}">${each.name}</a></td><td><${Badge} state=${each.state} /></td><td class="num">${each.result ? number(each.result.before) : ""}</td><td class="num">${each.result ? number(each.result.after) : ""}</td><td class="num">${each.result ? number(each.result.margin) : ""}</td></tr>`)}</tbody></table>` : null}
  </section>`;
}

function Margins({ job }) {
  const rows = useMemo(() => asked(api(`/jobs/${job.id}/rows`)), [job.id, job.state]).value.value;
  const player = Number(route.value.query.get("player") || 0), shown = useSignal(60);
  const found = job.result;
  const mine = useMemo(() => (rows || []).filter((row) => row.player === player && row.reach > 0).sort((a, b) => a.margin - b.margin), [rows, player]);
  const cells = useMemo(() => {
    const sums = {};
    for (const row of mine) { if (row.infoset.length === 4) { const cell = (sums[classOf(row.infoset)] ||= { n: 0, sum: 0 }); cell.n += 1; cell.sum += row.margin; } }
    const top = Math.max(...Object.values(sums).map((cell) => Math.abs(cell.sum / cell.n)), 1e-9);
    return Object.fromEntries(Object.entries(sums).map(([name, cell]) => [name, { parts: [[ramp(0.5 + cell.sum / cell.n / top / 2), 1]], height: 1, text: number(cell.sum / cell.n, top < 1 ? 2 : 1) }]));
  }, [mine]);
  if (!rows) return null;
  const better = found.after <= found.before;
  return html`<section class="box margins"><h2>Margins of ${found.technique}</h2>
    <p>A best response won <b class="num">${number(found.before)}</b> before and wins <b class="num ${better ? "good" : "bad"}">${number(found.after)}</b> now. ${found.promise} ${found.kept}</p>
    <div class="tabs" role="group" aria-label="Refined player">${SEATS.map((seat, p) => html`<button type="button" key=${seat} aria-pressed=${player === p} onClick=${() => go(withQuery({ player: p || null }), { replace: true })}>${seat} refined</button>`)}</div>
    <div class="explore-body"><div><${Grid} cells=${cells} label="Margins by class of the opponent's hands" /><p class="hint">The opponent's hands, by margin: how much less the opponent gets than before. Orange is more, blue is less.</p></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Root infosets"><table><thead><tr><th>hand</th><th class="num">before (CBV)</th><th class="num">gift</th><th class="num">alternative</th><th class="num">now</th><th class="num">margin</th></tr></thead>
      <tbody>${mine.slice(0, shown.value).map((row) => html`<tr key=${row.infoset}><td>${row.infoset.length === 4 ? html`<${Cards} text=${row.infoset} small />` : row.infoset}</td><td class="num">${number(row.cbv, 2)}</td><td class="num">${number(row.gift, 2)}</td><td class="num">${number(row.alternative, 2)}</td><td class="num">${number(row.value, 2)}</td><td class="num ${row.margin < -1e-6 ? "bad" : ""}">${number(row.margin, 3)}</td></tr>`)}</tbody></table>
      ${mine.length > shown.value ? html`<button type="button" class="ghost" onClick=${() => { shown.value += 200; }}>Show more of ${whole(mine.length)}</button>` : null}</div></div></section>`;
}
