"""A plateau is what its definition says, however the samples came."""

from hypothesis import given
from hypothesis import strategies as st

from agentlab.instruments.memory import Point, plateau
from agentlab.instruments.memory.pace import Pace

ONE, TWO = frozenset({(1, 1)}), frozenset({(1, 1), (2, 9)})
gaps = st.integers(1, 3_000_000_000)
totals = st.one_of(st.none(), st.integers(95_000, 105_000))


@st.composite
def series(draw):
    t, found = draw(st.integers(0, 10**12)), []
    for _ in range(draw(st.integers(0, 12))):
        t += draw(gaps)
        found.append(Point(t, draw(totals), draw(st.sampled_from([ONE, ONE, ONE, TWO, frozenset()]))))
    return found


@given(series(), st.floats(0.1, 6), st.floats(0.001, 0.2))
def test_it_is_reached_exactly_when_the_shortest_tail_that_counts_is_flat(points, window_s, tolerance):
    tails = [points[i:] for i in range(len(points))]
    tails = [t for t in tails if len(t) >= 3 and t[-1].t - t[0].t >= window_s * 1e9]
    found = plateau(points, window_s=window_s, tolerance=tolerance)
    if not tails:
        assert (found.reached, found.reason, found.n_samples) == (False, "few_samples", 0)
        return
    tail = min(tails, key=len)
    known = [p.total for p in tail if p.total is not None]
    flat = (
        len(known) == len(tail)
        and len({p.ids for p in tail}) == 1
        and bool(tail[0].ids)
        and max(known) - min(known) <= tolerance * max(known)
    )
    assert found.reached == flat == (found.reason is None)
    assert (found.since, found.until, found.n_samples) == (tail[0].t, tail[-1].t, len(tail))


@given(series(), series(), st.integers(1, 10**10))
def test_what_was_before_the_window_changes_nothing(before, points, gap):
    if not points or not (found := plateau(points)).n_samples:
        return
    end = points[0].t - gap
    shift = end - before[-1].t if before else 0
    assert plateau([Point(p.t + shift, p.total, p.ids) for p in before] + points) == found


@given(series(), st.integers(-(10**12), 10**12))
def test_the_clock_may_begin_anywhere(points, shift):
    found = plateau([Point(p.t + shift, p.total, p.ids) for p in points])
    assert (found.reached, found.reason, found.change) == (
        (same := plateau(points)).reached,
        same.reason,
        same.change,
    )


@given(st.lists(st.tuples(st.floats(0.0, 0.3), st.floats(0.0, 0.01)), min_size=5, max_size=300))
def test_the_duty_bound_holds_at_every_sweep(costs):
    """Whatever the sweeps cost: all that a lane has spent is paid for when its next sweep begins."""
    pace = Pace(slow_s=0.5, fast_s=0.05, duty=0.05)
    now, spent = 0.0, {"slow": 0.0, "fast": 0.0}
    for slow, fast in costs:
        lane, due = pace.next()
        now = max(now, due)
        assert spent[lane] <= {"slow": 0.04, "fast": 0.01}[lane] * now + 1e-9
        cost = slow if lane == "slow" else fast
        spent[lane] += cost
        pace.done(lane, began=now, cpu_s=cost)
        now += cost


def test_a_daemon_that_comes_late_and_a_slow_ramp_are_no_plateau():
    """Codex: 27 MB, its daemons after 2.5 s; opencode: 69 MB, 145 after 3 s, 708 after 22."""
    codex = [Point(i * 5 * 10**8, 27_000, ONE) for i in range(5)]
    codex += [Point(i * 5 * 10**8, 313_000, TWO) for i in range(5, 12)]
    reached = [n for n in range(1, 13) if plateau(codex[:n]).reached]
    assert reached == [12]  # 3 s after the daemons
    ramp = [(0, 69), (3, 145), (9, 333), (15, 582), (22, 708), (23, 708), (24, 709), (25, 709)]
    points = [Point(s * 10**9, mb, ONE) for s, mb in ramp]
    assert [plateau(points[:n]).reason for n in range(3, 9)] == ["growing"] * 5 + [None]
