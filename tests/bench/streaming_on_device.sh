#!/usr/bin/env bash
# Decode, paged decode and rows-first attention on a GPU, beside PyTorch's decode, as the tables of kernels/README.md.
#
#   tests/bench/streaming_on_device.sh [--ncu] [--only q35|decode]
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../..
build=$root/build/device
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
cuda=$(dirname -- "$(dirname -- "$(readlink -f -- "$(command -v nvcc)")")")

if [ ! -f "$build/build.ninja" ]; then
  mkdir -p "$build"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNBX_TESTS=OFF >"$build/configure.log"
fi
ninja -C "$build" cuda >"$build/build.log" 2>&1 || { tail -n 40 "$build/build.log"; exit 3; }
g++ -std=c++20 -O2 -I"$root" -isystem "$cuda/include" "$root/tests/bench/pack_bench.cpp" -L"$cuda/lib64" \
  -lcudart_static -ldl -lrt -lpthread -o "$build/pack_bench"
python3 "$root/tests/bench/streaming_bench.py" --bench "$build/pack_bench" --pack "$build/packs/cuda.so" "$@"
