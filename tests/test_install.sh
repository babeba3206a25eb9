#!/bin/bash
# Installs Weir into a folder of its own and builds a small program against it as a stranger would: with pkg-config as C11 and
# as C++17, and with CMake's find_package. Once with the static library of this build, once with a shared one, built as quickly as can be.
set -eu
consumer=$WEIR_SOURCE/tests/install_consumer.c
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

quietly() {
    "$@" >"$place/log" 2>&1 || { cat "$place/log" && echo "this failed: $*" && exit 1; }
}

# $1: where Weir is installed
use_installed() {
    local prefix=$1 flags
    local strict='-Wall -Wextra -Werror -pedantic -O1'
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs weir-formats)
    ${CC:-cc} -std=c11 $strict "$WEIR_SOURCE/tests/install_formats.c" $flags -o "$prefix/formats"
    echo "   files by pkg-config"
    LD_LIBRARY_PATH=$prefix/lib "$prefix/formats" "$prefix/files"
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs weir)

    echo "   C11 by pkg-config"
    ${CC:-cc} -std=c11 $strict "$consumer" $flags -o "$prefix/c11"
    LD_LIBRARY_PATH=$prefix/lib "$prefix/c11"

    echo "   C++17 by pkg-config"
    ${CXX:-c++} -std=c++17 $strict -x c++ "$consumer" -x none $flags -o "$prefix/cpp17"
    LD_LIBRARY_PATH=$prefix/lib "$prefix/cpp17"

    echo "   C11 by find_package"
    mkdir "$prefix/consumer"
    cat >"$prefix/consumer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES C)
find_package(weir 0.1 REQUIRED)
add_executable(consumer "$consumer")
target_link_libraries(consumer PRIVATE weir::weir)
add_executable(formats "$WEIR_SOURCE/tests/install_formats.c")
target_link_libraries(formats PRIVATE weir::formats)
END
    quietly cmake -S "$prefix/consumer" -B "$prefix/consumer/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
    quietly cmake --build "$prefix/consumer/build"
    "$prefix/consumer/build/consumer"
    "$prefix/consumer/build/formats" "$prefix/files"

    echo "   the program"
    "$prefix/bin/weir" help >/dev/null
}

echo "-- static"
quietly cmake --install "$WEIR_BUILD" --prefix "$place/static"
use_installed "$place/static"

echo "-- shared"
quietly cmake -S "$WEIR_SOURCE" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON \
    -DWEIR_BUILD_TESTS=OFF
quietly cmake --build "$place/build"
quietly cmake --install "$place/build" --prefix "$place/shared"
use_installed "$place/shared"

# $1: a shared library; $2: a function of its public face
shows_public_face() {
    nm -D --defined-only "$place/shared/lib/$1" | awk '{print $3}' >"$place/names"
    grep -q "^$2\$" "$place/names" || { echo "$1 does not export $2" && exit 1; }
    if grep -v '^weir_' "$place/names"; then
        echo "$1 exports the names above, which do not begin with weir_"
        exit 1
    fi
}
echo "-- the shared libraries show the public face and nothing else"
shows_public_face libweir.so weir_world_step
shows_public_face libweir-formats.so weir_vti_write
