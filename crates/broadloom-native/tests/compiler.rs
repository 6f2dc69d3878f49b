//! The compiler, its cache, and programs written out.

use crate::support;

use std::path::{Path, PathBuf};
use std::process::Command;

use broadloom_loops::{Binary, Block, BufferId, LoopVar, Program, Scalar, Statement, Unary};
use broadloom_native::{Compiler, Error, emit, write_out};
use expect_test::expect;
use support::*;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// `y = relu(x w + b)` and the maximum of each row, with names that are not valid in C.
fn small() -> Program {
    let mut program = Program::default();
    let [i, j, k] = program.vars(["batch", "int", "k"]);
    let x = program.add("x", F32, &[4, 3], Kept);
    let w = program.add("W₁", F32, &[3, 5], Kept);
    let b = program.add("b*/", F32, &[5], Kept);
    let hidden = program.add("x·w", F32, &[4, 5], Inner);
    let y = program.add("y", F32, &[4, 5], Kept);
    let best = program.add("best", F32, &[4], Kept);
    let t = program.add_local();
    let product = two(Binary::Mul, load(x, &[i, k]), load(w, &[k, j]));
    let sum = Statement::Update { local: t, accumulate: Some(Binary::Add), value: product };
    let body = vec![
        Statement::Declare { local: t, value: number(0.0) },
        repeat(k, 3, vec![sum]),
        store(cell(hidden, &[i, j]), Scalar::Local(t)),
    ];
    program.nest("x·w = x · W₁ \\", vec![repeat(i, 4, vec![repeat(j, 5, body)])]);
    let value = two(Binary::Max, two(Binary::Add, load(hidden, &[i, j]), load(b, &[j])), number(0.0));
    program.nest(
        "y = relu(x·w + b)",
        vec![repeat(i, 4, vec![repeat(j, 5, vec![store(cell(y, &[i, j]), value)])])],
    );
    program.nest("best = -infinity", vec![Statement::Fill { buffer: best, value: f64::NEG_INFINITY }]);
    let body = vec![accumulate(cell(best, &[i]), Binary::Max, load(y, &[i, j]))];
    program.nest("best max= y", vec![repeat(i, 4, vec![repeat(j, 5, body)])]);
    program
}

/// Lookups, a convolution with margins, and random numbers in one entry.
fn lookup() -> Program {
    let mut program = Program { symbols: vec!["seed".into()], ..Program::default() };
    let [i, j, k] = program.vars(["i", "j", "k"]);
    let tokens = program.add("tokens", I32, &[6], Kept);
    let table = program.add("table", Bf16, &[10, 8], Kept);
    let rows = program.add_padded("rows", &[6, 8], &[(0, 0), (1, 1)], 0.0, Inner);
    let out = program.add("out", F32, &[6, 8], Kept);
    let check = Statement::Check { cell: cell(tokens, &[i]), below: 10.into(), of: table };
    let row = broadloom_loops::Cell {
        buffer: table,
        index: vec![
            broadloom_loops::Index::Value(Box::new(cell(tokens, &[i]))),
            broadloom_loops::Index::At(broadloom_loops::LoopSum::iterate(j)),
        ],
    };
    let at = broadloom_loops::LoopSum::new(0, [(8, i), (1, j)]);
    let kept = two(Binary::Less, Scalar::Uniform { key: 0, stream: 5, at }, number(0.9));
    let value = Scalar::Select(Box::new(kept), Box::new(Scalar::Load(row)), Box::new(number(0.0)));
    program.nest(
        "rows = dropout(table[tokens])",
        vec![repeat(i, 6, vec![check, repeat(j, 8, vec![store(cell(rows, &[i, j]), value)])])],
    );
    let near = Scalar::Load(sums(rows, &[(0, &[(1, i)]), (-1, &[(1, j), (1, k)])]));
    let body = vec![accumulate(cell(out, &[i, j]), Binary::Add, one(Unary::Exp, near))];
    program.nest("out += exp(rows around)", vec![repeat(i, 6, vec![repeat(j, 8, vec![repeat(k, 3, body)])])]);
    program
}

/// The text from the first nest on.
fn nests(program: &Program) -> String {
    let source = emit(program).expect("it is in order");
    let first = source
        .find(&format!("// {}", program.nests[0].comment.trim_end_matches('\\').trim()))
        .expect("the first nest");
    source[first..].to_string()
}

#[test]
fn a_network_as_text() {
    expect![[r#"
        // x·w = x · W₁
        NEST void nest_1(float *restrict x_w)
        {
            #pragma GCC ivdep
            for (int64_t int_ = 0; int_ < 20; int_++) {
                x_w[int_] = 0.0f;
            }
        }

        // x·w = x · W₁
        NEST void nest_1_2(const float *restrict x, const float *restrict W, float *restrict x_w)
        {
            for (int64_t batch = 0; batch < 4; batch++) {
                for (int64_t k = 0; k < 3; k++) {
                    #pragma GCC ivdep
                    for (int64_t int_ = 0; int_ < 5; int_++) {
                        x_w[5*batch + int_] += x[3*batch + k] * W[int_ + 5*k];
                    }
                }
            }
        }

        // y = relu(x·w + b)
        NEST void nest_2(const float *restrict x_w, const float *restrict b, float *restrict y)
        {
            for (int64_t batch = 0; batch < 4; batch++) {
                #pragma GCC ivdep
                for (int64_t int_ = 0; int_ < 5; int_++) {
                    y[5*batch + int_] = f32_max(x_w[5*batch + int_] + b[int_], 0.0f);
                }
            }
        }

        // best = -infinity
        NEST void nest_3(float *restrict best)
        {
            #pragma GCC ivdep
            for (int64_t cell = 0; cell < 4; cell++) {
                best[cell] = -INFINITY;
            }
        }

        // best max= y
        NEST void nest_4(const float *restrict y, float *restrict best)
        {
            for (int64_t batch = 0; batch < 4; batch++) {
                float t0 = -INFINITY;
                #pragma GCC ivdep
                for (int64_t int_ = 0; int_ < 5; int_++) {
                    t0 = f32_max(t0, y[5*batch + int_]);
                }
                best[batch] = f32_max(best[batch], t0);
            }
        }

        VISIBLE int64_t broadloom_run(void **kept, char *arena, const int64_t *symbols,
            const broadloom_parallel *parallel, int64_t *report)
        {
            float *const x = kept[0]; // f32[4, 3]
            float *const W = kept[1]; // f32[3, 5]
            float *const b = kept[2]; // f32[5]
            float *const y = kept[3]; // f32[4, 5]
            float *const best = kept[4]; // f32[4]
            float *const x_w = (float *)(arena + 0); // f32[4, 5]
            (void)kept, (void)arena, (void)symbols, (void)parallel, (void)report;

            // x·w = x · W₁
            nest_1(x_w);
            nest_1_2(x, W, x_w);

            // y = relu(x·w + b)
            nest_2(x_w, b, y);

            // best = -infinity
            nest_3(best);

            // best max= y
            nest_4(y, best);
            return 0;
        }

        VISIBLE int64_t broadloom_arena(int64_t threads)
        {
            (void)threads;
            return 128;
        }
    "#]]
    .assert_eq(&nests(&small()));
    judge(&small(), &[], 1e-5);
}

#[test]
fn a_lookup_as_text() {
    expect![[r#"
        // rows = dropout(table[tokens])
        NEST int64_t nest_1(const int32_t *restrict tokens, const uint16_t *restrict table, float *restrict rows,
            uint64_t key_0, int64_t check, int64_t *report)
        {
            for (int64_t i = 0; i < 6; i++) {
                if ((uint64_t)((int64_t)tokens[i]) >= 10u) {
                    report[0] = check + 0;
                    report[1] = i;
                    report[2] = (int64_t)tokens[i];
                    return 1;
                }
                #pragma GCC ivdep
                for (int64_t j = 0; j < 8; j++) {
                    rows[10*i + j + 1] = f32_select(f32_uniform(key_0, (uint64_t)(8*i + j)) < 0.9f, bf16_to_f32(table[8 * index_within((int64_t)tokens[i], 0, 9) + j]), 0.0f);
                }
            }
            return 0;
        }

        // out += exp(rows around)
        NEST void nest_2(const float *restrict rows, float *restrict out)
        {
            for (int64_t i = 0; i < 6; i++) {
                for (int64_t k = 0; k < 3; k++) {
                    #pragma GCC ivdep
                    for (int64_t j = 0; j < 8; j++) {
                        out[8*i + j] += f32_exp(rows[10*i + j + k]);
                    }
                }
            }
        }

        VISIBLE int64_t broadloom_run(void **kept, char *arena, const int64_t *symbols,
            const broadloom_parallel *parallel, int64_t *report)
        {
            int32_t *const tokens = kept[0]; // i32[6]
            uint16_t *const table = kept[1]; // bf16[10, 8]
            float *const out = kept[2]; // f32[6, 8]
            float *const rows = (float *)(arena + 0); // f32[6, 1+8+1]
            (void)kept, (void)arena, (void)symbols, (void)parallel, (void)report;

            // rows = dropout(table[tokens])
            fill_margins_32(rows, 0x0 /* 0 */, 2, (const int64_t[]){0, 1}, (const int64_t[]){6, 8}, (const int64_t[]){0, 1});
            if (nest_1(tokens, table, rows, (uint64_t)symbols[0] ^ 0x5u, 0, report))
                return 1;

            // out += exp(rows around)
            nest_2(rows, out);
            return 0;
        }

        VISIBLE int64_t broadloom_arena(int64_t threads)
        {
            (void)threads;
            return 256;
        }
    "#]].assert_eq(&nests(&lookup()));
    judge(&lookup(), &[1], 1e-5);
}

/// The files of a cache without the one that marks it as such, in order.
fn kept_in(cache: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(cache).expect("a folder");
    let paths = files.map(|file| file.expect("a file").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| !path.ends_with("CACHEDIR.TAG")).collect();
    paths.sort();
    paths
}

#[test]
fn a_second_compiler_finds_what_the_first_has_made() {
    let cache = folder("native-cache-shared");
    let files = || kept_in(&cache);
    let run = || {
        let compiler = Compiler::find().unwrap().with_cache(&cache);
        let mut compiled = compiler.compile(&small()).unwrap();
        let kept = small().buffers.into_iter().filter(|buffer| buffer.storage == Kept);
        let mut blocks: Vec<Block> = kept.map(|buffer| Block::new(&buffer).unwrap()).collect();
        let places: Vec<usize> = (0..blocks.len()).collect();
        assert_eq!(compiled.run(&mut blocks, &places, &[]), Ok(()));
    };
    run();
    let first = files();
    assert_eq!(first.len(), 3, "source, code and sum: {first:?}");
    let code = first.iter().find(|path| path.extension().is_some_and(|end| end == "so")).unwrap();
    let made = std::fs::metadata(code).unwrap().modified().unwrap();
    run();
    assert_eq!(files(), first);
    assert_eq!(std::fs::metadata(code).unwrap().modified().unwrap(), made, "it was not made again");

    // Whatever happens to a file, the program is compiled again and runs.
    type Corruption<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let corruptions: [Corruption<'_>; 3] =
        [&|_| Vec::new(), &|bytes| bytes[..bytes.len() / 2].to_vec(), &|bytes| {
            let mut bytes = bytes.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            bytes
        }];
    for path in &first {
        for corrupt in corruptions {
            // A file in use is replaced, not overwritten.
            let bytes = corrupt(&std::fs::read(path).unwrap());
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, bytes).unwrap();
            run();
        }
        std::fs::remove_file(path).unwrap();
        run();
    }
    assert_eq!(files().len(), 3, "{:?}", files());
}

/// `c += a · b`, of some size.
fn product(size: u64) -> Program {
    let mut program = Program::default();
    let [i, j, k] = program.vars(["i", "j", "k"]);
    let [a, b, c] = ["a", "b", "c"].map(|name| program.add(name, F32, &[size, size], Kept));
    let value = two(Binary::Mul, load(a, &[i, k]), load(b, &[k, j]));
    let body = vec![accumulate(cell(c, &[i, j]), Binary::Add, value)];
    let loops = vec![repeat(j, size, vec![repeat(k, size, body)])];
    program.nest("c += a b", vec![repeat(i, size, loops)]);
    program
}

/// The kernel of contractions is compiled once for all programs, and again if its file was damaged.
#[test]
fn programs_share_a_kernel() {
    let cache = folder("native-cache-kernel");
    let ending = |end: &str| {
        let paths = std::fs::read_dir(&cache).unwrap().map(|file| file.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|known| known == end)).collect::<Vec<_>>()
    };
    let run = |size: u64| {
        let compiler = Compiler::find().unwrap().with_cache(&cache);
        let mut compiled = compiler.compile(&product(size)).unwrap();
        assert!(!compiled.source().contains("TILE_ROWS"), "the kernel is elsewhere");
        let buffers = product(size).buffers;
        let mut blocks: Vec<Block> = buffers.iter().map(|buffer| Block::new(buffer).unwrap()).collect();
        for block in &mut blocks[..2] {
            block.set_numbers(&vec![1.0; (size * size) as usize]).unwrap();
        }
        assert_eq!(compiled.run(&mut blocks, &[0, 1, 2], &[]), Ok(()));
        assert!(blocks[2].numbers().iter().all(|number| *number == size as f64));
    };
    run(20);
    let [object] = <[PathBuf; 1]>::try_from(ending("o")).expect("one kernel");
    let made = std::fs::metadata(&object).unwrap().modified().unwrap();
    run(30);
    assert_eq!(ending("so").len(), 2);
    assert_eq!(std::fs::metadata(&object).unwrap().modified().unwrap(), made, "it was not made again");
    std::fs::write(&object, b"nothing").unwrap();
    run(20);
    run(40);
    assert_eq!(ending("o"), std::slice::from_ref(&object));
    assert_ne!(std::fs::read(&object).unwrap(), b"nothing");
    std::fs::remove_file(&object).unwrap();
    run(50);
    assert!(object.exists());
}

#[test]
fn many_threads_compile_at_once() {
    let cache = folder("native-cache-race");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| Compiler::find().unwrap().with_cache(&cache).compile(&small()).unwrap());
        }
    });
}

/// Simultaneous runs, some with the threads and some without, do not disturb each other.
#[test]
fn programs_run_at_once() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let x = program.add("x", F32, &[64, 2000], Kept);
    let body = vec![accumulate(cell(x, &[i, j]), Binary::Add, number(1.0))];
    program.nest("x += 1", vec![repeat(i, 64, vec![repeat(j, 2000, body)])]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut compiled = compiler().compile(&program).unwrap();
                let mut blocks = vec![Block::new(program.buffer(x)).unwrap()];
                for _ in 0..200 {
                    assert_eq!(compiled.run(&mut blocks, &[0], &[]), Ok(()));
                }
                assert!(blocks[0].numbers().iter().all(|number| *number == 200.0));
            });
        }
    });
}

#[test]
fn no_compiler_is_an_error_that_helps() {
    let error = Compiler::at("no-such-compiler").unwrap_err();
    assert!(matches!(error, Error::NoCompiler { .. }));
    let text = error.to_string();
    assert!(
        text.contains("`no-such-compiler`") && text.contains("BROADLOOM_CC") && text.contains("gcc"),
        "{text}"
    );
}

#[test]
fn a_failing_compiler_is_an_error_that_says_what_was_run() {
    let folder = folder("native-failing");
    let path = folder.join("cc");
    std::fs::write(&path, "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho 'no space left' >&2\nexit 1\n")
        .unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let error = Compiler::at(&path).unwrap().with_cache(folder.join("cache")).compile(&small()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("no space left") && text.contains("-O3"), "{text}");
    let left = kept_in(&folder.join("cache"));
    assert_eq!(left, Vec::<PathBuf>::new(), "nothing is left behind");
}

#[test]
fn programs_that_are_not_in_order_are_errors() {
    let check = |change: &dyn Fn(&mut Program), expected: &str| {
        let mut program = small();
        change(&mut program);
        let error = emit(&program).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&|program| program.buffers[0].sizes[0] = 3.into(), "an index leaves an axis of `x`");
    check(&|program| program.buffers[0].sizes = vec![4.into()], "not one index for each axis of `x`");
    check(&|program| program.buffers.truncate(2), "fewer buffers");
    check(&|program| program.vars.clear(), "no variable");
    check(&|program| program.locals = 0, "fewer variables");
    check(&|program| program.buffers[0].sizes = vec![(1u64 << 40).into(); 2], "`x` is too large");
    check(
        &|program| {
            program.nests[1].body = vec![store(cell(BufferId(4), &[LoopVar(0), LoopVar(1)]), number(1.0))]
        },
        "not around it",
    );
    assert!(write_out(&small(), Path::new("."), "no name").is_err());
}

#[test]
fn a_program_written_out_compiles_alone_and_runs() {
    let folder = folder("native-written");
    write_out(&small(), &folder, "model").unwrap();
    write_out(&lookup(), &folder, "other").unwrap();
    let main = r#"
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
#include "other.h"
int main(void)
{
    static _Alignas(64) float x[12], w[15], b[5], y[20], best[4];
    for (int i = 0; i < 12; i++) x[i] = (float)i - 5;
    for (int i = 0; i < 15; i++) w[i] = (float)(i % 4) - 1;
    for (int i = 0; i < 5; i++) b[i] = 1;
    void *kept[] = { x, w, b, y, best };
    char *arena = aligned_alloc(64, (size_t)((model_arena(1) + 63) / 64 * 64 + 64));
    int64_t report[3];
    if (model_run(kept, arena, NULL, NULL, report)) return 1;
    for (int i = 0; i < 4; i++) printf("%g ", best[i]);
    static _Alignas(64) int32_t tokens[6] = { 0, 1, 2, 10, 4, 5 };
    static _Alignas(64) uint16_t table[80];
    static _Alignas(64) float out[48];
    void *others[] = { tokens, table, out };
    char *more = aligned_alloc(64, (size_t)((other_arena(1) + 63) / 64 * 64 + 64));
    int64_t seed[1] = { 3 };
    int64_t result = other_run(others, more, seed, NULL, report);
    printf("%d %d %d %d\n", (int)result, (int)report[0], (int)report[1], (int)report[2]);
    return 0;
}
"#;
    std::fs::write(folder.join("main.c"), main).unwrap();
    let output = Command::new("cc")
        .args(["-O3", "-march=native", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"])
        .args(["-o", "main", "main.c", "model.c", "other.c", "-lm"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(folder.join("main")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3 3 9 18 1 0 3 10\n");
    let header = std::fs::read_to_string(folder.join("other.h")).unwrap();
    expect![[r#"
        // For speed, compile with
        // -O3 -march=native -std=gnu11 -fno-strict-aliasing -fno-math-errno -fno-trapping-math -fopenmp-simd -ffp-contract=off
        #ifndef OTHER_H
        #define OTHER_H

        #include <stdint.h>

        #ifndef BROADLOOM_PARALLEL
        #define BROADLOOM_PARALLEL
        // Threads to share work among. `run` calls `work` with every part from 0 to parts - 1, in any order and on
        // any thread, and returns when all are done.
        typedef struct broadloom_parallel {
            void (*run)(const struct broadloom_parallel *parallel, int64_t parts,
                        void (*work)(void *argument, int64_t part, int64_t parts), void *argument);
            int64_t threads;
        } broadloom_parallel;
        #endif

        // Runs the program once.
        //
        // kept: the memory of these arrays, aligned to 64 bytes, in row-major order. `1+3+1` is an axis of 3 with a
        // margin of 1 before and after it, which belongs to the memory and must hold the number that is said.
        //     kept[0]  tokens: i32[6], 24 bytes
        //     kept[1]  table: bf16[10, 8], 160 bytes
        //     kept[2]  out: f32[6, 8], 192 bytes
        // arena: other_arena(threads) bytes, aligned to 64 bytes, for what is needed in between.
        // symbols: numbers for
        //     symbols[0]  seed
        // parallel: how to share work among threads; NULL for one thread.
        // report: three numbers, set if a check fails.
        //
        // Returns 0 if all went well; 1 if an index read from an array is out of range: report[0] is the number of the
        // check, report[1] where the index stands in its array, report[2] the index; 2 if a symbol is out of range:
        // report[0] is the number of the array it is an index of.
        int64_t other_run(void **kept, char *arena, const int64_t *symbols,
            const broadloom_parallel *parallel, int64_t *report);

        // How many bytes the arena has: 256 for arrays, and some for each thread.
        int64_t other_arena(int64_t threads);

        #endif
    "#]].assert_eq(&header);
}
