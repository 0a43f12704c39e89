// The list of jobs.
import { html, api, jobs, Badge, Problem } from "../lib/core.js";
import { useSignal } from "@preact/signals";

const KINDS = {
  endgame: "spot",
  game: "game",
  refine: "refinement",
  lock: "locked spot",
  load: "uploaded",
  report: "report",
};

export const where = (job) =>
  job.result?.game && !job.result?.spot
    ? `/games/${encodeURIComponent(job.result.game)}?strategy=${job.id}`
    : `/solve/${job.id}`;

export function JobList({ rows, empty = "No jobs yet." }) {
  const error = useSignal(null);
  const act = (job, verb) =>
    api(`/jobs/${job.id}/${verb}`, {}).then(
      () => {
        error.value = null;
      },
      (e) => {
        error.value = e;
      },
    );
  const remove = (job) =>
    api(`/jobs/${job.id}`, undefined, { method: "DELETE" }).then(
      () => {
        error.value = null;
      },
      (e) => {
        error.value = e;
      },
    );
  if (!rows.length) return html`<p class="soft">${empty}</p>`;
  return html`<${Problem} error=${error.value} />
    <ul class="job-list">
      ${rows.map(
        (job) =>
          html`<li key=${job.id}>
            <a href=${where(job)} class="job-name">${job.name}</a>
            <span class="soft">${KINDS[job.kind] || job.kind}</span>
            <${Badge} job=${job} />
            <span class="job-info"
              >${
                job.state === "running"
                  ? html`<progress
                        value=${job.share || 0}
                        max="1"
                        aria-label="Progress of ${job.name}"
                      ></progress
                      >${" "} <span class="soft">${job.phase}</span>`
                  : job.state === "failed"
                    ? html`<span class="bad">${job.error}</span>`
                    : job.result?.exploitability_percent !== undefined
                      ? html`<span class="num"
                          >${job.result.exploitability_percent.toPrecision(2)}% of the pot</span
                        >`
                      : job.result?.flops
                        ? html`<span class="num"
                            >${job.result.flops} of ${job.result.flops_in_all} flops</span
                          >`
                        : job.result?.exploitability !== undefined
                          ? html`<span class="num"
                              >exploitability ${job.result.exploitability.toPrecision(3)}</span
                            >`
                          : null
              }</span
            >
            <span class="job-tools">
              ${job.state === "running" && ["endgame", "lock", "game", "report"].includes(job.kind) ? html`<button type="button" class="ghost" onClick=${() => act(job, "pause")}>Pause</button>` : null}
              ${job.state === "running" ? html`<button type="button" class="ghost" onClick=${() => act(job, "stop")}>Stop</button>` : null}
              ${job.state === "paused" ? html`<button type="button" class="ghost" onClick=${() => act(job, "resume")}>Resume</button>` : null}
              ${["running", "queued"].includes(job.state) ? html`<button type="button" class="ghost" onClick=${() => act(job, "cancel")}>Cancel</button>` : html`<button type="button" class="ghost" aria-label="Remove ${job.name}" onClick=${() => remove(job)}>Remove</button>`}
            </span>
          </li>`,
      )}
    </ul>`;
}

export function Jobs() {
  const rows = Object.values(jobs.value).sort((a, b) => b.made - a.made);
  return html`<section class="page narrow">
    <h1>Jobs</h1>
    <p class="lead">
      Each job runs in a process of its own. Closing this page does not end it; neither does a
      restart of the server.
    </p>
    <${JobList} rows=${rows} empty="No jobs yet. Set up a spot on the page Solve." />
  </section>`;
}
