#!/usr/bin/env bash
# The ring over NCCL, on a machine with two GPUs: builds its program and the packs, and runs it. Exits 77 where there are
# no two.
#
#   tests/ring_on_device.sh [BUILD]    BUILD: a folder that holds ring_nccl and packs/ already, built elsewhere
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/..
build=${1:-}
if [ -z "$build" ]; then
  build=$root/build/device-tests
  mkdir -p "$build"
  command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >"$build/configure.log" || exit 3
  ninja -C "$build" ring_nccl >"$build/build.log" 2>&1 || { tail -n 40 "$build/build.log"; exit 3; }
fi
# NCCL may be that of PyTorch alone.
if ldd "$build/ring_nccl" | grep -q 'libnccl.*not found'; then
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(python3 -c 'import nvidia.nccl as n; print(n.__path__[0] + "/lib")')
  export LD_LIBRARY_PATH
fi
export NCCL_NVLS_ENABLE=0 # a ring has no use for NVLink multicast, and a machine that shares its switch may not give it
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
"$build/ring_nccl"
