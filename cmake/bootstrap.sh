# Sourced by examples/quickstart and the run commands of CI and tests: from a bare Debian 12 to a
# build and its tests.
# It sets `root`, the repository's root; the working directory stays the caller's.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
stage_number=0
stage_began_s=

# stage COUNT TEXT: says how long the stage before took, and announces the next of COUNT stages.
stage() {
  stage_end
  stage_number=$((stage_number + 1))
  stage_began_s=$SECONDS
  printf '[%d/%d] %s\n' "$stage_number" "$1" "$2"
}

# stage_end: says how long the stage took. Only the last stage needs this call.
stage_end() {
  [ -z "$stage_began_s" ] || printf '      took %d s\n' "$((SECONDS - stage_began_s))"
  stage_began_s=
}

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# packages_of SECTION…: their packages, one a line.
packages_of() {
  local section
  for section in "$@"; do
    awk -v wanted="[$section]" '
      { sub(/#.*/, "") }
      /^\[/ { inside = ($1 == wanted); next }
      inside && NF { print $1 }' "$root/packages.txt"
  done | LC_ALL=C sort -u
}

# missing_packages SECTION…: those that are not installed.
missing_packages() {
  local -a wanted
  mapfile -t wanted < <(packages_of "$@")
  # dpkg-query fails when it has never heard of a package: then that one is missing.
  LC_ALL=C comm -23 <(printf '%s\n' "${wanted[@]}") \
    <({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true; } |
      sed -n 's/^installed //p' | LC_ALL=C sort -u)
}

# install_packages SECTION…: installs what is missing; asks the package source only if something is.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "      no Debian packages here; assuming that all of packages.txt are installed"
    return
  fi
  local -a missing
  mapfile -t missing < <(missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then
    echo "      all are installed"
    return
  fi
  echo "      to install: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ] && ! { command -v sudo >/dev/null && sudo true; }; then
    fail "installing Debian packages needs root or sudo; neither is available." \
      "Install these packages, then run this again: ${missing[*]}"
  fi
  apt_get update -o APT::Update::Error-Mode=any ||
    echo '      cannot update the package lists; trying the present ones'
  apt_get install --download-only "${missing[@]}" || fail \
    "cannot download these Debian packages: ${missing[*]}. Check the network and the package" \
    "sources in /etc/apt, then run this again."
  apt_get install "${missing[@]}" || fail \
    "cannot install the Debian packages, although they were downloaded. Fix the errors above," \
    "then run this again. Missing: ${missing[*]}"
}

# apt_get ARGUMENT…: as root, without questions, its hundreds of lines reduced to a few.
apt_get() {
  local -a as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q -y \
    --no-install-recommends -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 \
    -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
    "$@" </dev/null 2>&1 | apt_progress
}

# apt_progress: prints the first few errors and warnings of apt-get, and its progress.
apt_progress() {
  local line steps=0 total=0 tenths=0 complaints=0
  while IFS= read -r line; do
    case $line in
      *' newly installed, '*) total=${line%% newly*} total=$((2 * ${total##* })) ;;
      'Need to get 0 B'*) ;;
      'Need to get '*) echo "      ${line%.}" ;;
      Unpacking* | 'Setting up'*) steps=$((steps + 1)) ;;
      'W: '* | 'E: '* | 'dpkg: error '*)
        complaints=$((complaints + 1))
        [ "$complaints" -gt 4 ] || echo "      $line"
        ;;
    esac
    if [ "$total" -gt 0 ] && [ "$((10 * steps / total))" -gt "$tenths" ]; then
      tenths=$((10 * steps / total))
      echo "      ${tenths}0 % installed"
    fi
  done
}

# configure PRESET [ARGUMENT…]: runs cmake with the arguments, and shows which options are on. In CI
# the preset release treats warnings as errors; under sanitizers GCC reports initialised values as
# uninitialised. In CI it also compiles several files as one, because nobody edits them there.
# Without CI, the preset turns off both, whatever the build folder had before.
configure() {
  local -a in_ci=()
  if [ -n "${CI:-}" ] && [ "$1" = release ]; then
    in_ci=(-DPACELINE_WERROR=ON -DPACELINE_UNITY=ALL)
  fi
  cmake -S "$root" --preset "$1" "${in_ci[@]}" "${@:2}"
}

# build PRESET [TARGET…]: builds with one job per core, to limit memory. Each line shows the number
# of finished steps.
build() {
  local preset=$1
  shift
  NINJA_STATUS="${NINJA_STATUS:-      [%f of %t,%p] }" \
    cmake --build "$root/build/$preset" -j "$(nproc)" ${1:+--target "$@"}
}

# name_machines: sets PACELINE_MACHINES, unless it is set, to the folder shared/machines beside the
# project, if there is one: descriptions of real machines.
name_machines() {
  if [ -z "${PACELINE_MACHINES:-}" ] && [ -d "$root/../shared/machines" ]; then
    PACELINE_MACHINES=$(cd "$root/../shared/machines" && pwd)
    export PACELINE_MACHINES
  fi
}

# run_tests PRESET [ARGUMENT…]: runs the tests that the arguments of ctest select. A test that
# computes counts as 3 and one that waits as 1 (tests/CMakeLists.txt): 4 for each CPU.
# Tests that draw their input also take a seed of this commit, or PACELINE_EXTRA_SEED.
run_tests() {
  local commit
  commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null) || commit=0
  PACELINE_EXTRA_SEED=${PACELINE_EXTRA_SEED:-$((16#$commit))} \
    ctest --test-dir "$root/build/$1" -j "$((4 * $(nproc)))" --output-on-failure \
    --no-tests=error "${@:2}"
}
