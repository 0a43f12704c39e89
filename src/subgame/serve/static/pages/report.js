// A report: one spot solved on many flops, as a table, as bars, as a scatter and by texture.
import {
  html,
  api,
  asked,
  route,
  withQuery,
  go,
  number,
  percent,
  whole,
  Problem,
  Wait,
  Tabs,
} from "../lib/core.js";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { Cards } from "../lib/cards.js";
import { colours, css } from "../lib/grid.js";

const TEXTURES = [
  ["suits", "Suits"],
  ["pairs", "Pairs"],
  ["straight", "Straight possible"],
  ["high", "Highest card"],
];
const ORDER = {
  high: [..."AKQJT98765432"],
  suits: ["rainbow", "two-tone", "monotone"],
  pairs: ["unpaired", "paired", "trips"],
  straight: ["yes", "no"],
};
const HIDDEN = ["weight", "iterations", "seconds", "exploitability_percent"];
const kindOf = (name) =>
  ["fold", "check", "call", "bet", "raise", "all-in"].find((kind) => name.startsWith(kind)) ||
  "bet";
const isShare = (name) => !name.startsWith("ev_");
const shown = (name, value) =>
  value === undefined || value === null
    ? "–"
    : typeof value === "string"
      ? value
      : isShare(name)
        ? percent(value)
        : number(value, 2);
const title = (name) =>
  name
    .replace(
      /^(ev|equity)_(oop|ip)$/,
      (_, what, seat) => `${seat.toUpperCase()} ${what === "ev" ? "EV" : what}`,
    )
    .replace(/^(oop|ip) /, (seat) => seat.toUpperCase());

// The weighted mean of each column.
function means(rows, names) {
  const total = rows.reduce((sum, row) => sum + row.weight, 0);
  return Object.fromEntries(
    names.map((name) => [
      name,
      total ? rows.reduce((sum, row) => sum + row.weight * (row[name] ?? 0), 0) / total : null,
    ]),
  );
}

export function Report({ job }) {
  const query = route.value.query,
    kept = useSignal(null);
  const answer = useMemo(
    () =>
      job.state === "queued" && !job.iteration
        ? signal({ state: "none" })
        : asked(api(`/jobs/${job.id}/report`)),
    [job.id, job.state, job.iteration],
  ).value;
  useEffect(() => {
    if (answer.value) kept.value = answer.value;
  }, [answer]);
  const all = (answer.value || kept.value)?.rows || [];
  const filters = TEXTURES.map(([key]) => [key, query.get(key)]).filter(([, value]) => value);
  const rows = useMemo(
    () => all.filter((row) => filters.every(([key, value]) => row[key] === value)),
    [all, query.toString()],
  );
  if (answer.state === "failed") return html`<${Problem} error=${answer.error} />`;
  if (!all.length && answer.state === "waiting") return html`<${Wait}>Reading the rows<//>`;
  if (!all.length)
    return job.state === "running"
      ? html`<${Wait}>The first row appears once a flop is solved<//>`
      : html`<p class="soft">No flop is solved yet.</p>`;
  const columns = [...new Set(all.flatMap((row) => Object.keys(row)))].filter(
    (name) => !HIDDEN.includes(name),
  );
  const numbers = columns.filter(
    (name) => typeof all.find((row) => name in row)[name] === "number",
  );
  const seat = query.get("seat") === "ip" ? "ip" : "oop";
  const actions = numbers
    .filter((name) => name.startsWith(`${seat} `))
    .map((name) => ({
      id: name,
      name: name.slice(seat.length + 1),
      kind: kindOf(name.slice(seat.length + 1)),
    }));
  const sort = columns.includes(query.get("sort")) ? query.get("sort") : `ev_oop`,
    up = query.get("up") === "1";
  const rank = (row) =>
    typeof row[sort] === "string"
      ? ORDER[sort]
        ? ORDER[sort].indexOf(row[sort])
        : row[sort]
      : (row[sort] ?? 0);
  const sorted = [...rows].sort((a, b) => {
    const [x, y] = [rank(a), rank(b)];
    return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
  });
  const set = (changes) => go(withQuery(changes), { replace: true });
  const mean = means(rows, numbers),
    shades = colours(actions);
  return html`<section class="report">
    <${Tabs}
      label="Whose first decision"
      options=${[
        ["oop", "OOP, first to act"],
        ["ip", "IP, after a check"],
      ]}
      value=${seat}
      onPick=${(key) => set({ seat: key === "oop" ? null : key })}
    >
      ${TEXTURES.map(
        ([key, name]) =>
          html`<select
            key=${key}
            class="inline"
            aria-label=${name}
            value=${query.get(key) || ""}
            onChange=${(e) => set({ [key]: e.target.value })}
          >
            <option value="">${name}: all</option>
            ${ORDER[key].filter((value) => all.some((row) => row[key] === value)).map((value) => html`<option key=${value} value=${value}>${name}: ${value}</option>`)}
          </select>`,
      )}
      ${filters.length ? html`<button type="button" class="ghost" onClick=${() => set(Object.fromEntries(TEXTURES.map(([key]) => [key, null])))}>clear</button>` : null}
    <//>
    <p class="options">
      ${actions.map((action, k) => html`<span class="option" key=${action.id}><i style=${{ background: css(shades[k]) }}></i><b>${action.name}</b><span class="num">${percent(mean[action.id])}</span></span>`)}
    </p>
    ${
      rows.length
        ? html`<${Bars}
              rows=${sorted}
              actions=${actions}
              shades=${shades}
              label=${`${seat.toUpperCase()} on each flop, by ${title(sort)}`}
            />
            <p class="hint">
              One bar for each of ${whole(rows.length)} ${rows.length === 1 ? "flop" : "flops"}, in
              the order of the table; its width is how often the flop comes, suits counted.
            </p>
            <${Scatter} rows=${rows} numbers=${numbers} seat=${seat} query=${query} set=${set} />
            <div class="textures">
              ${TEXTURES.map(([key, name]) => html`<${Texture} key=${key} by=${key} name=${name} rows=${rows} actions=${actions} shades=${shades} set=${set} />`)}
            </div>
            <div class="scroll" tabindex="0" role="region" aria-label="Flops">
              <table class="flops">
                <thead>
                  <tr>
                    ${columns.map((name) => html`<th key=${name} class=${numbers.includes(name) ? "num" : ""} aria-sort=${sort === name ? (up ? "ascending" : "descending") : undefined}><button type="button" class="ghost" onClick=${() => set({ sort: name, up: sort === name && !up ? "1" : null })}>${title(name)}${sort === name ? (up ? " ↑" : " ↓") : ""}</button></th>`)}
                  </tr>
                </thead>
                <tbody>
                  <tr class="mean">
                    <th scope="row">mean</th>
                    ${columns.slice(1).map((name) => html`<td key=${name} class=${numbers.includes(name) ? "num" : ""}>${numbers.includes(name) ? shown(name, mean[name]) : ""}</td>`)}
                  </tr>
                  ${sorted.map(
                    (row) =>
                      html`<tr key=${row.flop}>
                        <td><${OneFlop} job=${job} row=${row} /></td>
                        ${columns.slice(1).map((name) => html`<td key=${name} class=${numbers.includes(name) ? "num" : ""}>${shown(name, row[name])}</td>`)}
                      </tr>`,
                  )}
                </tbody>
              </table>
            </div>`
        : html`<p class="soft">No flop is like that.</p>`
    }
  </section>`;
}

// A flop of the table: it can be solved alone, and looked into.
function OneFlop({ job, row }) {
  const busy = useSignal(false);
  const look = async () => {
    busy.value = true;
    try {
      go(
        `/solve/${(await api("/spots/solve", { spot: { ...job.task.spot, board: row.flop }, stop: { target: job.task.target } })).id}`,
      );
    } catch {
      busy.value = false;
    }
  };
  return html`<button
    type="button"
    class="ghost flop"
    disabled=${busy.value || !job.task}
    title="Solve this flop and look into it"
    onClick=${look}
  >
    <${Cards} text=${row.flop} small />
  </button>`;
}

// What is played on every flop, as stacked bars on a canvas.
function Bars({ rows, actions, shades, label }) {
  const canvas = useRef(null);
  useEffect(() => {
    const draw = () => {
      const box = canvas.current,
        wide = box?.clientWidth,
        high = 150,
        scale = devicePixelRatio || 1;
      if (!wide) return;
      [box.width, box.height] = [Math.round(wide * scale), Math.round(high * scale)];
      const pen = box.getContext("2d"),
        total = rows.reduce((sum, row) => sum + row.weight, 0);
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      const gap = rows.length < 200 ? 1 : 0;
      let x = 0;
      for (const row of rows) {
        const width = (wide * row.weight) / total;
        let y = high;
        actions.forEach((action, k) => {
          const tall = high * (row[action.id] ?? 0);
          pen.fillStyle = css(shades[k]);
          pen.fillRect(x, y - tall, Math.max(width - gap, 0.5), tall);
          y -= tall;
        });
        x += width;
      }
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(canvas.current);
    return () => watch.disconnect();
  }, [rows, actions, shades]);
  return html`<canvas class="bars" ref=${canvas} role="img" aria-label=${label}></canvas>`;
}

// Every flop as a point of two columns, by default equity and how often the player checks.
function Scatter({ rows, numbers, seat, query, set }) {
  const wide = 640,
    high = 300,
    pad = 46;
  const pick = (key, usual) => (numbers.includes(query.get(key)) ? query.get(key) : usual);
  const x = pick("x", `equity_${seat}`),
    y = pick("y", numbers.find((name) => name.startsWith(`${seat} `)) || `ev_${seat}`);
  const shownRows = rows.filter((row) => row[x] !== undefined && row[y] !== undefined);
  const range = (name) => {
    const all = shownRows.map((row) => row[name]),
      [least, most] = [Math.min(...all), Math.max(...all)],
      more = (most - least || 1) * 0.05;
    return [least - more, most + more];
  };
  if (!shownRows.length) return null;
  const [xs, ys] = [range(x), range(y)],
    heaviest = Math.max(...shownRows.map((row) => row.weight));
  const at = (value, [least, most], from, to) =>
    from + ((value - least) / (most - least)) * (to - from);
  const ticks = ([least, most]) =>
    [0.05, 0.35, 0.65, 0.95].map((part) => least + part * (most - least));
  const choose = (key, value, label) =>
    html`<label class="choices" for="scatter-${key}"
      >${label}${" "}
      <select
        id="scatter-${key}"
        class="inline"
        value=${value}
        onChange=${(event) => set({ [key]: event.target.value })}
      >
        ${numbers.map((name) => html`<option key=${name} value=${name}>${title(name)}</option>`)}
      </select></label
    >`;
  return html`<figure class="scatter">
    <figcaption>${choose("y", y, "Up")}${" "}${choose("x", x, "to the right")}</figcaption>
    <svg
      viewBox="0 0 ${wide} ${high}"
      role="img"
      aria-label=${`${title(y)} by ${title(x)}, one point for each of ${shownRows.length} flops`}
    >
      ${ticks(xs).map((value) => html`<text key=${value} x=${at(value, xs, pad, wide - 8)} y=${high - 8} text-anchor="middle">${shown(x, value)}</text>`)}
      ${ticks(ys).map((value) => html`<text key=${value} x=${pad - 6} y=${at(value, ys, high - 26, 8) + 4} text-anchor="end">${shown(y, value)}</text>`)}
      <path class="axis" d="M${pad},8 V${high - 26} H${wide - 8}" />
      ${shownRows.map(
        (row) =>
          html`<circle
            key=${row.flop}
            class=${row.suits}
            cx=${at(row[x], xs, pad, wide - 8)}
            cy=${at(row[y], ys, high - 26, 8)}
            r=${3 + 3 * Math.sqrt(row.weight / heaviest)}
            ><title>
              ${row.flop}: ${title(y)} ${shown(y, row[y])}, ${title(x)} ${shown(x, row[x])}
            </title></circle
          >`,
      )}
    </svg>
    <p class="legend">
      ${ORDER.suits.filter((kind) => shownRows.some((row) => row.suits === kind)).map((kind) => html`<span key=${kind}><i class=${kind}></i>${kind}</span>`)}
    </p>
  </figure>`;
}

// Means by one texture; a row filters the table.
function Texture({ by, name, rows, actions, shades, set }) {
  const groups = ORDER[by]
    .map((value) => [value, rows.filter((row) => row[by] === value)])
    .filter(([, some]) => some.length);
  return html`<div>
    <h2 class="third">${name}</h2>
    <div class="groups ${by}">
      ${groups.map(([value, some]) => {
        const mean = means(
          some,
          actions.map((action) => action.id),
        );
        return html`<button
          type="button"
          key=${value}
          class="ghost texture"
          onClick=${() => set({ [by]: value })}
          aria-label=${`${name} ${value}: ${actions.map((action) => `${action.name} ${percent(mean[action.id], 0)}`).join(", ")}`}
        >
          <span>${value}</span
          ><span class="mix"
            >${actions.map((action, k) => html`<i key=${action.id} style=${{ width: `${100 * mean[action.id]}%`, background: css(shades[k]) }}></i>`)}</span
          >
        </button>`;
      })}
    </div>
  </div>`;
}
