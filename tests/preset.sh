#!/bin/bash
# Builds one of the presets and runs its tests, or those that are named: tests/preset.sh sanitize, tests/preset.sh debug determinism
# worlds. Ends with 77 where its compiler is not there.
set -eu
preset=$1
shift
plain_addresses=
cd "$(dirname "$0")/.."

works() {
    echo 'int main(void) { return 0; }' | "$@" -x c - -o /dev/null 2>/dev/null
}

case $preset in
    sanitize) works gcc -fsanitize=address,undefined || { echo "no gcc with sanitizers here" && exit 77; } ;;
    fuzz)
        echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return 0; }' |
            clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null || { echo "no clang with libFuzzer here" && exit 77; } ;;
    thread)
        # Where addresses are spread widely (vm.mmap_rnd_bits above 28), the sanitizer finds no place for its own memory unless that is off.
        probe=$(mktemp -d)
        trap 'rm -rf "$probe"' EXIT
        echo 'int main(void) { return 0; }' | gcc -fsanitize=thread -x c - -o "$probe/runs" 2>/dev/null ||
            { echo "no gcc with the thread sanitizer here" && exit 77; }
        if ! "$probe/runs" 2>/dev/null; then
            plain_addresses="setarch -R"
            $plain_addresses "$probe/runs" 2>/dev/null || { echo "the thread sanitizer does not run here" && exit 77; }
        fi ;;
    clang) works clang || { echo "no clang here" && exit 77; } ;;
esac

export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=second_deadlock_stack=1
cmake --preset "$preset" -DWEIR_BUILD_TESTS=ON -DWEIR_TEST_ALL=OFF
# What the tests need: a program each, the program weir for scripts, and what compiles a device's kernels before them. Of the other compiler
# everything is built, for its warnings.
targets=(test_opencl_kernels)
for name in "$@"; do
    if [ -e "tests/test_$name.c" ]; then targets+=("test_$name"); else targets+=(weir-program); fi
done
only="^($(IFS='|' && echo "$*"))$"
[ $# -gt 0 ] || only=.
if [ $# = 0 ] || [ "$preset" = clang ]; then targets=(all); fi
cmake --build "build/$preset" --target "${targets[@]}"
cores=$(getconf _NPROCESSORS_ONLN)
$plain_addresses ctest --test-dir "build/$preset" --tests-regex "$only" --output-on-failure --no-tests=error --parallel "$cores"
