#!/bin/bash
# Files that Weir writes, read by programs that others wrote. What is not installed here is passed over, with a line that says so.
set -u
weir=${1:-${WEIR_PROGRAM:?usage: test_exports.sh PATH-TO-WEIR}}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
checks=0
failures=0

# check WHAT COMMAND...
check() {
    checks=$((checks + 1))
    local what=$1
    shift
    "$@" >"$work/said" 2>&1 && return
    failures=$((failures + 1))
    echo "FAIL $what"
    sed 's/^/     /' "$work/said"
}

has() { command -v "$1" >/dev/null 2>&1; }
says() { grep -qF -e "$2" "$1" || { echo "no '$2' in:" && cat "$1" && false; }; }
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\).*/\1/p" "$2" | head -n 1; }

for ending in vti nvdb vox; do
    check "export to .$ending" "$weir" run dambreak --size 24 --updates 40 --report "$work/report.json" --quiet \
        --export "$work/water.$ending"
done
check "export every 20 updates" "$weir" run dambreak --size 16 --updates 40 --quiet --export "$work/many.nvdb" --export-every 20
check "the first of several" test -s "$work/many-000020.nvdb"
check "the last of several" test -s "$work/many-000040.nvdb"
mass=$(value mass_end "$work/report.json")

# ---- VTK: the extent, the kinds of the arrays, and all of the water.
sum_of_vti() {
    /usr/bin/python3 - "$1" "$mass" <<'PYTHON'
import math, sys
from vtkmodules.vtkIOXML import vtkXMLImageDataReader
reader = vtkXMLImageDataReader()
reader.SetFileName(sys.argv[1])
reader.Update()
image, cells = reader.GetOutput(), reader.GetOutput().GetCellData()
arrays = {cells.GetArrayName(i): cells.GetArray(i) for i in range(cells.GetNumberOfArrays())}
kinds = {name: (a.GetDataTypeAsString(), a.GetNumberOfComponents()) for name, a in arrays.items()}
assert kinds == {"fill": ("float", 1), "flow": ("float", 3), "pressure": ("float", 1), "terrain": ("unsigned char", 1)}, kinds
drops = math.fsum(memoryview(arrays["fill"])) * 4194304
assert drops == int(sys.argv[2]), (drops, sys.argv[2])
assert image.GetNumberOfCells() == arrays["fill"].GetNumberOfTuples()
assert max(memoryview(arrays["terrain"])) == 255 and arrays["pressure"].GetRange()[1] > 0
assert 0 < arrays["flow"].GetRange(0)[1] <= 1
PYTHON
}
if /usr/bin/python3 -c 'from vtkmodules.vtkIOXML import vtkXMLImageDataReader' 2>/dev/null; then
    check "VTK reads the .vti file, with all of the water" sum_of_vti "$work/water.vti"
else
    echo "no python3-vtk9 here: .vti files are not checked by VTK"
fi

# ---- NanoVDB: both grids are valid and become OpenVDB grids of as many voxels.
if has nanovdb_print && has nanovdb_validate && has nanovdb_convert; then
    check "nanovdb_print reads the .nvdb file" nanovdb_print "$work/water.nvdb"
    cp "$work/said" "$work/printed"
    check "it has a fog volume of floats" grep -Eq '^1 +fill +float +FOG +32\.4\.' "$work/printed"
    check "and vectors" grep -Eq '^2 +flow +Vec3f' "$work/printed"
    check "nanovdb_validate runs" nanovdb_validate -v "$work/water.nvdb"
    cp "$work/said" "$work/validated"
    check "fill is valid" says "$work/validated" '"fill": passed'
    check "flow is valid" says "$work/validated" '"flow": passed'
    check "nanovdb_convert makes a .vdb file" nanovdb_convert -f "$work/water.nvdb" "$work/water.vdb"
    if has vdb_print; then
        check "vdb_print reads the .vdb file" vdb_print -l "$work/water.vdb"
        cp "$work/said" "$work/printed"
        check "fill is there" says "$work/printed" "Type: Tree_float_5_4_3"
        check "and a fog volume" says "$work/printed" "class: fog volume"
        check "flow is there" says "$work/printed" "Type: Tree_vec3s_5_4_3"
        check "both with voxels" test "$(grep -c 'Number of active voxels: *[1-9]' "$work/printed")" -eq 2
    else
        echo "no libopenvdb-tools here: .vdb files are not read"
    fi
else
    echo "no libnanovdb-tools here: .nvdb files are not read by others"
fi

# ---- Several fluids: an array, a grid and a mesh of each.
for ending in vti nvdb glb; do
    check "several fluids to .$ending" "$weir" run oilwater --size 16 --updates 20 --quiet --export "$work/fluids.$ending"
done
materials_of_vti() {
    /usr/bin/python3 - "$1" <<'PYTHON'
import math, sys
from vtkmodules.vtkIOXML import vtkXMLImageDataReader
reader = vtkXMLImageDataReader()
reader.SetFileName(sys.argv[1])
reader.Update()
cells = reader.GetOutput().GetCellData()
names = [cells.GetArrayName(i) for i in range(cells.GetNumberOfArrays())]
assert names[4:] == ["fill_water", "fill_oil", "fill_steam", "fill_ice", "temperature"], names
fill, water, oil = (memoryview(cells.GetArray(name)) for name in ("fill", "fill_water", "fill_oil"))
assert math.fsum(water) > 0 and math.fsum(fill) == math.fsum(water) + math.fsum(oil)
assert abs(cells.GetArray("temperature").GetRange()[1] - 293.15) < 0.25
PYTHON
}
# As a strict reader would: whole chunks, accessors inside of their views, every index below the count of vertices.
several_in_glb() {
    /usr/bin/python3 - "$1" <<'PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
magic, version, length, text_length, kind = struct.unpack_from("<4sIII4s", data)
assert (magic, version, length, kind) == (b"glTF", 2, len(data), b"JSON")
gltf = json.loads(data[20:20 + text_length].decode("utf-8"))
size, kind = struct.unpack_from("<I4s", data, 20 + text_length)
blob = data[28 + text_length:]
assert kind == b"BIN\0" and size == len(blob) == gltf["buffers"][0]["byteLength"]
assert [m["name"] for m in gltf["meshes"]][:2] == ["water", "oil"] == [m["name"] for m in gltf["materials"]][:2]
assert gltf["scenes"][0]["nodes"] == list(range(len(gltf["nodes"])))
for i, mesh in enumerate(gltf["meshes"]):
    part, = mesh["primitives"]
    assert gltf["nodes"][i]["mesh"] == i == part["material"]
    assert all(0 <= c <= 1 for c in gltf["materials"][i]["pbrMetallicRoughness"]["baseColorFactor"])
    for number in list(part["attributes"].values()) + [part["indices"]]:
        accessor = gltf["accessors"][number]
        view = gltf["bufferViews"][accessor["bufferView"]]
        parts = 3 if accessor["type"] == "VEC3" else 1
        assert view["byteLength"] == 4 * parts * accessor["count"] and view["byteOffset"] % 4 == 0
        assert view["byteOffset"] + view["byteLength"] <= len(blob)
        values = struct.unpack_from("<%d%s" % (parts * accessor["count"], "I" if parts == 1 else "f"), blob, view["byteOffset"])
        if parts == 1:
            assert max(values) < gltf["accessors"][part["attributes"]["POSITION"]]["count"] and len(values) % 3 == 0
        if "min" in accessor:
            found = [[f(values[k::3]) for k in range(3)] for f in (min, max)]
            assert all(abs(a - b) < 1e-5 for a, b in zip(sum(found, []), accessor["min"] + accessor["max"]))
PYTHON
}
vtk_reads_glb() {
    /usr/bin/python3 - "$1" <<'PYTHON'
import sys
from vtkmodules.vtkIOGeometry import vtkGLTFReader
reader = vtkGLTFReader()
reader.SetFileName(sys.argv[1])
reader.Update()
assert reader.GetOutput().GetNumberOfPoints() > 1000
PYTHON
}
if /usr/bin/python3 -c 'from vtkmodules.vtkIOXML import vtkXMLImageDataReader' 2>/dev/null; then
    check "VTK reads each material and the temperature" materials_of_vti "$work/fluids.vti"
fi
if /usr/bin/python3 -c 'import json' 2>/dev/null; then
    check "the .glb file is strict, with a mesh and a material of each" several_in_glb "$work/fluids.glb"
fi
if /usr/bin/python3 -c 'from vtkmodules.vtkIOGeometry import vtkGLTFReader' 2>/dev/null; then
    check "VTK reads the .glb file" vtk_reads_glb "$work/fluids.glb"
fi
if has nanovdb_print && has nanovdb_validate; then
    check "nanovdb_print reads several fluids" nanovdb_print "$work/fluids.nvdb"
    cp "$work/said" "$work/printed"
    check "a grid of water" grep -Eq '^4 +fill_water +float +FOG' "$work/printed"
    check "one of oil" grep -Eq '^5 +fill_oil +float +FOG' "$work/printed"
    check "and one of temperature" grep -Eq '^3 +temperature +float' "$work/printed"
    check "nanovdb_validate runs on them" nanovdb_validate -v "$work/fluids.nvdb"
    cp "$work/said" "$work/validated"
    for grid in fill flow temperature fill_water fill_oil; do
        check "$grid of several is valid" says "$work/validated" "\"$grid\": passed"
    done
fi

# ---- MagicaVoxel: what was written goes back in, water as water, at the same place.
check "a .vox file comes back" "$weir" run --terrain "$work/water.vox" --fluid-index 1 --updates 0 --quiet --report "$work/back.json"
check "as a scene of its own" test "$(value scene "$work/back.json")" = terrain
check "with its water" test "$(value mass_end "$work/back.json")" -gt 0
check "all of it solid" "$weir" run terrain --terrain "$work/water.vox" --updates 2 --quiet --export "$work/again.vox"

echo "$((checks - failures)) of $checks checks passed"
[ "$failures" -eq 0 ]
