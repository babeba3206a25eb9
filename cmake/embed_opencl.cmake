# Writes the rules and kernels into one C string, so that no file is looked for when a program runs:
#
#     cmake -D ROOT=src -D FILES=a.h,b.cl -D OUTPUT=opencl_source.c -P embed_opencl.cmake
#
# Each file begins with a #line, so that a compiler's message names it; its own #include "..." lines are left empty.
string(REPLACE "," ";" files "${FILES}")
set(text "// Made by cmake/embed_opencl.cmake from the files named below.\nextern const char opencl_source[];\nconst char opencl_source[] =\n")
foreach(file IN LISTS files)
    file(READ "${ROOT}/${file}" content)
    string(REGEX REPLACE "#include \"[^\n]*" "" content "${content}")
    string(PREPEND content "#line 1 \"${file}\"\n")
    string(REPLACE "\\" "\\\\" content "${content}")
    string(REPLACE "\"" "\\\"" content "${content}")
    string(REPLACE "\n" "\\n\"\n    \"" content "${content}")
    string(APPEND text "    \"${content}\\n\"\n")
endforeach()
file(WRITE "${OUTPUT}" "${text};\n")
