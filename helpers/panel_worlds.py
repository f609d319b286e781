"""What the panels of notebooks 05 and 06 draw: simulated ranking, feedback and hitchhiker beside their theory.

Left out: the sliders' mechanism (`helpers.panels`), and large simulations: a few runs, so that a picture takes well
under a second, and their spread is drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from scipy.special import ndtr

from helpers import theory
from helpers.convergence_plots import finish, plain_numbers
from helpers.panels import Drawn, Slider, show_panel
from helpers.plots import BLUE, GREY, ORANGE
from helpers.worlds import USEFUL, USELESS, feedback, hitchhiker, uniform
from helpers.worth import counters, counters_at, exclusive_test, naive_test, spearman

RUNS, PAIRS = 8, 100          # runs of a world with many memories, and of the hitchhiker's
FEEDBACK_EPISODES = 3_000
LEVEL_Z = 1.96                # of a two-sided test at the 5 % level

RANKING = (
    Slider("n", "memories N", (20, 50, 100, 200, 400), 100),
    Slider("k", "retrieved an episode, k", (1, 2, 3, 5, 7, 10, 15), 5),
    Slider("noise", "noise, outcomes flipped", tuple(np.arange(0, 0.51, 0.05).round(2).tolist()), 0.1, ".0%"),
    Slider("episodes", "episodes", (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000), 10_000, ","))
FAILURES = (
    Slider("temperature", "feedback, temperature τ", (0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0), 0.1),
    Slider("explore", "feedback, episodes by lot", (0.0, 0.01, 0.02, 0.05, 0.1, 0.2), 0.0, ".0%"),
    Slider("apart", "hitchhiker, share f apart", tuple(np.arange(0.05, 1.01, 0.05).round(2).tolist()), 0.3),
    Slider("retrievals", "hitchhiker, retrievals n", (100, 200, 500, 1_000, 1_300, 2_000), 500, ","))


def ranking_panel(first_seed: int = 0) -> None:
    """Notebook 05: how well worth ranks N memories, by episodes, with sliders for what decides it."""
    show_panel(functools.partial(draw_ranking, first_seed=first_seed), RANKING)


def failures_panel(first_seed: int = 0) -> None:
    """Notebook 06: feedback by temperature and exploration, the hitchhiker by share apart and retrievals."""
    show_panel(functools.partial(draw_failures, first_seed=first_seed), FAILURES)


def draw_ranking(*, n: int, k: int, noise: float, episodes: int, first_seed: int = 0) -> Drawn:
    """Spearman's ρ of worth and utility by episodes, simulated and by theory; dotted, theory where the sliders start.

    noise: the share of outcomes that are flipped whatever happened, 0 to ½; it makes the gain 1 − 2·noise.
    """
    marks = _marks(50, episodes)
    world = uniform(_seeds(first_seed, RUNS), n=n, k=k, episodes=episodes, gain=1 - 2 * noise)
    rho = spearman(counters_at(world.stream, marks).value, world.utility[:, None])  # (runs, marks)
    expected = ranking_theory([episodes], n=n, k=k, noise=noise)[0]
    figure, axes = plt.subplots(figsize=(7.5, 3.8))
    grid = _marks(50, RANKING[3].values[-1], 40)
    start = {slider.name: slider.start for slider in RANKING[:3]}
    axes.semilogx(grid, ranking_theory(grid, **start), color=GREY, linestyle=":", linewidth=1.4,
                  label="theory, sliders at the start")
    axes.semilogx(grid, ranking_theory(grid, n=n, k=k, noise=noise), color="black", linestyle="--", linewidth=1.4,
                  label="theory")
    middle, sd = _draw_runs(axes, marks, rho)
    return Drawn(figure, f"N = {n}, k = {k}, {noise:.0%} of the outcomes flipped: after {episodes:,} episodes, "
                 f"{theory.evidence(n, k=k, episodes=episodes):,.0f} retrievals of each memory, ρ is {middle:z.2f} ± "
                 f"{sd:.2f} in {RUNS} simulated runs (few, to be quick) and {expected:.2f} by theory.",
                 "Rank correlation by episodes, log axis. The simulated line starts at "
                 f"{rho[:, 0].mean():z.2f} after {marks[0]} episodes and ends at {middle:z.2f} after {episodes:,}; "
                 f"dashed theory is {expected:.2f} there.")


def ranking_theory(episodes: Sequence[int], *, n: int, k: int, noise: float) -> np.ndarray:
    """(moments,): the expected ρ after so many episodes, by `theory.signal_to_noise` and `rank_correlation`.

    >>> ranking_theory([10_000], n=100, k=5, noise=0.1).round(3).tolist()
    [0.899]
    """
    once = theory.signal_to_noise(n, k=k, episodes=1, gain=1 - 2 * noise)
    return theory.rank_correlation(once * np.sqrt(episodes), n=n)


def draw_failures(*, temperature: float, explore: float, apart: float, retrievals: int,
                  first_seed: int = 0) -> Drawn:
    """Left, ρ by episodes under feedback beside theory for retrieval by lot; right, power to find the hitchhiker."""
    marks, rho, out, wait = _feedback(first_seed, temperature, explore)
    found = _found(first_seed, apart, retrievals)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), gridspec_kw={"wspace": 0.3})
    left.semilogx(marks, ranking_theory(marks, n=100, k=5, noise=0.1), color="black", linestyle="--", linewidth=1.4,
                  label="by lot, theory")
    middle, sd = _draw_runs(left, marks, rho)
    left.set_title(f"feedback, τ = {temperature:g}, {explore:.0%} by lot", fontsize=10)
    _draw_power(right, found, apart, retrievals)
    told = "; ".join(f"{name} test {share:.0%} of {PAIRS} runs, by theory {power(apart, retrievals, name):.0%}"
                     for name, share in found.items())
    return Drawn(figure, f"Feedback at τ = {temperature:g} with {explore:.0%} of the episodes by lot: ρ {middle:z.2f} "
                 f"± {sd:.2f} after {FEEDBACK_EPISODES:,} episodes in {RUNS} runs (few, to be quick); {out:.0%} of the "
                 f"memories have fewer than 10 retrievals, and one with worth 0 waits {_episodes(wait)}, by "
                 f"formula. Hitchhiker apart in {apart:.0%} of {retrievals:,} retrievals: found by the {told}.",
                 f"Left, rank correlation by episodes: the simulated line ends at {middle:z.2f}, dashed theory for "
                 f"retrieval by lot at {ranking_theory(marks[-1:], n=100, k=5, noise=0.1)[0]:.2f}. Right, two rising "
                 f"dashed curves of power by share apart, with simulated points on them: {told}.")


def power(apart: float | np.ndarray, retrievals: int, test: str) -> np.ndarray:
    """How often the `naive` or the `exclusive` test tells useful and useless apart: Φ(D·√(f·n / 2pq) − limit).

    The limit is 1.96 for the exclusive test and 1.96/√f for the naive one; f above 0. Half where
    `theory.half_power_share` says so:

    >>> [float(power(share, 500, test).round(1)) for share, test in ((0.48, "naive"), (0.23, "exclusive"))]
    [0.5, 0.5]
    """
    limit = LEVEL_Z / np.sqrt(apart) if test == "naive" else LEVEL_Z
    return ndtr(theory.hitchhiker_gap(1) * np.sqrt(np.asarray(apart) * retrievals / 0.5) - limit)


@functools.lru_cache(maxsize=64)  # moving one half of the panel need not simulate the other again
def _feedback(first_seed: int, temperature: float, explore: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Moments, ρ (runs, moments), the share of memories with fewer than 10 retrievals, and the wait of worth 0.

    The wait is (N/k)/(ε + (1 − ε)/mean(exp(w/τ))) episodes, with the worths w at the end.
    """
    world = feedback(_seeds(first_seed, RUNS), episodes=FEEDBACK_EPISODES, temperature=temperature, explore=explore)
    marks, last = _marks(50, FEEDBACK_EPISODES), counters(world.stream)
    rho = spearman(counters_at(world.stream, marks).value, world.utility[:, None])
    pull = np.exp(last.value / temperature).mean()
    wait = world.stream.n / world.stream.k / (explore + (1 - explore) / pull)
    return marks, rho, float((last.evidence < 10).mean()), float(wait)


@functools.lru_cache(maxsize=64)
def _found(first_seed: int, apart: float, retrievals: int) -> dict[str, float]:
    """The share of runs in which each test tells the two apart."""
    stream = hitchhiker(_seeds(first_seed, PAIRS), apart=apart, retrievals=retrievals).stream
    return {name: float(test(stream, USEFUL, USELESS).detected().mean())
            for name, test in (("naive", naive_test), ("exclusive", exclusive_test))}


def _draw_runs(axes: Axes, episodes: np.ndarray, rho: np.ndarray) -> tuple[float, float]:
    """The mean of ρ, (runs, moments), in a band of a standard deviation; returns both at the last moment."""
    middle, sd = rho.mean(axis=0), rho.std(axis=0, ddof=1)
    axes.fill_between(episodes, middle - sd, middle + sd, color=BLUE, alpha=0.2, linewidth=0,
                      label=f"± 1 standard deviation over {len(rho)} runs")
    axes.semilogx(episodes, middle, color=BLUE, marker="o", markersize=6, label="simulated, mean over runs")
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_ylim(-0.3, 1)
    plain_numbers(axes, "x")
    _legend(axes)
    finish(axes, xlabel="episodes", ylabel="rank correlation ρ with utility")
    return float(middle[-1]), float(sd[-1])


def _draw_power(axes: Axes, found: Mapping[str, float], apart: float, retrievals: int) -> None:
    """A curve of theory and a simulated point for each test."""
    grid = np.linspace(0.01, 1, 100)
    for (name, share), colour, marker in zip(found.items(), (BLUE, ORANGE), "os", strict=True):
        expected = power(apart, retrievals, name)
        axes.plot(grid, power(grid, retrievals, name), color=colour, linestyle="--", linewidth=1.3)
        axes.errorbar(apart, share, yerr=LEVEL_Z * np.sqrt(expected * (1 - expected) / PAIRS), color=colour,
                      marker=marker, markersize=8, capsize=3, linestyle="none", label=f"{name} test, simulated")
    axes.plot([], [], color="black", linestyle="--", label="theory")
    axes.set_title(f"hitchhiker, n = {retrievals:,}, f = {apart:g}", fontsize=10)
    axes.set_ylim(-0.03, 1.03)
    _legend(axes)
    finish(axes, xlabel="share f of the retrievals apart",
           ylabel="runs in which they are told apart\n(bars: 95 % of runs by theory)")


def _legend(axes: Axes) -> None:
    """Below the axes, where no line can come to lie, whatever the sliders say."""
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.17))


def _marks(first: int, last: int, count: int = 12) -> np.ndarray:
    """Moments from `first` to `last`, evenly spaced on a log axis."""
    return np.unique(np.geomspace(first, last, count).round().astype(int))


def _episodes(wait: float) -> str:
    """A wait in words."""
    return f"about {wait:,.0f} episodes" if wait < 1e6 else "longer than a million episodes"


def _seeds(first: int, count: int) -> range:
    return range(first, first + count)
