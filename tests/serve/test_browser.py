"""The pages in headless Chromium, by Playwright. Without either these tests are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed (the extra 'web')")
pytest.importorskip("playwright", reason="Playwright is not installed (the extra 'dev')")

from browsing import Site, address, check, says, served, tab, without_errors
from chromium import DESKTOP, FOUND, PHONE
from playwright.sync_api import Page, Route, expect

from subgame.memory import parse_bytes

pytestmark = pytest.mark.skipif(FOUND is None, reason="Chromium is not installed")
SHADES = """grid => grid.getContext('2d').getImageData(0, 0, grid.width, grid.height).data
  .reduce((sum, value, k) => (sum * 31 + value * (k % 7)) % 1000003, 7)"""
"""A number for what a grid shows."""
ENDLESS = "/solve?board=Qs+Jh+2h+8d&schedule=cfr&target=0.0001&seconds=3000"
"""A solve that lasts until it is cancelled."""
PIO = """#Range0#AA:1.0
#Range1#QJ:1.0
#Board#Qs Jh 2h 8d
#Pot#60
#EffectiveStacks#270
#TurnConfig.BetSize#50
#RiverConfig.BetSize#75
#FlopConfigIP.Dont3bet#True
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("data")) as made:
        yield made


@pytest.fixture(scope="module")
def desktop(site: Site) -> Iterator[tuple[Page, list[str]]]:
    with site.page(DESKTOP) as opened:
        yield opened


@pytest.fixture
def page(desktop: tuple[Page, list[str]]) -> Iterator[Page]:
    with without_errors(desktop) as opened:
        yield opened


@pytest.fixture(scope="module")
def phone(site: Site) -> Iterator[tuple[Page, list[str]]]:
    with site.page(PHONE, phone=True) as opened:
        yield opened


def test_coin_toss_is_stepped_through_by_keys(page: Page) -> None:
    page.goto("/")
    says(page, "A coin that only one player sees")
    tab(page, page.locator("[rel=next]"))
    wins = []
    for step in ("blueprint", "unsafe", "resolve", "maxmargin", "reach-maxmargin", "optimum"):
        page.keyboard.press("ArrowRight")
        address(page, f"?step={step}")
        here = page.locator(".meter-row.here")
        expect(here).to_contain_text(step.partition("-")[0].capitalize())
        wins.append(float(here.locator(".meter-value").inner_text()))
    assert wins == [0.5, 0.75, 0.5, 0.375, 0.25, 0.0]  # Brown & Sandholm 2017, Sec. 4 and 5
    page.keyboard.press("ArrowLeft")
    address(page, "?step=reach-maxmargin")
    page.locator("button.theme").click()  # dark
    check(page)
    page.locator("button.theme").click()


def test_a_tree_is_walked_by_keys(page: Page) -> None:
    page.goto("/games/kuhn?strategy=uniform")
    says(page, "Player 1 acts")
    tab(page, page.locator(".tree"))
    page.keyboard.press("ArrowRight")
    says(page, "Player 2 acts")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".path [aria-current]")).to_have_text("b")
    says(page, "exploitability 0.4583")
    page.locator("#watch-technique").select_option("resolve")
    says(page, "At each root infoset the opponent enters")
    page.locator("#iteration").press("ArrowRight")
    address(page, "iteration=2")
    says(page, "Iteration 2 of 128")
    check(page)


def test_a_game_of_holdem_is_walked_by_keys(page: Page) -> None:
    page.goto("/games")
    page.locator("a", has_text="nlfh-small-alt").click()
    says(page, "IP (player 2) acts")
    tab(page, page.locator(".tree"))
    for name in ("fold", "call 50", "check", "Ad", "Ac", "Kd"):
        page.keyboard.press("ArrowDown" if name == "call 50" else "ArrowRight")
        expect(page.locator(".path [aria-current]")).to_have_text(name)
    says(page, "OOP (player 1) acts")
    grid = page.locator("canvas.grid")
    tab(page, grid)
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowDown"):  # AA, AKo, KK, KQo
        page.keyboard.press(key)
    address(page, "hands=KQo")
    check(page)
    page.goto("/games/hunl")
    says(page, "hunl with these cards and bets is too large to be drawn")
    says(page, "hunl with fewer cards")


def test_a_mistake_is_answered_beside_its_field(page: Page) -> None:
    page.goto("/solve")
    says(page, "in 32 bits")
    page.get_by_text("More: rake").click()
    for field, wrong, said in (
        ("pot", "0", "must be a number of chips above 0"),
        ("river_b", "0.5x lots", "a size is a share of the pot"),
        ("s0", "many", "must be a number of chips"),
        ("removed", "r77", "cannot be removed"),
        ("oop", "AA,KQx", "this is neither a hand"),
    ):
        right = page.locator(f"#{field}").input_value()
        page.locator(f"#{field}").fill(wrong)
        expect(page.locator(f"#{field}-error")).to_contain_text(said)
        page.locator(f"#{field}").fill(right)
        expect(page.locator(f"#{field}-error")).to_have_count(0)
    check(page)


def test_short_deck_and_folded_ranges(page: Page) -> None:
    page.goto("/solve?river_b=a&river_r=a&target=5")
    says(page, "in 32 bits")
    page.locator("#deck").select_option("short")
    expect(page.locator("#board-text")).to_have_value("Qs Jh 9h 8d 6c")
    expect(page.locator(".picker .pick")).to_have_count(36)
    expect(page.locator("#oop")).to_have_value(re.compile("99"))
    page.get_by_text("More: rake").click()
    page.locator("#folded").fill("AXs")
    expect(page.locator("#folded-error")).to_contain_text("there is no rank 'X'")
    page.locator("#folded").fill("KK+; random,88+:0")
    expect(page.locator("#folded-error")).to_have_count(0)
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    says(page, "OOP to act")
    check(page)


def test_a_spot_is_set_up_solved_walked_locked_saved_and_reloaded(page: Page) -> None:
    page.goto(
        "/solve?board=Qs+Jh+2h+8d&turn_b=0.5x&turn_r=a&river_b=0.5x+a&river_r=a&river_ib=1x"
        "&split=1&rake=5&s0=200&s1=200&oop=AA%2CKK%2C65s&ip=KQ%2CQJ&target=2"
    )
    says(page, "in 32 bits")
    page.locator("#name").fill("My turn")
    grid = page.locator("canvas.grid").first
    tab(page, grid)
    for key in ("ArrowRight", "ArrowRight", "Space"):  # paints AKs
        page.keyboard.press(key)
    expect(page.locator("#oop")).to_have_value(re.compile("AKs"))
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    option = page.locator("a.option", has_text="check")
    says(page, "OOP to act")
    option.click()
    says(page, "IP to act")
    option.click()
    page.get_by_text("see all of them").click()
    says(page, "Every river")
    shown = page.locator(".report tbody tr td:nth-child(3)").all_inner_texts()
    assert len(shown) == 48
    assert all("." in text for text in shown)  # cards can be told apart by EV
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.set_viewport_size(DESKTOP)
    tab(page, page.locator(".shaded-deck a.pick[tabindex='0']"))
    for key in ("ArrowRight", "ArrowDown", "Enter"):  # the king of spades, then of hearts
        page.keyboard.press(key)
    says(page, "this line is played")
    option.click()
    says(page, "IP to act")
    grid.press("ArrowDown")
    address(page, "hand=")
    address(page, "line=c+c+%2F+Kh+c")
    page.reload()
    says(page, "IP to act")
    says(page, "EQR")
    page.get_by_text("How equity and EV are spread").click()
    page.locator(".explorer .curve canvas").wait_for()
    expect(page.locator("h1")).to_have_text("My turn")
    grouped = grid.evaluate(SHADES)
    page.locator("#suits").select_option("single")
    address(page, "suits=single")
    assert grid.evaluate(SHADES) != grouped  # every hand is drawn for itself
    page.locator("#both").click()
    expect(page.locator(".explore-body.two canvas.grid")).to_have_count(2)
    page.locator("#bars").select_option("absolute")
    address(page, "bars=absolute")
    page.set_viewport_size(PHONE)
    check(page)
    page.set_viewport_size(DESKTOP)
    solved = page.url.partition("?")[0]
    with page.expect_download() as saved:
        page.get_by_text("Save to a file").click()
    page.get_by_text("Change the set-up").click()
    expect(page.locator("#split")).to_be_checked()
    for part in ("board=Qs+Jh+2h+8d", "river_ib=1x", "rake=5", "s0=200", "ip=KQ%2CQJ"):
        address(page, part)
    page.locator("#upload").set_input_files(saved.value.path())
    head = page.locator(".result-head .badge.done")
    expect(head).to_be_visible()  # the file is read into a job of its own
    page.locator("#against").select_option("My turn")
    says(page, "if OOP alone plays as in My turn")
    page.goto(f"{solved}?hand=AA")
    page.locator("#against").wait_for()  # it appears late, and moves what is below it
    page.get_by_text("Lock hands here").click()
    page.locator("#share-c").fill("30")
    page.get_by_text("Add the lock").click()
    says(page, "must add up to 100%")
    page.locator("#share-r50").fill("70")
    page.locator("#lock-hands").fill("XX")
    page.get_by_text("Add the lock").click()
    expect(page.locator("#lock-hands-error")).to_contain_text("there is no rank")
    expect(page.locator("#locks")).to_have_value("")
    page.locator("#lock-hands").fill("AA")
    page.get_by_text("Add the lock").click()
    expect(page.locator("#locks")).to_have_value("start: AA = check 30%, bet 50 70%")
    page.locator("#lock-seconds").fill("1")
    page.get_by_text("Solve with these locks").click()
    page.locator("#diff").wait_for()  # beside the solution without locks
    expect(page.locator("h1")).to_have_text("My turn: locked")
    check(page)


def test_what_is_pasted_is_kept_while_a_solve_runs(page: Page) -> None:
    page.goto(ENDLESS)
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    page.locator(".badge.running").wait_for()
    busy = page.url
    page.goto("/solve")
    says(page, "in 32 bits")
    pasted = {"oop": "AKs:0.5, QQ,  JJ:.25, 76s-54s", "ip": "AdKd,TT-77,AQo:0.75,"}
    for field, text in pasted.items():
        page.locator(f"#{field}").fill(text)
        page.keyboard.press("Tab")
    says(page, "in 32 bits")
    for field, text in pasted.items():
        expect(page.locator(f"#{field}")).to_have_value(text)
    page.locator("summary", has_text="Import a set-up").click()
    page.locator("#import-text").fill(PIO)
    page.get_by_role("button", name="Take it over").click()
    says(page, "The setting #FlopConfigIP.Dont3bet# was left out.")
    expect(page.locator("#board-text")).to_have_value("Qs Jh 2h 8d")
    expect(page.locator("#pot")).to_have_value("60")
    page.goto(busy)
    page.get_by_role("button", name="Pause").click()
    page.locator(".badge", has_text=re.compile("pausing|paused")).wait_for()  # it was heard
    page.locator(".badge.paused").wait_for()
    page.get_by_role("button", name="Resume").click()
    page.locator(".badge.running").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.locator(".badge.cancelled").wait_for()


def test_a_solution_without_rivers_is_saved_and_a_river_of_it_looked_at(
    page: Page, tmp_path: Path
) -> None:
    page.goto(
        "/solve?board=Qs+Jh+2h+8d&turn_b=a&river_b=a&cap=1&s0=100&s1=100&oop=AA%2CKK&ip=KQ&target=2"
    )
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    says(page, "EQR")
    kept: list[Path] = []
    for name in ("Save to a file", "Save without rivers"):
        with page.expect_download() as saved:
            page.get_by_text(name).click()
        kept.append(tmp_path / f"{len(kept)}.safetensors")
        saved.value.save_as(kept[-1])
    whole, small = (path.stat().st_size for path in kept)
    assert 2 * small < whole
    page.goto("/solve")
    page.locator("#path").fill(str(kept[1]))
    page.get_by_role("button", name="Open").click()
    says(page, "OOP to act")
    opened = page.url.partition("?")[0]
    page.goto(f"{opened}?line=c+c+%2F+3c")  # the river is solved now
    says(page, "EQR")
    expect(page.locator(".combos tbody tr").first).to_be_visible()


def test_a_size_is_given_up_by_the_next_change_and_never_shown_beside_another_set_up(
    page: Page,
) -> None:
    page.goto("/solve")
    says(page, "in 32 bits")
    held: list[Route] = []
    given_up: list[str] = []
    page.on("requestfailed", lambda request: given_up.append(request.url))
    page.route("**/api/spots/quote", lambda route: held.append(route))
    shown = page.locator(".quote")
    for pot in ("110", "120"):
        with page.expect_request("**/api/spots/quote"):
            page.locator("#pot").fill(pot)
            expect(shown).to_have_text("Counting the nodes")
    expect(page.locator("#pot")).to_have_value("120")
    held[-1].continue_()
    says(page, "in 32 bits")
    page.unroute("**/api/spots/quote")
    assert [url.rpartition("/")[2] for url in given_up] == ["quote"]


@pytest.mark.parametrize(
    "name",
    [
        "Three-bet pot",
        pytest.param("Single-raised pot", marks=pytest.mark.slow),
        pytest.param("Limped pot", marks=pytest.mark.slow),
    ],
)
def test_a_preset_is_solved_by_one_click_within_4_gib(page: Page, name: str) -> None:
    page.goto("/solve")
    says(page, "in 32 bits")
    page.locator(".preset", has_text=name).get_by_role("button", name="Fill in").click()
    page.locator(".quote", has_text=re.compile(r"\d,\d{3} nodes")).wait_for()
    bits = {"float32": "32", "int16": "16"}[page.locator("#storage").input_value()]
    size = re.search(rf"([\d.]+ [KMG]iB) in {bits} bits", page.locator(".quote").inner_text())
    assert size is not None
    assert parse_bytes(size[1]) <= 4 * 2**30
    page.goto("/solve?board=Kd+7h+2s")
    page.locator(".preset", has_text=name).get_by_role("button", name="Solve").click()
    page.locator(".badge.running", has_text="running").wait_for()
    expect(page.locator("h1")).to_contain_text(name.removesuffix(" pot").lower())
    page.locator("summary", has_text="Solving").wait_for()  # it was not refused
    page.get_by_role("button", name="Cancel").click()
    page.locator(".badge.cancelled").wait_for()


def test_a_set_up_that_needs_too_much_memory_says_what_to_click(page: Page) -> None:
    page.goto("/solve?board=Qs+Jh+2h&pot=5&s0=97.5&s1=97.5&oop=random&ip=random")
    expect(page.get_by_role("alert").first).to_contain_text("needs")
    fits = page.locator(".smaller")
    for name in ("16 bits", "All-in from 67%", "3 bets", "2 bets", "One size"):
        fits.get_by_role("button", name=name).click()
        expect(fits.get_by_role("button", name=name)).to_have_count(0)
    expect(page.locator("#storage")).to_have_value("int16")
    expect(page.locator("#cap")).to_have_value("2")
    expect(page.locator("#flop_r")).to_have_value("2.5r")
    assert "holdem(" not in page.locator("main").inner_text()


@pytest.mark.slow
def test_a_report_over_flops_is_made_sorted_and_filtered(page: Page) -> None:
    page.goto(
        "/solve?pot=20&s0=10&s1=10&oop=AA%2CKQs&ip=QQ%2CJTs&cap=1&target=20&flop_b=a&turn_b=a"
    )
    page.get_by_role("button", name="Many flops").click()
    says(page, "25 flops, each")
    page.locator("#flops-set").select_option("list")
    page.locator("#flops").fill("Ah Kd 2x")
    expect(page.locator("#flops-error")).to_contain_text("Line 1 of the list")
    page.locator("#flops").fill("Ah Kd 2c 4\n8h 8d 7h")
    says(page, "2 flops, each")
    page.get_by_role("button", name="Solve the flops").click()
    rows = page.locator(".flops tbody tr")
    expect(rows).to_have_count(3)
    page.locator(".badge.done").wait_for()
    first = rows.nth(1).locator("td").nth(2)
    expect(first).to_have_text("unpaired")  # aces hit that flop: by EV it is the first
    page.locator(".flops button", has_text="OOP EV").click()
    expect(first).to_have_text("paired")
    page.locator(".texture", has_text=re.compile("^paired")).click()
    expect(rows).to_have_count(2)
    check(page)


def test_a_decision_fits_the_window_and_a_file_is_opened_by_its_path(
    page: Page, tmp_path: Path
) -> None:
    page.goto("/solve?target=2")
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    says(page, "OOP to act")
    says(page, "EQR")
    grid = page.locator("canvas.grid")
    for wide, high in ((1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": wide, "height": high})
        expect(page.locator(".combos")).to_be_in_viewport(ratio=0.9)
        box = grid.bounding_box()
        assert box is not None
        assert box["y"] < 340
        assert box["y"] + box["height"] <= high
        assert page.locator(".explorer").evaluate("each => each.clientWidth") > 0.85 * wide
    page.locator("summary", has_text="Made hands and draws").click()
    page.get_by_role("button", name="top pair", exact=True).click()  # a queen on Qs Jh 2h 8d 3c
    address(page, "made=top+pair")
    hands = page.locator(".combos tbody tr")
    expect(hands.first).to_be_visible()
    expect(hands.filter(has_not=page.locator(".card[aria-label*=queen]"))).to_have_count(0)
    check(page)
    with page.expect_download() as saved:
        page.get_by_text("Save to a file").click()
    kept = tmp_path / "my river.safetensors"
    saved.value.save_as(kept)
    before = kept.read_bytes()
    page.goto("/solve")
    page.locator("#path").fill(str(tmp_path / "none.safetensors"))
    page.get_by_role("button", name="Open").click()
    says(page, "There is no file")
    page.locator("#path").fill(str(kept))
    page.get_by_role("button", name="Open").click()
    says(page, "OOP to act")
    expect(page.locator("h1")).to_have_text("my river")
    assert kept.read_bytes() == before
    check(page)


def test_a_job_is_cancelled(page: Page) -> None:
    page.goto(ENDLESS)
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    page.locator(".badge.cancelled").wait_for()


def test_cancel_stays_under_the_mouse_while_a_job_begins(page: Page) -> None:
    """A click whose button moved away before its end is lost."""
    page.goto(ENDLESS)
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_role("link", name="Change the set-up").wait_for()
    page.locator(".badge.running").wait_for()
    show = """async (late) => {
      const { jobs } = await import('/static/lib/core.js');
      const id = location.pathname.split('/').pop(), job = jobs.value[id];
      window.task ??= job.task;
      const seen = late  // what the socket says first has no task; the page asks for it
        ? {state: 'running', task: window.task, changed: 0}
        : {state: 'queued', task: null, changed: 9e12};
      jobs.value = {...jobs.value, [id]: {...job, ...seen}};
    }"""
    page.evaluate(show, False)
    page.locator(".badge.queued").wait_for()
    page.get_by_role("button", name="Cancel").hover()
    page.mouse.down()
    page.evaluate(show, True)
    page.get_by_role("link", name="Change the set-up").wait_for()
    page.mouse.up()
    page.locator(".badge.cancelled").wait_for()


def test_a_solve_that_its_time_ended_says_so(page: Page) -> None:
    page.goto("/solve?board=Qs+Jh+2h+8d&target=0.001&seconds=0.2")
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    expect(page.locator(".result-head .badge.done")).to_have_text("out of time")


@pytest.mark.parametrize(
    "path",
    [
        "/solve",
        "/play",
        pytest.param("/reference", marks=pytest.mark.slow),
        pytest.param("/games", marks=pytest.mark.slow),
        pytest.param("/games/coin-toss", marks=pytest.mark.slow),
        pytest.param("/jobs", marks=pytest.mark.slow),
        "/hands",
    ],
)
def test_pages_fit_a_phone(phone: tuple[Page, list[str]], path: str) -> None:
    page, errors = phone
    page.goto(path)
    page.locator("h1").first.wait_for()
    expect(page.locator(".wait")).to_have_count(0)
    check(page)
    assert errors == []
