#!/usr/bin/env bash
# flash.mma and flash.wgmma on a GPU: their bits against the CPU pack's on random problems, then their speed beside
# PyTorch's, in one call.
#
#   tests/bench/flash_on_device.sh [PROBLEMS]    comparisons a kernel (1000 by default)
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../..
build=$root/build/device
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin

if [ ! -f "$build/build.ninja" ]; then
  mkdir -p "$build"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNBX_TESTS=OFF >"$build/configure.log"
fi
ninja -C "$build" cpu cuda >"$build/build.log" 2>&1 || { tail -n 40 "$build/build.log"; exit 3; }
g++ -std=c++20 -O2 -I"$root" "$root/tests/kernels/device/attention_twin.cpp" -ldl -o "$build/attention_twin"
nvcc -std=c++20 -O2 -arch=sm_90 -I"$root" "$root/tests/bench/flash_bench.cu" -ldl -o "$build/flash_bench"

code=0
kernels=(flash.wgmma.bf16 flash.wgmma.f16 flash.mma.bf16 flash.mma.f16)
for kernel in "${kernels[@]}"; do
  "$build/attention_twin" "$build/packs/cpu.so" "$build/packs/cuda.so" "$kernel" "${1:-1000}" || code=$?
done
python3 "$root/tests/bench/flash_bench.py" "$build/flash_bench" "$build/packs/cuda.so" "${kernels[@]}" ||
  code=$?
exit $code
