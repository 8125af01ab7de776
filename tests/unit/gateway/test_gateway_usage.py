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


@pytest.mark.parametrize("bad", [-1, 1.5, True, "12", [1], float("inf"), float("nan")])
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
