/* What is said of a contraction, and found out about it before it runs. */

enum storage { STORED_F32, STORED_F64, STORED_BF16, STORED_F16 };

/* How the tile loop meets the left operand. In BY_ROWS each row of the tile has its
 * own pointer, which walks runs of k; in BY_COLUMNS the rows of a tile are neighbours
 * in memory and a table says where each step of k begins. */
enum left_form { BY_ROWS, BY_COLUMNS };

typedef struct contraction {
    /* Said by the caller. */
    int64_t batch, m, n, k;
    const int64_t *at, *am, *ak;
    const int64_t *bt, *bk, *bn;
    const int64_t *ct, *cm, *cn;
    double alpha;
    bool accumulate;
    bool split_batch, split_rows, split_columns;
    enum storage a_type, b_type, c_type;

    /* Found by the plan. A "run" is the largest length such that every aligned
     * stretch of that many table entries is contiguous. */
    int64_t am_run, ak_run, bk_run, bn_run, cn_run;
    bool swapped;        /* a and b were exchanged: the pointers must be, too */
    bool dots;           /* few columns, k contiguous: compute dot products */
    enum left_form form;
    bool a_in_place, b_in_place;
    int64_t column_unit; /* panels of columns do not cross multiples of this */
    int64_t block_m, block_n, block_k;
} contraction;
