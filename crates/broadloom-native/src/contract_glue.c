/* The offsets of some loops, one for each of their indices together: the last loop is the fastest. */
static void fill_table(int64_t *table, int loops, const int64_t *extents, const int64_t *strides)
{
    int64_t length = 1;
    table[0] = 0;
    for (int loop = loops - 1; loop >= 0; loop--) {
        for (int64_t i = 1; i < extents[loop]; i++)
            for (int64_t rest = 0; rest < length; rest++)
                table[i * length + rest] = i * strides[loop] + table[rest];
        length *= extents[loop];
    }
}

/* The most scratch that a part of any contraction needs. */
static int64_t scratch_bytes;

typedef struct {
    const contraction *plan;
    const void *a, *b;
    void *c;
    char *scratch;
} contraction_call;

/* Threads for a contraction in every turn of a repeat: only if it takes far longer than waiting for them. */
static inline const broadloom_parallel *if_large(const broadloom_parallel *parallel, const contraction *plan)
{
    return (double)plan->batch * (double)plan->m * (double)plan->n * (double)plan->k > 4e6 ? parallel : 0;
}
