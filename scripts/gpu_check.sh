#!/usr/bin/env bash
# On one GPU, without a network, in under 8 minutes: a short SFT, OPD (own teacher) and export; throughput, peak memory, MFU.
#
#   scripts/gpu_check.sh --pack   here: wheels, the model's config and tokenizer, a few rows, into .gpu (ignored by git, under 64 MiB)
#   scripts/gpu_check.sh          there: a machine with torch, transformers and accelerate, and .gpu beside the checkout's files
#   scripts/gpu_check.sh --cpu    here: the same in a tiny size, to see that it runs
#
# PYTHON names the interpreter (there python3, here the venv's). Weights that are not there are drawn at random.
set -euo pipefail
cd "$(dirname "$0")/.."
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
case "${1:-}" in
--pack)
  "${PYTHON:-.venv/bin/python}" scripts/gpu_check.py --stage pack
  ;;
--cpu)
  "${PYTHON:-.venv/bin/python}" scripts/gpu_check.py --stage tiny "${@:2}"
  ;;
"")
  site=$(mktemp -d)
  trap 'rm -rf "$site"' EXIT
  "${PYTHON:-python3}" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" .gpu/wheels/*.whl
  PYTHONPATH="$site:$PYTHONPATH" timeout 470 "${PYTHON:-python3}" scripts/gpu_check.py --stage gpu
  ;;
*)
  echo "expected nothing, --pack or --cpu, got $1" >&2
  exit 2
  ;;
esac
