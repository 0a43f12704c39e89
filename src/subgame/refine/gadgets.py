"""Gadgets: what stands at the root of a subgame and plays for the opponent there.

A technique is a small gadget: how the opponent enters the subgame, and what the alternative to
entering pays. On every iteration of CFR the gadget chooses the opponent's reach at the root
infosets, and is then told the value of entering (`subgame.refine.learners`).

| technique | how the opponent enters | alternative payoff |
| --- | --- | --- |
| `Unsafe` | as the blueprint does | none |
| `Resolve` | at each root infoset: enter or leave | CBV of the blueprint |
| `Maxmargin` | chooses a root infoset and pays its alternative to enter | CBV |
| `ReachResolve`, `ReachMaxmargin` | as above | CBV + gifts |
| `Estimate` | as Resolve or Maxmargin | value inside an abstraction, or any vector |
| `Distributional` | as often as the alternative lies below the value of entering | random |
| `Combined` | as the blueprint does, with some of Resolve's entries and of every hand | CBV |
| `Adaptive` | the same, with more of both where the blueprint is more wrong | estimate |

A gadget of your own is a subclass of `Gadget` with a `learner`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from subgame.errors import ArgumentError, SubgameError, did_you_mean

if TYPE_CHECKING:
    from subgame.refine.learners import GadgetInputs
    from subgame.solve.cfr import Learner


ENTRIES = ("blueprint", "leave", "choose", "random", "custom")
Gifts = Literal["none", "lower", "estimated"]


@dataclass(frozen=True)
class Gadget:
    """A subgame-solving technique. Made by `Resolve`, `Maxmargin`, ..., by hand or as a subclass.

    >>> Resolve().entry, ReachMaxmargin(split=False).gifts
    ('leave', 'lower')
    """

    name: str
    entry: Literal["blueprint", "leave", "choose", "random", "custom"] = "custom"
    """How the opponent enters: "blueprint": with the blueprint's reach; "leave": at each root
    infoset enters or takes the alternative; "choose": picks a root infoset; "random": by the
    distribution of the alternative payoff; "custom": as the `learner` of a subclass says."""
    gifts: Gifts = "none"
    """Reach: what the opponent gave up on the way is added to the alternative payoff. "lower"
    counts only actions that end the game (2017, Sec. 5); "estimated" all, by the estimate."""
    split: bool = True
    """Divide a gift among the subgames below it, so that their sum never exceeds it; otherwise
    each subgame gets the whole of it (2017, Sec. 7 "not split")."""
    scale: float = 1.0
    """Multiply gifts by this factor (2017, Appendix F)."""
    estimate: bool = False
    """Alternative payoffs from an estimate rather than from the blueprint's CBV."""
    form: Literal["respond", "hedge"] = "hedge"
    """For entry "random": P(X <= v) on each iteration (Theorem 2), or Hedge's integral (App. D)."""
    refined: float = 0.0
    """The opponent keeps entering with this probability, vanishing as 1 / sqrt(t) (a linear program
    keeps it whole, so there the result is safe only up to it): among the equilibria of the gadget
    game one that also answers well where the opponent should not enter (Kubicek, Lisy, Sandholm
    2026)."""
    keep_safe: bool = False
    """Also hold the opponent to the blueprint's CBV: Resolve's conditions beside the estimate
    (2017, footnote 6)."""

    lexicographic: bool = False
    """Entry "choose": Resolve first (`stages`), then each alternative is raised to what Resolve
    leaves the opponent. Where some margin must be below 0, as after an off-tree bet, no other root
    infoset is then given up for it (Brown & Sandholm 2017, App. A)."""

    @property
    def stages(self) -> tuple[Gadget, ...]:
        """The gadgets that are solved one after another; see `GadgetInputs.raised`.

        >>> [stage.entry for stage in Maxmargin(lexicographic=True).stages]
        ['leave', 'choose']
        """
        if not self.lexicographic:
            return (self,)
        return replace(self, entry="leave", lexicographic=False), replace(self, lexicographic=False)

    def learner(self, inputs: GadgetInputs, *, predictive: bool = False) -> Learner | None:
        """What chooses the opponent's reach on every iteration; None: the blueprint's reach.

        `inputs` are ``[root, s]`` of the engine's library. `predictive` asks for regret matching on
        predicted regrets, as the schedule has it.
        """
        if self.lexicographic:
            raise SubgameError(
                f"A lexicographic {self.name} is solved in two stages, which depth limits and "
                "CFR-D of hold'em do not have; use refine or nest, or leave lexicographic out."
            )
        if self.entry == "blueprint":
            return None
        from subgame.refine.learners import Choice, RandomAlternative

        if self.entry == "random":
            return RandomAlternative(inputs, self.form)
        if self.entry == "custom":
            raise SubgameError(f"The gadget {self.name} has no learner; override Gadget.learner.")
        return Choice(inputs, self.entry, predictive=predictive, tremble=self.refined)

    @property
    def is_finite(self) -> bool:
        """Whether the gadget with its subgame is a finite game, so that it has an exact gap."""
        return self.entry in ("blueprint", "leave", "choose")

    @property
    def returns_gifts(self) -> bool:
        """Whether gifts may be given back in all subgames at once without loss.

        Split, all subgames together give back no more than was given (2017, Sec. 5, footnote 2).
        """
        return self.gifts == "lower" and self.split and self.scale <= 1

    @property
    def is_safe(self) -> bool:
        """Whether, solved exactly, a best response wins no more than against the blueprint."""
        if self.keep_safe:
            return True
        plain = self.gifts == "none" or self.returns_gifts
        return self.entry in ("leave", "choose") and not self.estimate and plain

    @property
    def promise(self) -> str:
        """What a refinement by this technique guarantees, in a sentence; tables show it.

        >>> ReachMaxmargin(scale=2).promise.partition(":")[0]
        'Nothing is guaranteed'
        """
        if self.is_safe:
            return (
                "A best response wins no more than before: no margin is below 0, or the "
                "exploitability shows it, or the blueprint is kept."
            )
        if self.entry == "blueprint":
            why = "the opponent may enter otherwise than in the blueprint"
        elif self.estimate:
            why = "the alternative payoffs are estimates"
        elif self.entry == "random":
            why = "the alternative payoffs are random"
        elif self.entry == "custom":
            why = "the gadget is your own"
        elif self.gifts == "estimated":
            why = "the gifts are estimates"
        elif not self.split:
            why = "gifts are not split, so several subgames may give back the same gift"
        else:
            why = f"gifts are multiplied by {self.scale:g}, so too much may be given back"
        counted = self.gifts != "none" and not self.returns_gifts
        more = " Exploitability can rise though no margin is below 0." if counted else ""
        return f"Nothing is guaranteed: {why}.{more}"

    def __post_init__(self) -> None:
        for what, value, known in (
            ("entry", self.entry, ENTRIES),
            ("kind of gifts", self.gifts, get_args(Gifts)),
            ("distributional form", self.form, ("respond", "hedge")),
        ):
            if value not in known:
                raise did_you_mean(what, str(value), known)
        if not (math.isfinite(self.scale) and self.scale >= 0):
            raise ArgumentError("scale", f"must be a number of at least 0, not {self.scale:g}.")
        if not 0 <= self.refined < 0.5:
            raise ArgumentError(
                "refined", f"must be a probability below 1/2, not {self.refined:g}."
            )
        if self.refined and self.entry not in ("leave", "choose"):
            raise SubgameError(f"{self.name} has no choice at the root that could be refined.")
        if self.lexicographic and (self.entry != "choose" or self.keep_safe):
            raise SubgameError(
                f"{self.name} cannot be lexicographic; maxmargin can, without keep_safe."
            )
        if self.keep_safe and self.entry not in ("leave", "choose"):
            raise SubgameError(
                f"{self.name} cannot be combined with keep_safe; estimate-resolve and "
                "estimate-maxmargin can."
            )
        if self.keep_safe and self.refined:
            raise SubgameError("refined and keep_safe cannot be combined; choose one of them.")


def Unsafe() -> Gadget:
    """Endgame solving: the opponent arrives as in the blueprint (Ganzfried & Sandholm 2015).

    >>> Unsafe().is_safe
    False
    """
    return Gadget("unsafe", "blueprint")


def Resolve(**options: Any) -> Gadget:
    """Burch et al. 2014: at each root infoset the opponent may leave with the blueprint's CBV.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("coin-toss"))
    >>> rough = sg.Strategy.published(tree, "paper")
    >>> refined = sg.refine(tree, rough, at="Play", technique=Resolve(), schedule="lp", player=1)
    >>> refined.margin > -1e-9
    True
    """
    return Gadget("resolve", "leave", **options)


def Maxmargin(**options: Any) -> Gadget:
    """Moravcik et al. 2016: maximise the smallest margin over the root infosets.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("coin-toss"))
    >>> rough, best = sg.Strategy.published(tree, "paper"), Maxmargin()
    >>> refined = sg.refine(tree, rough, at="Play", technique=best, schedule="lp", player=1)
    >>> round(refined.strategy["Play"]["Heads"], 6)  # Appendix A
    0.625
    """
    return Gadget("maxmargin", "choose", **options)


def ReachResolve(*, split: bool = True, scale: float = 1.0, **options: Any) -> Gadget:
    """Resolve with gifts: what the opponent gave up on the way (2017, Sec. 5).

    >>> ReachResolve().is_safe, ReachResolve(scale=2).is_safe
    (True, False)
    """
    options = {"gifts": "lower", **options}
    return Gadget("reach-resolve", "leave", split=split, scale=scale, **options)


def ReachMaxmargin(*, split: bool = True, scale: float = 1.0, **options: Any) -> Gadget:
    """Maxmargin with gifts: what the opponent gave up on the way (2017, Sec. 5).

    >>> ReachMaxmargin().is_safe, ReachMaxmargin(split=False).is_safe
    (True, False)
    """
    options = {"gifts": "lower", **options}
    return Gadget("reach-maxmargin", "choose", split=split, scale=scale, **options)


def Estimate(on: Gadget | None = None, *, keep_safe: bool = False) -> Gadget:
    """Brown & Sandholm 2017, App. C: alternative payoffs are estimates of equilibrium values.

    >>> Estimate().name, Estimate(Maxmargin(), keep_safe=True).is_safe
    ('estimate-resolve', True)
    """
    base = on or Resolve()
    return replace(base, name=f"estimate-{base.name}", estimate=True, keep_safe=keep_safe)


def Distributional(form: Literal["respond", "hedge"] = "hedge", **options: Any) -> Gadget:
    """Brown & Sandholm 2017, App. C.1 and D: alternative payoffs are normal random variables.

    >>> Distributional("respond").is_finite
    False
    """
    options = {"estimate": True, **options}
    return Gadget("distributional", "random", form=form, **options)


def ReachEstimateDistributional(
    *,
    split: bool = True,
    scale: float = 1.0,
    form: Literal["respond", "hedge"] = "hedge",
    gifts: Gifts = "estimated",
) -> Gadget:
    """Reach, Estimate and Distributional at once (2017, Table 1).

    The paper's experiments count only gifts of actions that end the game (Sec. 5: "in our
    experiments we use" the lower bound), which is ``gifts="lower"``.

    >>> ReachEstimateDistributional(gifts="lower").gifts
    'lower'
    """
    name = "reach-estimate-distributional"
    return replace(Distributional(form), name=name, gifts=gifts, split=split, scale=scale)


@dataclass(frozen=True)
class _Combined(Gadget):
    cap: float = 0.2
    even: float = 0.1
    adaptive: bool = False
    """Both are multiplied by how wrong the blueprint is, subgame by subgame."""

    def learner(self, inputs: GadgetInputs, *, predictive: bool = False) -> Learner | None:
        from subgame.refine.learners import Mixture, doubt

        size = doubt(inputs) if self.adaptive else 1.0
        return Mixture(inputs, self.cap * size, self.even * size, predictive=predictive)

    @property
    def promise(self) -> str:
        return (
            "Nothing is guaranteed: the range at the root is the blueprint's, made wider. With an "
            "even share and no entries, no root infoset loses more than what the blueprint loses "
            "to the range, divided by the part of the range that it is."
        )


def Combined(*, cap: float = 0.2, even: float = 0.1) -> Gadget:
    """The blueprint's range, with Resolve's entries and some of every hand (Slumbot's idea).

    Resolve's entries have at most `cap` times the mass of the range; `even` times that mass is
    spread over all root infosets. With neither it is `Unsafe`. It promises nothing.

    >>> Combined(cap=0.1).name
    'combined'
    """
    return _combined("combined", cap, even)


def Adaptive(*, cap: float = 2.0, even: float = 1.0) -> Gadget:
    """`Combined`, with shares that suit each subgame: small where the blueprint can be trusted.

    `cap` and `even` are multiplied by the subgame's doubt, from 0 to 1: the mean square of
    |CBV - CBV~|, what the opponent can get beyond the estimate, as a share of the variance of the
    hands' values. Entries are against the estimated values. It promises nothing; without doubt it
    is `Unsafe`, with much of it nearly `Estimate`.

    >>> Adaptive().name, Adaptive().is_safe
    ('adaptive', False)
    """
    return replace(_combined("adaptive", cap, even), estimate=True, adaptive=True)


def _combined(name: str, cap: float, even: float) -> _Combined:
    for what, value in (("cap", cap), ("even", even)):
        if not 0 <= value < float("inf"):
            raise ArgumentError(what, f"must be a number of at least 0, not {value:g}.")
    return _Combined(name, cap=cap, even=even)


TECHNIQUES: dict[str, Callable[[], Gadget]] = {
    "unsafe": Unsafe,
    "resolve": Resolve,
    "maxmargin": Maxmargin,
    "reach-resolve": ReachResolve,
    "reach-maxmargin": ReachMaxmargin,
    "estimate": Estimate,
    "estimate-resolve": Estimate,
    "estimate-maxmargin": lambda: Estimate(Maxmargin()),
    "distributional": Distributional,
    "reach-estimate-distributional": ReachEstimateDistributional,
    "combined": Combined,
    "adaptive": Adaptive,
}


def technique(name: str | Gadget) -> Gadget:
    """A technique by name.

    >>> technique("reach-maxmargin").gifts
    'lower'
    """
    if isinstance(name, Gadget):
        return name
    if name not in TECHNIQUES:
        raise did_you_mean("technique", str(name), TECHNIQUES)
    return TECHNIQUES[name]()
