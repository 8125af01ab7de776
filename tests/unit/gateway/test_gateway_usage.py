"""Token arithmetic, on the numbers of public bug reports."""

from __future__ import annotations

from typing import Any

import pytest

from agentlab.gateway.usage import Usage, read_usage


def test_fresh_input_is_the_remainder() -> None:
    details = {"cached_tokens": 66360, "cache_write_tokens": 32435}
    usage = read_usage({"prompt_tokens": 98805, "completion_tokens": 1, "prompt_tokens_details": details})
    assert usage.input_uncached_tokens == 10
    assert usage.input_total_tokens == 98805
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (66360, 32435)


@pytest.mark.parametrize(("read", "fresh"), [(0, 17111), (17102, 9)])
def test_three_calls_of_an_inclusive_source(read: int, fresh: int) -> None:
    usage = read_usage({"prompt_tokens": 17111, "prompt_tokens_details": {"cached_tokens": read}})
    assert usage.input_uncached_tokens == fresh
    assert usage.input_total_tokens == 17111


def test_the_cached_part_is_not_added_again() -> None:
    raw = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    usage = read_usage({**raw, "prompt_tokens_details": {"cached_tokens": 5}})
    assert (usage.input_total_tokens, usage.output_tokens) == (10, 20)
    assert usage.input_uncached_tokens == 5


def test_a_new_spelling_of_writes_is_known_and_unknown_ones_are_listed() -> None:
    details = {"cached_tokens": 1920, "cache_write_tokens": 40, "cosmic_tokens": 1}
    usage = read_usage({"prompt_tokens": 2006, "prompt_tokens_details": details, "cost": 0.1})
    assert usage.input_uncached_tokens == 46
    assert usage.unknown_keys == ("cost", "prompt_tokens_details.cosmic_tokens")


def test_deepseeks_spelling() -> None:
    raw = {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}
    usage = read_usage(raw)
    assert (usage.cache_read_tokens, usage.input_uncached_tokens, usage.unknown_keys) == (64, 36, ())


@pytest.mark.parametrize("raw", [None, {}, [], "x", {"prompt_tokens": None}])
def test_what_is_not_reported_is_unknown(raw: Any) -> None:  # noqa: ANN401
    usage = read_usage(raw)
    assert usage.counts() == {}
    assert usage.reason == "no_usage"


def test_a_source_that_never_speaks_of_its_cache_leaves_it_unknown() -> None:
    usage = read_usage({"prompt_tokens": 500, "completion_tokens": 3})
    assert usage.counts() == {"input_total_tokens": 500, "output_tokens": 3}
    assert usage.reason is None


def test_a_negative_remainder_is_an_error_and_not_clamped() -> None:
    usage = read_usage(
        {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 120}}
    )
    assert usage.counts() == {"output_tokens": 7}
    assert usage.reason == "usage_implausible"


@pytest.mark.parametrize("bad", [-1, 1.5, True, "12", [1], 10**40, 1e308, float("inf"), float("nan")])
def test_what_cannot_be_a_count_is_an_error(bad: Any) -> None:  # noqa: ANN401
    usage = read_usage({"prompt_tokens": bad, "completion_tokens": 5})
    assert usage == Usage(reason="usage_implausible")


def test_whole_floats_and_nulls_are_read() -> None:
    usage = read_usage({"prompt_tokens": 12.0, "completion_tokens": 5, "prompt_tokens_details": None})
    assert usage.counts() == {"input_total_tokens": 12, "output_tokens": 5}


def test_an_exclusive_source_adds_its_parts() -> None:
    raw = {"input_tokens": 12, "cache_read_input_tokens": 50000, "cache_creation_input_tokens": 300}
    usage = read_usage({**raw, "output_tokens": 80}, convention="exclusive")
    assert usage.input_total_tokens == 50312
    assert usage.input_uncached_tokens == 12
    assert usage.cache_read_tokens == 50000  # more than the input: legal here


def test_reasoning_is_inside_the_output_unless_the_sources_own_total_says_otherwise() -> None:
    inside = {"prompt_tokens": 123302, "completion_tokens": 1944, "total_tokens": 125246}
    usage = read_usage({**inside, "completion_tokens_details": {"reasoning_tokens": 1129}})
    assert (usage.output_tokens, usage.reasoning_tokens) == (1944, 1129)
    outside = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 180}
    usage = read_usage({**outside, "completion_tokens_details": {"reasoning_tokens": 30}})
    assert (usage.output_tokens, usage.reasoning_tokens) == (80, 30)


def test_more_reasoning_than_output_is_an_error() -> None:
    usage = read_usage({"completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 6}})
    assert (usage.counts(), usage.reason) == ({}, "usage_implausible")


def test_a_write_is_no_second_time_in_the_input() -> None:
    raw = {"input_tokens": 3, "cache_creation_input_tokens": 12304, "cache_read_input_tokens": 0}
    usage = read_usage({**raw, "output_tokens": 550}, convention="exclusive")
    assert (usage.input_uncached_tokens, usage.cache_write_tokens, usage.input_total_tokens) == (
        3,
        12304,
        12307,
    )


def test_the_same_numbers_read_by_the_other_convention_differ() -> None:
    details = {"cached_tokens": 200, "cache_write_tokens": 700}
    raw = {"prompt_tokens": 1000, "prompt_tokens_details": details, "completion_tokens": 0}
    inclusive, exclusive = read_usage(raw), read_usage(raw, convention="exclusive")
    assert (inclusive.input_uncached_tokens, inclusive.input_total_tokens) == (100, 1000)
    assert (exclusive.input_uncached_tokens, exclusive.input_total_tokens) == (1000, 1900)
    per_token = {"fresh": 3e-6, "write": 3.75e-6, "read": 0.3e-6}
    price = 100 * per_token["fresh"] + 700 * per_token["write"] + 200 * per_token["read"]
    assert price == pytest.approx(0.002985)


def test_the_responses_spelling_counts_cached_input_inside() -> None:
    raw = {
        "input_tokens": 219921,
        "input_tokens_details": {"cached_tokens": 170496},
        "output_tokens": 3562,
        "output_tokens_details": {"reasoning_tokens": 448},
        "total_tokens": 223483,
    }
    usage = read_usage(raw)
    assert (usage.input_total_tokens, usage.input_uncached_tokens) == (219921, 219921 - 170496)
    assert usage.input_total_tokens is not None and usage.output_tokens is not None
    assert usage.input_total_tokens + usage.output_tokens == 223483  # and not 393,979
    assert (usage.unknown_keys, usage.reason) == ((), None)


def test_reasoning_is_billed_once_and_whole() -> None:
    raw = {
        "prompt_tokens": 9,
        "completion_tokens": 482,
        "completion_tokens_details": {"reasoning_tokens": 448},
    }
    assert read_usage(raw).output_tokens == 482


def test_writes_of_both_lifetimes_are_told_apart() -> None:
    parts = {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10}
    raw = {"input_tokens": 1, "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"}
    whole = read_usage(
        {**raw, "cache_creation_input_tokens": 30, "cache_creation": parts}, convention="exclusive"
    )
    assert (whole.cache_write_tokens, whole.cache_write_1h_tokens, whole.input_total_tokens) == (30, 10, 31)
    assert whole.unknown_keys == ()
    only_parts = read_usage({**raw, "cache_creation": parts}, convention="exclusive")
    assert only_parts.cache_write_tokens == 30
    odd = read_usage(
        {**raw, "cache_creation_input_tokens": 5, "cache_creation": parts}, convention="exclusive"
    )
    assert odd.reason == "usage_implausible" and odd.cache_write_tokens is None


def test_usage_without_output_is_not_whole() -> None:
    usage = read_usage({"input_tokens": 5, "cache_read_input_tokens": 0}, convention="exclusive")
    assert (usage.input_total_tokens, usage.output_tokens, usage.reason) == (5, None, "usage_partial")


def test_gemini_counts_thoughts_beside_its_candidates() -> None:
    raw = {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 3,
    }
    usage = read_usage({**raw, "totalTokenCount": 18}, reasoning="outside")
    assert (usage.input_uncached_tokens, usage.cache_read_tokens, usage.input_total_tokens) == (6, 4, 10)
    assert (usage.output_tokens, usage.reasoning_tokens) == (8, 3)


@pytest.mark.parametrize(
    ("written", "total", "of_1h"),
    [
        ({"cache_creation": {"ephemeral_5m_input_tokens": 30}}, 30, None),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10}}, 30, 10),
        ({"cache_creation_input_tokens": 30, "cache_creation": {"ephemeral_1h_input_tokens": 10}}, 30, 10),
        ({"cache_creation_input_tokens": 30}, 30, None),
    ],
)
def test_writes_are_known_by_their_lifetimes(written: dict[str, Any], total: int, of_1h: int | None) -> None:
    raw = {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3, **written}
    usage = read_usage(raw, convention="exclusive")
    assert (usage.cache_write_tokens, usage.cache_write_1h_tokens) == (total, of_1h)
    assert (usage.input_total_tokens, usage.reason) == (33, None)
