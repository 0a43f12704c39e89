// The grid of the pages: drawn on a canvas, moved over by keys and pointer.
import { html } from "./core.js";
import { RANKS, classAt, placeOf, drawGrid } from "./draw.js";
import { useEffect, useRef, useState } from "preact/hooks";

export { COLOURS, colours, css, inkOn, ramp } from "./draw.js";

const theme = () => document.documentElement.dataset.theme;

// A grid that is moved over by keys and pointer. onPick(name, kind) with kind "point", "paint", "press".
export function Grid({ cells, selected, onPick, label, summary, ranks = RANKS }) {
  const many = ranks.length,
    highest = classAt(0, 0, ranks);
  const canvas = useRef(null);
  const [focus, setFocus] = useState(null);
  const shown = selected || focus,
    place = useRef(null); // where the next key goes from, though nothing was drawn since the last
  place.current = shown;
  useEffect(() => {
    const draw = () => drawGrid(canvas.current, cells, { selected: shown, theme: theme(), ranks });
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(canvas.current);
    addEventListener("themechange", draw);
    return () => {
      watch.disconnect();
      removeEventListener("themechange", draw);
    };
  }, [cells, shown, ranks]);
  const at = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const place = (v, from, size) =>
      Math.min(many - 1, Math.max(0, Math.floor(((v - from) / size) * many)));
    return classAt(
      place(event.clientY, box.top, box.height),
      place(event.clientX, box.left, box.width),
      ranks,
    );
  };
  const keys = (event) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[
      event.key
    ];
    const now = place.current || highest;
    if (steps) {
      const [row, column] = placeOf(now, ranks);
      const next = place.current
        ? classAt((row + steps[0] + many) % many, (column + steps[1] + many) % many, ranks)
        : now;
      place.current = next;
      setFocus(next);
      onPick?.(next, "point");
    } else if (event.key === " " || event.key === "Enter") {
      onPick?.(now, "press");
    } else return;
    event.preventDefault();
  };
  const last = useRef(null);
  const paint = (event, begin) => {
    if (!begin && event.buttons !== 1) return;
    const name = at(event);
    if (!begin && name === last.current) return;
    last.current = name;
    if (begin) canvas.current.setPointerCapture?.(event.pointerId);
    onPick?.(name, begin ? "press" : "paint");
  };
  return html`<div class="grid-box">
    <canvas
      ref=${canvas}
      class="grid"
      role="application"
      tabindex="0"
      aria-label=${`${label}. Arrow keys move, space chooses.`}
      onKeyDown=${keys}
      onPointerDown=${(event) => paint(event, true)}
      onPointerMove=${(event) => paint(event, false)}
    ></canvas>
    <p class="visually-hidden" aria-live="polite">${summary ? summary(shown) : shown}</p>
  </div>`;
}
