// A public tree as a drawing: states from left to right, one line for each.
import { html, percent } from "./core.js";
import { useEffect, useRef } from "preact/hooks";

const STEP = 132,
  PAD = 16,
  HIGH = 560; // a tree is as high as this if its lines can be so close

function layOut(nodes, root) {
  const below = new Map();
  for (const node of nodes) below.set(node.parent, [...(below.get(node.parent) || []), node]);
  const placed = [];
  let line = 0;
  const put = (node, depth) => {
    const children = (below.get(node.id) || []).map((child) => put(child, depth + 1));
    const y = children.length ? (children[0].y + children.at(-1).y) / 2 : line++;
    const here = { ...node, depth, y, shown: children };
    placed.push(here);
    return here;
  };
  put(root, 0);
  return { placed, lines: line, depth: Math.max(...placed.map((node) => node.depth)) };
}

// The last step of a name that contains the whole way, such as pbp after pb.
const short = (node, parent) => {
  const text = node.name.startsWith(parent?.name || "\u0000")
    ? node.name.slice(parent.name.length).trim()
    : node.name;
  const shown = text.split("\n").at(-1).trim() || node.name || "start";
  return shown.length > 14 ? `…${shown.slice(-13)}` : shown;
};

export function Tree({ tree, onGo }) {
  const box = useRef(null);
  const { placed, lines, depth } = layOut(
    tree.nodes,
    tree.nodes.find((node) => node.id === tree.path[0]),
  );
  const byId = new Map(placed.map((node) => [node.id, node]));
  const LINE = Math.max(17, Math.min(30, HIGH / lines));
  const wide = PAD * 2 + depth * STEP + 110,
    high = PAD * 2 + Math.max(lines - 1, 0) * LINE + 22;
  const x = (node) => PAD + 8 + node.depth * STEP,
    y = (node) => PAD + 12 + node.y * LINE;
  useEffect(() => {
    const here = byId.get(tree.at);
    if (here && box.current) {
      box.current.scrollLeft = x(here) - 200;
      box.current.scrollTop = y(here) - 160;
    }
  }, [tree.at]);
  const keys = (event) => {
    const here = byId.get(tree.at),
      parent = byId.get(here.parent);
    const row = parent ? parent.shown : [here];
    const at = row.findIndex((node) => node.id === here.id);
    const next = {
      ArrowRight: here.shown[0],
      ArrowLeft: parent,
      ArrowDown: row[at + 1],
      ArrowUp: row[at - 1],
    }[event.key];
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (next) onGo(next.id);
  };
  const who = (node) =>
    node.player === null ? (node.children ? "chance" : "end") : ["one", "two", "both"][node.player];
  return html`<div
      class="tree"
      ref=${box}
      tabindex="0"
      role="application"
      aria-label="Public tree. Arrow keys walk it."
      onKeyDown=${keys}
    >
      <svg width=${wide} height=${high} viewBox="0 0 ${wide} ${high}" aria-hidden="true">
        ${placed
          .filter((node) => byId.has(node.parent))
          .map((node) => {
            const from = byId.get(node.parent),
              on = tree.path.includes(node.id);
            const middle = (x(from) + x(node)) / 2;
            return html`<path
              key=${`e${node.id}`}
              class="edge ${on ? "on" : ""}"
              d="M${x(from) + 7},${y(from)} C${middle},${y(from)} ${middle},${y(node)} ${x(node) - 7},${y(node)}"
            />`;
          })}
        ${placed.map(
          (node) =>
            html`<g
              key=${node.id}
              class="node ${who(node)} ${node.id === tree.at ? "here" : ""}"
              onClick=${() => onGo(node.id)}
            >
              <rect
                class="hit"
                x=${x(node) - 12}
                y=${y(node) - LINE / 2}
                width=${STEP - 14}
                height=${LINE}
              />
              ${who(node) === "chance" ? html`<path class="dot" d="M${x(node)},${y(node) - 6} l6,6 l-6,6 l-6,-6 z" />` : who(node) === "end" ? html`<circle class="dot" cx=${x(node)} cy=${y(node)} r="3" />` : html`<circle class="dot" cx=${x(node)} cy=${y(node)} r="6" />`}
              <text
                x=${x(node) + (node.shown.length ? 4 : 11)}
                y=${y(node) + (node.shown.length ? -10 : 4)}
                >${short(node, byId.get(node.parent))}${node.chance > 0 && node.chance < 1 ? ` ${percent(node.chance, 0)}` : ""}${node.children && !node.shown.length ? ` +${node.children}` : ""}</text
              >
            </g>`,
        )}
      </svg>
    </div>
    <p class="legend">
      <span><i class="one"></i>player 1</span><span><i class="two"></i>player 2</span
      ><span><i class="chance"></i>chance</span><span><i class="end"></i>the end</span>
    </p>`;
}
