// Whether a device keeps the contract is found out by trying: drivers have been wrong about what they say of themselves.
#include <fenv.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/status.h"
#include "compute/opencl_program.h"
#include "compute/self_test.h"

#define OPERAND_BYTES (3 * SELF_TEST_PATTERNS * sizeof(cl_uint))
#define RESULT_BYTES (SELF_TEST_OPERATIONS * SELF_TEST_PATTERNS * sizeof(cl_uint))

typedef struct self_test_memory {
    cl_uint operands[3 * SELF_TEST_PATTERNS];
    cl_uint results[SELF_TEST_OPERATIONS * SELF_TEST_PATTERNS];
} self_test_memory;

// Three kinds by turns: any bits at all; numbers of like size, whose sums and products round; and numbers around the smallest normal
// one, many of them denormal.
static cl_uint operand(cl_uint i)
{
    cl_uint bits = hash_mix(i + 1);
    switch (i / 3 % 3) {
    case 0: return bits;
    case 1: return (bits & 0x83ffffffu) | 0x3c000000u;
    default: return bits & 0x81ffffffu;
    }
}

static cl_int run(const opencl_api *cl, cl_context context, cl_command_queue queue, cl_kernel kernel, self_test_memory *memory)
{
    cl_int error;
    cl_mem operands =
        cl->CreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, OPERAND_BYTES, memory->operands, &error);
    if (!operands) return error;
    cl_mem results = cl->CreateBuffer(context, CL_MEM_WRITE_ONLY, RESULT_BYTES, NULL, &error);
    if (results) {
        size_t items = SELF_TEST_PATTERNS;
        error = cl->SetKernelArg(kernel, 0, sizeof operands, &operands);
        if (error == CL_SUCCESS) error = cl->SetKernelArg(kernel, 1, sizeof results, &results);
        if (error == CL_SUCCESS) error = cl->EnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
        if (error == CL_SUCCESS)
            error = cl->EnqueueReadBuffer(queue, results, CL_TRUE, 0, RESULT_BYTES, memory->results, 0, NULL, NULL);
        cl->ReleaseMemObject(results);
    }
    cl->ReleaseMemObject(operands);
    return error;
}

static weir_status compare(const self_test_memory *memory, const opencl_device *device)
{
#define SELF_TEST_TEXT(name, text) text,
    static const char *const names[SELF_TEST_OPERATIONS] = {SELF_TEST_LIST(SELF_TEST_TEXT)};
#undef SELF_TEST_TEXT
    for (int operation = 0; operation < SELF_TEST_OPERATIONS; operation++) {
        for (int i = 0; i < SELF_TEST_PATTERNS; i++) {
            const cl_uint *o = &memory->operands[3 * i];
            cl_uint expected = self_test_operation(operation, o[0], o[1], o[2]);
            cl_uint result = memory->results[operation * SELF_TEST_PATTERNS + i];
            if (result == expected) continue;
            return status_fail(WEIR_ERROR_UNSUPPORTED,
                               "%.70s (driver %.40s) computes %s in other bits than the processor (%08x, %08x, %08x give %08x "
                               "instead of %08x), so that its worlds would differ",
                               device->name, device->driver, names[operation], o[0], o[1], o[2], result, expected);
        }
    }
    return WEIR_OK;
}

weir_status opencl_self_test(const opencl_api *cl, cl_context context, cl_command_queue queue, cl_program program,
                             const opencl_device *device)
{
    self_test_memory *memory = malloc(sizeof *memory);
    if (!memory) return status_fail(WEIR_ERROR_MEMORY, "memory ran out for the self test of %s", device->name);
    for (cl_uint i = 0; i < 3 * SELF_TEST_PATTERNS; i++) memory->operands[i] = operand(i);

    cl_int error;
    cl_kernel kernel = cl->CreateKernel(program, "self_test", &error);
    if (kernel) {
        error = run(cl, context, queue, kernel, memory);
        cl->ReleaseKernel(kernel);
    }
    // A game may have asked its threads to flush small numbers to zero; here the processor must count as it does in an update.
    fenv_t games;
    fegetenv(&games);
    fesetenv(FE_DFL_ENV);
    weir_status status = error == CL_SUCCESS ? compare(memory, device)
                                             : status_fail(WEIR_ERROR_UNSUPPORTED, "the self test of %.100s could not run: %s",
                                                           device->name, opencl_error_name(error));
    fesetenv(&games);
    free(memory);
    return status;
}
