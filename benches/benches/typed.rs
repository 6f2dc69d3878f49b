//! `cargo bench --bench typed`: one check of actual sizes at run time, and one inference of a shape rule.

use std::hint::black_box;

use broadloom::typed::{Context, Dim, ShapeCheck, TensorShape};
use criterion::{Criterion, criterion_group, criterion_main};

fn checks(criterion: &mut Criterion) {
    let named = |name: &str| Dim::Named(name.into(), Some((1, 1 << 20)));
    let mut group = criterion.benchmark_group("verify");
    for rank in [2, 4, 8] {
        let names = ["batch", "seq", "heads", "width", "rows", "columns", "time", "depth"];
        let shape = TensorShape::new(names.into_iter().take(rank).map(named));
        let (check, sizes) = (ShapeCheck::new(&shape), vec![32u64; rank]);
        group.bench_function(format!("rank {rank}"), |bencher| {
            bencher.iter(|| black_box(&check).verify(black_box(&sizes)).is_ok());
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("infer");
    let left = TensorShape::new([named("batch"), Dim::Literal(784)]);
    let right = TensorShape::of(&[784, 10]);
    let mut context = Context::new();
    group.bench_function("matmul", |bencher| {
        bencher.iter(|| context.matmul(black_box(&left), black_box(&right)).is_ok());
    });
    group.finish();
}

criterion_group!(benches, checks);
criterion_main!(benches);
