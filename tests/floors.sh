#!/usr/bin/env bash
# Holds every #include of the project against the floors: a floor includes only floors below it, oracle/ and kernels/
# never meet, and contracts/ and controls/ know of kernels only what the table allows.
#   tests/floors.sh [ROOT]
# Prints each breach as file:line; exits 1 if there is one, or if there was nothing to check.
set -euo pipefail
cd -- "${1:-$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/..}"

folders=(oracle kernels contracts controls reports tests)
# What a folder may include of the project, as a pattern of whole paths.
allowed() {
  case $1 in
    oracle) echo '^oracle/' ;;
    kernels) echo '^kernels/' ;;
    contracts) echo '^(contracts/|oracle/|kernels/pack/nbx_pack\.h$)' ;;
    controls) echo '^(controls/|contracts/|kernels/)' ;;
    reports) echo '^(reports/|contracts/|controls/|oracle/|kernels/pack/nbx_pack\.h$)' ;;
    tests) echo '.' ;;
  esac
}

# file:line:path of every #include, however it is spaced or quoted.
includes() {
  find "$1" -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \
    -o -name '*.in' \) -print0 |
    xargs -0 -r grep -HnE '^[[:space:]]*#[[:space:]]*include' |
    sed -E 's/^([^:]*:[0-9]+:)[[:space:]]*#[[:space:]]*include(_next)?[[:space:]]*[<"]?([^>"]*).*$/\1\3/' || true
}

checked=0 breaches=0
for folder in "${folders[@]}"; do
  [ -d "$folder" ] || continue
  may=$(allowed "$folder")
  while IFS=: read -r file line path; do
    checked=$((checked + 1))
    reason=
    case $path in
      *..*) [ "$folder" = tests ] || reason="paths start at the root of the project" ;;
      oracle/* | kernels/* | contracts/* | controls/* | reports/* | tests/*)
        [[ $path =~ $may ]] || reason="$folder/ may not include it" ;;
      *.* | */* | [a-z]*) ;;
      *) reason="an include names its file" ;;
    esac
    if [ -n "$reason" ]; then
      echo "$file:$line: $path: $reason"
      breaches=$((breaches + 1))
    fi
  done < <(includes "$folder")
done

if [ $checked = 0 ]; then
  echo "no #include found in $PWD: nothing was checked"
  exit 1
fi
if [ $breaches != 0 ]; then exit 1; fi
echo "floors: $checked includes keep to their floors"
