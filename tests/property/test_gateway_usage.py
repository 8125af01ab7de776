"""Usage: parts add up or are unknown; nothing is invented and nothing raises."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import CacheUse
from agentlab.gateway.usage import read_usage

counts = st.integers(0, 10**7)
names = "prompt_tokens completion_tokens total_tokens prompt_tokens_details cached_tokens reasoning_tokens"
more = "completion_tokens_details prompt_cache_hit_tokens cache_write_tokens x"
keys = st.sampled_from(f"{names} {more}".split())
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of the data's
@given(st.dictionaries(keys, values, max_size=6), st.sampled_from(["inclusive", "exclusive"]))
def test_whatever_comes_the_counts_fit_together(raw: dict[str, object], convention: str) -> None:
    usage = read_usage(raw, convention=convention)  # type: ignore[arg-type]
    known = usage.counts()
    assert all(isinstance(value, int) and value >= 0 for value in known.values())
    parts = ("input_uncached_tokens", "cache_read_tokens", "cache_write_tokens")
    if "input_total_tokens" in known and "input_uncached_tokens" in known:
        assert known["input_total_tokens"] == sum(known.get(part, 0) for part in parts)
    if "output_tokens" in known and "reasoning_tokens" in known:
        assert known["reasoning_tokens"] <= known["output_tokens"]
    if not known:
        assert usage.reason in ("no_usage", "usage_implausible")


@given(counts, counts, counts, counts)
def test_both_conventions_say_the_same(fresh: int, read: int, write: int, output: int) -> None:
    inclusive = read_usage(
        {
            "prompt_tokens": fresh + read + write,
            "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
        }
    )
    exclusive = read_usage(
        {
            "input_tokens": fresh,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": write,
            "output_tokens": output,
        },
        convention="exclusive",
    )
    assert inclusive == exclusive
    assert inclusive.input_uncached_tokens == fresh


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_a_dialect_spells_it_reads(fresh: int, cached: int, said: int, reasoning: int) -> None:
    for dialect in DIALECTS.values():
        raw = dialect.spell_usage(
            prompt=fresh + cached, cache=CacheUse(cached), output=said + reasoning, reasoning=reasoning
        )
        usage = dialect.read_usage(json.loads(json.dumps(raw)))
        assert usage.input_uncached_tokens == fresh and usage.cache_read_tokens == cached
        assert usage.output_tokens == said + reasoning and usage.reasoning_tokens == reasoning
        assert usage.reason is None and usage.unknown_keys == ()
