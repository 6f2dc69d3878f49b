void contraction_plan_REAL(contraction *c);
size_t contract_scratch_REAL(const contraction *c);
void contract_REAL(const contraction *c, const void *a, const void *b, void *out, int part, int parts, void *scratch);
