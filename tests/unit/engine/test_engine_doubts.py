"""What the gateway noted of requests is told as issues of the run."""

from agentlab.engine.doubts import NOTED, doubts_of, went_around
from agentlab.issues import CODES


class Stand:
    def of_run(self) -> list[dict[str, object]]:
        return [
            {"reason": "tape_mismatch"},
            {"reason": "tape_mismatch"},
            {"reason": "tape_end: nothing"},
            {"reason": "no_usage"},
            {},
        ]


def test_reasons_are_counted_by_their_code() -> None:
    assert doubts_of(Stand()) == [("tape_end", "1 requests"), ("tape_mismatch", "2 requests")]
    assert set(NOTED) <= set(CODES)


def test_a_stand_in_tells_nothing() -> None:
    assert doubts_of(None) == doubts_of(object()) == []


def test_a_provider_that_was_away_for_a_while_is_a_doubt():
    class Stand:
        def of_run(self):
            away = {"reason": "upstream_away: connection refused"}
            return [away, {"reason": None}, away, {"reason": "upstream_lost"}]

    assert "gateway_fault" in CODES
    assert doubts_of(Stand()) == [
        ("gateway_fault", "2 requests: the provider could not be reached for a while"),
        ("gateway_fault", "1 requests: the provider hung up without an answer"),
    ]


def test_a_gateway_that_saw_nothing_was_gone_around_and_one_that_tells_nothing_was_not():
    class Idle:
        def of_run(self):
            return []

    assert went_around(Idle())
    assert not any(map(went_around, (Stand(), None, object())))
