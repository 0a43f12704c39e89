"""Reports over flops and cards, and comparisons of two solutions."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import Cli, runner

import subgame as sg
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.isomorphism import canonicalise
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.spots import report
from subgame.spots.browse import Explorer
from subgame.spots.compare import Comparison
from subgame.spots.endgame import Endgame, memory_needed
from subgame.spots.flops import Flop, flops, subsets, texture
from subgame.spots.lines import follow_line
from subgame.spots.report import LINES, Task, flop_report, page, weighted_mean
from subgame.spots.tables import Table
from subgame.tree.ranges.tree import range_tree

FLOPS = [Flop("AhKd2c", 4), Flop("8h8d7h", 1), Flop("QcJc9s", 2)]
SPOT = ("--pot", "20", "--stack", "10", "--oop", "AA,KQs", "--ip", "QQ,JTs", "--bets", "a / cap 1")


def game(flop: str) -> Holdem:
    return sg.holdem.endgame(flop, 20, 10, ("AA,KQs", "QQ,JTs"), "a / cap 1")


@pytest.fixture(scope="module")
def table() -> Table:
    return flop_report(FLOPS, game, target=10, threads=1)


def test_a_row_is_the_solution_of_its_flop(table: Table) -> None:
    row = table[2]
    result = sg.solve(sg.compile(game(row["flop"]), merge=True), "hs-dcfr", target=2.0, threads=1)
    solved = Endgame.of(result.strategy)
    assert (row["ev_oop"], row["equity_ip"]) == (solved.ev[0], solved.equity[1])
    assert row["oop all-in 10"] == pytest.approx(float(solved.decision().frequency[1]))
    assert row["ip check"] == pytest.approx(float(solved.decision("c").frequency[0]))
    assert row["exploitability_percent"] <= 10
    mean = weighted_mean(table)
    assert mean["ev_oop"] == pytest.approx(np.average(table.column("ev_oop"), weights=[4, 1, 2]))
    assert "iterations" not in mean


def test_an_executor_gives_the_same_rows_in_the_same_order(table: Table) -> None:
    with ThreadPoolExecutor(2) as pool:
        again = flop_report(FLOPS, game, target=10, threads=1, executor=pool)
    for one, two in zip(table, again, strict=True):
        assert {**one, "seconds": 0} == {**two, "seconds": 0}


def test_a_killed_report_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    log, solved = tmp_path / "log.jsonl", []

    def row(task: report.Task, tree: object) -> dict[str, Any]:
        solved.append(task.flop.name)
        return next(dict(entry) for entry in table if entry["flop"] == task.flop.name)

    monkeypatch.setattr(report, "flop_row", row)
    flop_report(FLOPS[:2], game, target=10, log=log)
    text = log.read_text()
    log.write_text(text[:-30])  # killed while the second row was written
    again = flop_report(FLOPS, game, target=10, log=log)
    assert solved == ["AhKd2c", "8h8d7h", "8h8d7h", "QcJc9s"]
    assert [entry["flop"] for entry in again] == [flop.name for flop in FLOPS]
    assert flop_report(FLOPS, game, target=10, log=log) == again
    assert len(solved) == 4
    with pytest.raises(sg.SubgameError, match="is the log of another report"):
        flop_report(FLOPS, game, target=5, log=log)


KILLED = """
import os, signal, sys
sys.path[:0] = [{tests!r}]
from test_reports import FLOPS, flop_report, game
flop_report(
    FLOPS, game, target=10, threads=1, log={log!r},
    progress=lambda done, of, row: os.kill(os.getpid(), signal.SIGKILL),
)
"""


def test_a_report_goes_on_after_kill_9(tmp_path: Path, table: Table) -> None:
    log, paths = tmp_path / "log.jsonl", [str(Path(__file__).parent)]
    script = KILLED.format(tests=paths[0], log=str(log))
    killed = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    kept = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["flop"] for row in kept[1:]] == ["AhKd2c"]
    again = flop_report(FLOPS, game, target=10, threads=1, log=log)
    assert again[0] == kept[1]
    files = [Table({**row, "seconds": 0} for row in rows).to_csv() for rows in (table, again)]
    assert files[0] == files[1]


def test_a_flop_that_was_interrupted_is_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    monkeypatch.setattr(report, "drive", lambda run, limits: "interrupted")
    with pytest.raises(KeyboardInterrupt):
        flop_report(FLOPS[:1], game, target=10, log=log)
    assert report.logged(log) == []


def test_a_flop_whose_run_stalls_is_the_best_that_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last average, which here plays uniformly, may be worse."""
    runs: list[Run] = []

    def stall(run: Run, limits: object) -> str:
        run.advance(40)
        run.measure()
        run.best = run.strategy()
        averages: list[Any] = [regrets.average for regrets in run.cfr.pair]
        for average in averages:
            average[...] = 1
        run.measure()
        runs.append(run)
        return "stalled"

    monkeypatch.setattr(report, "drive", stall)
    row = report.flop_row(Task(FLOPS[2], game(FLOPS[2].name), 10, 1, LINES))
    (run,) = runs
    assert run.best is not None
    early, late = (100 * point.exploitability / 20 for point in run.curve)
    assert late > 10 * early
    assert row["exploitability_percent"] == pytest.approx(early, rel=1e-3)
    solved = Endgame.of(run.best)
    assert row["ev_oop"] == pytest.approx(solved.ev[0])
    assert row["oop all-in 10"] == pytest.approx(float(solved.decision().frequency[1]))


def test_a_run_is_evaluated_where_it_was_solved() -> None:
    """Only the streets that are asked for are taken off a device."""
    pytest.importorskip("torch")
    spot = sg.holdem.endgame("QsJh2h8d", 20, 10, ("AA,KQs", "QQ,JTs"), "a / cap 1")
    run = Run(range_tree(sg.compile(spot, merge="boards")), parse("hs-dcfr"), device="torch")
    run.advance(20)
    whole = Endgame.of(run.strategy())
    for streets in (1, None):
        result = Endgame.of_run(run, streets, device="torch")
        np.testing.assert_allclose(result.ev, whole.ev, rtol=1e-6)
        np.testing.assert_allclose(result.equity, whole.equity, rtol=1e-6)
        for some, every in zip(result.strategy.probs, whole.strategy.probs, strict=True):
            np.testing.assert_allclose(some[some > 0], every[some > 0], atol=1e-6)
            assert ((some > 0).sum() < (every > 0).sum()) == (streets == 1)
        mine, theirs = (endgame.decision("c").table()["QhQc"] for endgame in (result, whole))
        assert mine == pytest.approx(theirs, abs=1e-6)


def test_a_page_has_the_table_and_nothing_from_elsewhere(table: Table) -> None:
    text = page(table, weighted_mean(table), "Flops <1>", "of a test")
    assert "Flops &lt;1&gt;" in text
    assert not re.search(r"(src|href)=", text)
    data = re.search(r"const rows = (\[.*?\]), mean = (\{.*?\}), cols = (\[.*?\]);", text)
    assert data is not None
    assert [row["flop"] for row in json.loads(data[1])] == table.column("flop")
    assert json.loads(data[3]) == table.columns


def test_a_quote_is_about_the_largest_flop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first flop is small: nobody can tell the suits of three hearts apart."""
    monkeypatch.setattr(report, "usual_iterations", lambda target: 0.0)
    chosen = [Flop("AhKh2h", 1), Flop("8h7d2c", 1), Flop("QcJc9s", 1)]
    sizes = [
        memory_needed(range_tree(sg.compile(game(flop.name), merge=True)), report.SCHEDULE)
        for flop in chosen
    ]
    assert sizes[1] > 2 * sizes[0]
    need = report.quote(chosen, game, 0.5, threads=1)
    assert need.memory == max(sizes)
    assert need.seconds > 0


def test_a_report_without_sizes_takes_few() -> None:
    """They have one size on turn and river, and what is quoted is what is solved."""
    from subgame.cli.report import BETS
    from subgame.games.holdem.bets import BetSizes

    sizes = BetSizes.parse(BETS, "postflop")
    assert [len(sizes.street(name).bets) for name in ("flop", "turn", "river")] == [2, 1, 1]


# Flops ---------------------------------------------------------------------------------------
def places(chosen: list[Flop]) -> list[int]:
    """The numbers of flops among all canonical ones."""
    from subgame.games.holdem.cards import DECK
    from subgame.games.holdem.isomorphism import canonical_boards

    every = canonical_boards((3,)).cards.tolist()
    forms, _ = canonicalise([DECK.parse(flop.name) for flop in chosen], (3,))
    return [every.index(form) for form in forms.tolist()]


@pytest.mark.parametrize("size", ["25", "49", "95", "184"])
def test_a_subset_has_the_textures_of_all_flops(size: str) -> None:
    chosen, every = flops(size), flops("all")
    assert len(set(places(chosen))) == len(chosen) == int(size)
    assert sum(flop.weight for flop in chosen) == pytest.approx(22100, abs=1)
    answer = subsets()["subsets"][size]["quality"]
    for kind in ("suits", "pairs", "high", "straight"):
        shares: list[dict[str, float]] = [{}, {}]
        for share, some in zip(shares, (chosen, every), strict=True):
            for flop in some:
                value = texture(sg.holdem.DECK.parse(flop.name))[kind]
                share[value] = share.get(value, 0) + flop.weight / 221
        for value, want in shares[1].items():
            error = abs(shares[0].get(value, 0) - want)
            assert error <= answer["frequency of a texture, largest error in points"] + 0.01, value


@pytest.mark.slow
def test_subsets_have_the_quality_that_is_told() -> None:
    from flop_subsets import quality
    from preflop_data import make

    equity = make()["flop_equity"].astype(np.float64)
    for size, subset in subsets()["subsets"].items():
        chosen = flops(size)
        weights = np.array([flop.weight for flop in chosen])
        for name, value in quality(equity, places(chosen), weights).items():
            assert subset["quality"][name] == pytest.approx(value, abs=2e-3)


def test_flops_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "flops.txt"
    path.write_text("# mine\nAh Kd 2c 12.5\n8h8d7h\n\nQcJc9s:2\n")
    assert flops(path) == [Flop("AhKd2c", 12.5), Flop("8h8d7h", 1), Flop("QcJc9s", 2)]
    path.write_text("AhKd2x\n")
    with pytest.raises(sg.SubgameError, match=r"Line 1 of .*there is no suit 'x'"):
        flops(path)
    with pytest.raises(sg.SubgameError, match="There is no subset of 26 flops"):
        flops(26)
    assert texture((0, 4, 8))["suits"] == "monotone"  # 2c 3c 4c
    assert texture((0, 4, 51))["straight"] == "yes"  # 2c 3c As
    assert texture((0, 20, 51))["straight"] == "no"


# Next cards and comparisons ------------------------------------------------------------------
@pytest.fixture(scope="module")
def turn() -> Endgame:
    spot = sg.holdem.endgame("AhKd2c8s", 20, 10, ("AA,KQs,T9s", "QQ,JTs,A5s"), "a / cap 1")
    return Endgame.of(sg.solve(sg.compile(spot, merge=True), "hs-dcfr", iterations=20).strategy)


def test_the_cards_that_come_add_up_to_the_street_before(turn: Endgame) -> None:
    rows = turn.runouts("check, check")
    assert len(rows) == 48
    assert sum(rows.column("chance")) == pytest.approx(1)
    here = Explorer(turn.strategy)
    walk = follow_line(here.game, "x x")
    reach = here.reach(walk)
    for seat, p in (("oop", 0), ("ip", 1)):  # the same hands as on the turn
        mean = np.average(rows.column(f"equity_{seat}"), weights=rows.column("chance"))
        likely = reach[p] * here.game.deck.facing(reach[1 - p])
        equity = here.equities(walk.board, reach)[p]
        want = np.nansum(likely * equity) / likely.sum()
        assert mean == pytest.approx(want, abs=1e-6)
    queen = next(row for row in rows if row["river"] == "Qc")
    assert queen["check"] == pytest.approx(float(turn.decision("x x Qc").frequency[0]))
    with pytest.raises(sg.SubgameError, match="no single card comes"):
        turn.runouts("check")


def test_what_one_loses_against_the_other(turn: Endgame) -> None:
    poor = Endgame.of(sg.Strategy.uniform(turn.tree))
    both = Comparison(poor, turn)
    for p in (0, 1):
        mixed = [turn.strategy.probs[0], turn.strategy.probs[1]]
        mixed[p] = poor.strategy.probs[p]
        value = Endgame.of(sg.Strategy(turn.tree, (mixed[0], mixed[1]))).ev[p]
        assert both.lost[p] == pytest.approx(turn.ev[p] - value, abs=1e-9)
        assert both.summary()[p]["lost"] == both.lost[p]
    rows = both.at("c").table("QQ")
    assert rows[0]["check one"] == pytest.approx(0.5)
    here = turn.decision("c")
    want = here.hand_table("QQ")[0]
    assert rows[0]["ev two"] == pytest.approx(want["ev"])
    loss = (want["ev"]) - 0.5 * (want["check ev"] + want["all-in 10 ev"])
    assert rows[0]["loss"] == pytest.approx(loss)
    assert np.nanmax(np.abs(both.at().difference("check"))) > 0.1


def test_other_menus_are_compared_by_the_names_of_actions(turn: Endgame) -> None:
    spot = sg.holdem.endgame("AhKd2c8s", 20, 10, ("AA,KQs", "QQ,JTs,A5s"), "0.25x / cap 1")
    other = Endgame.of(sg.Strategy.uniform(sg.compile(spot)))
    both = Comparison(turn, other)
    pair = both.at()
    assert list(pair.actions) == ["check", "all-in 10", "bet 5"]
    rows = {row["hand"]: row for row in pair.table()}
    assert rows["AsAd"]["all-in 10 two"] == 0
    assert np.isnan(rows["Ts9s"]["ev two"])
    assert "loss" not in rows["AsAd"]
    with pytest.raises(sg.SubgameError, match="same board, ranges, stacks and bets"):
        _ = both.lost
    assert "lost" not in both.summary()[0]


# Commands ------------------------------------------------------------------------------------
@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def test_the_command_report(cli: Cli) -> None:
    Path("flops.txt").write_text("AhKd2c 4\n8h8d7h\n")
    arguments = ("report", "--flops", "flops.txt", *SPOT, "--target", "10%", "--log", "log.jsonl")
    answer = cli(*arguments, "--out", "r.csv", "--out", "r.html", "--out", "r.json")
    assert answer.code == 0, answer.err
    assert "2 flops to 10 % of the pot: about" in answer.err
    assert "mean" in answer.out
    assert len(Path("r.csv").read_text().splitlines()) == 3
    again = cli(*arguments, "--json").json()
    assert again["rows"] == json.loads(Path("r.json").read_text())
    quote = cli(*arguments, "--quote")
    assert quote.out == ""
    assert "2 flops, 2 of them done, to 10 %" in quote.err
    Path("one.txt").write_text("AhKd2c\n")
    other = cli("report", "--flops", "one.txt", *SPOT, "--target", "20%", "--log", "log.jsonl")
    assert "log of another report" in other.err
    assert "1 flop" not in other.err  # it is refused before anything is measured
    one = cli("report", "--flops", "one.txt", *SPOT, "--quote")
    assert "1 flop to 0.5 % of the pot: about" in one.err
    assert (
        "--jobs is for the device cpu"
        in cli("report", *SPOT, "--jobs", "2", "--device", "torch").err
    )
    assert "so --board cannot be given" in cli("report", *SPOT, "--board", "AhKd2c").err
    assert "ends in .csv" in cli("report", *SPOT, "--out", "r.txt").err


def test_the_commands_for_solved_spots(cli: Cli, turn: Endgame) -> None:
    turn.save("turn.safetensors")
    Endgame.of(sg.Strategy.uniform(turn.tree)).save("poor.safetensors")
    answer = cli("report", "turn.safetensors", "--line", "x x", "--json").json()
    assert len(answer["rows"]) == 48
    refused = cli("report", "turn.safetensors", "--pot", "20")
    assert "so --pot cannot be given with it" in refused.err
    files = ("compare", "poor.safetensors", "turn.safetensors")
    text = cli(*files, "--line", "check", "--hand", "QQ")
    assert text.code == 0, text.err
    for words in ("IP after OOP check", "percentage points more often in B", "A loses", "QsQh"):
        assert words in text.out
    assert cli(*files, "--json").json()["same_tree"]
    assert cli(*files, "--csv").out.startswith("hand,weight one,weight two,weight diff")
    assert "no action called 'chek'; did you mean 'check'" in cli(*files, "--action", "chek").err


def test_a_peer_is_run_on_the_same_machine() -> None:

    from subgame.bench import holdem
    from subgame.bench.holdem_spots import SPOTS, Peer

    answer = '{"seconds_per_iteration": 1.0, "iterations": [50, null], "memory_bytes": 1048576}'
    script = f"import json, sys; assert json.load(sys.stdin)['pot'] == 100; print({answer!r})"
    command = shlex.join([sys.executable, "-c", script])
    result = holdem.ask(command, SPOTS["river-45"], 1)
    assert result == Peer(1.0, (50, None), 1.0)
    with pytest.raises(sg.SubgameError, match="must print a JSON object with seconds_per_iter"):
        holdem.ask(f"{sys.executable} -c print(1)", SPOTS["river-45"], 1)
    with pytest.raises(sg.SubgameError, match="failed"):
        holdem.ask("no-such-command", SPOTS["river-45"], 1)
