// What every page uses: markup, the address, requests, jobs as they change, numbers as text.
import { h } from "preact";
import { signal, computed } from "@preact/signals";
import htm from "htm";

export const html = htm.bind(h);

// The address ---------------------------------------------------------------------------------
const at = ({ pathname, search }) => ({ path: pathname, query: new URLSearchParams(search) });
export const route = signal(at(location));
addEventListener("popstate", () => {
  route.value = at(location);
});

// `stay` keeps the focus and the place on the page, for what changes a part of it. The pages follow
// `route`, because browsers leave out changes of the address that come too fast.
export function go(address, { replace = false, stay = replace } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  route.value = at(new URL(address, location));
  if (!stay) {
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }
}

// The same page with other parameters; null takes one away.
export function withQuery(changes, base = route.value) {
  const query = new URLSearchParams(base.query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "" || value === undefined) query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  return base.path + (text ? `?${text}` : "");
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || link.target || link.hasAttribute("download") || link.pathname.startsWith("/api"))
    return;
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.button ||
    link.pathname === "/openapi.json"
  )
    return;
  event.preventDefault();
  go(link.getAttribute("href"), { stay: link.pathname === location.pathname });
});

// Requests ------------------------------------------------------------------------------------
export class Refused extends Error {
  constructor(status, said) {
    super(said.message);
    this.status = status;
    this.fields = said.fields || {};
  }
}

// `signal` gives a request up; then the promise never ends, and nobody waits for it.
export async function api(
  path,
  body,
  { method = body === undefined ? "GET" : "POST", signal: ended } = {},
) {
  const raw = body instanceof Blob;
  const headers =
    body === undefined && method === "GET"
      ? {}
      : { "content-type": raw ? "application/octet-stream" : "application/json" };
  let answer;
  try {
    const sent =
      method === "GET" || method === "DELETE" ? undefined : raw ? body : JSON.stringify(body ?? {});
    answer = await fetch(`/api${path}`, { method, headers, body: sent, signal: ended });
  } catch {
    if (ended?.aborted) return new Promise(() => {});
    throw new Refused(0, { message: "The server does not answer. Is it still running?" });
  }
  if (answer.status === 204) return null;
  const said = await answer
    .json()
    .catch(() => ({ message: `The server failed (${answer.status}).` }));
  if (!answer.ok) throw new Refused(answer.status, said);
  return said;
}

// A value that is asked for once and then kept: {state, value, error}.
export function asked(promise) {
  const out = signal({ state: "waiting" });
  promise.then(
    (value) => {
      out.value = { state: "ready", value };
    },
    (error) => {
      out.value = { state: "failed", error };
    },
  );
  return out;
}

// Jobs ----------------------------------------------------------------------------------------
export const jobs = signal({});
export const connected = signal(false);
export const active = computed(
  () =>
    Object.values(jobs.value).filter((job) => job.state === "running" || job.state === "queued")
      .length,
);

function merge(rows) {
  const next = { ...jobs.value };
  for (const row of rows) {
    const known = next[row.id];
    if (row.state === "removed") delete next[row.id];
    // An answer may be older than what the socket said meanwhile.
    else
      next[row.id] =
        known && known.changed > row.changed ? { ...row, ...known } : { ...known, ...row };
  }
  jobs.value = next;
}

export async function loadJobs() {
  merge(await api("/jobs"));
}

export async function loadJob(id) {
  const row = await api(`/jobs/${id}`);
  merge([row]);
  return row;
}

export function listen() {
  const socket = new WebSocket(
    `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/live`,
  );
  socket.onopen = () => {
    connected.value = true;
    loadJobs().catch(() => {});
  };
  socket.onmessage = (event) => merge(JSON.parse(event.data).jobs);
  socket.onclose = () => {
    connected.value = false;
    setTimeout(listen, 1500);
  };
}

// Text ----------------------------------------------------------------------------------------
export const number = (value, digits = 3) =>
  value === null || value === undefined
    ? "–"
    : Number(value)
        .toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
        .replace(/^-(?=[0.]*$)/, "")
        .replace("-", "−");
export const percent = (share, digits = 1) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)}%`;
export const whole = (value) => Number(value).toLocaleString("en");
export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  while (count >= 1024 && power < 4) {
    count /= 1024;
    power += 1;
  }
  return `${count.toFixed(Math.min(power, 1))} ${units[power]}`;
}
export function seconds(count) {
  if (count < 10) return `${Number.isInteger(count) ? count : count.toFixed(1)} s`;
  if (count < 90) return `${Math.round(count)} s`;
  return `${Math.floor(count / 60)} min ${Math.round(count % 60)} s`;
}
export const fraction = (value) => {
  const known = {
    0.125: "⅛",
    0.25: "¼",
    0.375: "⅜",
    0.5: "½",
    0.625: "⅝",
    0.75: "¾",
    0.875: "⅞",
    1: "1",
    0: "0",
  };
  const near = Object.keys(known).find((key) => Math.abs(key - value) < 1e-6);
  return near === undefined ? number(value) : known[near];
};

// Shared pieces -------------------------------------------------------------------------------
export const Field = ({ id, label, error, hint, children }) =>
  html` <div class="field ${error ? "wrong" : ""}">
    <label for=${id}>${label}</label>
    ${children} ${hint && !error ? html`<p class="hint" id="${id}-hint">${hint}</p>` : null}
    ${error ? html`<p class="error" role="alert" id="${id}-error">${error}</p>` : null}
  </div>`;

// What ties a field or a choice to a signal.
export const typed = (text) => ({
  value: text.value,
  onInput: (event) => {
    text.value = event.target.value;
  },
});
export const selected = (choice) => ({
  value: choice.value,
  onChange: (event) => {
    choice.value = event.target.value;
  },
});

// A file, or its text. A file that was chosen is read into `text`, and then `onFile` is called.
export function FileOrText({ id, label, text, rows, accept, error, onFile }) {
  const read = async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    text.value = await file.text();
    onFile?.(file);
  };
  return html`<${Field} id="${id}-file" label="A file"
      ><input id="${id}-file" type="file" accept=${accept} onChange=${read}
    /><//>
    <${Field} id="${id}-text" label=${label} error=${error}>
      <textarea id="${id}-text" rows=${rows} spellcheck="false" ...${typed(text)}></textarea>
    <//>`;
}

// A row of buttons of which one is chosen; `options` are [key, name]. Other controls may follow.
export const Tabs = ({ label, options, value, onPick, segments, children }) =>
  html`<div class=${segments ? "tabs segments" : "tabs"} role="group" aria-label=${label}>
    ${options.map(([key, name]) => html`<button type="button" key=${key} aria-pressed=${value === key} onClick=${() => onPick(key)}>${name}</button>`)}
    ${children}
  </div>`;

export const Problem = ({ error }) =>
  error ? html`<p class="problem" role="alert">${error.message || String(error)}</p>` : null;
export const Wait = ({ children }) =>
  html`<p class="wait" role="status"><span class="dots" aria-hidden="true"></span>${children}</p>`;

export const STATES = {
  queued: "waiting",
  running: "running",
  paused: "paused",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};
// Why a solve that is done ended before its target, and what a running one was asked for.
const ENDED = { seconds: "out of time", interrupted: "stopped early", stalled: "levelled off" };
const ASKED = { paused: "pausing", done: "stopping", cancelled: "cancelling" };
export const Badge = ({ job }) => {
  const { state, wish, result } = job,
    more = state === "running" ? ASKED[wish] : state === "done" ? ENDED[result?.stopped] : "";
  return html`<span class="badge ${state}">${more || STATES[state] || state}</span>`;
};
