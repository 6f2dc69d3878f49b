/* Makes a matrix upper triangular by elimination with partial pivoting, with the rows of another beside it. Returns the sign of the
 * permutation, or 0 if the matrix is singular. */
static double matrix_eliminate(double *a, int64_t n, double *b, int64_t k)
{
    double sign = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t row = c + 1; row < n; row++)
            if (fabs(a[row * n + c]) > fabs(a[pivot * n + c]))
                pivot = row;
        if (a[pivot * n + c] == 0) {
            sign = 0;
            continue;
        }
        if (pivot != c) {
            for (int64_t j = 0; j < n; j++) {
                double other = a[pivot * n + j];
                a[pivot * n + j] = a[c * n + j];
                a[c * n + j] = other;
            }
            for (int64_t j = 0; j < k; j++) {
                double other = b[pivot * k + j];
                b[pivot * k + j] = b[c * k + j];
                b[c * k + j] = other;
            }
            sign = -sign;
        }
        for (int64_t row = c + 1; row < n; row++) {
            double factor = a[row * n + c] / a[c * n + c];
            for (int64_t j = c; j < n; j++)
                a[row * n + j] -= factor * a[c * n + j];
            for (int64_t j = 0; j < k; j++)
                b[row * k + j] -= factor * b[c * k + j];
        }
    }
    return sign;
}

/* Sets numbers of which there is no answer. */
static void matrix_fill(double *a, int64_t count, double value)
{
    for (int64_t at = 0; at < count; at++)
        a[at] = value;
}

/* The solution of a @ x = b in place of b. */
static void matrix_solution(double *a, int64_t n, double *b, int64_t k)
{
    if (matrix_eliminate(a, n, b, k) == 0) {
        matrix_fill(b, n * k, NAN);
        return;
    }
    for (int64_t row = n; row-- > 0;) {
        for (int64_t c = row + 1; c < n; c++)
            for (int64_t j = 0; j < k; j++)
                b[row * k + j] -= a[row * n + c] * b[c * k + j];
        for (int64_t j = 0; j < k; j++)
            b[row * k + j] /= a[row * n + row];
    }
}

/* The inverse of a, which is lost. */
static void matrix_inverted(double *a, int64_t n, double *y)
{
    matrix_fill(y, n * n, 0);
    for (int64_t at = 0; at < n; at++)
        y[at * n + at] = 1;
    matrix_solution(a, n, y, n);
}

static void matrix_solve(double *work, int64_t n, int64_t k)
{
    matrix_solution(work, n, work + n * n, k);
}

static void matrix_solve_back(double *work, int64_t n, int64_t k)
{
    double *a = work, *x = a + n * n, *g = x + n * k;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double other = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = other;
        }
    matrix_solution(a, n, g, k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t at = 0; at < k; at++)
                sum += g[i * k + at] * x[j * k + at];
            a[i * n + j] = -sum;
        }
}

static void matrix_inverse(double *work, int64_t n)
{
    matrix_inverted(work, n, work + n * n);
}

static void matrix_inverse_back(double *work, int64_t n)
{
    double *y = work, *g = y + n * n, *t = g + n * n;
    matrix_fill(t, n * n, 0);
    for (int64_t at = 0; at < n; at++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                t[i * n + j] += y[at * n + i] * g[at * n + j];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t at = 0; at < n; at++)
                sum += t[i * n + at] * y[j * n + at];
            g[i * n + j] = -sum;
        }
}

static void matrix_det(double *work, int64_t n)
{
    double product = matrix_eliminate(work, n, work, 0);
    for (int64_t at = 0; at < n; at++)
        product *= work[at * n + at];
    work[n * n] = product;
}

/* Divides a matrix by complete pivoting into triangular ones, in its place, and notes where rows and columns come from. Returns the sign of
 * the permutations; the number of pivots that are not 0 is the rank. */
static double matrix_pivoted(double *a, int64_t n, double *rows, double *columns, int64_t *rank)
{
    double sign = 1;
    for (int64_t at = 0; at < n; at++)
        rows[at] = columns[at] = (double)at;
    for (*rank = 0; *rank < n; ++*rank) {
        int64_t at = *rank, p = at, q = at;
        for (int64_t i = at; i < n; i++)
            for (int64_t j = at; j < n; j++)
                if (fabs(a[i * n + j]) > fabs(a[p * n + q]))
                    p = i, q = j;
        if (a[p * n + q] == 0)
            break;
        if (p != at) {
            for (int64_t j = 0; j < n; j++) {
                double other = a[p * n + j];
                a[p * n + j] = a[at * n + j];
                a[at * n + j] = other;
            }
            double other = rows[p];
            rows[p] = rows[at];
            rows[at] = other;
            sign = -sign;
        }
        if (q != at) {
            for (int64_t i = 0; i < n; i++) {
                double other = a[i * n + q];
                a[i * n + q] = a[i * n + at];
                a[i * n + at] = other;
            }
            double other = columns[q];
            columns[q] = columns[at];
            columns[at] = other;
            sign = -sign;
        }
        for (int64_t i = at + 1; i < n; i++) {
            double factor = a[i * n + at] /= a[at * n + at];
            for (int64_t j = at + 1; j < n; j++)
                a[i * n + j] -= factor * a[at * n + j];
        }
    }
    return sign;
}

/* The cofactors times a number. With P a Q = L U the adjugate is ± Q adj(U) L⁻¹ P. The last row of adj(U) is a product of pivots without
 * the last one, and the others follow by substitution that divides by all but the last: it may be 0. */
static void matrix_det_back(double *work, int64_t n)
{
    double *a = work, g = work[n * n], *c = a + n * n + 1, *rows = c + n * n, *columns = rows + n;
    for (int64_t at = 0; at < n * n; at++)
        if (!isfinite(a[at])) {
            matrix_fill(a, n * n, NAN);
            return;
        }
    int64_t rank;
    double sign = matrix_pivoted(a, n, rows, columns, &rank), most = 1;
    if (n == 0 || rank + 1 < n) {
        matrix_fill(a, n * n, 0);
        return;
    }
    matrix_fill(c, n * n, 0);
    for (int64_t i = 0; i < n; i++) {
        c[i * n + (int64_t)rows[i]] = 1;
        for (int64_t row = 0; row < i; row++)
            for (int64_t j = 0; j < n; j++)
                c[i * n + j] -= a[i * n + row] * c[row * n + j];
    }
    for (int64_t at = 0; at + 1 < n; at++)
        most *= a[at * n + at];
    double last = a[n * n - 1];
    for (int64_t j = 0; j < n; j++)
        c[(n - 1) * n + j] *= most;
    for (int64_t i = n - 1; i-- > 0;)
        for (int64_t j = 0; j < n; j++) {
            double sum = most * last * c[i * n + j];
            for (int64_t row = i + 1; row < n; row++)
                sum -= a[i * n + row] * c[row * n + j];
            c[i * n + j] = sum / a[i * n + i];
        }
    for (int64_t row = 0; row < n; row++)
        for (int64_t i = 0; i < n; i++)
            a[i * n + (int64_t)columns[row]] = g * sign * c[row * n + i];
}

static void matrix_logdet(double *work, int64_t n)
{
    double sum = 0;
    matrix_eliminate(work, n, work, 0);
    for (int64_t at = 0; at < n; at++)
        sum += log(fabs(work[at * n + at]));
    work[n * n] = sum;
}

static void matrix_logdet_back(double *work, int64_t n)
{
    double *a = work, g = work[n * n], *y = a + n * n + 1;
    matrix_inverted(a, n, y);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] = g * y[j * n + i];
}

/* The factor of the symmetric part. */
static void matrix_cholesky(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0.5 * (a[i * n + j] + a[j * n + i]);
            for (int64_t at = 0; at < j; at++)
                sum -= a[i * n + at] * a[j * n + at];
            if (i == j && !(sum > 0 && isfinite(sum))) {
                matrix_fill(a, n * n, NAN);
                return;
            }
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            a[i * n + j] = 0;
}

/* The symmetric part of l⁻ᵀ Φ(lᵀ g) l⁻¹; Φ keeps the lower triangle, and halves the diagonal. */
static void matrix_cholesky_back(double *work, int64_t n)
{
    double *l = work, *g = l + n * n, *t = g + n * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t at = i; at < n; at++)
                sum += l[at * n + i] * g[at * n + j];
            t[i * n + j] = i > j ? sum : i == j ? 0.5 * sum : 0;
        }
    for (int64_t i = n; i-- > 0;)
        for (int64_t j = 0; j < n; j++) {
            double sum = t[i * n + j];
            for (int64_t at = i + 1; at < n; at++)
                sum -= l[at * n + i] * t[at * n + j];
            t[i * n + j] = sum / l[i * n + i];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = n; j-- > 0;) {
            double sum = t[i * n + j];
            for (int64_t at = j + 1; at < n; at++)
                sum -= t[i * n + at] * l[at * n + j];
            t[i * n + j] = sum / l[j * n + j];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            g[i * n + j] = 0.5 * (t[i * n + j] + t[j * n + i]);
}
