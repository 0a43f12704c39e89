"""The API of games: the catalogue, public trees, strategies, Coin Toss."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field

from subgame.errors import FieldError, SubgameError, printable
from subgame.serve import public_trees as trees
from subgame.serve.api_jobs import Stop, parts
from subgame.serve.spots import Model
from subgame.serve.store import Row, Store, checked_name
from subgame.serve.tree_views import around, figures
from subgame.serve.worker import STRATEGY

if TYPE_CHECKING:
    from subgame.tree.strategy import Strategy

games_router = APIRouter(tags=["games"])
MOST_UPLOADED = 100


class Upload(Model):
    """A game in Gambit's format."""

    name: str = Field(max_length=80)
    text: str = Field(max_length=trees.EFG)


class SolveGame(Model):
    """A game, and how it is solved."""

    game: str = Field(max_length=500)
    stop: Stop = Stop()
    schedule: str = Field(default="pcfr+", max_length=20)
    name: str = Field(default="", max_length=80)


@games_router.get("/story")
def story() -> dict[str, object]:
    """Coin Toss: each technique's strategy and what it is worth (Brown & Sandholm 2017)."""
    from subgame.serve.story import story

    return story()


@games_router.get("/techniques")
def techniques() -> list[dict[str, object]]:
    """The subgame techniques, and what each of them promises."""
    from subgame.refine.gadgets import TECHNIQUES

    return [
        {"name": name, "safe": made().is_safe, "promise": made().promise}
        for name, made in TECHNIQUES.items()
        if name != "estimate"  # another name of estimate-resolve
    ]


@games_router.get("/games")
def games(request: Request) -> list[dict[str, object]]:
    """The games that can be looked at, solved and played."""
    uploaded = [
        {
            "name": f"upload-{row['id']}",
            "summary": row["name"],
            "parameters": {},
            "holdem": False,
            "uploaded": True,
        }
        for row in parts(request)[0].rows("games")
    ]
    return uploaded + trees.catalogue()


@games_router.post("/games", status_code=201)
def upload(body: Upload, request: Request) -> dict[str, object]:
    """Add a game in Gambit's format."""
    store = parts(request)[0]
    if store.count("games") >= MOST_UPLOADED:
        raise SubgameError(f"{MOST_UPLOADED} games were uploaded already; remove some.")
    name = checked_name(body.name)
    try:
        trees.read_efg(body.text)
    except SubgameError as error:
        raise FieldError({"text": error.sentence}) from None
    row = store.add("games", {"name": name})
    store.game_file(row["id"]).write_text(body.text, encoding="utf-8")
    return {"name": f"upload-{row['id']}", "summary": name}


@games_router.delete("/games/{id}", status_code=204)
def forget(id: str, request: Request) -> None:
    """Forget an uploaded game."""
    store, match = parts(request)[0], trees.UPLOADED.fullmatch(id)
    if match is None:
        raise SubgameError("Only uploaded games can be removed.")
    store.remove("games", match[1])
    store.game_file(match[1]).unlink(missing_ok=True)


@games_router.get("/tree")
def tree(
    request: Request,
    game: str,
    at: Annotated[str, Query(max_length=200)] = "",
    strategy: str = "",
    hands: Annotated[str, Query(max_length=200)] = "",
) -> dict[str, object]:
    """The public tree around a state, and the strategies and values there.

    `at` is the number of a public state, or a line such as ``c r50 c / 3c`` in hold'em. `strategy`
    is ``uniform``, a blueprint of the literature, or a finished job. `hands` of hold'em are listed,
    such as ``AKs``; by default the likeliest.
    """
    store = parts(request)[0]
    known = _tree(store.data, game)
    here = known.view.find(at)
    view: dict[str, Any] = trees.overview(known.game, known.tree) | known.view.about
    view |= around(known.view, here)
    name = strategy or (view["blueprints"][0] if view["blueprints"] else "uniform")
    played = _strategy(store, known, name)
    return view | {
        "strategy": name,
        **known.view.strategies(played, here, hands),
        "figures": _figures(known, name, played),
        "solutions": [
            {"id": row["id"], "name": row["name"]}
            for row in store.rows("jobs")
            if row["state"] in ("done", "paused")
            and (row.get("result") or {}).get("game") in (game, str(known.game))
        ],
        "title": printable(view["title"])[:200],
    }


@games_router.get("/gadget")
def gadget(
    request: Request,
    game: str,
    strategy: str,
    technique: str,
    at: str,
    subgame: str = "",
    player: Annotated[int, Query(ge=0, le=1)] = 1,
) -> dict[str, object]:
    """What a technique's gadget does at the root of a subgame, iteration by iteration.

    `strategy` is the blueprint as in ``/tree``, `at` a frontier, `player` the one who is refined.
    """
    from subgame.serve.gadgets import gadget_view

    store = parts(request)[0]
    known = _tree(store.data, game)
    played = _strategy(store, known, strategy)
    return gadget_view(known.tree, played, technique, at, subgame, player)


@games_router.post("/games/solve", status_code=201)
def solve_game(body: SolveGame, request: Request) -> Row:
    """Put the solve of a game into the queue."""
    from subgame.solve.schedule import parse

    store, queue, _ = parts(request)
    rules = trees.load_game(store.data, body.game)
    if body.schedule != "lp":
        parse(body.schedule)
    task = {
        "kind": "game",
        "game": body.game,
        "schedule": body.schedule,
        **(body.stop.limits(1e-3) if body.schedule != "lp" else {}),
    }
    usual = str(rules) if len(str(rules)) <= 40 else str(rules).partition("(")[0]
    return queue.submit(task, checked_name(body.name, f"{usual}, {body.schedule}"))


class Known:
    """A game with its tree, and the figures of strategies that were looked at."""

    def __init__(self, data: Path, name: str) -> None:
        self.game = trees.load_game(data, name)
        self.view = trees.view_of(self.game)
        self.tree = self.view.tree
        self.figures: dict[str, dict[str, object]] = {}
        self.strategies: dict[str, Strategy] = {}


@lru_cache(maxsize=8)
def _tree(data: Path, name: str) -> Known:
    return Known(data, name)


def _strategy(store: Store, known: Known, name: str) -> Strategy:
    """A strategy by its name."""
    import subgame as sg

    if name not in known.strategies:
        if name == "uniform":
            made = sg.Strategy.uniform(known.tree)
        elif name in known.game.blueprints():
            made = sg.Strategy.published(known.tree, name)
        else:
            path = store.folder(store.get("jobs", name)["id"]) / STRATEGY
            if not path.exists():
                raise SubgameError("That job has no solution.")
            made = sg.Strategy.load(path, known.tree)
        if len(known.strategies) > 20:
            known.strategies.clear()
            known.figures.clear()
        known.strategies[name] = made
    return known.strategies[name]


def _figures(known: Known, name: str, played: Strategy) -> dict[str, object]:
    if name not in known.figures:
        known.figures[name] = figures(known.tree, played)
    return known.figures[name]
