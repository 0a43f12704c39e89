// The shell: navigation, theme, and the page that the address names.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal, effect } from "@preact/signals";
import { html, route, active, connected, listen, Wait } from "./lib/core.js";
import { Games } from "./pages/games.js";

const stored = (() => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
})();
const theme = signal(
  stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
);
effect(() => {
  document.documentElement.dataset.theme = theme.value;
  dispatchEvent(new Event("themechange"));
});
const flip = () => {
  theme.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", theme.value);
  } catch {
    /* not kept */
  }
};

const PAGES = [
  ["games", "Games"],
  ["solve", "Solve"],
  ["play", "Play"],
  ["hands", "Hands"],
];

// The other pages are read when they are asked for, or a moment after the first one is there.
const FILES = {
  Solve: () => import("./pages/solve.js"),
  Result: () => import("./pages/result.js"),
  Play: () => import("./pages/play.js"),
  Table: () => import("./pages/play.js"),
  Hands: () => import("./pages/hands.js"),
  Jobs: () => import("./pages/jobs.js"),
  Reference: () => import("./pages/reference.js"),
};
const there = {};
const read = (name) =>
  FILES[name]().then((file) => {
    there[name] = file[name];
  });

function Later({ name, ...rest }) {
  const [, set] = useState(0);
  useEffect(() => {
    if (!there[name]) read(name).then(() => set((n) => n + 1));
  }, [name]);
  return there[name]
    ? html`<${there[name]} ...${rest} />`
    : html`<section class="page"><${Wait}>Loading the page<//></section>`;
}

function Page({ section, rest }) {
  const id = decodeURIComponent(rest[0] || "");
  if (section === "solve")
    return id
      ? html`<${Later} name="Result" key=${id} id=${id} />`
      : html`<${Later} name="Solve" key="solve" />`;
  if (section === "play")
    return id
      ? html`<${Later} name="Table" key=${id} id=${id} />`
      : html`<${Later} name="Play" key="play" />`;
  if (section === "hands") return html`<${Later} name="Hands" key="hands" />`;
  if (section === "jobs") return html`<${Later} name="Jobs" key="jobs" />`;
  if (section === "reference") return html`<${Later} name="Reference" key="reference" />`;
  return html`<${Games} game=${id} />`;
}

function App() {
  const [section = "games", ...rest] = route.value.path.split("/").filter(Boolean);
  document.title = `${(PAGES.find(([key]) => key === section) || ["", { jobs: "Jobs" }[section] || "API"])[1]} · subgame`;
  return html` <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <a class="mark" href="/games" aria-label="subgame, start"
        ><img src="/static/icon.svg" alt="" width="24" height="24" /><span>subgame</span></a
      >
      <nav aria-label="Pages">
        ${PAGES.map(([key, name]) => html`<a key=${key} href="/${key}" aria-current=${section === key ? "page" : undefined}>${name}</a>`)}
      </nav>
      <div class="tools">
        <a class="jobs-link" href="/jobs" aria-current=${section === "jobs" ? "page" : undefined}
          >Jobs${active.value ? html` <span class="count">${active.value}</span>` : null}</a
        >
        <button
          class="ghost theme"
          type="button"
          onClick=${flip}
          aria-label=${`Switch to ${theme.value === "dark" ? "light" : "dark"} colours`}
        >
          ${theme.value === "dark" ? "☀" : "☾"}
        </button>
      </div>
    </header>
    ${connected.value === false && started.value ? html`<p class="offline" role="status">The server does not answer. Trying again.</p>` : null}
    <main id="main" tabindex="-1"><${Page} section=${section} rest=${rest} /></main>
    <footer>Everything is computed on this machine. <a href="/reference">API</a></footer>`;
}

const started = signal(false);
setTimeout(() => {
  started.value = true;
}, 2500);
document.getElementById("app").textContent = "";
render(html`<${App} />`, document.getElementById("app"));
listen();
setTimeout(() => Object.keys(FILES).forEach((name) => read(name).catch(() => {})), 1500);
