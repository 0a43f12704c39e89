// One job of hold'em: its run, the strategy at every decision, refinements.
import {
  html,
  api,
  asked,
  jobs,
  loadJob,
  route,
  withQuery,
  go,
  number,
  percent,
  whole,
  seconds,
  bytes,
  Badge,
  Field,
  Problem,
  Wait,
  typed,
  selected,
  Tabs,
} from "../lib/core.js";
import { useEffect, useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Grid, ramp } from "../lib/grid.js";
import { Cards, classOf, cards } from "../lib/cards.js";
import { Curve } from "../lib/curve.js";
import { Explorer, SEATS } from "./explorer.js";
import { Report } from "./report.js";
import { setUp } from "./solve.js";

export function Result({ id }) {
  const problem = useSignal(null);
  const job = jobs.value[id];
  useEffect(() => {
    loadJob(id).catch((error) => {
      problem.value = error;
    });
  }, [id]);
  if (problem.value && !job)
    return html`<section class="page">
      <h1>Solution</h1>
      <${Problem} error=${problem.value} />
      <p><a href="/solve">Set up a spot</a></p>
    </section>`;
  if (!job) return html`<section class="page"><${Wait}>Loading the job<//></section>`;
  const spot = job.result?.spot;
  return html`<section class="page result">
    <p class="crumb">
      <a href="/solve">Solve</a
      >${job.of && jobs.value[job.of] ? html` › <a href="/solve/${job.of}">${jobs.value[job.of].name}</a>` : null}
    </p>
    <div class="result-head">
      <h1><${Title} job=${job} /></h1>
      <${Badge} job=${job} /><${Controls} job=${job} problem=${problem} />
    </div>
    <${Problem} error=${problem.value} />
    ${job.error ? html`<p class="problem" role="alert">${job.error}</p>` : null}
    ${job.note ? html`<p class="hint">${job.note}</p>` : null}
    ${spot ? html`<p class="facts">${plainBoard(job.name) ? null : html`<span><${Cards} text=${spot.board} small /></span>`}<span>pot ${whole(spot.pot)}</span><span>stacks ${spot.stacks.split("/").map(whole).join(" and ")}</span>${Number(spot.rake) ? html`<span>rake ${percent(Number(spot.rake))}${spot.rake_cap === "inf" ? "" : `, at most ${spot.rake_cap}`}</span>` : null}${spot.dead ? html`<span>dead <${Cards} text=${spot.dead} small /></span>` : null}<span class="soft">${spot.bets}</span></p>` : null}
    ${job.result?.locks?.length ? html`<p class="facts"><span>locked</span>${job.result.locks.map((text) => html`<code key=${text}>${text}</code>`)}</p>` : null}
    ${job.state === "done" ? null : html`<${Run} job=${job} />`}
    ${job.kind === "report" ? html`<${Report} job=${job} />` : null}
    ${job.result?.spot ? html`<${Explorer} job=${job} />` : null}
    ${job.result ? html`<${Figures} job=${job} />` : null}
    ${job.state === "done" ? html`<${Run} job=${job} />` : null}
    ${job.result?.technique ? html`<${Margins} job=${job} />` : null}
    ${!spot || job.state === "running" ? null : Number(spot.rake) || spot.folded || job.result.locks?.length ? html`<p class="hint">A spot with ${Number(spot.rake) ? "a rake" : spot.folded ? "folded ranges" : "locks"} cannot be refined by subgame solving, which needs a zero-sum game in which both players may choose everywhere.</p>` : html`<${RefineBox} job=${job} />`}
  </section>`;
}

// Whether a name is nothing but cards.
const plainBoard = (name) => cards(name).join("").length === name.replace(/\s/g, "").length;

function Title({ job }) {
  return plainBoard(job.name)
    ? html`<${Cards} text=${job.name} />`
    : html`<span>${job.name}</span>`;
}

function Controls({ job, problem }) {
  const act = (verb) =>
    api(`/jobs/${job.id}/${verb}`, {}).then(
      () => {
        problem.value = null;
      },
      (error) => {
        problem.value = error;
      },
    );
  const rename = async () => {
    const name = prompt("Name of this solution", job.name);
    if (name)
      await api(`/jobs/${job.id}`, { name }, { method: "PATCH" }).catch((error) => {
        problem.value = error;
      });
  };
  const running = job.state === "running";
  // Cancel comes first and never moves: a click counts though the job goes on meanwhile.
  return html`<div class="controls">
    ${running || job.state === "queued" ? html`<button type="button" onClick=${() => act("cancel")}>Cancel</button>` : null}
    ${running || job.state === "paused" ? html`<button type="button" onClick=${() => act("stop")}>Stop</button>` : null}
    ${running && ["endgame", "lock", "report"].includes(job.kind) ? html`<button type="button" onClick=${() => act("pause")}>Pause</button>` : null}
    ${job.state === "paused" ? html`<button type="button" onClick=${() => act("resume")}>Resume</button>` : null}
    ${job.kind === "report" && job.iteration ? html`<a class="button" href="/api/jobs/${job.id}/report.csv" download>Save as CSV</a>` : null}
    ${job.result?.spot || job.kind === "report" ? html`<button type="button" onClick=${rename}>Rename</button>` : null}
    ${job.task?.spot ? html`<a class="button" href=${setUp(job)}>Change the set-up</a>` : null}
    ${job.result?.spot ? html`<a class="button" href="/api/jobs/${job.id}/file" download>Save to a file</a>${job.result.spot.board.replace(/ /g, "").length < 10 && !(job.result.locks || []).length ? html`<a class="button" href="/api/jobs/${job.id}/file?rivers=false" download title="Flop and turn, and what solving a river again needs: far smaller. A river is solved again when it is looked at.">Save without rivers</a>` : null}<a class="button" href="/play?game=job:${job.id}&opponent=job:${job.id}">Play it</a>` : null}
  </div>`;
}

function Figures({ job }) {
  const result = job.result;
  if (!result.ev) return null;
  return html`<div class="figures">
    <div class="figure">
      <b>${result.exploitability_percent.toPrecision(2)}%</b><span>of the pot exploitable</span>
    </div>
    ${SEATS.map((seat, p) => html`<div class="figure" key=${seat}><b>${number(result.ev[p], 2)}</b><span>EV ${seat}, equity ${percent(result.equity[p])}</span></div>`)}
    <div class="figure">
      <b>${whole(result.iterations || 0)}</b
      ><span>iterations${result.seconds ? `, ${seconds(result.seconds)}` : ""}</span>
    </div>
    <div class="figure">
      <b>${whole(result.nodes)}</b
      ><span>nodes${job.quote ? `, ${bytes(job.quote.memory)}` : ""}</span>
    </div>
  </div>`;
}

// What a running job does: the time so far, iterations, and the time that is left. It counts on
// between two reports, which may be far apart on a large spot.
function Going({ job }) {
  const now = useSignal(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now() / 1000;
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  const solving = job.iteration > 0 && job.seconds > 0,
    since = Math.max(0, now.value - job.changed),
    so_far = solving ? job.seconds + since : Math.max(0, now.value - (job.began ?? job.made));
  const left = job.left === null || job.left === undefined ? null : job.left - since;
  const parts = [
    job.phase || "Running",
    seconds(Math.floor(so_far)),
    ...(solving && job.kind !== "report" ? [`${whole(job.iteration)} iterations`] : []),
    ...(left === null
      ? []
      : [left < 1 ? "nearly there" : `about ${seconds(Math.ceil(left))} left`]),
  ];
  return html`<span class="num going">${parts.join(" · ")}</span>`;
}

function Run({ job }) {
  const curve = job.curve || [];
  const series = useMemo(
    () => [{ label: "exploitability", values: curve.map((point) => point[2]) }],
    [curve],
  );
  const xs = useMemo(() => curve.map((point) => point[0]), [curve]);
  if (!["running", "queued", "paused"].includes(job.state) && curve.length < 2) return null;
  const last = curve.at(-1);
  const so_far = job.state === "running" && job.result?.stopped === "so far";
  return html`${so_far ? html`<p class="hint">What was solved so far is shown, exploitable by ${job.result.exploitability_percent.toPrecision(2)}% of the pot. The solve goes on.</p>` : null}
    <details class="box run" open=${job.state !== "done" && !so_far}>
      <summary>
        ${job.state === "running" ? html`<${Going} job=${job} />` : job.state === "queued" ? "Waiting for a worker" : "Convergence"}
        ${last ? html`<span class="num"> ${last[2].toPrecision(3)}% of the pot after ${whole(last[0])} iterations</span>` : null}
      </summary>
      ${job.state === "running" ? html`<progress value=${job.share || 0} max="1" aria-label="Progress"></progress>` : null}
      ${curve.length > 1 ? html`<${Curve} xs=${xs} series=${series} unit="%" label="Exploitability in percent of the pot, by iteration" />` : null}
    </details>`;
}

function RefineBox({ job }) {
  const list = useMemo(() => asked(api("/techniques")), []).value.value || [];
  const technique = useSignal("maxmargin"),
    limit = useSignal("10"),
    error = useSignal(null),
    wrong = useSignal("");
  const line = route.value.query.get("line") || "",
    below = useSignal(false);
  const mine = Object.values(jobs.value)
    .filter((other) => other.of === job.id && other.kind === "refine")
    .sort((a, b) => b.made - a.made);
  const start = async (event) => {
    event.preventDefault();
    if (!(Number(limit.value) > 0)) {
      wrong.value = "The time must be a number above 0.";
      return;
    }
    try {
      wrong.value = "";
      const made = await api("/refine", {
        of: job.id,
        technique: technique.value,
        seconds: Number(limit.value),
        line: below.value ? line : "",
      });
      go(withQuery({ line }, { path: `/solve/${made.id}`, query: "" }));
    } catch (failed) {
      error.value = failed;
    }
  };
  const chosen = list.find((one) => one.name === technique.value);
  return html`<section class="box refine">
    <h2>Refine by subgame solving</h2>
    <p class="soft">
      With this solution as the blueprint, the spot or what follows a line is solved again behind a
      gadget.
    </p>
    <form class="row-form" onSubmit=${start} novalidate>
      <${Field} id="technique" label="Technique"
        ><select id="technique" ...${selected(technique)}>
          ${list.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}${one.safe ? " (safe)" : ""}</option>`)}
        </select><//
      >
      <${Field} id="refine-where" label="Subgame"
        ><select
          id="refine-where"
          value=${below.value && line ? "line" : ""}
          onChange=${(e) => {
            below.value = e.target.value === "line";
          }}
        >
          <option value="">the whole spot</option>
          ${line ? html`<option value="line">after ${line}</option>` : null}
        </select><//
      >
      <${Field} id="refine-seconds" label="Seconds" error=${wrong.value}
        ><input id="refine-seconds" inputmode="decimal" ...${typed(limit)}
      /><//>
      <button class="primary">Refine</button>
    </form>
    <p class="hint">
      ${chosen?.promise}${line ? "" : " Walk to a decision above to refine only what follows it."}
    </p>
    <${Problem} error=${error.value} />
    ${
      mine.length
        ? html`<table class="plain">
            <thead>
              <tr>
                <th>refinement</th>
                <th></th>
                <th class="num">before</th>
                <th class="num">after</th>
                <th class="num">smallest margin</th>
              </tr>
            </thead>
            <tbody>
              ${mine.map(
                (refinement) =>
                  html`<tr key=${refinement.id}>
                    <td><a href="/solve/${refinement.id}">${refinement.name}</a></td>
                    <td><${Badge} job=${refinement} /></td>
                    <td class="num">
                      ${refinement.result ? number(refinement.result.before) : ""}
                    </td>
                    <td class="num">${refinement.result ? number(refinement.result.after) : ""}</td>
                    <td class="num">
                      ${refinement.result ? number(refinement.result.margin) : ""}
                    </td>
                  </tr>`,
              )}
            </tbody>
          </table>`
        : null
    }
  </section>`;
}

const SHOWN = [
  ["margin", "margins", "How much less the opponent gets than the alternative payoff."],
  ["gift", "gifts", "What the opponent gave up on the way here, so that it may be given back."],
  [
    "alternative",
    "alternative payoffs",
    "What the opponent is held to: the value before, and the gift.",
  ],
  ["value", "values now", "What a best response gets now."],
];

function Margins({ job }) {
  const rows = useMemo(() => asked(api(`/jobs/${job.id}/rows`)), [job.id, job.state]).value.value;
  const player = Number(route.value.query.get("player") || 0),
    shown = useSignal(60);
  const what = SHOWN.some(([key]) => key === route.value.query.get("margins"))
    ? route.value.query.get("margins")
    : "margin";
  const result = job.result;
  const mine = useMemo(
    () =>
      (rows || [])
        .filter((row) => row.player === player && row.reach > 0)
        .sort((a, b) => a.margin - b.margin),
    [rows, player],
  );
  const cells = useMemo(() => {
    const sums = {};
    for (const row of mine) {
      if (row.infoset.length === 4) {
        const cell = (sums[classOf(row.infoset)] ||= { n: 0, sum: 0 });
        cell.n += 1;
        cell.sum += row[what];
      }
    }
    const top = Math.max(...Object.values(sums).map((cell) => Math.abs(cell.sum / cell.n)), 1e-9);
    return Object.fromEntries(
      Object.entries(sums).map(([name, cell]) => [
        name,
        {
          parts: [[ramp(0.5 + cell.sum / cell.n / top / 2), 1]],
          height: 1,
          text: number(cell.sum / cell.n, top < 1 ? 2 : 1),
        },
      ]),
    );
  }, [mine, what]);
  if (!rows) return null;
  const better = result.after <= result.before;
  return html`<section class="box margins">
    <h2>Margins of ${result.technique}</h2>
    <p>
      A best response won <b class="num">${number(result.before)}</b> chips a hand before and
      wins${" "} <b class="num ${better ? "good" : "bad"}">${number(result.after)}</b> now.${" "}
      ${result.promise}${" "} ${result.kept}
    </p>
    <${Tabs}
      label="Refined player"
      options=${SEATS.map((seat, p) => [p, `${seat} refined`])}
      value=${player}
      onPick=${(p) => go(withQuery({ player: p || null }), { replace: true })}
    >
      <label for="margins-shown" class="choices"
        >The grid shows${" "}
        <select
          id="margins-shown"
          class="inline"
          value=${what}
          onChange=${(e) => go(withQuery({ margins: e.target.value === "margin" ? null : e.target.value }), { replace: true })}
        >
          ${SHOWN.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
        </select></label
      >
    <//>
    <div class="explore-body">
      <div>
        <${Grid} cells=${cells} label=${`The opponent's hands by class: ${what}`} />
        <p class="hint">
          The opponent's hands. ${SHOWN.find(([key]) => key === what)[2]} Orange is more, blue is
          less.
        </p>
      </div>
      <div class="scroll" tabindex="0" role="region" aria-label="Root infosets">
        <table>
          <thead>
            <tr>
              <th>hand</th>
              <th class="num">before (CBV)</th>
              <th class="num">gift</th>
              <th class="num">alternative</th>
              <th class="num">now</th>
              <th class="num">margin</th>
            </tr>
          </thead>
          <tbody>
            ${mine.slice(0, shown.value).map(
              (row) =>
                html`<tr key=${row.infoset}>
                  <td>
                    ${row.infoset.length === 4 ? html`<${Cards} text=${row.infoset} small />` : row.infoset}
                  </td>
                  <td class="num">${number(row.cbv, 2)}</td>
                  <td class="num">${number(row.gift, 2)}</td>
                  <td class="num">${number(row.alternative, 2)}</td>
                  <td class="num">${number(row.value, 2)}</td>
                  <td class="num ${row.margin < -1e-6 ? "bad" : ""}">${number(row.margin, 3)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
        ${
          mine.length > shown.value
            ? html`<button
                type="button"
                class="ghost"
                onClick=${() => {
                  shown.value += 200;
                }}
              >
                Show more of ${whole(mine.length)}
              </button>`
            : null
        }
      </div>
    </div>
  </section>`;
}
