"""Schedules: names, options and the discounts they stand for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.engines.factory import engine
from subgame.solve.cfr import Rates
from subgame.solve.schedule import ALIASES, AVERAGES, NAMED, Schedule, modicum, parse

VARIANTS = [
    *(make() for make in NAMED.values()),
    *(make(average=average) for make in NAMED.values() for average in (*AVERAGES, "exponential")),
    sg.CFR(alternating=True),
    sg.CFRPlus(alternating=False, decay=0.125),
    sg.DCFR(alpha=2, beta=-0.5, gamma=0),
    sg.DCFR(alpha=math.inf, beta=-math.inf),
    sg.DCFR(alpha=1 / 3, beta=1e-9, gamma=1234567.891),
    sg.PDCFRPlus(alpha=2.5, gamma=4),
    sg.LCFR(predictive=True),
    modicum(1001),
    parse("cfr-br(responder=0)"),
    sg.MCCFR("chance"),
    sg.MCCFR("public", beta=-math.inf, average="linear"),
    sg.MCCFR("none"),
]


@pytest.mark.parametrize("schedule", VARIANTS, ids=str)
def test_written_and_read_back(schedule: Schedule) -> None:
    """What a result or a strategy's notes say can be given to `solve` again."""
    assert parse(str(schedule)) == schedule
    assert Schedule(**schedule.as_dict()) == schedule


@pytest.mark.parametrize("name", NAMED)
def test_defaults_are_written_without_options(name: str) -> None:
    assert str(parse(name)) == name
    assert parse(f" {name.upper()}( ) ") == parse(name)


def test_the_named_schedules() -> None:
    """As their papers define them: alpha, beta, gamma, predictive, alternating."""
    inf = math.inf
    wanted = {
        "cfr": (inf, inf, 0, False, False),
        "cfr+": (inf, -inf, 1, False, True),
        "lcfr": (1, 1, 1, False, True),
        "dcfr": (1.5, 0, 2, False, True),
        "hs-dcfr": (1.1, 0, 4, False, True),
        "pcfr+": (inf, -inf, 2, True, True),
        "pdcfr+": (2.3, -inf, 5, True, True),
        "sapcfr+": (inf, -inf, 2, True, True),
        "cfr-br": (inf, -inf, 1, False, True),
        "mccfr": (inf, inf, 0, False, True),
    }
    result = {
        name: (s.alpha, s.beta, s.gamma, s.predictive, s.alternating)
        for name, s in ((name, parse(name)) for name in NAMED)
    }
    assert result == wanted
    assert {name for name in NAMED if parse(name).sampling != "none"} == {"mccfr"}
    assert {name for name in NAMED if parse(name).responder >= 0} == {"cfr-br"}


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases(alias: str, name: str) -> None:
    assert parse(alias) == parse(name)
    assert parse(f"{alias.upper()}(average=last)").gamma == math.inf
    assert parse(f"{alias}(average=last)").sampling == parse(name).sampling


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dcfr(alpha=2)", sg.DCFR(alpha=2)),
        ("dcfr( alpha = 2 , gamma=1e1 )", sg.DCFR(alpha=2, gamma=10)),
        ("dcfr(beta=-inf)", sg.DCFR(beta=-math.inf)),
        ("cfr(alternating=TRUE)", sg.CFR(alternating=True)),
        ("mccfr(sampling=public)", sg.MCCFR("public")),
        ("cfr+(average=exponential, decay=0.1)", sg.CFRPlus(decay=0.1)),
        ("pdcfr+(average=quadratic)", sg.PDCFRPlus(gamma=2)),
    ],
)
def test_options(text: str, wanted: Schedule) -> None:
    assert parse(text) == wanted


def test_averages() -> None:
    gammas = {name: sg.CFR(average=name).gamma for name in AVERAGES}
    assert gammas == {
        "uniform": 0,
        "linear": 1,
        "quadratic": 2,
        "last": math.inf,
        "none": math.inf,
    }
    assert sg.CFR(average="exponential").decay == 0.01


def test_a_schedule_is_itself() -> None:
    schedule = sg.DCFR(alpha=3)
    assert parse(schedule) is schedule


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dcfrr", "There is no schedule called 'dcfrr'; did you mean 'dcfr'? Known: cfr, cfr+, "),
        ("", "There is no schedule called ''. Known: cfr, "),
        ("dcfr(alpha=1", "There is no schedule called 'dcfr(alpha=1'; did you mean 'dcfr'?"),
        ("cfr(gama=1)", "There is no schedule option called 'gama'; did you mean 'gamma'?"),
        ("cfr(name=mine)", "There is no schedule option called 'name'. Known: "),
        ("cfr(average=lineer)", "There is no average called 'lineer'; did you mean 'linear'?"),
        ("cfr(average=5)", "There is no average called '5.0'. Known: exponential, last, "),
        ("mccfr(sampling=externl)", "There is no sampling called 'externl'; did you mean 'exter"),
        ("dcfr(alpha)", "A schedule option must be written name=value, not 'alpha'."),
        ("dcfr(alpha=much)", "A schedule's alpha must be a number, not much."),
        ("dcfr(alpha=nan)", "A schedule's alpha must be a number, not nan."),
        ("dcfr(alpha=)", "A schedule's alpha must be a number, not ."),
        ("cfr(gamma=-1)", "A schedule's gamma must be at least 0, not -1."),
        ("cfr(decay=1)", "A schedule's decay must be at least 0 and below 1, not 1."),
        ("cfr(decay=-0.5)", "A schedule's decay must be at least 0 and below 1, not -0.5."),
        ("cfr(alternating=2)", "A schedule's alternating must be true or false, not 2.0."),
        ("cfr(predictive=yes)", "A schedule's predictive must be true or false, not yes."),
        ("mccfr(predictive=true)", "A schedule cannot be both predictive and sampled; choose one"),
        ("cfr-br(responder=2)", "The responder must be player 0 or 1, or -1 for none, not 2"),
        (
            "cfr(responder=1)",
            "A schedule with a best responder must be alternating and without sampling.",
        ),
        ("lp", "lp is not a CFR schedule; subgame.solve_lp(tree) solves the linear program."),
        (7, "A schedule must be made by CFR(), CFRPlus(), ... or be named by a string, not 7."),
        (
            None,
            "A schedule must be made by CFR(), CFRPlus(), ... or be named by a string, not None.",
        ),
    ],
)
def test_bad_schedules(text: Any, sentence: str) -> None:
    with pytest.raises(sg.SubgameError) as error:
        parse(text)
    assert str(error.value).startswith(sentence)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize("t", [2, 3, 10, 1000, 10**6])
def test_discounts(t: int) -> None:
    """(positive, negative, kept) of iteration t, from the papers' formulas."""

    def weight(power: float) -> float:
        return math.pow(t - 1, power) / (math.pow(t - 1, power) + 1)

    def check(schedule: Schedule, *wanted: float) -> None:
        (result,) = schedule.discounts(t, 1).tolist()
        assert result == pytest.approx(wanted, rel=1e-14)

    check(sg.CFR(), 1, 1, 1)
    check(sg.CFRPlus(), 1, 0, (t - 1) / t)
    check(sg.LCFR(), (t - 1) / t, (t - 1) / t, (t - 1) / t)
    check(sg.DCFR(), weight(1.5), 0.5, ((t - 1) / t) ** 2)
    check(sg.DCFR(alpha=3, beta=-2, gamma=0.5), weight(3), weight(-2), ((t - 1) / t) ** 0.5)
    check(sg.PCFRPlus(), 1, 0, ((t - 1) / t) ** 2)
    check(sg.PDCFRPlus(), weight(2.3), 0, ((t - 1) / t) ** 5)
    check(sg.CFR(average="last"), 1, 1, 0)
    check(sg.CFR(average="exponential"), 1, 1, 0.99)
    check(sg.MCCFR(decay=0.25), 1, 1, 0.75)


@pytest.mark.parametrize("schedule", VARIANTS, ids=str)
def test_discounts_do_not_depend_on_the_slice(schedule: Schedule) -> None:
    whole = schedule.discounts(1, 100)
    assert ((whole >= 0) & (whole <= 1)).all()
    for first, count in ((1, 1), (2, 5), (37, 64)):
        part = schedule.discounts(first, count)
        assert part.tobytes() == whole[first - 1 : first - 1 + count].tobytes()


def test_enormous_powers_are_no_accident() -> None:
    """A power that overflows keeps all; one that underflows keeps nothing."""
    assert sg.DCFR(alpha=1e6, beta=-1e6).discounts(100, 1)[0, :2].tolist() == [1, 0]


def test_a_schedule_that_moves_starts_and_ends_as_those_that_stay() -> None:
    moving = sg.DCFR(1.0, -1.0, 3.0, ramp=10, last_alpha=2.0, last_beta=0.5, last_gamma=5.0)
    last = sg.DCFR(2.0, 0.5, 5.0)
    np.testing.assert_array_equal(moving.discounts(10, 40), last.discounts(10, 40))
    half = sg.DCFR(1.5, -0.25, 4.0)
    np.testing.assert_allclose(moving.discounts(5, 1), half.discounts(5, 1))
    assert not np.allclose(moving.discounts(9, 1), last.discounts(9, 1))
    np.testing.assert_array_equal(sg.CFRPlus(ramp=10).discounts(1, 9), sg.CFRPlus().discounts(1, 9))
    assert sg.HSDCFR(average="last").discounts(400, 1)[0, 2] == 0
    with pytest.raises(sg.SubgameError, match="finite"):
        sg.CFRPlus(ramp=10, last_alpha=2.0)
    with pytest.raises(sg.SubgameError, match="at least 0"):
        sg.DCFR(ramp=-1)


@pytest.mark.parametrize("name", ["cfr+", "dcfr", "hs-dcfr", "pcfr+"])
def test_discounts_are_the_same_however_they_are_asked_for(name: str) -> None:
    plan = parse(name)
    whole = plan.discounts(1, 600)
    for first, count in ((1, 256), (250, 6), (250, 7), (257, 2), (512, 1), (513, 80)):
        part = plan.discounts(first, count)
        np.testing.assert_array_equal(part, whole[first - 1 : first - 1 + count])
        part[:] = -1  # theirs to change
    np.testing.assert_array_equal(plan.discounts(1, 256), whole[:256])


@pytest.mark.parametrize("storage", ["float32", "int16"])
@pytest.mark.parametrize("name", ["hs-dcfr", "dcfr(tremble=0.01)"])
def test_rates_are_the_same_however_many_are_made_at_once(name: str, storage: str) -> None:
    plan = parse(name)
    run = engine(sg.compile(sg.holdem.endgame("Qs Kh As 2c 2d", 4, 8)), storage=storage)
    rates = Rates(run, plan)
    for first, count in ((1, 17), (17, 240), (200, 57), (250, 300), (300, 1), (1, 2), (10**6, 3)):
        alone = run.rates(plan.discounts(first, count), first)
        np.testing.assert_array_equal(rates.of(first, count), alone)
        alone[:] = -1  # theirs to change


def test_asymmetric_prediction_is_for_sequence_trees() -> None:
    """A prediction of 1 is PCFR+; elsewhere others are refused."""
    tree = sg.compile(sg.games.load("leduc"))
    one = sg.solve(tree, "sapcfr+(prediction=1)", iterations=30)
    two = sg.solve(tree, "pcfr+", iterations=30)
    assert one.exploitability == pytest.approx(two.exploitability, abs=1e-12)
    river = sg.compile(
        sg.holdem.endgame("QsJh2h8d3c", pot=10, stacks=10, ranges=("AA", "KK"), bets="a")
    )
    with pytest.raises(sg.SubgameError, match="needs a sequence tree"):
        sg.solve(river, "sapcfr+", iterations=2)
    with pytest.raises(sg.SubgameError, match="from 0 to 1"):
        sg.solve(tree, "sapcfr+(prediction=2)", iterations=2)
    rough, how = sg.Strategy.uniform(tree), {"schedule": "sapcfr+", "technique": "distributional"}
    with pytest.raises(sg.SubgameError, match="without a gadget"):
        sg.refine(tree, rough, at="after round 1", iterations=2, **how)  # type: ignore[arg-type]
