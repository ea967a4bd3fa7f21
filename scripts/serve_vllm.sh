#!/bin/sh
# A vLLM server on the CPU, for scoring (a served teacher) or rollouts: scripts/serve_vllm.sh MODEL [PORT] [vLLM's own arguments]
#   scripts/serve_vllm.sh models/smollm2-135m-instruct 8000 --served-model-name teacher
# float32, so that its log-probabilities are those of the weights; eager, which starts in half a minute instead of two.
# A scoring server goes without --enable-lora: concurrent prompt_logprobs kill the engine that has it. One for rollouts has it, with
# --max-lora-rank where the adapter's rank is above 16, and then takes new adapters as it runs.
set -eu
model=$1
port=${2:-8000}
shift "$(( $# < 2 ? $# : 2 ))"
cd "$(dirname "$0")/.."
export VLLM_CPU_KVCACHE_SPACE="${VLLM_CPU_KVCACHE_SPACE:-2}" OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
# Threads bound to cores would wait for whatever else runs there.
export VLLM_CPU_OMP_THREADS_BIND="${VLLM_CPU_OMP_THREADS_BIND:-nobind}" HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1
case " $* " in *" --enable-lora "*) export VLLM_ALLOW_RUNTIME_LORA_UPDATING=True ;; esac
# `vllm serve` looks for a package named vllm, which vllm-cpu is not.
exec .venv-vllm/bin/python -m vllm.entrypoints.openai.api_server --model "$model" --host 127.0.0.1 --port "$port" \
  --dtype float32 --enforce-eager --max-logprobs 64 --max-model-len 2048 "$@"
