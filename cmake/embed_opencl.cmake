# Writes rules and kernels into C strings, so that no file is looked for when a program runs:
#
#     cmake -D ROOT=src -D "TEXTS=name=a.h,b.cl;other=c.cl" -D OUTPUT=opencl_source.c -P embed_opencl.cmake
#
# Each file begins with a #line, so that a compiler's message names it; its own #include "..." lines are left empty.
set(text "// Made by cmake/embed_opencl.cmake from the files named below.\n")
foreach(part IN LISTS TEXTS)
    string(REGEX MATCH "^[^=]+" name "${part}")
    string(REGEX REPLACE "^[^=]+=" "" files "${part}")
    string(REPLACE "," ";" files "${files}")
    string(APPEND text "extern const char ${name}[];\nconst char ${name}[] =\n")
    foreach(file IN LISTS files)
        file(READ "${ROOT}/${file}" content)
        string(REGEX REPLACE "#include \"[^\n]*" "" content "${content}")
        string(PREPEND content "#line 1 \"${file}\"\n")
        string(REPLACE "\\" "\\\\" content "${content}")
        string(REPLACE "\"" "\\\"" content "${content}")
        string(REPLACE "\n" "\\n\"\n    \"" content "${content}")
        string(APPEND text "    \"${content}\\n\"\n")
    endforeach()
    string(APPEND text ";\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
