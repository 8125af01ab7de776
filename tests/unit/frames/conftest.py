import pytest

from agentlab.testing.recordings import SyntheticStudy


@pytest.fixture
def study(tmp_path):
    """An empty study of one arm; two turns are planned."""
    return SyntheticStudy(tmp_path / "study", arms=("a",))
