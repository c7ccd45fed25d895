#!/usr/bin/env bash
# The CPU pack gives the same bits from every compiler here, at -O0 and -O3, with and without FMA and AVX-512: builds it
# anew for each and holds the fingerprints of its outputs against those of this build's pack.
#
#   compilers.sh COMMAND SOURCE FOLDER    FOLDER keeps the builds, so that a second run builds nothing
set -euo pipefail

command=$1 source=$2 folder=$3
mkdir -p "$folder"

fingerprints() { # NAME ARGUMENT...
  local name=$1
  shift
  "$command" record --quick --device cpu --output "$folder/$name.json" "$@" >"$folder/$name.log" 2>&1 ||
    { cat "$folder/$name.log" >&2; exit 1; }
  # What remains are the hashes.
  grep -vE '^ "(command|device|driver|flags|toolchain|seed)":' "$folder/$name.json" >"$folder/$name.hashes"
}

different=0 compared=0
compare() { # NAME COMPILER BUILD_TYPE FLAGS
  local name=$1 build=$folder/$1
  if [ ! -f "$build/build.ninja" ]; then
    cmake -S "$source" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$2" -DCMAKE_BUILD_TYPE="$3" -DCMAKE_CXX_FLAGS="$4" \
      -DNBX_X86_64_V3=OFF -DNBX_CUDA=OFF -DNBX_TESTS=OFF >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
  fi
  cmake --build "$build" --target cpu >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
  fingerprints "$name" --packs "$build/packs"
  compared=$((compared + 1))
  if cmp -s "$folder/this-build.hashes" "$folder/$name.hashes"; then
    echo "same bits  $name ($2 $3 $4)"
  else
    different=1
    echo "OTHER BITS $name ($2 $3 $4), the first:"
    diff "$folder/this-build.hashes" "$folder/$name.hashes" | head -n 4 || true
  fi
}

fingerprints this-build
cases=$(grep -c ' "[^"]*": "[0-9a-f]' "$folder/this-build.hashes")
echo "this build: $cases fingerprints of outputs"
[ "$cases" -gt 500 ] || { echo "too few: nothing was compared" >&2; exit 1; }

wide=
if grep -q avx512vl /proc/cpuinfo; then wide=-march=x86-64-v4; else echo "no AVX-512 here: not compared"; fi
compare gcc-O0 g++ Debug ""
compare gcc-O3 g++ Release ""
if [ -n "$wide" ]; then compare gcc-O3-avx512 g++ Release "$wide"; fi
if command -v clang++ >/dev/null; then
  compare clang-O0 clang++ Debug ""
  compare clang-O3 clang++ Release ""
  if [ -n "$wide" ]; then compare clang-O3-avx512 clang++ Release "$wide"; fi
else
  echo "no clang++ here: g++ alone was compared"
fi
[ $different = 0 ]
