"""`Schedule`: a CFR variant as data, with its discounts, averaging, prediction and alternation.

With cumulative regret ``R``, instantaneous regret ``r`` and average
plan ``S``, iteration ``t`` does (Brown & Sandholm 2019, "Solving imperfect-information games via
discounted regret minimization")

    R <- R (t-1)^alpha / ((t-1)^alpha + 1) + r   where R > 0
    R <- R (t-1)^beta  / ((t-1)^beta  + 1) + r   where R <= 0
    S <- S ((t-1)/t)^gamma + reach

so ``alpha = inf`` does not discount positive regrets, and ``beta = -inf`` sets negative regrets to
zero (CFR+). The three exponents may change while the solver runs (Zhang, McAleer & Sandholm 2024,
"Faster game solving via hyperparameter schedules").
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from subgame.errors import SubgameError, did_you_mean

INF = float("inf")
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
Sampling = Literal["none", "chance", "external", "public"]
AHEAD = 256
"""Iterations whose discounts are computed at once."""
MOST = 0.05
"""The largest tremble: there may be nearly twenty actions at a decision."""
NUMBERS = {
    **dict.fromkeys(("alpha", "beta", "last_alpha", "last_beta"), (-INF, INF, "a number")),
    **dict.fromkeys(("gamma", "ramp", "last_gamma", "discounted"), (0.0, INF, "at least 0")),
    "skipped": (0.0, math.nextafter(INF, 0), "at least 0 and finite"),
    "decay": (0.0, math.nextafter(1, 0), "at least 0 and below 1"),
    "prediction": (0.0, 1.0, "from 0 to 1"),
    "tremble": (0.0, MOST, f"a probability from 0 to {MOST}"),
}
"""The least and the largest value of a schedule's numbers, and what an error says is allowed."""
AVERAGES = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0, "last": INF, "none": INF}


@dataclass(frozen=True)
class Schedule:
    """A CFR variant: how it weights past iterations. `CFR`, `CFRPlus`, ... make one.

    They take these fields as options, and `average`: "uniform", "linear", "quadratic", "last" (or
    "none"), which are values of `gamma`, or "exponential", which is a `decay` of 0.01.

    >>> Schedule("mine", alpha=2.0, gamma=1.0).discounts(3, 1).round(3).tolist()
    [[0.8, 1.0, 0.667]]
    """

    name: str
    alpha: float = INF
    """Positive regrets of iteration t are multiplied by t^alpha / (t^alpha + 1)."""
    beta: float = INF
    """Negative regrets of iteration t are multiplied by t^beta / (t^beta + 1)."""
    gamma: float = 0.0
    """Iteration t has weight t^gamma in the average: 0 uniform, 1 linear, 2 quadratic, inf only the
    last iterate."""
    ramp: float = 0.0
    """Iterations over which alpha, beta and gamma change linearly to the next three."""
    last_alpha: float | None = None
    last_beta: float | None = None
    last_gamma: float | None = None
    discounted: float = INF
    """Regrets are discounted in so many first iterations."""
    skipped: float = 0.0
    """The first iterations, which are left out of the average."""
    decay: float = 0.0
    """Exponential averaging instead: each iteration multiplies the average so far by 1 - decay."""
    predictive: bool = False
    """Regret matching on R plus the last instantaneous regret (Farina et al. 2021)."""
    prediction: float = 1.0
    """How much of the last instantaneous regret is added, if the schedule is predictive."""
    alternating: bool = True
    """Player 1 updates against player 0's new strategy within the iteration."""
    responder: int = -1
    """The player who plays a best response on every iteration (CFR-BR); -1 for neither."""
    sampling: Sampling = "none"
    """MCCFR: "chance" samples chance, "public" only public chance, "external" the opponent too."""
    tremble: float = 0.0
    """The least probability of every action while solving a hold'em tree, so that every decision is
    reached and learnt (Farina, Kroer & Sandholm 2017). The result is without these trembles."""

    def __post_init__(self) -> None:
        for field, (least, most, allowed) in NUMBERS.items():
            value = getattr(self, field)
            if value is None and field.startswith("last_"):
                continue
            number = isinstance(value, int | float) and not math.isnan(value)
            if not (number and least <= value <= most):
                wanted = allowed if number or field == "tremble" else "a number"
                raise SubgameError(f"A schedule's {field} must be {wanted}, not {_plain(value)}.")
        for field in ("predictive", "alternating"):
            value = getattr(self, field)
            if not isinstance(value, bool):
                raise SubgameError(f"A schedule's {field} must be true or false, not {value}.")
        if self.sampling not in get_args(Sampling):
            raise did_you_mean("sampling", str(self.sampling), get_args(Sampling))
        if self.responder not in (-1, 0, 1):
            allowed = "player 0 or 1, or -1 for none"
            raise SubgameError(f"The responder must be {allowed}, not {self.responder}.")
        self._check_together()

    def _check_together(self) -> None:
        """Raise an error for options that exclude one another."""
        sampled, responds = self.sampling != "none", self.responder >= 0
        moved = [pair for pair in zip(self._first, self._last, strict=True) if len({*pair}) > 1]
        wrong = ""
        if self.ramp and not all(map(math.isfinite, [self.ramp, *sum(moved, ())])):
            wrong = "with a ramp must have finite numbers at both ends"
        elif self.tremble and (sampled or responds):
            wrong = "with trembles must be without sampling and without a best responder"
        elif self.predictive and sampled:
            wrong = "cannot be both predictive and sampled; choose one of the two"
        elif responds and (sampled or not self.alternating):
            wrong = "with a best responder must be alternating and without sampling"
        if wrong:
            raise SubgameError(f"A schedule {wrong}.")

    def discounts(self, first: int, count: int) -> Floats:
        """(positive, negative, kept) for `count` iterations from `first` on, counted from 1.

        With trembles, their probability is the fourth column.
        """
        block, at = divmod(first - 1, AHEAD)
        if at + count <= AHEAD:
            return _ahead(self, block)[at : at + count].copy()
        return self._discounts(first, count)

    def _discounts(self, first: int, count: int) -> Floats:
        import numpy as np

        t = np.arange(first, first + count, dtype=np.float64)[:, None]
        powers = np.array([self._first])
        if self.ramp:
            way, last = np.minimum(t / self.ramp, 1), np.array([self._last])
            stays = powers == last  # infinite exponents do not change
            moved = np.where(stays, 0, powers) * (1 - way) + np.where(stays, 0, last) * way
            powers = np.where(stays, powers, moved)
        if self.discounted < INF:
            never = np.array([[INF, -INF if self.beta == -INF else INF]])
            regrets = np.where(t > self.discounted, never, powers[:, :2])
            powers = np.hstack([regrets, np.broadcast_to(powers[:, 2:], (len(t), 1))])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            weight = (t - 1) ** powers
            out: Floats = np.where(np.isinf(weight), 1.0, weight / (weight + 1))
            kept = ((t - 1) / t) ** powers[:, 2:]
        out = np.where(np.isinf(powers), powers > 0, out)
        out[:, 2:] = 1 - self.decay if self.decay else np.where(np.isinf(powers[:, 2:]), 0.0, kept)
        out[t[:, 0] <= self.skipped + 1, 2] = 0.0
        return np.insert(out, 3, self.tremble, axis=1) if self.tremble else out

    def check(self, *, has_locks: bool, may_tremble: bool) -> None:
        """Refuse a tree in which a player cannot respond everywhere, or cannot tremble."""
        if has_locks and self.responder >= 0:
            raise SubgameError(
                f"The schedule {self} lets a player respond best everywhere, which locked "
                "decisions do not allow; take another one, such as dcfr."
            )
        if self.tremble and not may_tremble:
            raise SubgameError(
                f"The schedule {self} has trembles, which are for hold'em trees without "
                "gadgets; leave tremble out."
            )

    @property
    def _first(self) -> tuple[float, float, float]:
        return self.alpha, self.beta, self.gamma

    @property
    def _last(self) -> tuple[float, float, float]:
        final = (self.last_alpha, self.last_beta, self.last_gamma)
        one, two, three = (
            here if last is None else last for here, last in zip(self._first, final, strict=True)
        )
        return one, two, three

    def __str__(self) -> str:
        """The name, with the options that differ from its defaults: ``dcfr(alpha=2)``."""
        return _text(self)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@lru_cache(maxsize=64)
def _ahead(schedule: Schedule, block: int) -> Floats:
    """The discounts of a block of iterations, cached because they are slow for tiny games."""
    return schedule._discounts(block * AHEAD + 1, AHEAD)


@lru_cache(maxsize=64)
def _text(schedule: Schedule) -> str:
    """What `Schedule.__str__` returns, cached because it is slow for tiny games."""
    base = _named(schedule.name) if schedule.name in NAMED else Schedule(schedule.name)
    changed = [
        f"{field.name}={_plain(getattr(schedule, field.name))}"
        for field in fields(schedule)
        if getattr(schedule, field.name) != getattr(base, field.name)
    ]
    return f"{schedule.name}({', '.join(changed)})" if changed else schedule.name


def _plain(value: object) -> str:
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


Option = float | str | None
"""The value of a field of a `Schedule`."""


def _make(base: Schedule, /, **options: Any) -> Schedule:
    """A schedule with an `average` of `AVERAGES` or "exponential", and other fields."""
    average = options.pop("average", None)
    if average == "exponential":
        options = {"decay": 0.01, **options}
    elif average is not None:
        if average not in AVERAGES:
            raise did_you_mean("average", str(average), (*AVERAGES, "exponential"))
        options = {"gamma": AVERAGES[average], **options}
    known = {field.name for field in fields(Schedule)} - {"name"}
    unknown = set(options) - known
    if unknown:
        raise did_you_mean("schedule option", min(unknown), ["average", *known])
    return replace(base, **options)


def CFR(**options: Option) -> Schedule:
    """Vanilla CFR (Zinkevich et al. 2007): simultaneous updates, uniform average.

    >>> CFR().discounts(5, 1).tolist(), CFR().alternating
    ([[1.0, 1.0, 1.0]], False)
    """
    return _make(Schedule("cfr", alternating=False), **options)


def CFRPlus(**options: Option) -> Schedule:
    """CFR+ (Tammelin 2014): negative regrets set to 0, alternating updates, linear average.

    >>> str(CFRPlus(average="quadratic"))
    'cfr+(gamma=2)'
    """
    return _make(Schedule("cfr+", beta=-INF, gamma=1.0), **options)


def modicum(iterations: int) -> Schedule:
    """CFR+ as in Modicum (Brown, Sandholm & Amos 2018, appendix) for a number of iterations.

    Regrets are discounted by sqrt(T) / (sqrt(T) + 1) in the first 30 iterations, and the first half
    is left out of the average.

    >>> str(modicum(1000))
    'cfr+(alpha=0.5, discounted=30, skipped=500)'
    >>> modicum(4).discounts(1, 4).round(3).tolist()  # the average starts at the third
    [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.586, 0.0, 0.0], [0.634, 0.0, 0.75]]
    """
    return CFRPlus(alpha=0.5, discounted=30.0, skipped=float(iterations // 2))


def LCFR(**options: Option) -> Schedule:
    """Linear CFR (Brown & Sandholm 2019): iteration t has weight t in regrets and average.

    >>> LCFR().discounts(5, 1).tolist()
    [[0.8, 0.8, 0.8]]
    """
    return _make(Schedule("lcfr", alpha=1.0, beta=1.0, gamma=1.0), **options)


def DCFR(alpha: float = 1.5, beta: float = 0.0, gamma: float = 2.0, **options: Option) -> Schedule:
    """Discounted CFR (Brown & Sandholm 2019) with the recommended 1.5, 0, 2.

    >>> str(DCFR(alpha=2)), DCFR().gamma
    ('dcfr(alpha=2)', 2.0)
    """
    return _make(Schedule("dcfr", alpha=alpha, beta=beta, gamma=gamma), **options)


def HSDCFR(**options: Option) -> Schedule:
    """Discounted CFR whose discounts fade (after Zhang, McAleer & Sandholm 2024).

    It discounts early regrets more than `DCFR` and late regrets less. The numbers are
    ours; we found them on river and turn endgames of hold'em, where they need a tenth fewer
    iterations.

    >>> HSDCFR().discounts(400, 1).round(6).tolist()
    [[0.999998, 0.817163, 0.990037]]
    """
    base = Schedule(
        "hs-dcfr", alpha=1.1, beta=0.0, gamma=4.0, ramp=150.0, last_alpha=2.2, last_beta=0.25
    )
    return _make(base, **options)


def PCFRPlus(**options: Option) -> Schedule:
    """Predictive CFR+ (Farina, Kroer, Sandholm 2021): quadratic average.

    >>> PCFRPlus().predictive, PCFRPlus().gamma
    (True, 2.0)
    """
    return _make(Schedule("pcfr+", beta=-INF, gamma=2.0, predictive=True), **options)


def PDCFRPlus(alpha: float = 2.3, gamma: float = 5.0, **options: Option) -> Schedule:
    """Predictive discounted CFR+ (Xu et al. 2024) with the recommended 2.3 and 5.

    >>> str(PDCFRPlus()), PDCFRPlus().alpha
    ('pdcfr+', 2.3)
    """
    base = Schedule("pdcfr+", alpha=alpha, beta=-INF, gamma=gamma, predictive=True)
    return _make(base, **options)


def SAPCFRPlus(prediction: float = 1 / 3, **options: Option) -> Schedule:
    """Simple asymmetric predictive CFR+ (Meng et al. 2025): a third of the prediction of PCFR+.

    The paper's step is 1 / (1 + alpha) with alpha = 2. It is for sequence trees on the CPU.

    >>> str(SAPCFRPlus()), str(SAPCFRPlus(prediction=0.5))
    ('sapcfr+', 'sapcfr+(prediction=0.5)')
    """
    base = Schedule("sapcfr+", beta=-INF, gamma=2.0, predictive=True, prediction=prediction)
    return _make(base, **options)


def CFRBR(responder: int = 1, **options: Option) -> Schedule:
    """CFR-BR (Johanson et al. 2012): CFR+ for one player against a best response each iteration.

    Only the strategy of the learning player is useful. It converges to the least exploitable
    strategy of that player on this tree.

    >>> import subgame as sg
    >>> result = sg.solve(sg.compile(sg.games.load("kuhn")), CFRBR(responder=1), iterations=500)
    >>> result.exploitability.per_seat[0] < 0.07  # 1 / 18 in an equilibrium
    True
    """
    return _make(Schedule("cfr-br", beta=-INF, gamma=1.0, responder=responder), **options)


def MCCFR(sampling: Sampling = "external", **options: Option) -> Schedule:
    """Monte Carlo CFR (Lanctot et al. 2009; "public": Johanson et al. 2012).

    >>> MCCFR().sampling, str(MCCFR("public"))
    ('external', 'mccfr(sampling=public)')
    """
    return _make(Schedule("mccfr", sampling=sampling), **options)


NAMED: dict[str, Callable[..., Schedule]] = {
    "cfr": CFR,
    "cfr+": CFRPlus,
    "lcfr": LCFR,
    "dcfr": DCFR,
    "hs-dcfr": HSDCFR,
    "pcfr+": PCFRPlus,
    "pdcfr+": PDCFRPlus,
    "sapcfr+": SAPCFRPlus,
    "cfr-br": CFRBR,
    "mccfr": MCCFR,
}
ALIASES = {
    "cfrplus": "cfr+",
    "pcfrplus": "pcfr+",
    "pdcfrplus": "pdcfr+",
    "sapcfrplus": "sapcfr+",
    "linear-cfr": "lcfr",
    "cs": "mccfr(sampling=chance)",
    "es": "mccfr(sampling=external)",
    "pcs": "mccfr(sampling=public)",
}


SHAPE = re.compile(r"\s*([\w+-]+)\s*(?:\((.*)\))?\s*")


def parse(text: str | Schedule) -> Schedule:
    """A schedule from its name with options, as typed on the command line.

    >>> str(parse("dcfr(alpha=2, average=linear)"))
    'dcfr(alpha=2, gamma=1)'
    """
    if isinstance(text, Schedule):
        return text
    if not isinstance(text, str):
        raise SubgameError(
            f"A schedule must be made by CFR(), CFRPlus(), ... or be named by a string, not "
            f"{text!r}."
        )
    return _named(text)


@lru_cache(maxsize=64)
def _named(text: str) -> Schedule:
    shape = SHAPE.fullmatch(text)
    full = shape and SHAPE.fullmatch(ALIASES.get(shape[1].lower(), shape[1].lower()))
    if full and full[1] == "lp":
        raise SubgameError(
            "lp is not a CFR schedule; subgame.solve_lp(tree) solves the linear program."
        )
    if shape is None or full is None or full[1] not in NAMED:
        raise did_you_mean("schedule", shape[1] if shape else text, [*NAMED, "lp"])
    options: dict[str, Any] = {}
    for part in filter(str.strip, f"{full[2] or ''},{shape[2] or ''}".split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise SubgameError(
                f"A schedule option must be written name=value, not '{part.strip()}'."
            )
        if key in options and shape[2] and part in shape[2].split(",")[1:]:
            raise SubgameError(f"The schedule '{text}' gives {key} twice.")
        options[key] = _value(value)
    try:
        return NAMED[full[1]](**options)
    except TypeError as error:
        raise SubgameError(f"The schedule '{text}' is not understood: {error}.") from None


def _value(text: str) -> float | bool | str:
    try:
        number = float(text)
    except ValueError:
        return {"true": True, "false": False}.get(text.lower(), text)
    if math.isinf(number) and any(map(str.isdigit, text)):
        raise SubgameError(f"A schedule's numbers must be finite or inf, not {text}.")
    return number
