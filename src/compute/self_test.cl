// All operations of the self test on one triple of operands per work-item.
kernel void self_test(global const uint *operands, global uint *results)
{
    int i = (int)get_global_id(0);
    uint a = operands[3 * i], b = operands[3 * i + 1], c = operands[3 * i + 2];
    for (int operation = 0; operation < SELF_TEST_OPERATIONS; operation++)
        results[operation * SELF_TEST_PATTERNS + i] = self_test_operation(operation, a, b, c);
}
