//! `cargo bench`: time per constraint of each family, adding and closing.

use broadloom_bench::families::FAMILIES;
use broadloom_core::{Answer, Solver};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn solver(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("solve");
    group.sample_size(10);
    for family in &FAMILIES {
        for n in [1_000, 10_000, 100_000, 1_000_000] {
            group.throughput(Throughput::Elements(n as u64));
            group.bench_function(BenchmarkId::new(family.name, n), |bencher| {
                bencher.iter_batched(
                    Solver::new,
                    |mut solver| {
                        (family.fill)(&mut solver, n);
                        assert!(matches!(solver.close(), Answer::Solved(_)));
                        solver
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, solver);
criterion_main!(benches);
