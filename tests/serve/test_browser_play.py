"""Play in headless Chromium. Without Chromium or Playwright these tests are skipped."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed (the extra 'web')")
pytest.importorskip("playwright", reason="Playwright is not installed (the extra 'dev')")

from browsing import Site, address, check, says, served, tab, without_errors
from chromium import DESKTOP, FOUND
from playwright.sync_api import Page, expect

from subgame.play import Always

HAND = """
variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [1, 2]
starting_stacks = [350, 350]
actions = ['d dh p1 AsAh', 'd dh p2 ????', 'p2 cbr 50', 'p1 cc', 'd db QsJh2h', 'p1 cc', 'p2 cc',
    'd db 8d', 'p1 cc', 'p2 cc', 'd db 3c', 'p1 cc', 'p2 cc']
"""
FOLDED = """
variant = 'NT'
blinds_or_straddles = [1, 2]
starting_stacks = [400, 400]
actions = ['d dh p1 AsAh', 'd dh p2 ????', 'p2 cbr 5', 'p1 f']
"""
pytestmark = pytest.mark.skipif(FOUND is None, reason="Chromium is not installed")


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


def test_a_hand_is_played_by_keys_alone(page: Page) -> None:
    page.goto("/play?game=kuhn&opponent=call")
    tab(page, page.get_by_role("button", name="Sit down"))
    page.keyboard.press("Enter")
    address(page, "/play/")
    over, turn = page.locator(".outcome"), page.locator(".actions button:enabled").first
    for _ in range(4):
        expect(over.or_(turn)).to_be_visible()
        if over.is_visible():
            break
        page.keyboard.press("2")
    says(page, "What call had in mind")
    says(page, "in 1 hand")
    check(page)
    page.reload()
    says(page, "What call had in mind")


def test_keys_of_holdem_keep_their_meaning_and_all_in_asks_once(page: Page) -> None:
    page.goto("/play")
    expect(page.locator("input[name=opponent]:checked")).to_have_value("limited")
    page.locator("input[value=call]").check()
    page.get_by_role("button", name="Sit down").click()
    address(page, "/play/")
    turn, seen = page.locator(".actions button:enabled").first, page.locator(".line")
    turn.wait_for()
    expect(page.locator(".player.you .card:not(.back)")).to_have_count(2)
    page.keyboard.press("1")  # the least share of the pot that is a raise
    expect(seen).to_contain_text("You: raise to")
    for street in ("3", "4", "5"):
        expect(page.locator(".middle .card:not(.empty)")).to_have_count(int(street))
        turn.wait_for()
        expect(page.locator(".actions button").first).to_contain_text("check")
        if street != "5":
            page.keyboard.press("c")
    page.keyboard.press("r")
    page.keyboard.type("50%")
    expect(page.locator("#bet")).to_have_value("50%")
    page.locator("h1").click()
    page.keyboard.press("a")
    says(page, "are you sure?")
    expect(page.locator(".outcome")).to_have_count(0)
    page.keyboard.press("a")
    page.locator(".outcome").wait_for()
    expect(seen).to_contain_text("all-in")
    check(page)


def test_hands_of_whole_holdem_are_graded_at_the_table_while_a_solve_runs(page: Page) -> None:
    page.goto("/solve?board=Qs+Jh+2h+8d+3c&schedule=cfr&target=0.0001&seconds=3000")
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    page.locator(".badge.running").wait_for()
    busy = page.url
    page.goto("/play?game=hunl&opponent=raise")
    page.get_by_role("button", name="Sit down").click()
    address(page, "/play/")
    over, fold = page.locator(".outcome"), page.locator(".actions button", has_text="fold")
    for hand in (1, 2):
        fold.click()
        over.wait_for()
        grades = page.get_by_role("region", name="Grades of this hand")
        expect(grades).to_contain_text("by the blueprint's values")
        expect(grades.locator("tbody tr")).to_have_count(1)
        if hand == 1:
            page.get_by_role("button", name="Next hand").click()
            says(page, "hand 2")
    says(page, "of 2 right")
    expect(page.locator(".past-hands li")).to_have_count(2)
    page.locator(".past-hands button").last.click()
    expect(page.get_by_role("region", name="Grades of hand 1")).to_contain_text("fold")
    page.locator("#past-shown").select_option("river")
    says(page, "No hand of that kind")
    check(page)
    page.goto(busy)
    page.get_by_role("button", name="Cancel").click()
    page.locator(".badge.cancelled").wait_for()


def test_own_cards_are_seen_while_the_opponent_thinks_first(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()
    old = Always.act

    def slow(agent: Always, infoset: str, legal: Sequence[str]) -> str:
        asked.set()
        assert go_on.wait(600)
        return old(agent, infoset, legal)

    monkeypatch.setattr(Always, "act", slow)
    try:
        page.goto("/play?game=hunl&opponent=call")
        page.get_by_role("button", name="Sit down").click()
        assert asked.wait(600)
        says(page, "call thinks")
        expect(page.locator(".player.you .card:not(.back)")).to_have_count(2)
        expect(page.locator(".player.foe .card.back")).to_have_count(2)
    finally:
        go_on.set()


def test_decisions_at_a_solved_spot_are_graded_and_drilled(page: Page) -> None:
    page.goto("/solve?target=1")
    says(page, "in 32 bits")
    page.get_by_role("button", name="Solve", exact=True).click()
    says(page, "EQR")
    page.locator("summary", has_text="Drill this decision").click()
    page.get_by_role("button", name="Deal a hand").click()
    answers = page.locator(".drill .actions button")
    for k in range(2):
        answers.nth(k).click()
        expect(page.locator(".drill [role=status]").first).to_contain_text(f"of {k + 1} right")
        page.get_by_role("button", name="Next hand").click()
        expect(answers.first).to_be_enabled()
    check(page)
    page.get_by_text("Play it").click()
    page.get_by_role("button", name="Sit down").click()
    address(page, "/play/")
    over, turn = page.locator(".outcome"), page.locator(".actions button:enabled").first
    for _ in range(6):
        expect(over.or_(turn)).to_be_visible()
        if over.is_visible():
            break
        page.keyboard.press("c")
    says(page, "Your decisions")
    says(page, "of the pot lost by a decision")
    page.locator(".past-hands button").first.click()
    expect(page.get_by_role("region", name="Grades of")).to_have_count(2)
    check(page)
    page.goto("/play")
    page.get_by_role("link", name="Hands that you played elsewhere").click()
    page.get_by_label("or the text of one").fill(HAND)  # of the spot that was solved
    page.get_by_role("button", name="Grade the hands").click()
    says(page, "of 1 decision in 1 hand were right")
    page.locator(".past-hands button").click()
    expect(page.get_by_role("region", name="Grades of hand 1")).to_contain_text("check")
    page.get_by_label("show").select_option("wrong")
    expect(page.locator(".past-hands button").or_(page.get_by_text("No hand of"))).to_be_visible()
    check(page)
    page.goto("/hands")
    page.get_by_label("or the text of one").fill(FOLDED)  # by the agent: no spot has no flop
    page.get_by_role("button", name="Grade the hands").click()
    says(page, "of 1 decision in 1 hand were right")
    page.locator(".past-hands button").click()
    grades = page.get_by_role("region", name="Grades of hand 1")
    expect(grades).to_contain_text("by the blueprint's values")
    check(page)
