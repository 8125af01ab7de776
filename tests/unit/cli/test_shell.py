"""Messages of the engine in the words of a shell."""

import pytest

from agentlab.cli.shell import in_shell


@pytest.mark.parametrize(
    "python, shell",
    [
        ("record(runs=0): give a whole number from 1", "--runs 0: give a whole number from 1"),
        ("record(to='a b', exists='x'): no", "--to 'a b' and --exists 'x': no"),
        ("x holds a study already; choose another folder, or exists='resume'",
         "x holds a study already; choose another folder, or --exists resume"),
        ("Make room or choose another folder with to=, then run the same call again to resume",
         "Make room or choose another folder with --to, then run the same command again to resume"),
        ("OpenCode(url=..., gateway=...): no", "--server and --gateway: no"),
        ("OpenCode(url=..., plugins=...): has no effect", "--server and --arm NAME plugins=: has no effect"),
        ("OpenCode(permissions=...): 'x' is none of", "--arm NAME permissions=: 'x' is none of"),
        ("OpenCode knows no provider 'p': give gateway=, or describe it in config=",
         "OpenCode knows no provider 'p': give --gateway, or describe it in --arm NAME config="),
        ("describe it in config=. The study ended", "describe it in --arm NAME config=. The study ended"),
        ("workspace='gone': there is no such folder", "--arm NAME workspace='gone': there is no such folder"),
        ("workspace=...: w is a linked work tree", "--arm NAME workspace=: w is a linked work tree"),
        (r"kept: agentlab.load('\x')", r"kept: agentlab compare '\x'"),
        ("record(detach=0.0): give the seconds, 1 to 9, after which the study ends by itself, or False",
         "--detach 0.0: give the seconds, 1 to 9, after which the study ends by itself"),
        ("Timeouts(start=...) allows more", "--start allows more"),
        ("Gateway(key_env='K'): this environment variable is not set",
         "--gateway-key-env 'K': this environment variable is not set"),
        ("attach('studies/x'): it is being recorded, but not detached (record(..., detach=SECONDS)); only",
         "agentlab attach studies/x: it is being recorded, but not detached (--detach SECONDS); only"),
        ("nobody records it; 1 of 2 runs are kept: agentlab.load('s'). The same record(...) call resumes it",
         "nobody records it; 1 of 2 runs are kept: agentlab compare s. The same command resumes it"),
        ("shown by agentlab.attach('a b')", "shown by agentlab attach 'a b'"),
        ("shown by agentlab.attach('--dashed')", "shown by agentlab attach ./--dashed"),
        ("kept: agentlab.load('it\\'s \"ü\"')", """kept: agentlab compare 'it'"'"'s "ü"'"""),
        ('kept: agentlab.load("it\'s")', """kept: agentlab compare 'it'"'"'s'"""),
        ("install('codex9', version='x y'): give", "agentlab install codex9 --version 'x y': give"),
        ("scenario.turns[0] is 'a' there, 'b' here", "scenario.turns[0] is 'a' there, 'b' here"),
        ("arms.a.settings.title is True there", "arms.a.settings.title is True there"),
        ("s/runs is a part of a study; load the study itself: load('s')",
         "s/runs is a part of a study; load the study itself: agentlab compare s"),
        ("a download('x') of nobody", "a download('x') of nobody"),
        ("Exec(together=99): give a whole number", "--together 99: give a whole number"),
        ("AgentCLI(flags=...): give a list", "--arm NAME flags=: give a list"),
        ("Reference(policy='windowed', window_tokens=...): give both",
         "--arm NAME policy='windowed' and --arm NAME window_tokens=: give both"),
        ("Terminal(sessions=(1, 1)): give different numbers", "--sessions (1, 1): give different numbers"),
        ("WebChat(page='openchamber', url=...): give the address",
         "--page 'openchamber' and --url: give the address"),
        ("WebChat(sampling_us=10): give microseconds", "--sampling-interval 10: give microseconds"),
        ("compare(baseline=...): it has a, b; choose one with load(...).where(arm=...)",
         "--baseline: it has a, b; choose one with --baseline-arm"),
        ("name another page, or use pdf=False", "name another page, or say --no-pdf"),
        ('--arm setting "x": write KEY=VALUE', '--arm setting "x": write KEY=VALUE'),
        ("write --arm NAME system='x'", "write --arm NAME system='x'"),
    ],
)  # fmt: skip
def test_keywords_become_options(python, shell):
    assert in_shell(python) == shell
