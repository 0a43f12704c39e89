// The grid of classes of hands, thirteen by thirteen or as many ranks as a deck has, drawn on a canvas. It imports nothing, so that the notebook uses it, too.
export const RANKS = "AKQJT98765432";

// The ranks of a deck by its name.
export const ranksOf = (deck) => (deck.startsWith("short") ? "AKQJT9876" : RANKS);

// The class in a row and a column: suited above the diagonal, offsuit below it.
export function classAt(row, column, ranks = RANKS) {
  const [high, low] = row <= column ? [ranks[row], ranks[column]] : [ranks[column], ranks[row]];
  return high + low + (row === column ? "" : row < column ? "s" : "o");
}

export function placeOf(name, ranks = RANKS) {
  const [a, b] = [ranks.indexOf(name[0]), ranks.indexOf(name[1])];
  return name[2] === "o" ? [b, a] : [a, b];
}

export const COLOURS = {
  fold: [63, 127, 191],
  check: [87, 171, 107],
  call: [87, 171, 107],
  "all-in": [123, 63, 152],
};
const BETS = [
  [244, 184, 112],
  [205, 58, 50],
];
const LOW = [62, 103, 168],
  MIDDLE = [240, 232, 208],
  HIGH = [201, 90, 40];

const blend = (a, b, t) => a.map((x, k) => Math.round(x + (b[k] - x) * t));
export const css = (c) => `rgb(${c[0]}, ${c[1]}, ${c[2]})`;
const linear = (v) => (v <= 10 ? v / 3294 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const luminance = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);

// Black or white, whichever has more contrast on a colour (WCAG 2); it is 4.5 or more.
export const inkOn = (c) => (luminance(c) > 0.179 ? "#000000" : "#ffffff");

// A colour for each action: bets from orange (small) to red (large).
export function colours(actions) {
  const bets = actions.filter((action) => action.kind === "bet" || action.kind === "raise");
  return actions.map((action) => {
    if (COLOURS[action.kind]) return COLOURS[action.kind];
    const at = bets.indexOf(action);
    return blend(...BETS, bets.length > 1 ? at / (bets.length - 1) : 0.5);
  });
}

// A colour on a scale of values: blue is low, orange is high.
export function ramp(share) {
  const t = Math.min(1, Math.max(0, share));
  return t < 0.5 ? blend(LOW, MIDDLE, 2 * t) : blend(MIDDLE, HIGH, 2 * t - 1);
}

// Bars from the left in the colours of what is done, as high as `height`.
function fillBars(pen, { parts, height }, x, y, wide, high) {
  const tall = Math.max(2, high * height);
  let at = x;
  for (const [colour, share] of parts) {
    pen.fillStyle = css(colour);
    pen.fillRect(at, y + high - tall, wide * share, tall);
    at += wide * share;
  }
}

// cells: class -> {parts: [[colour, share]], height: 0..1, text}, or {each: [the same or null by suits]}.
// Everything else is left empty.
export function drawGrid(canvas, cells, { selected = null, theme = "light", ranks = RANKS } = {}) {
  const size = canvas?.clientWidth,
    scale = devicePixelRatio || 1;
  if (!size) return;
  if (canvas.width !== Math.round(size * scale))
    canvas.width = canvas.height = Math.round(size * scale);
  const pen = canvas.getContext("2d"),
    side = size / ranks.length,
    gap = size > 360 ? 1 : 0.5;
  const dark = theme === "dark";
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, size, size);
  pen.textBaseline = "top";
  const type = Math.max(7, Math.min(13, side * 0.29));
  for (let row = 0; row < ranks.length; row += 1) {
    for (let column = 0; column < ranks.length; column += 1) {
      const name = classAt(row, column, ranks),
        cell = cells[name];
      const x = column * side,
        y = row * side,
        wide = side - gap,
        high = side - gap;
      pen.fillStyle = dark ? "#23272b" : row === column ? "#e6e3da" : "#eeece5";
      pen.fillRect(x, y, wide, high);
      let under = dark ? [35, 39, 43] : [238, 236, 229];
      if (cell?.hands) {
        const across = { 4: 2, 6: 3, 12: 3 }[cell.hands.length],
          down = cell.hands.length / across;
        const top = size > 460 ? type * 1.35 : 0,
          [w, h] = [wide / across, (high - top) / down];
        cell.hands.forEach((one, k) => {
          if (one?.height > 0)
            fillBars(
              pen,
              one,
              x + (k % across) * w,
              y + top + Math.floor(k / across) * h,
              w - gap / 2,
              h - gap / 2,
            );
        });
      } else if (cell && cell.height > 0) {
        fillBars(pen, cell, x, y, wide, high);
        if (cell.height > 0.9 && cell.parts.length) {
          let sum = 0;
          under = (cell.parts.find(([, share]) => (sum += share) > 0.2) || cell.parts[0])[0];
        }
      }
      pen.fillStyle = inkOn(under);
      pen.globalAlpha = cell && (cell.hands || cell.height > 0) ? 1 : 0.55;
      pen.font = `600 ${type}px Inter, ui-sans-serif, system-ui, sans-serif`;
      if (cell?.parts?.filter(([, share]) => share > 0.1).length > 1 && cell.height > 0.8) {
        // a name over several colours
        pen.strokeStyle =
          inkOn(under) === "#000000" ? "rgba(255, 255, 255, 0.5)" : "rgba(0, 0, 0, 0.5)";
        pen.lineWidth = 2.5;
        pen.lineJoin = "round";
        pen.strokeText(name, x + side * 0.09, y + side * 0.09);
      }
      pen.fillText(name, x + side * 0.09, y + side * 0.09);
      if (cell?.text && side > 30) {
        pen.font = `${type * 0.92}px Inter, ui-sans-serif, system-ui, sans-serif`;
        pen.fillText(cell.text, x + side * 0.09, y + side * 0.58);
      }
      pen.globalAlpha = 1;
    }
  }
  if (selected) {
    const [row, column] = placeOf(selected, ranks);
    pen.strokeStyle = dark ? "#ffffff" : "#111111";
    pen.lineWidth = 2;
    pen.strokeRect(column * side + 1, row * side + 1, side - gap - 2, side - gap - 2);
  }
}
