#!/bin/bash
# Builds one of the presets and runs its tests, or those whose names match: tests/preset.sh sanitize, tests/preset.sh debug
# determinism. Ends with 77 where its compiler is not there.
set -eu
preset=$1
only=${2:-.}
cd "$(dirname "$0")/.."

works() {
    echo 'int main(void) { return 0; }' | "$@" -x c - -o /dev/null 2>/dev/null
}

case $preset in
    sanitize) works gcc -fsanitize=address,undefined || { echo "no gcc with sanitizers here" && exit 77; } ;;
    fuzz)
        echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return 0; }' |
            clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null || { echo "no clang with libFuzzer here" && exit 77; } ;;
    clang) works clang || { echo "no clang here" && exit 77; } ;;
esac

export UBSAN_OPTIONS=print_stacktrace=1
cmake --preset "$preset" -DWEIR_BUILD_TESTS=ON -DWEIR_TEST_ALL=OFF
cmake --build "build/$preset"
cores=$(getconf _NPROCESSORS_ONLN)
ctest --test-dir "build/$preset" --tests-regex "$only" --output-on-failure --no-tests=error --parallel "$cores"
