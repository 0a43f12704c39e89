// A range by class of hands: how much of each class is left, and what is done with it.
import { html, percent } from "./core.js";
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Grid, colours, css } from "./grid.js";

// range: the actions, and by class its reach and the share of each action. onPick hears what is picked.
export function RangeGrid({ range, label, picked, onPick }) {
  const shades = colours(range.actions),
    own = useSignal(null),
    at = onPick ? picked : own.value;
  const cells = useMemo(() => {
    const most = Math.max(...Object.values(range.classes).map(([reach]) => reach), 1e-9);
    return Object.fromEntries(
      Object.entries(range.classes).map(([name, [reach, ...mix]]) => [
        name,
        {
          parts: mix.map((share, k) => [shades[k], share]).reverse(),
          height: reach / most,
          text: "",
        },
      ]),
    );
  }, [range]);
  const about = (name) => {
    const row = range.classes[name];
    return !name
      ? ""
      : !row
        ? `${name} is not in the range`
        : `${name}: ${range.actions.map((action, k) => `${action.name} ${percent(row[k + 1], 0)}`).join(", ")}; ${percent(row[0], 0)} left`;
  };
  return html`<p class="options">
      ${range.actions.map((action, k) => html`<span key=${action.id} class="option"><i style=${{ background: css(shades[k]) }}></i><b>${action.name}</b></span>`)}
    </p>
    <${Grid}
      cells=${cells}
      selected=${at}
      onPick=${
        onPick ||
        ((name) => {
          own.value = name;
        })
      }
      label=${label}
      summary=${about}
      ranks=${range.ranks}
    />
    <p class="hint">
      ${at ? about(at) : "The height of a bar is how much of the class is left."}
    </p>`;
}
