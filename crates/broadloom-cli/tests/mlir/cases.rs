//! Programs that together use every feature, each feature once.

/// Names and texts.
pub const CASES: &[(&str, &str)] = &[
    ("reductions", include_str!("../programs/reductions.loom")),
    (
        "functions_of_one",
        "data x : 7 = [-2.5, -1, -0.5, 0.25, 0.5, 1.5, 3]
let p = abs(x) + 0.1
let a = -x
print a, exp(x), sin(x), cos(x), tanh(x), sigmoid(x), erf(x), floor(x), ceil(x), round(x), relu(x), sign(x), abs(x)
print log(p), sqrt(p), recip(p), square(x), not (x > 0), not x
print sign(0 * x), x ** 2, p ** x
",
    ),
    (
        "along_an_axis",
        "let x = {w : 2, 3 -> 4 = normal(1)}
let y = x |> flip(\"t, ... -> ...\") |> roll(\"... -> t\", 1)
let z = pad_reflect(\"..., t -> ...\", 1)(pad_edge(\"... -> t\", 1)(y)) + pad(\"... -> t\", 1, value = 2)(take(\"..., t -> ...\", x, [2, 0, 1, 1, 2]))
let rows = take_along(\"... -> t\", z, 5 * (z > 0))
let loss = sum(square(z)) + sum(interleave(\"... -> t\")(z, 2 * z) ** 3) + sum([x, 3 * x] * stack(x, x)) + sum(rows)
backward loss
print loss, x.grad, tril([[1, 2], [3, 4]])
",
    ),
    (
        "turns_in_turns",
        "data rows : 3 | 4 = normal(1)
data values : 4 | = [1, 2, 3, -1.5]
let w = {w : 4 = [0.5, -0.25, 1, 0.75]}
def row(r, above) = tanh(cumsum(\"t\")(above) * w + r)
let all = scan(row, {first : 4 = [1, 0.5, 0.25, 2]}, rows)
def outer(element, h) =
  def inner(x, s) =
    def innermost(z, u) = u + tanh(z * s)
    s * 0.5 + x * h + fold(innermost, 0, values)
  fold(inner, h, values) / element
let y = scan(outer, {start : () = 0.3}, values)
let loss = sum(square(all)) + sum(tanh(y))
backward loss
print all, y, loss, w.grad, first.grad, start.grad
",
    ),
    (
        "functions_of_two",
        "data x : 6 = [-2.5, -1, 0, 0.25, 1.5, 3]
data y : 6 = [1, -1, 2, -0.25, 1.5, 0.5]
print x + y, x - y, x * y, x / y, abs(x) ** y, x % y, x % 2, max(x, y), min(x, y)
print x < y, x <= y, x == y, x != y, x > y, x >= y, x and y, x or y, (x > 0 and y > 0) or not (x < y)
print where(x < y, x, y), where(x, 1, 2), where(x > 0 or y > 0, x * y, 0)
",
    ),
    (
        "numbers",
        "data x : 3 = [1, 2, 3]
print x * 0.1, x * 1e-30, x + 16777217, x / 3, x * 1e38 * 10, x * (0 - 0.0), x ** 0.3333333333333333
",
    ),
    (
        "integers",
        "data i : 8 as i64 = [-3, -2, -1, 0, 1, 2, 3, 7]
data j : 8 as i64 = [3, -1, -5, 0, 63, 63, 39, 80]
data k : 4 as i32 = [2000000000, -2000000000, 46341, -7]
let large = i * 3000000000 * 3000000000
print large % 1000003, (large + large) % 1000003, (large - large ** 3) % 1000003
print i ** j % 1000003, i ** 39 % 1000003, (2 * i) ** 63 % 97, 3 ** abs(i) * i, i ** -1
print -large % 97, abs(large) % 97, sign(large), not i, i and j, i or j, max(i, j), min(i, j), i % j
print large < large + 1, large == large + 1, large != large + 1, large <= large - 1, where(large < large + 1, i, j)
print k + k, k * k, k - 2000000000, -k, k ** 2, sum(\"i => \", i ** 39) % 1000003, einsum(\"i; i => \", large % 1000003, i)
",
    ),
    (
        "windows",
        "data x : 9 = [1, -2, 3, -4, 5, -6, 7, -8, 9]
data image : 2 | 5, 6 = uniform(0, 1)
data kernel : 3 = [1, 2, 3]
data spot : 3, 3 = uniform(0, 1)
print einsum(\"o<+k; k => o\", x, kernel), einsum(\"2*o<+k; k => o\", x, kernel), einsum(\"o=+k; k => o\", x, kernel)
print einsum(\"o=+2*k; k => o\", x, kernel), einsum(\"3*o=+k; k => o\", x, kernel)
print einsum(\"... | h=+a, w=+b; a, b => ... | h, w\", image, spot)
let pooled = max(\"3*o<+k => o\", x)
set pooled.k = 3
print pooled, min(\"o<+k; k => o\", x, kernel)
print einsum(\"o=+k; k => o\", x, kernel, reduce = \"max\", combine = \"+\")
let spread = einsum(\"o; k => 2*o<+k\", x, kernel)
let odd = einsum(\"i => 2*i+1\", kernel)
let rows = einsum(\"i, j => 3*i<+j\", spot)
print spread, odd, rows
",
    ),
    (
        "concatenations",
        "data a : 2, 2 = [[1, 2], [3, 4]]
data b : 2, 3 = [[5, 5, 5], [6, 6, 6]]
print einsum(\"i, j; i, k => i, j^k\", a, b), einsum(\"i, j => 1^i^1, 1^j^1\", a)
print einsum(\"i, j; k, l => i^k, j^l\", a, b), concat(a, a), stack(a, 10 * a)
let left, right = split(\"i, j^k => i, j; i, k\", b)
set left.j = 1
data c : 3 | 2 = [[1, 2], [3, 4], [5, 6]]
print left, right, c[1], c[0] + 1
",
    ),
    (
        "lookups",
        "data ids : 5 | = [3, 0, 1, 1, 2]
let words = {table : 4 -> 3 = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]}
let found = gather(table, ids)
let loss = sum(square(found))
backward loss
print found, table.grad
",
    ),
    (
        "one_lookup",
        "data id : | as i64 = 2
let words = {table : 4 -> 3 = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]}
let found = gather(table, id)
let loss = sum(square(found))
backward loss
print found, table.grad
",
    ),
    (
        "names_and_sizes",
        "data in_1 : 2, 3 = uniform(0, 1)
data out : 3 = [1, 2, 3]
data at : 3 = [1, 2, 3]
let mod = in_1 * out + at
let constant = einsum(\"i2, mod => i2\", mod)
let wide = einsum(\"i2, o=+k; k => i2, o\", in_1, out)
print constant, wide, sum(\"... | i, j => j\", einsum(\"i; j => i, j\", at, out))
",
    ),
    (
        "random",
        "data x : 4 | 3 = uniform(0, 1)
let kept = where(noise() < 0.5, 0, x)
print kept, noise() + 0 * x
",
    ),
    (
        "positions",
        "data x : 2, 3 = uniform(0, 1)
print x * 0 + range(\"j\"), reshape(x, \"6\") * range(\"i\")
",
    ),
    (
        "types",
        "data d : 3 as f64 = [0.1, 0.2, 0.3]
data b : 3 as bf16 = [1.5, 2.25, -3]
data h : 3 as f16 = [1.5, 2.25, -3]
data n : 3 as i32 = [7, -2, 5]
data l : 3 as i64 = [7, -2, 5]
print d * 2, exp(d), sum(d), b + b, b * 0.3, sum(b), h * 0.3, sum(h), max(h), n + n, n * 3, sum(n), l % 3, sum(l), max(l)
print n * 0.5, d * n, l / 2, einsum(\"i; i =>\", b, b), b * d, max(n, l)
",
    ),
    (
        "narrow_types",
        "data m : 3 as bool = [1, 0, 1]
data u : 3 as u8 = [250, 3, 7]
data i : 3 as i8 = [-100, 100, 5]
data s : 3 as i16 = [-32768, 32767, 9]
print i32(u + 10), i32(u - 10), i32(u * m), i + i, -s, s + u, u + i, m + m, not m, max(i, -5), where(m, i, 0)
print sum(u), sum(m), product(i), max(\"i =>\", m), min(\"i =>\", m), mean(u), mean(m), einsum(\"i; i =>\", u, i), u / 2, u * 0.5
",
    ),
    (
        "casts_and_bits",
        "data d : 4 as f64 = [-300.7, 0.5, 2.9, 70000]
data x : 4 = [-300.7, 0.5, 2.9, 70000]
data l : 4 as i64 = [7, -7, 0, 4611686018427387]
print i64(d), i32(d), i16(x), i8(x), i32(u8(d)), bool(x), f16(d), bf16(d), f32(d), f64(x) * 3, bf16(x) + x
print bool(l), i8(l), i32(u8(l)), f32(l), l // 2, l // -2, l // 0, d // 0.3, x // 0.3, x // 0
print bit_and(l, 12), bit_or(l, 12), bit_xor(l, 12), shift_left(l, 3), shift_left(l, 50), shift_right(l, 1), shift_right(l, 70)
",
    ),
    (
        "slices_at_run_time",
        "data x : 4 | 3 = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]
let total = {total : 3 = zeros}
repeat i in 0..4:
  total =+ x[i]
print total
",
    ),
    (
        "training",
        "data image : 3 | 6, 6 = uniform(0, 1)
data labels : 3 | 2 = [[1, 0], [0, 1], [1, 0]]
let h = relu(einsum(\"... | h=+a, w=+b; a, b -> c => ... | h, w, c\", image, {kernel : 3, 3 -> 4}))
let pooled = max(\"... | 2*h<+a, 2*w<+b, c => ... | h, w, c\", h)
set pooled.a = 2
set pooled.b = 2
let y = {w : ... -> 2} @ pooled + {bias : 2}
let loss = mse(y, labels)
repeat step in 0..3:
  minimise loss by adam(0.01)
print loss
",
    ),
];
