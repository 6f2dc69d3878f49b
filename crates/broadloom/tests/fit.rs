//! One program for each kind of misfit, and several at once.

use broadloom::{Array, Dtype, Fit, Graph, Input, Session, Tensor};

/// Checks the messages and their help, line by line.
#[track_caller]
fn check(graph: &mut Graph, inputs: &[(Tensor, &[u64])], expected: &[&str]) -> Fit {
    let inputs: Vec<Input<'_>> =
        inputs.iter().map(|(tensor, sizes)| Input { tensor: *tensor, sizes, dtype: Dtype::F32 }).collect();
    let fit = graph.fit(&inputs).expect("shapes are known");
    let told: Vec<String> =
        fit.misfits.iter().flat_map(|misfit| [misfit.to_string(), misfit.help()]).collect();
    assert_eq!(told, expected);
    fit
}

fn numbers(fit: &Fit) -> Vec<(&str, Option<u64>, Option<Tensor>)> {
    fit.sizes.iter().map(|size| (size.name.as_str(), size.number, size.by)).collect()
}

/// `x : batch | 784` and `target : batch | 10`, with a batch from 1 to 64.
fn digits() -> (Graph, Tensor, Tensor) {
    let mut graph = Graph::new();
    graph.dim("batch", 1..=64, 32).expect("a size");
    let x = graph.data("x", "batch | 784").expect("data");
    let target = graph.data("target", "batch | 10").expect("data");
    (graph, x, target)
}

#[test]
fn arrays_say_numbers() {
    let (mut graph, x, target) = digits();
    let fit = check(&mut graph, &[(x, &[16, 784]), (target, &[16, 10])], &[]);
    assert_eq!(numbers(&fit), [("batch", Some(16), Some(x))]);
    assert_eq!((fit.sizes[0].range, fit.sizes[0].used), ((1, Some(64)), true));
    let fit = check(&mut graph, &[], &[]);
    assert_eq!(numbers(&fit), [("batch", Some(32), None)], "the sample");
}

#[test]
fn names_that_get_two_numbers() {
    let (mut graph, x, target) = digits();
    let expected = [
        "axis 0 of `x` makes `batch` 16, axis 0 of `target` makes it 17",
        "`batch` is one size everywhere: give arrays that belong together",
    ];
    check(&mut graph, &[(x, &[16, 784]), (target, &[17, 10])], &expected);
    let mut graph = Graph::new();
    graph.dim("n", .., None).expect("a size");
    let square = graph.data("square", "n -> n").expect("data");
    let expected = [
        "axis 0 of `square` makes `n` 3, axis 1 of `square` makes it 4",
        "`n` is one size everywhere: give arrays that belong together",
    ];
    check(&mut graph, &[(square, &[3, 4])], &expected);
}

#[test]
fn numbers_out_of_range() {
    let (mut graph, x, target) = digits();
    let expected = [
        "axis 0 of `x` makes `batch` 65, its range is 1..64",
        "give it fewer or more, or declare a wider range",
    ];
    check(&mut graph, &[(x, &[65, 784]), (target, &[65, 10])], &expected);
    let expected = [
        "axis 0 of `x` makes `batch` 0, its range is 1..64",
        "give it fewer or more, or declare a wider range",
    ];
    check(&mut graph, &[(x, &[0, 784])], &expected);
}

#[test]
fn ranges_that_the_program_narrows() {
    let mut graph = Graph::new();
    graph.dim("seq", 1..=64, 32).expect("a size");
    let x = graph.data("x", "seq").expect("data");
    let window = graph.data("window", "5").expect("data");
    graph.einsum("o<+k; k => o", &[x, window]).expect("a convolution");
    let fit = check(&mut graph, &[(x, &[5])], &[]);
    assert_eq!(fit.sizes[0].range, (5, Some(64)));
    let expected = [
        "axis 0 of `x` makes `seq` 4, its range is 5..64",
        "`seq` is declared in 1..64; the program has room for 5..64 of it only",
    ];
    check(&mut graph, &[(x, &[4])], &expected);
}

#[test]
fn axes_in_another_order() {
    let (mut graph, x, _) = digits();
    let expected = [
        "the array for `x` has sizes [784, 16], its shape is `batch | 784`: axis 1 (`x.output.0`) is 16 and should be 784",
        "with its axes in the order [1, 0] it would fit",
    ];
    check(&mut graph, &[(x, &[784, 16])], &expected);
    let mut graph = Graph::new();
    let image = graph.data("image", "8 | 28, 30, 3").expect("data");
    let expected = [
        "the array for `image` has sizes [8, 3, 28, 30], its shape is `8 | 28, 30, 3`: \
         axis 1 (`image.output.0`) is 3 and should be 28, axis 2 (`image.output.1`) is 28 and should be 30, axis 3 (`image.output.2`) is 30 and should be 3",
        "with its axes in the order [0, 2, 3, 1] it would fit",
    ];
    check(&mut graph, &[(image, &[8, 3, 28, 30])], &expected);
}

#[test]
fn another_number_of_axes() {
    let (mut graph, x, _) = digits();
    let expected = [
        "the array for `x` has sizes [16, 28, 28], its shape is `batch | 784`: 3 axes in place of 2",
        "it would fit with the sizes [16, 784], if that is what its numbers mean",
    ];
    check(&mut graph, &[(x, &[16, 28, 28])], &expected);
    let expected = [
        "the array for `x` has sizes [783], its shape is `batch | 784`: 1 axis in place of 2",
        "sizes are in memory order: batch axes, output axes, input axes",
    ];
    check(&mut graph, &[(x, &[783])], &expected);
}

#[test]
fn axes_that_are_expressions() {
    let mut graph = Graph::new();
    graph.dim("seq", 1..=64, None).expect("a size");
    let (x, both) = (graph.data("x", "seq").expect("data"), graph.data("both", "...").expect("data"));
    let twice = graph.einsum("a; b => a^b", &[x, x]).expect("a concatenation");
    graph.add(twice, both).expect("a sum");
    let fit = check(&mut graph, &[(both, &[14])], &[]);
    assert_eq!(numbers(&fit), [("seq", Some(7), Some(both))]);
    let expected = [
        "the array for `both` has sizes [15], its shape is `2*seq`: axis 0 (`both.output.0`) is `2*seq`, which is never 15",
        "14 or 16 would fit",
    ];
    let fit = check(&mut graph, &[(both, &[15])], &expected);
    assert_eq!(numbers(&fit), [("seq", None, None)], "nobody says it");
}

#[test]
fn expressions_over_several_names() {
    let mut graph = Graph::new();
    graph.dim("a", 1..=64, 2).expect("a size");
    graph.dim("b", 1..=64, 3).expect("a size");
    let (x, y) = (graph.data("x", "a").expect("data"), graph.data("y", "b").expect("data"));
    let all = graph.data("all", "...").expect("data");
    let joined = graph.einsum("a; b => a^b", &[x, y]).expect("a concatenation");
    graph.add(joined, all).expect("a sum");
    let fit = check(&mut graph, &[(all, &[9]), (x, &[4])], &[]);
    assert_eq!(numbers(&fit), [("a", Some(4), Some(x)), ("b", Some(5), Some(all))]);
    let expected = [
        "the array for `all` has sizes [9], its shape is `a + b`: with `a` = 4, `b` = 4, axis 0 (`all.output.0`) is 9 and should be 8",
        "a name is one size everywhere",
    ];
    check(&mut graph, &[(all, &[9]), (x, &[4]), (y, &[4])], &expected);
    let expected = [
        "the array for `all` has sizes [9], its shape is `a + b`: with `a` = 2, `b` = 3, axis 0 (`all.output.0`) is 9 and should be 5",
        "a name is one size everywhere",
    ];
    check(&mut graph, &[(all, &[9])], &expected);
}

#[test]
fn what_the_program_relies_on() {
    let mut graph = Graph::new();
    graph.dim("seq", .., None).expect("a size");
    let x = graph.data("x", "seq").expect("data");
    graph.einsum("2*i => i", &[x]).expect("every second one");
    check(&mut graph, &[(x, &[6])], &[]);
    let expected = [
        "there is no program for `seq` = 7: it relies on this: `seq` is a multiple of 2",
        "give arrays with sizes for which this holds",
    ];
    check(&mut graph, &[(x, &[7])], &expected);
}

#[test]
fn integers_and_fractions() {
    let mut graph = Graph::new();
    let ids = graph.data("ids", "4").expect("data");
    graph.set_precision(ids, Dtype::I64).expect("a tensor");
    let expected = ["`ids` holds integers (i64), the array for it has f32", "convert the array to i64 first"];
    check(&mut graph, &[(ids, &[4])], &expected);
    let fit = graph.fit(&[Input { tensor: ids, sizes: &[4], dtype: Dtype::I32 }]).expect("shapes");
    assert!(fit.is_ok());
}

#[test]
fn computed_tensors_have_no_arrays() {
    let (mut graph, x, _) = digits();
    let y = graph.add(x, x).expect("a sum");
    let error = graph.fit(&[Input { tensor: y, sizes: &[], dtype: Dtype::F32 }]).expect_err("computed");
    assert_eq!(error.message(), "`x + x` is computed, so its values cannot be set");
}

/// A session accepts exactly the arrays that fit, and refuses the others sooner or later.
#[test]
fn sessions_agree() {
    let cases: [([u64; 2], [u64; 2]); 5] = [
        ([16, 784], [16, 10]),
        ([16, 784], [17, 10]),
        ([65, 784], [65, 10]),
        ([8, 783], [8, 10]),
        ([1, 784], [1, 10]),
    ];
    for (sizes, other) in cases {
        let (mut graph, x, target) = digits();
        let array = |sizes: &[u64]| Array::zeros(Dtype::F32, sizes).expect("an array");
        let (values, others) = (array(&sizes), array(&other));
        let fits = graph.fit(&[Input::new(x, &values), Input::new(target, &others)]).expect("shapes").is_ok();
        let mut session = Session::new(graph).expect("a session");
        let taken = session.set(x, &values).and_then(|()| session.set(target, &others));
        // The second array changes the size, and discards the values of the first.
        let kept = taken.is_ok() && session.get(x).is_ok();
        assert_eq!(fits, kept, "{sizes:?} {other:?}");
    }
}
