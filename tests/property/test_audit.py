"""However counts are spelled, the auditor finds what was used; a prompt spelled otherwise means the same."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentlab.frames.reconcile import Target, differences, distinct, fitting
from agentlab.frames.reports import Report
from agentlab.gateway.canonical import canonical
from agentlab.gateway.prefix import compare

REQUESTS = st.lists(
    st.tuples(*(st.integers(1, 10**6) for _ in range(2)), st.integers(0, 10**6), st.integers(1, 10**5)),
    min_size=1,
    max_size=8,
)


@given(REQUESTS, st.sampled_from(["inclusive", "exclusive"]), st.booleans(), st.integers(1, 3))
def test_every_spelling_is_read_rightly(
    requests: list[tuple[int, int, int, int]], convention: str, running: bool, copies: int
) -> None:
    spelled: list[Report] = []
    before = [0, 0, 0, 0]
    for number, (fresh, read, write, output) in enumerate(requests):
        counts = [fresh, read, write, output]
        if running:
            before = counts = [a + b for a, b in zip(before, counts, strict=True)]
        whole = counts[0] + (counts[1] + counts[2] if convention == "inclusive" else 0)
        report = Report(
            source="usage", scope="session" if running else "request", input=whole, read=counts[1],
            write=counts[2], output=counts[3], said="exclusive", message=None if running else str(number),
        )  # fmt: skip
        spelled += [report] * (1 if running else copies)
    total = sum(fresh + read + write for fresh, read, write, _ in requests)
    target = Target(
        name="all", n_requests=len(requests), fresh=sum(r[0] for r in requests), input=total,
        output=sum(r[3] for r in requests),
    )  # fmt: skip
    found = fitting(distinct(spelled), [target])
    assert found is not None and found.input == total and found.output == target.output


@given(st.lists(st.integers(0, 10**9)))
def test_growth_is_never_negative_and_adds_up(values: list[int]) -> None:
    grown = differences(values)
    assert all(step >= 0 for step in grown) and len(grown) == len(values)
    if values == sorted(values):
        assert sum(grown) == (values[-1] if values else 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.dictionaries(st.text(max_size=4), JSON, min_size=1, max_size=4), min_size=1, max_size=4
)


def shuffled(value: Any, rng: random.Random) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [shuffled(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    items = [(key, shuffled(item, rng)) for key, item in value.items()]
    rng.shuffle(items)
    return dict(items)


@given(MESSAGES, MESSAGES, st.integers())
def test_another_order_of_keys_never_changes_the_meaning(
    before: list[dict[str, Any]], more: list[dict[str, Any]], seed: int
) -> None:
    one, other = canonical([], [], before), canonical([], [], [*shuffled(before, random.Random(seed)), *more])
    change = compare(one, other)
    assert change.state == ("append_only" if change.first_changed is None else "same_meaning")
    assert change.prefix_bytes + change.lost_bytes == len(one.data)
    assert (change.lost_bytes == 0) == (change.first_changed is None)


@given(MESSAGES, MESSAGES)
def test_what_is_said_of_a_change_is_true(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    one, other = canonical([], [], before), canonical([], [], after)
    change = compare(one, other)
    pairs = zip(before, after, strict=False)
    same = [json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True) for a, b in pairs]
    if change.state == "append_only":
        assert all(same) and len(after) >= len(before)
    elif change.first_changed is not None:
        at = int(change.first_changed.removeprefix("message ")) - 1
        assert change.changed is not None and change.changed.before_bytes == len(one.part(at + 2))
        assert one.data[: change.prefix_bytes] == other.data[: change.prefix_bytes]
