// Curves, by uPlot.
import { html } from "./core.js";
import { useEffect, useRef, useState } from "preact/hooks";

let reading = null; // uPlot, read once a curve is drawn

const look = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Curve({
  xs,
  series,
  label,
  x = "iterations",
  logX = true,
  logY = true,
  height = 220,
  unit = "",
}) {
  const box = useRef(null);
  const [uPlot, ready] = useState(null);
  useEffect(() => {
    (reading ||= import("uplot")).then((file) => ready(() => file.default));
  }, []);
  useEffect(() => {
    if (!xs.length || !uPlot) return undefined;
    const ink = look("--soft"),
      line = look("--line");
    const axis = {
      stroke: ink,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      font: "12px Inter, system-ui, sans-serif",
    };
    const short = (value) =>
      value >= 1000 ? `${value / 1000}k` : String(Number(value.toPrecision(3)));
    const marks = (plot, values) =>
      values.map((value) => (value === null ? "" : short(value) + unit));
    const made = new uPlot(
      {
        width: box.current.clientWidth,
        height,
        scales: {
          x: {
            time: false,
            distr: logX ? 3 : 1,
            range: (plot, low, high) => [low, Math.max(high, low + 1)],
          },
          y: { distr: logY ? 3 : 1 },
        },
        cursor: { drag: { x: false, y: false } },
        legend: { show: series.length > 1, live: false },
        axes: [
          { ...axis, values: (plot, values) => values.map((v) => (v === null ? "" : short(v))) },
          { ...axis, values: marks, size: 56 },
        ],
        series: [
          { label: x },
          ...series.map((line, k) => ({
            label: line.label,
            stroke: look(line.colour || ["--accent", "--warn", "--soft"][k % 3]),
            width: 2,
            dash: line.dash,
            points: { show: xs.length < 30, size: 5 },
          })),
        ],
      },
      [xs, ...series.map((line) => line.values)],
      box.current,
    );
    const watch = new ResizeObserver(() => {
      if (box.current) made.setSize({ width: box.current.clientWidth, height });
    });
    watch.observe(box.current);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [xs, series, uPlot, document.documentElement.dataset.theme]);
  return html`<div class="curve" role="img" aria-label=${label} ref=${box}></div>`;
}
