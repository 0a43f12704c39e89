// A range: painted on the grid, or written.
import { html, api, percent, number } from "./core.js";
import { useEffect, useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Grid } from "./grid.js";
import { ranksOf } from "./draw.js";
import { LIBRARY } from "./library.js";

const INK = [20, 98, 79];

// `seat` is "oop" or "ip", whose preflop ranges are offered.
export function RangeEditor({ id, label, value, onChange, error, seat = id, deck = "full" }) {
  const view = useSignal(null),
    weight = useSignal(1),
    at = useSignal(null),
    saved = useSignal([]),
    chosen = useSignal(null),
    wrong = useSignal(""),
    painted = useSignal("");
  useEffect(() => {
    const ended = new AbortController();
    const timer = setTimeout(async () => {
      const body = { text: value.trim() || "AA:0", deck };
      try {
        view.value = await api("/ranges/parse", body, { signal: ended.signal });
        wrong.value = "";
        // What was painted is written shortly; what was typed stays as it is.
        if (painted.value === value)
          onChange(view.value.text === "random:0" ? " " : view.value.text);
      } catch (failed) {
        wrong.value = failed.fields?.text || failed.message;
      }
    }, 120);
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [value, deck]);
  useEffect(() => {
    api("/ranges").then(
      (rows) => {
        saved.value = rows;
      },
      () => {},
    );
  }, []);
  const classes = view.value?.classes || {};
  const cells = useMemo(
    () =>
      Object.fromEntries(
        Object.entries(classes).map(([name, share]) => [
          name,
          { parts: [[INK, 1]], height: share, text: share < 1 ? percent(share, 0) : "" },
        ]),
      ),
    [view.value],
  );
  const mode = useSignal(1);
  // A later item replaces an earlier one, so painting appends.
  const pick = (name, kind) => {
    at.value = name;
    if (kind === "point") return;
    if (kind === "press")
      mode.value = Math.abs((classes[name] || 0) - weight.value) < 1e-3 ? 0 : weight.value;
    const next = `${value.trim() ? `${value.trim()},` : ""}${name}:${mode.value}`;
    view.value = { ...(view.value || {}), classes: { ...classes, [name]: mode.value } };
    painted.value = next;
    onChange(next);
  };
  const keep = async () => {
    const name = prompt("Keep this range under the name");
    if (!name) return;
    try {
      await api("/ranges", { name, text: value, deck });
      saved.value = await api("/ranges");
    } catch (failed) {
      wrong.value = failed.message;
    }
  };
  const forget = async () => {
    try {
      await api(`/ranges/${chosen.value.id}`, undefined, { method: "DELETE" });
      chosen.value = null;
      saved.value = await api("/ranges");
    } catch (failed) {
      wrong.value = failed.message;
    }
  };
  const shown = error || wrong.value;
  return html`<div class="range-editor">
    <div class="range-head">
      <h2 class="third" id="${id}-title">${label}</h2>
      <span class="num soft"
        >${view.value ? `${number(view.value.combos, view.value.combos % 1 ? 1 : 0)} hands, ${percent(view.value.share || 0)}` : ""}</span
      >
    </div>
    <${Grid}
      cells=${cells}
      selected=${at.value}
      onPick=${pick}
      label=${`Range of the player ${label}`}
      summary=${(name) => (name ? `${name}, weight ${classes[name] || 0}` : "")}
      ranks=${ranksOf(deck)}
    />
    <div class="range-tools">
      <label for="${id}-weight">Brush</label
      ><input
        id="${id}-weight"
        type="range"
        min="0"
        max="1"
        step="0.05"
        value=${weight.value}
        onInput=${(e) => {
          weight.value = Number(e.target.value);
        }}
      /><output>${percent(weight.value, 0)}</output>
      <button type="button" class="ghost" onClick=${() => onChange("random")}>All</button>
      <button type="button" class="ghost" onClick=${() => onChange(" ")}>None</button>
      <button type="button" class="ghost" onClick=${keep}>Keep</button>
      ${
        saved.value.length
          ? html`<select
              aria-label="Kept ranges"
              value=""
              onChange=${(e) => {
                chosen.value = saved.value.find((row) => row.text === e.target.value);
                if (chosen.value) onChange(chosen.value.text);
                e.target.value = "";
              }}
            >
              <option value="">Kept ranges</option>
              ${saved.value.map((row) => html`<option key=${row.id} value=${row.text}>${row.name}</option>`)}
            </select>`
          : null
      }
      ${
        deck === "full"
          ? html`<select
              aria-label="Preflop ranges by stack"
              title="Heads-up ranges of subgame preflop, as if nobody bet after the flop."
              value=""
              onChange=${(e) => {
                if (e.target.value) onChange(e.target.value);
                e.target.value = "";
              }}
            >
              <option value="">Preflop ranges</option>
              ${LIBRARY.stacks.map(
                ({ stack, ranges }) =>
                  html`<optgroup key=${stack} label="${stack} big blinds">
                    ${ranges
                      .filter((row) => row.seat === seat)
                      .map(
                        (row) =>
                          html`<option key=${row.name} value=${row.text}>${row.name}</option>`,
                      )}
                  </optgroup>`,
              )}
            </select>`
          : null
      }
      ${chosen.value ? html`<button type="button" class="ghost" onClick=${forget}>Forget ${chosen.value.name}</button>` : null}
    </div>
    <label class="visually-hidden" for=${id}>${label} as text</label>
    <textarea
      id=${id}
      rows="2"
      spellcheck="false"
      value=${value === " " ? "" : value}
      onInput=${(e) => onChange(e.target.value)}
      aria-invalid=${shown ? "true" : undefined}
      aria-describedby=${shown ? `${id}-error` : undefined}
    ></textarea>
    ${shown ? html`<p class="error" role="alert" id="${id}-error">${shown}</p>` : null}
  </div>`;
}
