static void prepare_REAL(contraction *plan)
{
    contraction_plan_REAL(plan);
    int64_t bytes = ((int64_t)contract_scratch_REAL(plan) + 63) / 64 * 64;
    if (bytes > scratch_bytes)
        scratch_bytes = bytes;
}

SHARED void contract_part_REAL(void *argument, int64_t part, int64_t parts)
{
    const contraction_call *call = argument;
    char *scratch = call->scratch + part * scratch_bytes;
    contract_REAL(call->plan, call->a, call->b, call->c, (int)part, (int)parts, scratch);
}

/* Runs a contraction; `factor` comes on top of what the plan says. */
static void run_REAL(const broadloom_parallel *parallel, const contraction *plan, double factor, const void *a,
    const void *b, void *c, char *scratch)
{
    contraction scaled = *plan;
    scaled.alpha *= factor;
    bool divisible = plan->split_batch || plan->split_rows || plan->split_columns;
    double work = (double)plan->batch * (double)plan->m * (double)plan->n * (double)plan->k;
    int64_t parts = parallel && divisible && work > 200e3 ? parallel->threads : 1;
    share_work(parallel, parts, contract_part_REAL, &(contraction_call){ &scaled, a, b, c, scratch });
}
