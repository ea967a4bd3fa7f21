# make demo [DATA=path]   a small pretrained model learns to fold intent; table and report under runs/demo
# make scale              trackers cut to fewer layers against the whole one; rows in runs/scale/results.json
# make test               lint, types, tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?=
MODEL := models/smollm2-135m-instruct

.PHONY: install model demo scale test lint clean

install: $(VENV)/installed
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[train,dev]'
	touch $@

model: $(MODEL)/config.json
$(MODEL)/config.json: $(VENV)/installed
	$(BIN)/python scripts/get_model.py

demo: install model
	$(BIN)/python scripts/demo.py $(if $(DATA),--data $(DATA))

scale: install model
	$(BIN)/python scripts/scale.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint model
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest

clean:
	rm -rf runs
