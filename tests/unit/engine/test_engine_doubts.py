"""What the gateway noted of requests is told as issues of the run."""

from agentlab.engine.doubts import NOTED, doubts_of
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


def test_a_provider_that_cannot_be_reached_is_said_with_what_to_do():
    class Stand:
        def of_run(self):
            return [{"reason": "upstream_unreachable"}, {"reason": None}, {"reason": "upstream_unreachable"}]

    ((code, detail),) = doubts_of(Stand())
    assert code == "gateway_fault" and code in CODES
    assert detail == "2 requests: the provider could not be reached; look at its address and at the network"
