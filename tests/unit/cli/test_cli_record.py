"""Options of `record opencode`: ours, the original cache script's, and what excludes what."""

from __future__ import annotations

import json
import re
import types

import pytest

import agentlab as al
from agentlab import cli
from agentlab.cli.commands import make_parser
from agentlab.cli.scenarios import CACHE_PROBE, CACHE_REPORT, scenario_of
from agentlab.errors import ConfigError, InterruptedByUser

SERVER = ["--server", "http://127.0.0.1:9/"]
ORIGINAL = [
    *SERVER, "--provider", "openrouter", "--model", "meta/llama", "--runs", "3", "--arm", "on",
    "--plugin-build", "2.2.24", "--output", "report.json",
]  # fmt: skip


def options_of(*arguments):
    return make_parser().parse_args(["record", "opencode", *arguments])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def stable():
    return al.load(al.example("cache")).where(arm="stable")


@pytest.fixture
def recorded(monkeypatch, stable):
    """What `record` was called with; it gives the shipped runs of one arm."""
    calls = []
    result = {"recordings": stable}

    class Running:
        def result(self):
            if "error" in result:
                raise result["error"]
            return result["recordings"]

    def record(scenario, arms, **options):
        calls.append({"scenario": scenario, "arms": arms, **options})
        return Running()

    monkeypatch.setattr("agentlab.engine.record", record)
    return types.SimpleNamespace(calls=calls, result=result)


def run(*arguments):
    return cli.main(["record", "opencode", *arguments])


def refused(capsys, *arguments):
    """The message of a usage fault: exit 2, usage first, on stderr."""
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("usage: agentlab record opencode")
    return err.rpartition("agentlab record opencode: error: ")[2]


def test_the_original_command_line_is_understood(recorded, here, capsys):
    assert run(*ORIGINAL, "--timeout-ms", "90000", "--retries", "0", "--retry-delay-ms", "250",
               "--header", "X-Two: a:b ", "--header", "x-two:c") == 0  # fmt: skip
    (call,) = recorded.calls
    (arm,) = call["arms"].values()
    assert list(call["arms"]) == ["on"]
    assert (arm.url, arm.model, arm.agent) == ("http://127.0.0.1:9", "openrouter/meta/llama", "orchestrator")
    assert arm.headers == (("X-Two", "a:b"), ("x-two", "c"))
    assert (arm.retries, arm.retry_delay_s, arm.build) == (0, 0.25, "2.2.24")
    assert call["runs"] == 3 and call["gateway"] is None
    scenario = call["scenario"]
    assert scenario.name == "cache-report" and scenario.warmup == "original"
    assert scenario.timeouts.prompt == 90
    report = json.loads((here / "report.json").read_text())
    assert report["comparison"]["pluginBuild"] == "2.2.24"
    assert (report["controls"]["retries"], report["controls"]["retryDelayMs"]) == (0, 250)
    assert "report: report.json" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["report.json"]


def test_defaults_of_the_original(recorded):
    assert run(*ORIGINAL) == 0
    (arm,) = recorded.calls[0]["arms"].values()
    assert (arm.retries, arm.retry_delay_s) == (2, 0.5)
    assert recorded.calls[0]["scenario"].timeouts.prompt == 120


def test_the_last_of_a_repeated_option_wins(recorded):
    assert run(*ORIGINAL, "--runs", "7", "--provider", "lab", "--server", "https://h.example/base//") == 0
    (arm,) = recorded.calls[0]["arms"].values()
    assert recorded.calls[0]["runs"] == 7
    assert arm.model == "lab/meta/llama"
    # one trailing slash is cut here; the driver cuts its own
    assert options_of(*ORIGINAL, "--server", "https://h.example/base//").server == "https://h.example/base/"


def test_a_value_may_begin_with_one_dash():
    assert options_of(*ORIGINAL, "--plugin-build", "-x1").plugin_build == "-x1"
    assert options_of("--turn", "-5?", "--turn=--both").turn == ["-5?", "--both"]


@pytest.mark.parametrize(
    "flag",
    ["--server", "--provider", "--model", "--output", "--arm", "--plugin-build", "--runs", "--timeout-ms",
     "--retries", "--retry-delay-ms", "--header"],
)  # fmt: skip
def test_a_value_that_begins_with_two_dashes_is_missing(capsys, flag):
    assert re.search("expected (one|at least one) argument", refused(capsys, *ORIGINAL, flag, "--overwrite"))
    assert "argument" in refused(capsys, *ORIGINAL, flag)


def test_our_own_defaults_are_untouched(recorded):
    assert run("--gateway-script", "cache-probe") == 0
    (call,) = recorded.calls
    assert list(call["arms"]) == ["opencode"] and call["scenario"] == CACHE_PROBE
    assert call["arms"]["opencode"] == al.OpenCode("lab/scripted")
    assert "detach" not in call


def test_report_of_a_server_of_our_own_asks_the_usual_agent(recorded, here):
    assert run("--gateway-script", "cache-probe", "--report", "r.json") == 0
    (call,) = recorded.calls
    assert call["scenario"] == CACHE_REPORT and call["arms"]["opencode"].agent == "build"
    assert json.loads((here / "r.json").read_text())["controls"]["retries"] == 0


def test_detach_is_passed_on(recorded):
    assert run("--gateway-script", "cache-probe", "--detach", "3600") == 0
    assert recorded.calls[0]["detach"] == 3600


def test_provider_behind_a_gateway(recorded, monkeypatch):
    monkeypatch.setenv("LAB_KEY", "sk-secret")
    assert run("--gateway", "https://h.example/v1", "--gateway-key-env", "LAB_KEY", "--model", "p/m") == 0
    gateway = recorded.calls[0]["gateway"]
    assert (gateway.upstream, gateway.key_env) == ("https://h.example/v1", "LAB_KEY")
    assert "sk-secret" not in repr(gateway)


def test_a_gateway_has_its_limits(recorded):
    limits = ["--price", "3,15,0.30", "--budget-usd", "2.50", "--max-requests", "40"]
    assert run(*SCRIPT, *limits) == 0
    gateway = recorded.calls[0]["gateway"]
    assert (str(gateway.price.input), str(gateway.price.output), str(gateway.price.cache_read)) == (
        "3", "15", "0.30",
    )  # fmt: skip
    assert (str(gateway.budget), gateway.max_requests) == ("2.50", 40)


def test_a_price_says_what_is_written_to_the_cache(recorded):
    assert run(*SCRIPT, "--price", "3,15,,3.75,6") == 0
    assert recorded.calls[0]["gateway"].price == al.Price(3, 15, None, "3.75", 6, source="command line")


def test_a_price_can_be_looked_up(recorded, monkeypatch):
    found = al.Price(1, 2, source="genai-prices")
    monkeypatch.setattr(al.Price, "of", lambda model: found if model == "openai:gpt-5" else None)
    assert run(*SCRIPT, "--price", "openai:gpt-5") == 0
    assert recorded.calls[0]["gateway"].price == found


def test_basic_credentials_come_from_the_environment(recorded, monkeypatch):
    monkeypatch.setenv("LAB_LOGIN", "opencode:pass:word")
    assert run(*SERVER, "--model", "p/m", "--auth-env", "LAB_LOGIN") == 0
    assert recorded.calls[0]["arms"]["opencode"].auth == ("opencode", "pass:word")


SCRIPT = ["--gateway-script", "cache-probe"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([*SCRIPT, "--arm", "a", "--arm", "a"], "given twice"),
        ([*SCRIPT, "--arm", "system=x"], "name comes first"),
        ([*SCRIPT, "--arm", "a", "sytem=x"], "OpenCode knows model"),
        ([*SCRIPT, "--arm", "a", "just words"], "KEY=VALUE"),
        ([*SCRIPT, "--arm", "a", "config={broken"], "not JSON"),
        ([*SCRIPT, "--arm", "a", 'headers=[["Authorization", "secret"]]'], "OpenCode knows"),
        ([*SCRIPT, "--arm", "a", "server=often"], "--arm NAME server='often': write 'arm' or 'run'"),
        ([*SCRIPT, "--arm", "a", "permissions=maybe"], "--arm NAME permissions=: 'maybe' is none of"),
        ([*SCRIPT, "--arm", "a", "workspace=gone"], "--arm NAME workspace="),
        ([*SCRIPT, "--turn", "Hi.", "--scenario", "cache-probe"], "not both"),
        ([*SCRIPT, "--require", "text"], "--require goes with --turn"),
        ([*SCRIPT, "--turn", "Hi.", "--require", "reading"],
         "--require 'reading': write 'text' or 'tool:NAME'"),
        ([*SCRIPT, "--turn", " "], "--turn [' ']: give a list of non-empty strings"),
        ([*SCRIPT, "--scenario", "nope"], "there is cache-probe, cache-report"),
        ([*SCRIPT, "--scenario", "gone.json"], "No such file"),
        ([*SCRIPT, "--runs", "0"], "--runs: '0': give a whole number from 1"),
        ([*SCRIPT, "--runs", "1.5"], "--runs: '1.5': give a whole number from 1"),
        ([*SCRIPT, "--runs", "9007199254740992"], "give a whole number from 1 to 9007199254740991"),
        ([*SCRIPT, "--seed", "-1"], "--seed: '-1'"),
        ([*SCRIPT, "--timeout", "0"], "--timeout 0.0: give a number of seconds above 0"),
        ([*SCRIPT, "--start", "nan"], "--start nan: give a number of seconds above 0"),
        ([*SCRIPT, "--timeout", "3", "--timeout-ms", "3000"], "not both"),
        (["--gateway-script", "nope"], "--gateway-script nope: there is 'cache-probe'"),
        ([*SCRIPT, "--abbrev"], "unrecognized arguments"),
        ([*SCRIPT, "--overwrite"], "--exists replace"),
        ([*SCRIPT, "--plugin-build", "1"], "goes with --server URL or --report FILE"),
        ([*SCRIPT, "--header", "A:b"], "--header goes with --server"),
        ([*SCRIPT, "--auth-env", "HOME"], "--auth-env goes with --server"),
        ([*SCRIPT, "--gateway-key-env", "HOME"], "goes with --gateway URL"),
        ([*SCRIPT, "--gateway", "https://h.example"], "exclude each other"),
        ([*SCRIPT, *SERVER], "--gateway-script and --server exclude each other"),
        ([*SCRIPT, "--provider", "p"], "--provider goes with --model ID"),
        (["--model", "p/m", "--budget-usd", "1"], "--budget-usd goes with --gateway URL or --gateway-script"),
        (["--gateway", "https://h.example/v1", "--model", "p/m", "--budget-usd", "1"],
         "--budget-usd 1: without a price no spending is known; give --price"),
        ([*SCRIPT, "--budget-usd", "much"], "--budget-usd"),
        ([*SCRIPT, "--price", "3"], "--price: '3': give IN,OUT or IN,OUT,CACHED"),
        ([*SCRIPT, "--price", "3,x"], "--price: '3,x'"),
        ([*SCRIPT, "--price", ",15"], "--price: ',15'"),
        ([*SCRIPT, "--price", "openai:"], "write 'provider:model'"),
        ([*SCRIPT, "--max-requests", "0"], "--max-requests: '0'"),
        (["--gateway", "ftp://x", "--model", "p/m"], "--gateway: give a URL such as"),
        (["--gateway", "http://h.example/v1", "--gateway-key-env", "HOME", "--model", "p/m"],
         "--gateway http://h.example/v1: a key is sent over https only"),
        (["--gateway", "https://h.example/v1", "--gateway-key-env", "sk-12", "--model", "p/m"],
         "--gateway-key-env: give the name of an environment variable, not the key"),
        (["--gateway", "https://h.example/v1", "--gateway-key-env", "NO_SUCH_KEY", "--model", "p/m"],
         "--gateway-key-env: this environment variable is not set"),
        (["--model", "gpt"], "--model 'gpt': write 'provider/model'"),
        ([*SERVER], "--model is missing"),
        ([*SERVER, "--model", "p/m", "--agent", " "], "--agent '': name an agent"),
        ([*SERVER, "--model", "p/m", "--arm", "a", 'plugins=["x"]'], "plugins"),
        ([*SERVER, "--model", "p/m", "--auth-env", "NO_SUCH_VARIABLE"], "variable that is set"),
        ([*SERVER, "--model", "p/m", "--auth-env", "HOME"], "must hold USER:PASSWORD"),
        (["--server", "localhost:4096"], "give an absolute URL such as"),
        (["--server", "ftp://h.example"], "give an absolute URL such as"),
        (["--server", "http://u:secret@h.example"], "use --auth-env NAME"),
        (["--server", "http://h.example/?q=1"], "without query or fragment"),
        (["--server", "http://h.example:99999"], "give an absolute URL"),
        ([*SERVER, "--header", ":secret"], "--header: write NAME:VALUE"),
        ([*SERVER, "--header", "secret"], "--header: write NAME:VALUE"),
        ([*SERVER, "--header", "a b:secret"], "no header's name may hold"),
        ([*SERVER, "--header", "a:sec\nret"], "no header may hold"),
        ([*SERVER, "--heder", "A:secret"], "unrecognized arguments: --heder"),
        ([*SERVER, "--heder=A:secret"], "unrecognized arguments: --heder"),
        ([*SERVER, "--header", "A:", "secret"], "put a value that holds blanks in quotes"),
        ([*SCRIPT, "extra"], "unrecognized arguments: extra"),
        *([[*ORIGINAL, flag, ""], f"argument {flag}: the value is empty"]
          for flag in ("--model", "--agent", "--plugin-build", "--to", "--header")),
        ([*SCRIPT, "--model="], "argument --model: the value is empty"),
        ([*SCRIPT, "--arm", "a", ""], "argument --arm: the value is empty"),
        ([*ORIGINAL, "--arm", "off"], "the original took the last"),
        ([*ORIGINAL, "--output", "no/such/r.json"], "there is no folder"),
        ([*ORIGINAL, "--output", "."], "is a folder"),
    ],
)  # fmt: skip
def test_wrong_usage_touches_nothing(recorded, arguments, said, capsys, here):
    message = refused(capsys, *arguments)
    assert said in message
    assert not {"secret", "sk-12"} & set(re.findall(r"[\w-]+", message)), "a secret is repeated"
    assert recorded.calls == [] and list(here.iterdir()) == []


def test_an_existing_report_is_refused_before_the_first_request(recorded, capsys, here):
    (here / "report.json").write_text("mine")
    assert "report.json exists; choose another file, or say --overwrite" in refused(capsys, *ORIGINAL)
    assert recorded.calls == [] and (here / "report.json").read_text() == "mine"
    assert run(*ORIGINAL, "--overwrite") == 0
    assert json.loads((here / "report.json").read_text())["schemaVersion"] == 2


def test_nothing_eligible_is_3_and_the_report_is_written(recorded, here):
    recorded.result["recordings"] = broken = al.load(al.example("cache")).where(arm="stable")
    for _, info in broken._infos:
        object.__setattr__(info, "status", "failed")
    assert run(*ORIGINAL) == 3
    metrics = json.loads((here / "report.json").read_text())["metrics"]
    assert metrics["sessionsEligible"] == 0 and metrics["sessionsDiscarded"] == len(broken)


def test_a_report_that_cannot_be_written_says_how_to_write_it(recorded, capsys, here):
    (here / "sub").mkdir()
    recorded.result["recordings"] = al.load(al.example("cache"))  # two arms: schema 2 cannot hold them
    assert run(*ORIGINAL) == 2
    err = capsys.readouterr().err
    assert "holds one arm, and there are volatile, stable" in err
    assert "--format schema2 --to FOLDER" in err and not (here / "report.json").exists()


def test_an_interrupt_names_the_command_that_reads_what_is_kept(recorded, capsys):
    recorded.result["error"] = InterruptedByUser("interrupted. Kept: agentlab.load('studies/my study')")
    assert run(*ORIGINAL) == 130
    assert capsys.readouterr().err == "agentlab: interrupted. Kept: agentlab compare 'studies/my study'\n"


def test_own_prompts():
    scenario = scenario_of(options_of("--turn", "One.", "--turn", "Two.", "--require", "tool:read"))
    assert scenario.turns == ("One.", "Two.")
    assert scenario.require == ("tool:read",)
    assert scenario_of(options_of("--turn", "One.")).require == ("text",)


def test_scenario_from_a_file(here):
    path = here / "mine.json"
    path.write_text(json.dumps(CACHE_PROBE.to_dict() | {"name": "mine"}))
    assert scenario_of(options_of("--scenario", str(path))).name == "mine"
    for broken in ("", "[]", '{"turns": 3}', '{"name": "x", "nope": 1}'):
        path.write_text(broken)
        with pytest.raises(ConfigError, match="--scenario"):
            scenario_of(options_of("--scenario", str(path)))


@pytest.mark.parametrize("scenario", [CACHE_PROBE, CACHE_REPORT], ids=lambda scenario: scenario.name)
def test_prompts_begin_with_a_fresh_marker(scenario):
    # A nonce at the end would let one run's cache serve the next run's prompts.
    assert all(turn.startswith("Session marker: {nonce}") for turn in scenario.turns)
    assert scenario.require == ("tool:read", "tool:todowrite", "text")
