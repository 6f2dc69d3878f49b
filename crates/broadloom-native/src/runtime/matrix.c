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

/* q in place of a matrix of m rows and n columns, and r, as LAPACK computes them: with one reflection for each column. */
static void matrix_qr(double *a, int64_t n, int64_t m)
{
    double *r = a + m * n, *scale = r + n * n;
    if (m < n) {
        matrix_fill(a, m * n + n * n + n, NAN);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        double below = 0, head = a[k * n + k];
        for (int64_t i = k + 1; i < m; i++)
            below += a[i * n + k] * a[i * n + k];
        below = sqrt(below);
        scale[k] = 0;
        if (below == 0)
            continue;
        double length = -copysign(hypot(head, below), head);
        scale[k] = (length - head) / length;
        for (int64_t i = k + 1; i < m; i++)
            a[i * n + k] /= head - length;
        a[k * n + k] = length;
        for (int64_t j = k + 1; j < n; j++) {
            double along = a[k * n + j];
            for (int64_t i = k + 1; i < m; i++)
                along += a[i * n + k] * a[i * n + j];
            a[k * n + j] -= scale[k] * along;
            for (int64_t i = k + 1; i < m; i++)
                a[i * n + j] -= scale[k] * along * a[i * n + k];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            r[i * n + j] = j >= i ? a[i * n + j] : 0;
    for (int64_t k = n; k-- > 0;) {
        for (int64_t j = k + 1; j < n; j++) {
            double along = 0;
            for (int64_t i = k + 1; i < m; i++)
                along += a[i * n + k] * a[i * n + j];
            a[k * n + j] = -scale[k] * along;
            for (int64_t i = k + 1; i < m; i++)
                a[i * n + j] -= scale[k] * along * a[i * n + k];
        }
        for (int64_t i = k + 1; i < m; i++)
            a[i * n + k] *= -scale[k];
        a[k * n + k] = 1 - scale[k];
        for (int64_t i = 0; i < k; i++)
            a[i * n + k] = 0;
    }
}

/* (gq + q s) r⁻ᵀ, where s is the symmetric matrix with the lower triangle of r grᵀ - gqᵀ q. */
static void matrix_qr_back(double *q, int64_t n, int64_t m)
{
    double *r = q + m * n, *gq = r + n * n, *gr = gq + m * n, *t = gr + n * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t at = i; at < n; at++)
                sum += r[i * n + at] * gr[j * n + at];
            for (int64_t at = 0; at < m; at++)
                sum -= gq[at * n + i] * q[at * n + j];
            t[i * n + j] = t[j * n + i] = sum;
        }
    for (int64_t row = 0; row < m; row++) {
        for (int64_t j = 0; j < n; j++)
            for (int64_t at = 0; at < n; at++)
                gq[row * n + j] += q[row * n + at] * t[at * n + j];
        for (int64_t j = n; j-- > 0;) {
            for (int64_t at = j + 1; at < n; at++)
                gq[row * n + j] -= gq[row * n + at] * r[j * n + at];
            gq[row * n + j] /= r[j * n + j];
        }
    }
}

/* Makes two columns orthogonal, from their squared lengths and their product, in one matrix and in another beside it. */
static void matrix_rotate(double *a, int64_t m, double *v, int64_t n, int64_t p, int64_t q, double first, double second,
    double product, double *cosine, double *sine)
{
    double ratio = (second - first) / (2 * product);
    double tangent = copysign(1, ratio) / (fabs(ratio) + hypot(ratio, 1)), c = 1 / hypot(tangent, 1), s = c * tangent;
    for (int64_t i = 0; i < m; i++) {
        double x = a[i * n + p], y = a[i * n + q];
        a[i * n + p] = c * x - s * y;
        a[i * n + q] = s * x + c * y;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = v[i * n + p], y = v[i * n + q];
        v[i * n + p] = c * x - s * y;
        v[i * n + q] = s * x + c * y;
    }
    *cosine = c;
    *sine = s;
}

/* Makes v the identity. Returns the sum of the squares of a, which is not finite if a is not, or is too large. */
static double matrix_begin(const double *a, int64_t count, double *v, int64_t n)
{
    double total = 0;
    matrix_fill(v, n * n, 0);
    for (int64_t at = 0; at < n; at++)
        v[at * n + at] = 1;
    for (int64_t at = 0; at < count; at++)
        total += a[at] * a[at];
    return total;
}

/* Tells whether the element of the greatest magnitude of a column is negative: the first of those that are equal up to rounding. */
static _Bool matrix_turned(const double *v, int64_t m, int64_t n, int64_t column)
{
    double most = 0;
    for (int64_t i = 0; i < m; i++)
        most = fmax(most, fabs(v[i * n + column]));
    for (int64_t i = 0; i < m; i++)
        if (fabs(v[i * n + column]) >= (1 - 1e-9) * most)
            return v[i * n + column] < 0;
    return 0;
}

/* Exchanges two columns; the first is turned if the element of v that is the greatest in magnitude would be negative. */
static void matrix_arrange(double *a, int64_t m, double *v, int64_t n, int64_t to, int64_t from)
{
    double sign = matrix_turned(v, n, n, from) ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
        double moved = v[i * n + from];
        v[i * n + from] = v[i * n + to];
        v[i * n + to] = sign * moved;
    }
    for (int64_t i = 0; i < m; i++) {
        double moved = a[i * n + from];
        a[i * n + from] = a[i * n + to];
        a[i * n + to] = sign * moved;
    }
}

/* Eigenvalues and eigenvectors of the symmetric part, by rotations of all pairs of columns and rows. */
static void matrix_eigh(double *a, int64_t n)
{
    double *w = a + n * n, *v = w + n, cosine, sine;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i] = 0.5 * (a[i * n + j] + a[j * n + i]);
    double total = matrix_begin(a, n * n, v, n);
    if (!isfinite(total)) {
        matrix_fill(w, n + n * n, NAN);
        return;
    }
    for (int sweep = 0; sweep < 64; sweep++) {
        double outside = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                outside += a[i * n + j] * a[i * n + j];
        if (outside <= 1e-34 * total)
            break;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                if (a[p * n + q] == 0)
                    continue;
                matrix_rotate(a, n, v, n, p, q, a[p * n + p], a[q * n + q], a[p * n + q], &cosine, &sine);
                for (int64_t j = 0; j < n; j++) {
                    double x = a[p * n + j], y = a[q * n + j];
                    a[p * n + j] = cosine * x - sine * y;
                    a[q * n + j] = sine * x + cosine * y;
                }
                a[p * n + q] = a[q * n + p] = 0;
            }
    }
    for (int64_t at = 0; at < n; at++)
        w[at] = a[at * n + at];
    for (int64_t at = 0; at < n; at++) {
        int64_t least = at;
        for (int64_t other = at; other < n; other++)
            least = w[other] < w[least] ? other : least;
        double value = w[least];
        w[least] = w[at];
        w[at] = value;
        matrix_arrange(a, 0, v, n, at, least);
    }
}

/* The symmetric part of v (diag(gw) + f · vᵀ gv) vᵀ, where f has the inverse differences of the values. */
static void matrix_eigh_back(double *w, int64_t n)
{
    double *v = w + n, *gw = v + n * n, *gv = gw + n, *t = gv + n * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double turned = 0;
            for (int64_t at = 0; at < n; at++)
                turned += v[at * n + i] * gv[at * n + j];
            t[i * n + j] = i == j ? gw[i] : turned == 0 ? 0 : turned / (w[j] - w[i]);
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t at = 0; at < n; at++)
                sum += v[i * n + at] * t[at * n + j];
            gv[i * n + j] = sum;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t at = 0; at < n; at++)
                sum += gv[i * n + at] * v[j * n + at];
            t[i * n + j] = sum;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            gv[i * n + j] = 0.5 * (t[i * n + j] + t[j * n + i]);
}

/* Sets a column to one of unit length at right angles to those before it: that of the axis which they leave the most of. */
static void matrix_complete(double *u, int64_t m, int64_t n, int64_t column)
{
    int64_t axis = 0;
    double most = -1, length = 0;
    for (int64_t i = 0; i < m; i++) {
        double left = 1;
        for (int64_t j = 0; j < column; j++)
            left -= u[i * n + j] * u[i * n + j];
        if (left > most) {
            most = left;
            axis = i;
        }
    }
    for (int64_t i = 0; i < m; i++)
        u[i * n + column] = i == axis;
    for (int again = 0; again < 2; again++)
        for (int64_t j = 0; j < column; j++) {
            double along = 0;
            for (int64_t i = 0; i < m; i++)
                along += u[i * n + j] * u[i * n + column];
            for (int64_t i = 0; i < m; i++)
                u[i * n + column] -= along * u[i * n + j];
        }
    for (int64_t i = 0; i < m; i++)
        length += u[i * n + column] * u[i * n + column];
    for (int64_t i = 0; i < m; i++)
        u[i * n + column] /= sqrt(length);
}

/* Singular values and vectors, by rotations of all pairs of columns. */
static void matrix_svd(double *a, int64_t n, int64_t m)
{
    double *s = a + m * n, *v = s + n, cosine, sine;
    _Bool turned = 1;
    if (m < n || !isfinite(matrix_begin(a, m * n, v, n))) {
        matrix_fill(a, m * n + n + n * n, NAN);
        return;
    }
    for (int sweep = 0; turned && sweep < 64; sweep++) {
        turned = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double first = 0, second = 0, product = 0;
                for (int64_t i = 0; i < m; i++) {
                    first += a[i * n + p] * a[i * n + p];
                    second += a[i * n + q] * a[i * n + q];
                    product += a[i * n + p] * a[i * n + q];
                }
                if (fabs(product) <= 1e-15 * sqrt(first * second))
                    continue;
                turned = 1;
                matrix_rotate(a, m, v, n, p, q, first, second, product, &cosine, &sine);
            }
    }
    for (int64_t at = 0; at < n; at++) {
        double sum = 0;
        for (int64_t i = 0; i < m; i++)
            sum += a[i * n + at] * a[i * n + at];
        s[at] = sqrt(sum);
    }
    for (int64_t at = 0; at < n; at++) {
        int64_t greatest = at;
        for (int64_t other = at; other < n; other++)
            greatest = s[other] > s[greatest] ? other : greatest;
        double value = s[greatest];
        s[greatest] = s[at];
        s[at] = value;
        matrix_arrange(a, m, v, n, at, greatest);
        if (value > 0)
            for (int64_t i = 0; i < m; i++)
                a[i * n + at] /= value;
        else
            matrix_complete(a, m, n, at);
    }
}

/* u diag(gs) vᵀ. */
static void matrix_svd_back(double *u, int64_t n, int64_t m)
{
    double *v = u + m * n, *gs = v + n * n, *t = gs + n;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            t[j] = 0;
            for (int64_t at = 0; at < n; at++)
                t[j] += u[i * n + at] * gs[at] * v[j * n + at];
        }
        for (int64_t j = 0; j < n; j++)
            u[i * n + j] = t[j];
    }
}
