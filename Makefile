# Two commands: `make demo` and `make test`. Each does all its own set-up; a second call reuses it.
PYTHON ?= python3
VENV := .venv/bin

# What would lead Python or Jupyter elsewhere than into .venv.
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV JUPYTER_PATH JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_PREFER_ENV_PATH

.PHONY: help demo test lint format setup-demo setup-test figure
help:
	@echo "make demo    measure two prompts on the real OpenCode and the memory of two agents; reports/ gets the pages"
	@echo "make test    check style and types, then run all tests"
	@echo "make format  format the code"
	@echo "make figure  the demo with 10 runs an arm: the example that is shipped, and the README's figure"

demo: setup-demo
	@$(VENV)/python -m agentlab demo

test: setup-test lint
	@$(VENV)/python -m pytest

lint: setup-test
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/pyright

format: setup-test
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .

figure: setup-demo
	@$(VENV)/python data/record_example.py

setup-demo:
	@$(PYTHON) scripts/setup.py demo

setup-test:
	@$(PYTHON) scripts/setup.py test
