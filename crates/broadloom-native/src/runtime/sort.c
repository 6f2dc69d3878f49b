/* Whether position a comes before position b: by their numbers, and equal ones by position. What is not a number comes last. */
static inline _Bool NAME_before(const TYPE *keys, int64_t stride, _Bool descending, int64_t a, int64_t b)
{
    KEY x = LOAD(keys[a * stride]), y = LOAD(keys[b * stride]);
    _Bool first = descending ? x > y : x < y, second = descending ? y > x : y < x;
    first |= (y != y) & (x == x);
    second |= (x != x) & (y == y);
    return first | (!second & (a < b));
}

/* A heap, for the few parts that quicksort divides badly, so that no row takes more than n log n steps. */
static void NAME_heap(const TYPE *keys, int64_t stride, int64_t *places, int64_t step, int64_t count, _Bool descending)
{
    for (int64_t start = count / 2, end = count; end > 1;) {
        if (start > 0) {
            start--;
        } else {
            end--;
            int64_t last = places[end * step];
            places[end * step] = places[0];
            places[0] = last;
        }
        int64_t at = start, moved = places[at * step];
        for (int64_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
            if (child + 1 < end && NAME_before(keys, stride, descending, places[child * step], places[(child + 1) * step]))
                child++;
            if (!NAME_before(keys, stride, descending, moved, places[child * step]))
                break;
            places[at * step] = places[child * step];
            at = child;
        }
        places[at * step] = moved;
    }
}

/* The positions of a row of numbers in their order. Because no two positions are equal, what is sorted need not be kept in order. */
static void NAME(const TYPE *keys, int64_t stride, int64_t *places, int64_t step, int64_t count, _Bool descending)
{
    struct { int64_t low, high; int depth; } later[64]; /* each less than half as long as the one before */
    int waiting = 0, depth = 2;
    for (int64_t at = 0; at < count; at++)
        places[at * step] = at;
    for (int64_t half = count; half > 1; half /= 2)
        depth += 2;
    int64_t low = 0, high = count;
    for (;;) {
        while (high - low > 16) {
            if (depth-- == 0) {
                NAME_heap(keys, stride, places + low * step, step, high - low, descending);
                low = high;
                break;
            }
            int64_t a = places[low * step], pivot = places[(low + (high - low) / 2) * step], c = places[(high - 1) * step];
            if (NAME_before(keys, stride, descending, pivot, a) == NAME_before(keys, stride, descending, a, c))
                pivot = a;
            else if (NAME_before(keys, stride, descending, pivot, c) == NAME_before(keys, stride, descending, c, a))
                pivot = c;
            int64_t i = low, j = high - 1;
            for (;;) {
                while (NAME_before(keys, stride, descending, places[i * step], pivot))
                    i++;
                while (NAME_before(keys, stride, descending, pivot, places[j * step]))
                    j--;
                if (i >= j)
                    break;
                int64_t other = places[i * step];
                places[i++ * step] = places[j * step];
                places[j-- * step] = other;
            }
            _Bool left = i - low < high - i; /* the shorter part first */
            later[waiting].low = left ? i : low;
            later[waiting].high = left ? high : i;
            later[waiting++].depth = depth;
            low = left ? low : i;
            high = left ? i : high;
        }
        for (int64_t at = low + 1; at < high; at++) {
            int64_t moved = places[at * step], to = at;
            for (; to > low && NAME_before(keys, stride, descending, moved, places[(to - 1) * step]); to--)
                places[to * step] = places[(to - 1) * step];
            places[to * step] = moved;
        }
        if (waiting == 0)
            return;
        low = later[--waiting].low;
        high = later[waiting].high;
        depth = later[waiting].depth;
    }
}
