#!/usr/bin/env bash
# Everything that needs a GPU, in one call: builds, gates the CPU and CUDA packs with each one's bits held against the
# other's, and records the device's bits. Takes the packages as they are and installs nothing.
#
#   tests/on_device.sh [--codegen] [FOLDER]    FOLDER gets the summary, the JSON report and the record
#                                              (build/on-device by default); --codegen: the codegen record for every
#                                              architecture too, 75 kernels in some 45 minutes of one core
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/..
codegen=
if [ "${1-}" = --codegen ]; then codegen=1 && shift; fi
out=${1:-$root/build/on-device}
build=$root/build/device
mkdir -p "$out"
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNBX_TESTS=OFF >"$out/configure.log"
ninja -C "$build" command >"$out/build.log" 2>&1 || { tail -n 40 "$out/build.log"; exit 3; }

code=0
# All 2^32 floats of each scalar function and conversion, against the hashes that the host gave.
nvcc -std=c++20 -O2 --fmad=false -arch=sm_90 -I"$root" "$root/tests/kernels/functions_device.cu" -o "$build/functions"
"$build/functions" >"$out/functions.txt" 2>&1 || code=1
cat "$out/functions.txt"

"$build/nbx-contract" run --summary --json "$out/report.json" >"$out/summary.txt" 2>&1 || code=$?
cat "$out/summary.txt"
# Spans past 2^31 elements take gigabytes on both sides: few at a time.
"$build/nbx-contract" run gate4.offsets --device cuda --full --jobs 2 >"$out/offsets.txt" 2>&1 || code=$?
tail -n 12 "$out/offsets.txt"
"$build/nbx-contract" record --device cuda --output "$out/record.json" || code=1
grep -q '"machine_code"' "$out/record.json" || { echo "the record names no machine code" && code=1; }
if [ -n "$codegen" ]; then
  "$build/nbx-contract" record --codegen --output "$out/codegen.json" || code=1
  # The same code, as cached: red where it is past a kernel's limits.
  "$build/nbx-contract" run --gate 5 --full --summary >"$out/gate5.txt" 2>&1 || code=$?
  tail -n 12 "$out/gate5.txt"
fi
exit $code
