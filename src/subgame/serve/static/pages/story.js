// Coin Toss: what safe subgame solving is, for someone who never heard of it.
import {
  html,
  api,
  asked,
  route,
  withQuery,
  go,
  number,
  fraction,
  percent,
  Problem,
  Wait,
} from "../lib/core.js";
import { useEffect, useMemo } from "preact/hooks";
import { Curve } from "../lib/curve.js";

const data = asked(api("/story"));

const ORDER = ["game", "blueprint", "unsafe", "resolve", "maxmargin", "reach-maxmargin", "optimum"];
const TITLES = {
  game: "The game",
  blueprint: "Blueprint",
  unsafe: "Unsafe",
  resolve: "Resolve",
  maxmargin: "Maxmargin",
  "reach-maxmargin": "Reach",
  optimum: "Optimum",
};
const SENTENCES = {
  game: "A coin that only one player sees",
  blueprint: "A rough strategy for the whole game",
  unsafe: "Thinking again can make things worse",
  resolve: "A gadget that makes it safe",
  maxmargin: "A gadget that makes it better",
  "reach-maxmargin": "Mistakes on the way are gifts",
  optimum: "Solving everything at once",
};
const TEXTS = {
  game: () =>
    html`<p>
        A coin is tossed, and only Player 1 sees it. Player 1 may <b>sell</b> it, for 0.5 if it
        shows Heads and −0.5 if it shows Tails, or <b>play</b>. Then Player 2, who has not seen the
        coin, guesses. A right guess costs Player 1 one chip. A wrong one, or a forfeit, pays one.
      </p>
      <p>
        It seems that only what follows Play should matter for the guess. It does not: how good a
        guess is depends on what Player 1 could have had by selling. A part of such a game cannot be
        solved on its own. That is the problem that <em>safe subgame solving</em> solves.
      </p>`,
  blueprint: (step) =>
    html`<p>
        Suppose there is already a strategy for the whole game, the <b>blueprint</b>. In it Player 2
        guesses Heads ${fraction(step.guess.Heads)}, Tails ${fraction(step.guess.Tails)} and
        forfeits ${fraction(step.guess.Forfeit)} of the time.
      </p>
      <p>
        Against it Player 1 does best to sell Heads and to play Tails, and wins${" "}
        ${number(step.best_response, 3)} on average. Now Player 1 has chosen Play, and Player 2 has
        time to think again, about the part of the game that was reached: the <b>subgame</b>. Can
        Player 2 do better there without having to think about everything else?
      </p>`,
  unsafe: (step, all) =>
    html`<p>
        The obvious way: assume that Player 1 came here as the blueprint does. Then the coin shows
        Heads in three of five cases, and the best guess is <b>always Heads</b>.
      </p>
      <p>
        But Player 1 need not play the blueprint. Player 1 now plays Tails only, is never guessed,
        sells Heads, and wins <b>${number(step.best_response, 3)}</b>, more than the${" "}
        ${number(all.blueprint.best_response, 3)} before. Player 2 improved the subgame and lost in
        the game. With Tails, Player 1 gets ${number(-step.rows[1].margin, 2)} more than before:
        its${" "} <em>margin</em> is ${number(step.rows[1].margin, 2)}.
      </p>`,
  resolve: (step) =>
    html`<p>
        The <b>Resolve</b> gadget puts a choice before the subgame. With either coin, Player 1 may
        take an <b>alternative payoff</b> instead of entering: what Player 1 could have had against
        the blueprint, ${number(step.rows[0].alternative, 2)} with Heads and${" "}
        ${number(step.rows[1].alternative, 2)} with Tails. Player 2 solves this small game.
      </p>
      <p>
        Its solution gives Player 1 no more than before with either coin, so it is <b>safe</b>: the
        best response wins ${number(step.best_response, 3)} at most, as before. But nothing makes it
        better. The blueprint's own guess is one of the solutions.
      </p>`,
  maxmargin: (step, all) =>
    html`<p>
        <b>Maxmargin</b> asks for more. The margin of a coin is by how much Player 1 gets less than
        before. The gadget lets Player 1 choose the coin with the smallest margin, so Player 2 makes
        the smallest one as large as possible.
      </p>
      <p>
        Player 2 guesses Heads ${fraction(step.guess.Heads)} and Tails${" "}
        ${fraction(step.guess.Tails)}, and never forfeits. Both margins are${" "}
        ${number(step.rows[0].margin, 2)}, and the best response wins${" "}
        ${number(step.best_response, 3)} instead of ${number(all.blueprint.best_response, 3)}. It is
        safe, and it is better.
      </p>`,
  "reach-maxmargin": (step, all) =>
    html`<p>
        With Heads, selling pays ${number(all.blueprint.values.Heads.Sell, 2)} and playing${" "}
        ${number(all.blueprint.values.Heads.Play, 2)} against the blueprint. Whoever plays Heads has
        made a mistake: a <b>gift</b> of ${number(step.rows[0].gift, 2)}. <b>Reach-Maxmargin</b> may
        give it back without losing anything, so Heads may be worth up to${" "}
        ${number(step.rows[0].alternative, 2)} in the subgame.
      </p>
      <p>
        That leaves more room for Tails. Player 2 guesses ${fraction(step.guess.Heads)} and${" "}
        ${fraction(step.guess.Tails)}, and the best response wins ${number(step.best_response, 3)}.
      </p>`,
  optimum: (step) =>
    html`<p>
        Solving the whole game at once gives Heads ${fraction(step.guess.Heads)} and Tails${" "}
        ${fraction(step.guess.Tails)}. Player 1 is then indifferent between selling and playing with
        either coin, and wins ${number(step.best_response, 1)}.
      </p>
      <p>
        A subgame alone does not always lead there, because the rest of the blueprint stays as it
        is. But it never loses by it, and it works where the whole game is far too large: that is
        how computers came to play poker.
      </p>
      <p class="next-steps">
        <a class="button primary" href="/games/coin-toss">Walk this game's tree</a>${" "}
        <a class="button" href="/solve">Solve a poker hand</a>${" "}
        <a class="button" href="/play?game=coin-toss">Play it</a>
      </p>`,
};

export function Story() {
  const step = ORDER.includes(route.value.query.get("step"))
    ? route.value.query.get("step")
    : "game";
  const answer = data.value;
  const at = ORDER.indexOf(step);
  const to = (k) => withQuery({ step: k ? ORDER[k] : null });
  const all = useMemo(
    () =>
      answer.state === "ready"
        ? Object.fromEntries(answer.value.steps.map((one) => [one.id, one]))
        : null,
    [answer],
  );
  useEffect(() => {
    const keys = (event) => {
      const at = Math.max(0, ORDER.indexOf(route.value.query.get("step"))); // also before it is drawn
      const k = at + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] || 0);
      if (
        k !== at &&
        ORDER[k] &&
        !event.altKey &&
        !event.target.closest?.("input, select, textarea, canvas")
      ) {
        event.preventDefault();
        go(to(k), { replace: true });
      }
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  const now = all ? all[step === "game" ? "blueprint" : step] : null;
  return html`<section class="page story" aria-labelledby="story-title">
    <p class="eyebrow">Safe subgame solving in seven steps</p>
    <ol class="steps" aria-label="Steps">
      ${ORDER.map(
        (name, k) =>
          html`<li key=${name}>
            <a href=${to(k)} aria-current=${name === step ? "step" : undefined}
              ><b>${k + 1}</b> ${TITLES[name]}</a
            >
          </li>`,
      )}
    </ol>
    <div class="story-body">
      <div class="story-text">
        <h1 id="story-title">${SENTENCES[step]}</h1>
        ${step === "game" ? TEXTS.game() : all ? TEXTS[step](now, all) : answer.state === "failed" ? html`<${Problem} error=${answer.error} />` : html`<${Wait}>Solving Coin Toss. The first time, kernels are compiled, too.<//>`}
        <p class="pager">
          ${at > 0 ? html`<a class="button" href=${to(at - 1)} rel="prev">Back</a>` : null}
          ${at < ORDER.length - 1 ? html`<a class="button primary" href=${to(at + 1)} rel="next">Next: ${TITLES[ORDER[at + 1]]}</a>` : null}
        </p>
      </div>
      <div class="story-figure">
        <${CoinTree} step=${step} now=${now} />
        ${all && step !== "game" ? html`<${Meter} all=${all} step=${step} upTo=${at} />` : null}
      </div>
    </div>
    ${all && (step === "resolve" || step === "maxmargin") ? html`<${Learning} points=${answer.value.learning[step]} target=${now.best_response} before=${all.blueprint.best_response} name=${TITLES[step]} />` : null}
  </section>`;
}

// What the best response wins, for the strategies seen so far.
function Meter({ all, step, upTo }) {
  const most = 0.8;
  return html`<figure class="meter">
    <figcaption>What Player 1 can win on average. Lower is better for Player 2.</figcaption>
    ${ORDER.slice(1).map((name, k) =>
      k + 1 <= upTo
        ? html`<div class="meter-row ${name === step ? "here" : ""}" key=${name}>
            <span class="meter-name">${TITLES[name]}</span>
            <span class="meter-track"
              ><span
                class="meter-bar ${all[name].best_response > all.blueprint.best_response + 1e-9 ? "worse" : ""}"
                style=${{ width: `${(100 * all[name].best_response) / most}%` }}
              ></span
            ></span>
            <span class="meter-value">${number(all[name].best_response, 3)}</span>
          </div>`
        : null,
    )}
  </figure>`;
}

function Learning({ points, target, before, name }) {
  const xs = points.map((point) => point.iteration);
  const series = useMemo(
    () => [
      { label: "the best response wins", values: points.map((point) => point.best_response) },
      { label: "solved exactly", values: points.map(() => target), colour: "--soft", dash: [4, 4] },
    ],
    [points],
  );
  return html`<figure class="box learning">
    <figcaption>
      <b>The gadget at work.</b> ${name} solved by CFR+: what a best response wins after so many
      iterations. The blueprint loses ${number(before, 3)}. An unfinished solve can be worse, which
      is why the package keeps the blueprint until the result is shown to be safe.
    </figcaption>
    <${Curve}
      xs=${xs}
      series=${series}
      logY=${false}
      height=${190}
      label="What a best response wins by iteration of the gadget"
    />
  </figure>`;
}

// The game tree of Fig. 1a; widths of lines are probabilities.
function CoinTree({ step, now }) {
  const shown = step !== "game" && now;
  const guess = shown ? now.guess : null;
  const wide = (p) => (p === null || p === undefined ? 1.5 : 1 + 7 * p);
  const best = (coin) =>
    shown
      ? now.values[coin].Play > now.values[coin].Sell + 1e-9
        ? "Play"
        : now.values[coin].Sell > now.values[coin].Play + 1e-9
          ? "Sell"
          : "both"
      : null;
  const on = (coin, action) => shown && (best(coin) === action || best(coin) === "both");
  const leaf = (x, y, value, key) =>
    html`<g key=${key}
      ><rect class="leaf" x=${x - 19} y=${y - 11} width="38" height="22" rx="5" /><text
        class="leaf-text"
        x=${x}
        y=${y + 4}
        text-anchor="middle"
        >${value}</text
      ></g
    >`;
  const side = (coin, cx, sellX, playX) => {
    const sell = coin === "Heads" ? "+0.5" : "−0.5";
    const pays = coin === "Heads" ? ["−1", "+1", "+1"] : ["+1", "−1", "+1"];
    const names = ["Heads", "Tails", "Forfeit"];
    return html` <line class="edge" x1="320" y1="34" x2=${cx} y2="92" />
      <text
        class="edge-text"
        x=${(320 + cx) / 2 + (coin === "Heads" ? -14 : 14)}
        y="58"
        text-anchor=${coin === "Heads" ? "end" : "start"}
        >${coin} ½</text
      >
      <line class="edge ${on(coin, "Sell") ? "best" : ""}" x1=${cx} y1="92" x2=${sellX} y2="176" />
      <text
        class="edge-text"
        x=${(cx + sellX) / 2 + (coin === "Heads" ? -10 : 10)}
        y="134"
        text-anchor=${coin === "Heads" ? "end" : "start"}
        >Sell</text
      >
      ${leaf(sellX, 188, sell, `${coin}s`)}
      <line class="edge ${on(coin, "Play") ? "best" : ""}" x1=${cx} y1="92" x2=${playX} y2="212" />
      <text
        class="edge-text"
        x=${(cx + playX) / 2 + (coin === "Heads" ? 12 : -12)}
        y="150"
        text-anchor=${coin === "Heads" ? "start" : "end"}
        >Play</text
      >
      ${shown ? html`<text class="worth ${on(coin, "Play") ? "best" : ""}" x=${(cx + playX) / 2 + (coin === "Heads" ? 14 : -14)} y="168" text-anchor=${coin === "Heads" ? "start" : "end"}>worth ${number(now.values[coin].Play, 2)}</text>` : null}
      ${names.map((name, k) => {
        const x = playX + (k - 1) * 62;
        return html`<line
            key=${name}
            class="edge guess ${guess && guess[name] < 1e-9 ? "never" : ""}"
            style=${{ strokeWidth: `${wide(guess?.[name])}px` }}
            x1=${playX}
            y1="212"
            x2=${x}
            y2="300"
          />
          ${leaf(x, 312, pays[k], coin + name)}
          <text class="small-text" x=${x} y="338" text-anchor="middle">${name}</text>
          ${guess ? html`<text class="small-text strong" x=${x} y="353" text-anchor="middle">${percent(guess[name], (guess[name] * 100) % 1 ? 1 : 0)}</text>` : null}`;
      })}
      <circle class="player one" cx=${cx} cy="92" r="13" /><text
        class="player-text"
        x=${cx}
        y="96"
        text-anchor="middle"
        >1</text
      >
      <circle class="player two" cx=${playX} cy="212" r="13" /><text
        class="player-text"
        x=${playX}
        y="216"
        text-anchor="middle"
        >2</text
      >`;
  };
  const said = shown
    ? `Player 2 guesses Heads ${percent(guess.Heads)}, Tails ${percent(guess.Tails)}, forfeits ${percent(guess.Forfeit)}. Play is worth ${number(now.values.Heads.Play, 2)} with Heads and ${number(now.values.Tails.Play, 2)} with Tails.`
    : "The game tree of Coin Toss.";
  return html`<svg class="coin" viewBox="0 0 640 366" role="img" aria-label=${said}>
    <rect class="infoset" x="176" y="192" width="288" height="40" rx="20" />
    ${side("Heads", 170, 56, 210)}${side("Tails", 470, 584, 430)}
    <path class="chance-mark" d="M320,18 l14,14 l-14,14 l-14,-14 z" />
    <text class="small-text" x="320" y="216" text-anchor="middle">has not seen the coin</text>
  </svg>`;
}
