/* r in place of a matrix of m rows and more columns, and q: [a1 a2] with a1 = q r1 and r = [r1 qᵀ a2]. */
static void matrix_qr_wide(double *a, int64_t m, int64_t n)
{
    double *q = a + m * n, *first = q + m * m, *column = first + m * m;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++)
            q[i * m + j] = a[i * n + j];
    matrix_qr(q, m, m);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m; i++) {
            column[i] = j < m ? first[i * m + j] : 0;
            for (int64_t at = 0; j >= m && at < m; at++)
                column[i] += q[at * m + i] * a[at * n + j];
        }
        for (int64_t i = 0; i < m; i++)
            a[i * n + j] = column[i];
    }
}

/* The gradient in place of that of r. With that of r2 = qᵀ a2, a2 has q gr2, and q has a2 gr2ᵀ more. */
static void matrix_qr_wide_back(double *r, int64_t m, int64_t n)
{
    double *gr = r + m * n, *q = gr + m * n, *first = q + m * m, *gq = first + m * m;
    double *g_first = gq + m * m, *t = g_first + m * m;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) {
            first[i * m + j] = r[i * n + j];
            g_first[i * m + j] = gr[i * n + j];
            t[i * m + j] = 0;
            for (int64_t at = m; at < n; at++)
                t[i * m + j] += r[i * n + at] * gr[j * n + at];
        }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t at = 0; at < m; at++)
                gq[i * m + j] += q[i * m + at] * t[at * m + j];
    for (int64_t j = m; j < n; j++) {
        for (int64_t i = 0; i < m; i++) {
            t[i] = 0;
            for (int64_t at = 0; at < m; at++)
                t[i] += q[i * m + at] * gr[at * n + j];
        }
        for (int64_t i = 0; i < m; i++)
            gr[i * n + j] = t[i];
    }
    matrix_qr_back(q, m, m);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++)
            gr[i * n + j] = gq[i * m + j];
}

static void matrix_transposed(const double *a, int64_t m, int64_t n, double *to)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            to[j * m + i] = a[i * n + j];
}

/* Singular vectors of a wide matrix are those of its transpose, exchanged. */
static void matrix_svd_wide(double *a, int64_t m, int64_t n)
{
    double *v = a + m * n, *u = v + m * n + m;
    matrix_transposed(a, m, n, v);
    matrix_svd(v, m, n);
    for (int64_t column = 0; column < m; column++) {
        if (!matrix_turned(v, n, m, column))
            continue;
        for (int64_t i = 0; i < n; i++)
            v[i * m + column] = -v[i * m + column];
        for (int64_t i = 0; i < m; i++)
            u[i * m + column] = -u[i * m + column];
    }
}

/* u diag(gs) vᵀ. */
static void matrix_svd_wide_back(double *u, int64_t m, int64_t n)
{
    double *v = u + m * m, *gs = v + m * n, *g = gs + m;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t at = 0; at < m; at++)
                sum += u[i * m + at] * gs[at] * v[j * m + at];
            g[i * n + j] = sum;
        }
}

/* q and r of a matrix, or of its transpose if that is the tall one. Returns whether it is of full rank. */
static _Bool matrix_factors(const double *a, int64_t n, int64_t m, double *q)
{
    if (m < n) {
        matrix_transposed(a, m, n, q);
        matrix_qr(q, m, n);
    } else {
        for (int64_t at = 0; at < m * n; at++)
            q[at] = a[at];
        matrix_qr(q, n, m);
    }
    int64_t c = m < n ? m : n;
    for (int64_t at = 0; at < c; at++)
        if (q[m * n + at * c + at] == 0)
            return 0;
    return 1;
}

/* r⁻¹ y in place of the first rows of y. */
static void matrix_backward(const double *r, int64_t c, double *y, int64_t k)
{
    for (int64_t i = c; i-- > 0;)
        for (int64_t j = 0; j < k; j++) {
            double known = 0;
            for (int64_t at = i + 1; at < c; at++)
                known += r[i * c + at] * y[at * k + j];
            y[i * k + j] = (y[i * k + j] - known) / r[i * c + i];
        }
}

/* r⁻ᵀ y in place of the first rows of y. */
static void matrix_forward(const double *r, int64_t c, double *y, int64_t k)
{
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++) {
            double known = 0;
            for (int64_t at = 0; at < i; at++)
                known += r[at * c + i] * y[at * k + j];
            y[i * k + j] = (y[i * k + j] - known) / r[i * c + i];
        }
}

/* q y for the m rows of q and its c columns. */
static void matrix_applied(const double *q, int64_t m, int64_t c, const double *y, int64_t k, double *to)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++) {
            double sum = 0;
            for (int64_t at = 0; at < c; at++)
                sum += q[i * c + at] * y[at * k + j];
            to[i * k + j] = sum;
        }
}

/* qᵀ y. */
static void matrix_applied_back(const double *q, int64_t m, int64_t c, const double *y, int64_t k, double *to)
{
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++) {
            double sum = 0;
            for (int64_t at = 0; at < m; at++)
                sum += q[at * c + i] * y[at * k + j];
            to[i * k + j] = sum;
        }
}

/* The shortest of the x for which a @ x is nearest to b: r⁻¹ qᵀ b with a = q r, or q r⁻ᵀ b with aᵀ = q r. */
static void matrix_lstsq(double *a, int64_t n, int64_t m, int64_t k)
{
    double *b = a + m * n, *x = b + m * k, *q = x + n * k, *r = q + m * n;
    if (!matrix_factors(a, n, m, q)) {
        matrix_fill(x, n * k, NAN);
        return;
    }
    if (m < n) {
        matrix_forward(r, m, b, k);
        matrix_applied(q, n, m, b, k, x);
    } else {
        matrix_applied_back(q, m, n, b, k, x);
        matrix_backward(r, n, x, k);
    }
}

/* The gradient of b is gb = a⁺ᵀ gx, and that of a is -gb xᵀ, with one thing more: for a tall matrix (b - a x) (a⁺ gb)ᵀ, by what is left of
 * b; for a wide one (a⁺ᵀ x) (gx - aᵀ gb)ᵀ, by what is left of gx. */
static void matrix_lstsq_back(double *a, int64_t n, int64_t m, int64_t k)
{
    double *b = a + m * n, *x = b + m * k, *gx = x + n * k, *gb = gx + n * k, *q = gb + m * k, *r = q + m * n;
    if (!matrix_factors(a, n, m, q)) {
        matrix_fill(a, m * n, NAN);
        matrix_fill(gb, m * k, NAN);
        return;
    }
    if (m < n) {
        matrix_applied_back(q, n, m, gx, k, gb);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < k; j++) {
                double sum = 0;
                for (int64_t at = 0; at < m; at++)
                    sum += q[i * m + at] * gb[at * k + j];
                gx[i * k + j] -= sum;
            }
        matrix_backward(r, m, gb, k);
        matrix_forward(r, m, b, k);
        matrix_backward(r, m, b, k);
    } else {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < k; j++) {
                double sum = 0;
                for (int64_t at = 0; at < n; at++)
                    sum += a[i * n + at] * x[at * k + j];
                b[i * k + j] -= sum;
            }
        matrix_forward(r, n, gx, k);
        matrix_applied(q, m, n, gx, k, gb);
        matrix_backward(r, n, gx, k);
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t at = 0; at < k; at++)
                sum += b[i * k + at] * gx[j * k + at] - gb[i * k + at] * x[j * k + at];
            a[i * n + j] = sum;
        }
}
