"""The usage auditor, on counts of public bug reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentlab.frames.audit import FINDINGS, audit
from agentlab.frames.reconcile import differences
from agentlab.recording import load
from agentlab.testing.recordings import SyntheticStudy

S = "ses"


class Case:
    """One run: what the gateway saw, and what the agent said."""

    def __init__(self, path: Path) -> None:
        self.study = SyntheticStudy(path, arms=("a",))
        self.run = self.study.run("a").__enter__()
        self.run.emit("session.open", session=S, role="main")
        self.number = 0

    def seen(
        self,
        fresh: int,
        read: int = 0,
        write: int = 0,
        output: int = 10,
        *,
        chain: str = "main",
        **end: Any,  # noqa: ANN401
    ) -> None:
        """The gateway saw a request."""
        self.number += 1
        at = 100 * self.number
        self.run.emit_gateway(
            "request.begin", at_ms=at, request=self.number, dialect="chat", chain=chain, session=S,
            n_tools=0 if chain == "title" else 3,
        )  # fmt: skip
        counts = {
            "input_uncached_tokens": fresh, "cache_read_tokens": read, "cache_write_tokens": write,
            "input_total_tokens": fresh + read + write, "output_tokens": output,
        }  # fmt: skip
        end = {**counts, "status": 200, "terminal_seen": True, **end}
        self.run.emit_gateway("request.end", at_ms=at + 50, request=self.number, **end)

    def said(self, convention: str = "exclusive", scope: str = "turn", **fields: Any) -> None:  # noqa: ANN401
        """The agent gave a count; `input` is what it calls its input."""
        given = fields.pop("input", None)
        name = "input_total_tokens" if convention == "inclusive" else "input_uncached_tokens"
        spelled = {"read": "cache_read_tokens", "write": "cache_write_tokens", "output": "output_tokens",
                   "reasoning": "reasoning_tokens", "total": "total_tokens", "cost": "cost_usd"}  # fmt: skip
        fields = {spelled.get(key, key): value for key, value in fields.items()}
        about: dict[str, Any] = {"session": S, "scope": scope, "convention": convention, name: given}
        self.run.emit("usage", **{**about, **fields})

    def rows(self) -> pd.DataFrame:
        self.run.write()
        return audit(load(self.study.path))

    def row(self) -> Any:  # noqa: ANN401
        rows = self.rows()
        assert len(rows) == 1
        return rows.iloc[0]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "s")


def flags(row: Any) -> set[str]:  # noqa: ANN401
    return set(str(row["flags"]).split(",")) if isinstance(row["flags"], str) else set()


@pytest.mark.parametrize("declared", ["inclusive", "exclusive"])
def test_an_inclusive_input_is_found_and_the_wrong_reading_has_its_factor(case: Case, declared: str) -> None:
    """1000 = 100 fresh + 700 written + 200 read: exclusive would be x1.90."""
    case.seen(100, 200, 700)
    case.said(declared, input=1000, read=200, write=700, output=10)
    row = case.row()
    assert (row["finding"], row["convention"], row["input_total_tokens"]) == ("agrees", "inclusive", 1000)
    assert row["misread_factor"] == 1.9 and "x1.90 if its input is read as exclusive" in row["detail"]
    assert ("misdeclared" in flags(row)) == (declared == "exclusive")


def test_an_exclusive_input_may_be_less_than_what_was_read(case: Case) -> None:
    case.seen(12, 50000, 300, output=80)
    case.said("inclusive", input=12, read=50000, write=300, output=80)
    row = case.row()
    assert (row["finding"], row["convention"], row["input_total_tokens"]) == ("agrees", "exclusive", 50312)
    assert row["misread_factor"] == pytest.approx(12 / 50312)


@pytest.mark.parametrize(
    ("counts", "convention"),
    [
        ([(17111, 0), (17111, 17102), (17111, 17102)], "inclusive"),
        ([(17111, 0), (9, 17102), (9, 17111)], "exclusive"),
    ],
)
def test_without_gateway_the_counts_tell_their_convention(
    case: Case, counts: Sequence[tuple[int, int]], convention: str
) -> None:
    for number, (given, read) in enumerate(counts):
        case.said(convention, "request", input=given, read=read, output=5, message=f"m{number}")
    row = case.row()
    assert (row["finding"], row["convention"]) == ("no_gateway", convention)
    assert row["input_total_tokens"] == (51333 if convention == "inclusive" else 17111 + 17111 + 17120)


@pytest.mark.parametrize(
    ("counts", "convention", "total"),
    [
        ({"input": 219921, "read": 170496, "output": 3562, "total": 223483}, "inclusive", 219921),
        ({"input": 123302, "read": 96128, "output": 1944, "reasoning": 1129, "total": 125246},
         "inclusive", 123302),
        ({"input": 14774671, "read": 41255296, "output": 77881, "reasoning": 20400, "total": 56128248},
         "exclusive", 56029967),
    ],
)  # fmt: skip
def test_without_gateway_the_sources_own_total_tells(
    case: Case, counts: dict[str, Any], convention: str, total: int
) -> None:
    case.said("exclusive" if convention == "inclusive" else "inclusive", **counts)
    row = case.row()
    assert (row["convention"], row["input_total_tokens"]) == (convention, total)
    assert "misdeclared" in flags(row)


def test_reasoning_beside_the_output_is_found(case: Case) -> None:
    case.seen(100, output=70)
    case.said(input=100, output=50, reasoning=20)
    row = case.row()
    assert row["finding"] == "agrees" and row["output_tokens"] == 70 and "reasoning_outside" in flags(row)


def test_reasoning_that_is_not_counted_at_all_is_found(case: Case) -> None:
    """Gemini CLI: its output is that of the candidates only."""
    case.seen(12096, output=13, reasoning_tokens=6)
    case.seen(150, 12032, output=29, reasoning_tokens=0)
    case.said("inclusive", input=24278, read=12032, output=36, total=24320)
    row = case.row()
    assert (row["finding"], row["output_tokens"]) == ("omits_reasoning", 36)
    assert "output x0.86" in row["detail"]


@pytest.mark.parametrize("gateway", [True, False])
def test_a_running_total_is_found_and_differenced(case: Case, gateway: bool) -> None:
    totals = [(16504, 20), (85681, 40), (103779, 45)]
    for fresh, output in zip(
        differences(t for t, _ in totals), differences(o for _, o in totals), strict=True
    ):
        if gateway:
            case.seen(fresh, output=output)
    for given, output in totals:
        case.said("inclusive", input=given, output=output)
    row = case.row()
    assert (row["accumulation"], row["input_total_tokens"], row["output_tokens"]) == (
        "cumulative",
        103779,
        45,
    )
    assert row["sum_factor"] == pytest.approx(205964 / 103779)
    assert row["finding"] == ("agrees" if gateway else "no_gateway") and "cumulative" in flags(row)


def test_a_misread_running_total_is_misread_as_a_running_total(case: Case) -> None:
    case.seen(100)
    case.seen(60, 90)
    for given, read, output in ((100, 0, 10), (250, 90, 20)):
        case.said("inclusive", "session", input=given, read=read, output=output)
    row = case.row()
    assert (row["accumulation"], row["input_total_tokens"]) == ("cumulative", 250)
    assert row["misread_factor"] == 340 / 250


def test_a_running_total_that_falls_began_anew() -> None:
    assert differences([16504, 85681, 103779]) == [16504, 69177, 18098]
    assert differences([10, 30, 5, 7]) == [10, 20, 5, 2] and sum(differences([10, 30])) == 30


def test_reports_that_grow_and_are_no_running_total_are_added(case: Case) -> None:
    for fresh in (100, 200, 300):
        case.seen(fresh, output=fresh // 10)
        case.said(input=fresh, output=fresh // 10)
    row = case.row()
    assert (row["accumulation"], row["input_total_tokens"], row["finding"]) == ("each", 600, "agrees")


def test_a_message_copied_into_another_session_counts_once(case: Case) -> None:
    for number in range(3):
        case.seen(100, output=10)
        for file in (1, 2):
            case.said(scope="request", source="transcript", message=f"m{number}", session=f"s{file}",
                      file=file, input=100, output=10, cost=0.5)  # fmt: skip
    for file in (1, 2):
        case.run.emit("transcript", file=file, n_bytes=10, n_rows=3, schema="known")
    row = case.row()
    assert (row["source"], row["n_reports"], row["n_distinct"], row["n_files"]) == ("transcript", 6, 3, 2)
    assert (row["finding"], row["input_total_tokens"], row["cost_usd"]) == ("agrees", 300, 1.5)
    assert row["sum_factor"] == 2 and "duplicated" in flags(row)


def test_placeholders_are_unusable_and_not_averaged_in(case: Case) -> None:
    for number in range(8):
        case.seen(5000, output=400)
        case.said(scope="request", source="transcript", message=f"m{number}", input=number % 2, output=400)
    row = case.row()
    assert row["finding"] == "placeholder" and "placeholder_input" in flags(row)
    assert row["detail"].startswith("transcript unusable for input")
    assert pd.isna(row["input_total_tokens"]) and row["output_tokens"] == 3200


def test_placeholders_among_counts_are_unusable_too(case: Case) -> None:
    """The sums of a public report: 41,444 of 7,199,162 tokens of input, 183,829 of 3,208,365 of output."""
    inputs, outputs = [7199162 - 7 * 900_000, *[900_000] * 7], [3208365 - 7 * 400_000, *[400_000] * 7]
    told = [*zip([41437, *[1] * 7], [183825, 1, 1, 1, 1, 0, 0, 0], strict=True)]
    for number, (seen, said) in enumerate(zip(zip(inputs, outputs, strict=True), told, strict=True)):
        case.seen(seen[0], output=seen[1])
        about = {"scope": "request", "source": "transcript", "message": f"m{number}"}
        case.said(input=said[0], output=said[1], **about)
    row = case.row()
    assert row["finding"] == "placeholder" and {"placeholder_input", "placeholder_output"} <= flags(row)
    assert "unusable for input and output" in row["detail"]
    assert pd.isna(row["input_total_tokens"]) and round(1 / row["input_factor"]) == 174


def test_few_fresh_tokens_beside_a_cache_are_no_placeholder(case: Case) -> None:
    case.seen(1, 12000, 300)
    case.said(input=1, read=12000, write=300, output=10)
    assert case.row()["finding"] == "agrees"


def test_the_gateways_money_wins_and_the_factor_is_said(case: Case) -> None:
    case.seen(18, 69460, 13560, output=2435, charged_usd="0.0288712", measured_usd="0.0288712")
    case.said(input=18, read=69460, write=13560, output=2435, cost=3.67)
    row = case.row()
    assert row["gateway_cost_usd"] == 0.0288712 and round(row["cost_factor"]) == 127
    assert "cost x127" in row["detail"] and row["finding"] == "agrees"


@pytest.mark.parametrize("gateway", [True, False])
def test_a_cost_that_runs_on_is_not_added(case: Case, gateway: bool) -> None:
    for cost in ("0.10", "0.15") if gateway else ():
        case.seen(100, charged_usd=cost, measured_usd=cost)
    for cost in (0.10, 0.25):
        case.said(input=100, output=10, cost=cost)
    row = case.row()
    assert row["cost_usd"] == 0.25 and "cost_cumulative" in flags(row)


def test_a_cost_of_nothing_is_an_unknown_price(case: Case) -> None:
    case.seen(100)
    case.said(input=100, output=10, cost=0)
    assert pd.isna(case.row()["cost_usd"])


def test_title_requests_that_the_agent_does_not_count(case: Case) -> None:
    case.seen(613, output=5, chain="title")
    case.seen(47765)
    case.said(input=47765, output=10)
    row = case.row()
    assert row["finding"] == "omits_requests" and row["input_factor"] == pytest.approx(47765 / 48378)


def test_more_cached_than_input_in_an_inclusive_source_is_an_error_and_not_clamped(case: Case) -> None:
    case.seen(5)
    case.said("inclusive", input=100, read=90, write=40, output=10, total=110)
    row = case.row()
    assert row["finding"] == "implausible"


def test_what_no_reading_explains_differs(case: Case) -> None:
    case.seen(1000, output=100)
    case.said(input=700, output=28)
    row = case.row()
    assert (row["finding"], row["input_factor"], row["output_factor"]) == ("differs", 0.7, 0.28)
    assert "input x0.70; output x0.28" in row["detail"]


def test_an_unknown_schema_is_loud(case: Case) -> None:
    case.seen(100)
    case.run.emit("transcript", file=1, n_bytes=4096, n_rows=0, schema="unknown")
    row = case.row()
    assert (row["finding"], row["n_reports"]) == ("schema_unknown", 0)
    assert pd.isna(row["input_total_tokens"]) and "file 1" in row["detail"]


def test_no_counts_and_a_gateway_that_lacks_some(case: Case) -> None:
    case.seen(100)
    case.number += 1
    case.run.emit_gateway("request.begin", at_ms=900, request=2, dialect="chat", session=S)
    case.run.emit_gateway("request.end", at_ms=950, request=2, status=200, terminal_seen=False, fault="cut")
    case.said(input=300, output=40)
    row = case.row()
    assert (row["finding"], row["gateway_requests"], row["gateway_unknown"]) == ("gateway_unknown", 2, 1)


def test_a_run_without_counts_has_a_row(tmp_path: Path) -> None:
    silent = Case(tmp_path / "silent")
    silent.seen(100)
    row = silent.row()
    assert (row["source"], row["finding"]) == ("none", "no_counts") and row["gateway_requests"] == 1


def test_each_source_has_its_row_and_each_finding_is_explained(case: Case) -> None:
    case.seen(100)
    case.run.emit("message", session=S, message="a", role="assistant", source="stream", finish="stop",
                  input_uncached_tokens=100, output_tokens=10)  # fmt: skip
    case.run.emit("session.info", session=S, input_uncached_tokens=100, output_tokens=10)
    case.said(scope="session", input=100, output=10)
    rows = case.rows()
    assert list(zip(rows["source"], rows["scope"], strict=True)) == [
        ("message", "request"), ("session", "session"), ("usage", "session"),
    ]  # fmt: skip
    assert set(rows["finding"]) == {"agrees"} <= set(FINDINGS)
