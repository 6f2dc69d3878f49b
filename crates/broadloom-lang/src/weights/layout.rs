//! From the axes of an array in a file to those of parameters.
//!
//! In memory a parameter has its batch axes first, then its output axes, then its input axes. An array may have them in another
//! order, may have several of them joined in one axis, and may have several parameters one after another. Where only one way
//! fits the sizes, that is the way; where several do, the program says which:
//!
//! | spec | array | parameter |
//! |---|---|---|
//! | `i o => i -> o` | `32, 64` | `32 -> 64` |
//! | `(h d) m => m -> h, d` | `32, 32` | `32 -> 4, 8` |
//! | `m (p h d) => m -> h, d` | `32, 96` | three of `32 -> 4, 8`: a name that the parameter lacks counts them |
//! | `1 d => d` | `1, 32` | `32` |
//! | `T` | `32, 64` | any of these with the axes of the array in reverse order |

use broadloom::Shape;
use broadloom_diagnostics::axes;

use crate::row_text;

/// The positions of the elements of a parameter in an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub start: u64,
    /// The size and the stride of each axis of the parameter, in memory order.
    pub axes: Vec<(u64, u64)>,
}

/// Why an array cannot be taken for parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Misfit {
    /// There is no way.
    None,
    /// There are several ways; some of them as specs.
    Several(Vec<String>),
    /// The spec is not well written, or is about other axes.
    Spec(String),
}

/// The most axes of an array whose orders are tried.
const MOST_AXES: usize = 6;

/// The layouts of parameters in an array of some sizes, by a spec or by the only way that fits.
pub(crate) fn layouts(sizes: &[u64], shapes: &[Shape], by: Option<&str>) -> Result<Vec<Layout>, Misfit> {
    match by {
        None | Some("T") => only_way(sizes, shapes, by.is_some()),
        Some(spec) => by_spec(sizes, shapes, spec),
    }
}

/// The sizes of a parameter in memory order.
pub(crate) fn memory(shape: &Shape) -> Vec<u64> {
    let rows = [shape.batch(), shape.output(), shape.input()];
    rows.into_iter().flatten().map(broadloom::Axis::size).collect()
}

/// The strides of axes in memory, the last of which is 1.
fn strides(sizes: &[u64]) -> Vec<u64> {
    let mut strides = vec![1u64; sizes.len()];
    for at in (0..sizes.len().saturating_sub(1)).rev() {
        strides[at] = strides[at + 1].saturating_mul(sizes[at + 1]);
    }
    strides
}

/// The only way in which sizes fit: an order of the axes of the array, and the axis along which several parameters lie.
fn only_way(sizes: &[u64], shapes: &[Shape], reversed: bool) -> Result<Vec<Layout>, Misfit> {
    let real: Vec<usize> = (0..sizes.len()).filter(|axis| sizes[*axis] != 1).collect();
    let orders = match reversed {
        true => vec![real.iter().rev().copied().collect()],
        false if real.len() > MOST_AXES => return Err(Misfit::None),
        false => permutations(&real),
    };
    let mut ways: Vec<(Vec<Layout>, String)> = Vec::new();
    for order in &orders {
        for along in parts(sizes, shapes) {
            let way = way(sizes, shapes, order, &along);
            ways.extend(way.filter(|(layouts, _)| !ways.iter().any(|(known, _)| known == layouts)));
        }
    }
    match ways.len() {
        0 => Err(Misfit::None),
        1 => Ok(ways.swap_remove(0).0),
        _ => {
            let mut specs: Vec<String> = ways.into_iter().map(|(_, spec)| spec).collect();
            specs.sort_by_key(|spec| mixes(spec));
            specs.truncate(2);
            Err(Misfit::Several(specs))
        }
    }
}

/// Parameters along an axis of an array: the axis, and how much of it each of them has.
struct Along {
    axis: Option<usize>,
    lengths: Vec<u64>,
}

/// The axes along which parameters may lie one after another.
fn parts(sizes: &[u64], shapes: &[Shape]) -> Vec<Along> {
    if let [_] = shapes {
        return vec![Along { axis: None, lengths: Vec::new() }];
    }
    let along = |axis: usize| {
        let others: u64 =
            sizes.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, size)| *size).product();
        let length = |shape: &Shape| {
            let elements = memory(shape).iter().product::<u64>();
            (others > 0 && elements % others == 0).then(|| elements / others)
        };
        let lengths: Vec<u64> = shapes.iter().map(length).collect::<Option<_>>()?;
        (lengths.iter().sum::<u64>() == sizes[axis]).then_some(Along { axis: Some(axis), lengths })
    };
    (0..sizes.len()).filter_map(along).collect()
}

/// The layouts for an order of axes, if the sizes fit, and the spec that says the same.
fn way(sizes: &[u64], shapes: &[Shape], order: &[usize], along: &Along) -> Option<(Vec<Layout>, String)> {
    let strides = strides(sizes);
    let (mut layouts, mut start, mut spec) = (Vec::new(), 0, String::new());
    for (number, shape) in shapes.iter().enumerate() {
        let mut own = sizes.to_vec();
        let mut begin = 0;
        if let Some(axis) = along.axis {
            own[axis] = along.lengths[number];
            begin = start * strides[axis];
            start += along.lengths[number];
        }
        let target = memory(shape);
        let groups = grouped(order.iter().map(|axis| own[*axis]).collect(), &target)?;
        let mut axes = Vec::new();
        for (axis, group) in order.iter().zip(&groups) {
            let inner = self::strides(group);
            axes.extend(group.iter().zip(inner).map(|(size, inner)| (*size, inner * strides[*axis])));
        }
        // Axes of one element are anywhere.
        let mut axes = axes.into_iter();
        let axes = target.iter().map(|size| if *size == 1 { Some((1, 0)) } else { axes.next() });
        layouts.push(Layout { start: begin, axes: axes.collect::<Option<_>>()? });
        if number == 0 {
            spec = spelt(sizes, shape, order, &groups, along);
        }
    }
    Some((layouts, spec))
}

/// The axes of a parameter that each axis of an array is made of, if the sizes fit one after another.
fn grouped(sizes: Vec<u64>, target: &[u64]) -> Option<Vec<Vec<u64>>> {
    let mut target = target.iter().copied().filter(|size| *size != 1).peekable();
    let mut groups = Vec::new();
    for size in sizes {
        let (mut group, mut product) = (Vec::new(), 1u64);
        while product < size {
            let next = target.next()?;
            product = product.checked_mul(next)?;
            group.push(next);
        }
        if product != size {
            return None;
        }
        groups.push(group);
    }
    target.peek().is_none().then_some(groups)
}

/// Returns true if a spec joins inputs and outputs in one axis, which is seldom meant.
fn mixes(spec: &str) -> bool {
    let joined = spec.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    joined.into_iter().any(|group| group.contains('o') && group.contains('i'))
}

/// A way as a spec, to be offered to whoever has to choose.
fn spelt(sizes: &[u64], shape: &Shape, order: &[usize], groups: &[Vec<u64>], along: &Along) -> String {
    let (names, right) = lettered(shape);
    let mut left = vec![String::from("1"); sizes.len()];
    let mut next = names.into_iter();
    for (axis, group) in order.iter().zip(groups) {
        let mut own: Vec<String> = next.by_ref().take(group.len()).collect();
        if along.axis == Some(*axis) {
            own.insert(0, "p".into());
        }
        left[*axis] = if let [one] = &own[..] { one.clone() } else { format!("({})", own.join(" ")) };
    }
    format!("{} => {right}", left.join(" "))
}

/// Letters for the axes of a parameter in memory order, without those of one element, and its shape in these letters.
fn lettered(shape: &Shape) -> (Vec<String>, String) {
    let row = |axes: &[broadloom::Axis], letter: &str| -> Vec<String> {
        let name = |at: usize, axis: &broadloom::Axis| match (axis.size(), axes.len()) {
            (1, _) => "1".to_string(),
            (_, 1) => letter.to_string(),
            _ => format!("{letter}{}", at + 1),
        };
        axes.iter().enumerate().map(|(at, axis)| name(at, axis)).collect()
    };
    let (batch, output, input) = (row(shape.batch(), "b"), row(shape.output(), "o"), row(shape.input(), "i"));
    let mut text = String::new();
    if !batch.is_empty() {
        text.push_str(&format!("{} | ", batch.join(", ")));
    }
    if !input.is_empty() {
        text.push_str(&format!("{} -> ", input.join(", ")));
    }
    text.push_str(&output.join(", "));
    let names = [batch, output, input].concat().into_iter().filter(|name| name != "1").collect();
    (names, text)
}

/// All orders of some axes, the given one first.
fn permutations(axes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in axes {
        let mut longer = Vec::new();
        for order in all {
            for axis in axes.iter().filter(|axis| !order.contains(*axis)) {
                longer.push([order.as_slice(), &[*axis]].concat());
            }
        }
        all = longer;
    }
    all
}

/// The layouts that a spec says.
fn by_spec(sizes: &[u64], shapes: &[Shape], spec: &str) -> Result<Vec<Layout>, Misfit> {
    let Some((left, right)) = spec.split_once("=>") else {
        return Err(Misfit::Spec("after `by`, write a spec such as `o i => i -> o`, or `T`".into()));
    };
    let groups = left_side(left)?;
    let rows = right_side(right)?;
    if groups.len() != sizes.len() {
        let message =
            format!("the spec has {} before `=>`, and the array {}", axes(groups.len()), axes(sizes.len()));
        return Err(Misfit::Spec(message));
    }
    let mut names: Vec<&str> = groups.iter().flatten().copied().filter(|name| *name != "1").collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Misfit::Spec(format!("`{}` is twice before `=>`", twice[0])));
    }
    let all: Vec<&str> = rows.iter().flatten().copied().collect();
    if let Some(unknown) = all.iter().find(|name| **name != "1" && !names.contains(name)) {
        return Err(Misfit::Spec(format!("`{unknown}` is not before `=>`")));
    }
    let mut counts = names.iter().filter(|name| !all.contains(name));
    let count = counts.next().copied();
    if let Some(other) = counts.next() {
        return Err(Misfit::Spec(format!(
            "the parameter lacks both `{}` and `{other}`",
            count.unwrap_or_default()
        )));
    }
    match (count, shapes.len()) {
        (Some(count), 1) => {
            return Err(Misfit::Spec(format!(
                "`{count}` is missing after `=>`: every axis of the array must appear"
            )));
        }
        (None, 2..) => {
            let message = "nothing indexes the parameters: add a name that occurs only on the left, as `p` in `(p o) i => i -> o`";
            return Err(Misfit::Spec(message.into()));
        }
        _ => {}
    }
    placed(sizes, shapes, &groups, &rows, count)
}

/// The names of each axis of the array: several if it joins several axes.
fn left_side(text: &str) -> Result<Vec<Vec<&str>>, Misfit> {
    let wrong =
        |what: &str| Err(Misfit::Spec(format!("`{what}` is no axis of an array: write `o`, `(h d)` or `1`")));
    let mut groups = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (group, after) = match rest.strip_prefix('(') {
            Some(inner) => match inner.split_once(')') {
                Some((group, after)) => (group, after),
                None => return wrong(rest),
            },
            None => rest.split_at(rest.find([' ', ',', '(']).unwrap_or(rest.len())),
        };
        let names: Vec<&str> = group.split([' ', ',']).filter(|name| !name.is_empty()).collect();
        if names.is_empty() || names.iter().any(|name| !is_name(name)) {
            return wrong(if group.is_empty() { rest } else { group });
        }
        groups.push(names);
        rest = after.trim_start_matches([' ', ',']);
    }
    Ok(groups)
}

/// The names of the axes of a parameter: batch, input, output.
fn right_side(text: &str) -> Result<[Vec<&str>; 3], Misfit> {
    let [batch, input, output] = row_text::rows(text);
    let row = |text: &'_ str| -> Vec<String> {
        text.split([' ', ',']).filter(|name| !name.is_empty()).map(str::to_string).collect()
    };
    if let Some(wrong) = [batch, input, output].into_iter().flat_map(row).find(|name| !is_name(name)) {
        return Err(Misfit::Spec(format!("`{wrong}` is no axis of a parameter: write `i -> o`")));
    }
    Ok([batch, input, output].map(|text| text.split([' ', ',']).filter(|name| !name.is_empty()).collect()))
}

fn is_name(text: &str) -> bool {
    text == "1"
        || (text.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_'))
}

/// The layouts by groups of names, with the sizes that the parameters have.
fn placed(
    sizes: &[u64],
    shapes: &[Shape],
    groups: &[Vec<&str>],
    rows: &[Vec<&str>; 3],
    count: Option<&str>,
) -> Result<Vec<Layout>, Misfit> {
    let (mut layouts, mut start) = (Vec::new(), 0u64);
    let strides = strides(sizes);
    let mut covered = vec![0u64; sizes.len()];
    for (number, shape) in shapes.iter().enumerate() {
        let known = sizes_of(shape, rows)?;
        let size = |name: &str| match name {
            "1" => 1,
            name if Some(name) == count => shapes.len() as u64,
            name => known.iter().find(|(own, _)| *own == name).map_or(1, |(_, size)| *size),
        };
        let (mut axes, mut begin): (Vec<(&str, u64)>, u64) = (Vec::new(), 0);
        for (at, group) in groups.iter().enumerate() {
            // Parameters that lie one after another may have different sizes.
            let leads = group.first().copied() == count && count.is_some();
            let own = if leads { &group[1..] } else { &group[..] };
            let own_sizes: Vec<u64> = own.iter().map(|name| size(name)).collect();
            let length = own_sizes.iter().fold(1u64, |product, size| product.saturating_mul(*size));
            if leads {
                begin += start * strides[at];
                start += length;
                covered[at] = start;
            } else {
                covered[at] = length;
            }
            for ((name, inner), _) in own.iter().zip(self::strides(&own_sizes)).zip(&own_sizes) {
                match Some(*name) == count {
                    true => begin += number as u64 * inner * strides[at],
                    false => axes.push((name, inner * strides[at])),
                }
            }
        }
        let [batch, input, output] = rows;
        let stride = |name: &&str| axes.iter().find(|(own, _)| own == name).map_or(0, |(_, stride)| *stride);
        let order = batch.iter().chain(output).chain(input);
        let axes = order.map(|name| if *name == "1" { (1, 0) } else { (size(name), stride(name)) }).collect();
        layouts.push(Layout { start: begin, axes });
    }
    match covered == sizes {
        true => Ok(layouts),
        false => Err(Misfit::None),
    }
}

/// The sizes that a parameter gives to names.
fn sizes_of<'n>(shape: &Shape, rows: &[Vec<&'n str>; 3]) -> Result<Vec<(&'n str, u64)>, Misfit> {
    let own = [shape.batch(), shape.input(), shape.output()];
    let mut known: Vec<(&str, u64)> = Vec::new();
    for (names, axes) in rows.iter().zip(own) {
        if names.len() != axes.len() {
            return Err(Misfit::Spec(format!("the parameter is `{shape}`, with other axes than the spec")));
        }
        for (name, axis) in names.iter().zip(axes) {
            if *name == "1" && axis.size() != 1 {
                return Err(Misfit::Spec(format!(
                    "an axis of `{shape}` is `1` in the spec, and has another size"
                )));
            }
            if known.iter().any(|(own, size)| own == name && *own != "1" && *size != axis.size()) {
                return Err(Misfit::Spec(format!("`{name}` has two sizes in `{shape}`")));
            }
            known.push((name, axis.size()));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom::{Array, Graph};

    /// The numbers 0, 1, 2, … in an array, as they are placed in parameters of some shapes.
    fn check(sizes: &[u64], shapes: &[&str], by: Option<&str>) -> Result<Vec<Vec<f64>>, Misfit> {
        let mut graph = Graph::new();
        let mut shape = |at: usize, text: &str| {
            let param = graph.param_shaped(&format!("p{at}"), text).unwrap();
            graph.final_shape(param).unwrap()
        };
        let shapes: Vec<Shape> = shapes.iter().enumerate().map(|(at, text)| shape(at, text)).collect();
        let numbers: Vec<f64> = (0..sizes.iter().product::<u64>()).map(|number| number as f64).collect();
        let array = Array::from_slice(sizes, &numbers).unwrap();
        let layouts = layouts(sizes, &shapes, by)?;
        Ok(layouts
            .iter()
            .map(|layout| array.arranged(layout.start, &layout.axes).unwrap().to_f64s())
            .collect())
    }

    fn numbers(list: &[i32]) -> Vec<f64> {
        list.iter().map(|number| f64::from(*number)).collect()
    }

    #[test]
    fn the_only_way() {
        let (straight, across) = (numbers(&[0, 1, 2, 3, 4, 5]), numbers(&[0, 3, 1, 4, 2, 5]));
        // Outputs come first in memory.
        assert_eq!(check(&[2, 3], &["3 -> 2"], None), Ok(vec![straight.clone()]));
        assert_eq!(check(&[2, 3], &["2 -> 3"], None), Ok(vec![across.clone()]));
        assert_eq!(check(&[1, 6, 1], &["2, 3"], None), Ok(vec![straight.clone()]));
        assert_eq!(check(&[5], &["2", "3"], None), Ok(vec![numbers(&[0, 1]), numbers(&[2, 3, 4])]));
        assert_eq!(check(&[3, 4], &["3 -> 2", "3 -> 2"], None).map(|parts| parts.len()), Ok(2));
        assert_eq!(check(&[2, 3], &["3 -> 3"], None), Err(Misfit::None));
    }

    #[test]
    fn several_ways() {
        let several = Misfit::Several(vec!["o i => i -> o".into(), "i o => i -> o".into()]);
        assert_eq!(check(&[2, 2], &["2 -> 2"], None), Err(several));
        assert_eq!(check(&[2, 2], &["2 -> 2"], Some("T")), Ok(vec![numbers(&[0, 2, 1, 3])]));
        assert_eq!(check(&[2, 2], &["2 -> 2"], Some("o i => i -> o")), Ok(vec![numbers(&[0, 1, 2, 3])]));
        let heads =
            Misfit::Several(vec!["(o1 o2) i => i -> o1, o2".into(), "i (o1 o2) => i -> o1, o2".into()]);
        assert_eq!(check(&[4, 4], &["4 -> 2, 2"], None), Err(heads));
    }

    #[test]
    fn specs() {
        let fused = check(&[2, 6], &["2 -> 1, 2"; 3], Some("m (p h d) => m -> h, d")).unwrap();
        assert_eq!(fused, [numbers(&[0, 6, 1, 7]), numbers(&[2, 8, 3, 9]), numbers(&[4, 10, 5, 11])]);
        // Parts of each head, as some models have them.
        let inside = check(&[8], &["2, 2"; 2], Some("(h p d) => h, d")).unwrap();
        assert_eq!(inside, [numbers(&[0, 1, 4, 5]), numbers(&[2, 3, 6, 7])]);
        let unequal = check(&[5, 1], &["1 -> 3", "1 -> 2"], Some("(p o) i => i -> o")).unwrap();
        assert_eq!(unequal, [numbers(&[0, 1, 2]), numbers(&[3, 4])]);
        assert_eq!(check(&[1, 2], &["2"], Some("1 d => d")), Ok(vec![numbers(&[0, 1])]));
        let kernel = check(&[1, 2, 1, 3], &["1, 3, 2 -> 1"], Some("o i h w => h, w, i -> o")).unwrap();
        assert_eq!(kernel, [numbers(&[0, 3, 1, 4, 2, 5])]);
    }

    #[test]
    fn specs_that_are_wrong() {
        let wrong = |sizes: &[u64], shapes: &[&str], by: &str| match check(sizes, shapes, Some(by)) {
            Err(Misfit::Spec(message)) => message,
            other => format!("{other:?}"),
        };
        assert_eq!(
            wrong(&[2, 2], &["2 -> 2"], "o i"),
            "after `by`, write a spec such as `o i => i -> o`, or `T`"
        );
        assert_eq!(
            wrong(&[2, 2], &["2 -> 2"], "o => o"),
            "the spec has 1 axis before `=>`, and the array 2 axes"
        );
        assert_eq!(wrong(&[2, 2], &["2 -> 2"], "o o => o -> o"), "`o` is twice before `=>`");
        assert_eq!(wrong(&[2, 2], &["2 -> 2"], "o i => i -> u"), "`u` is not before `=>`");
        assert_eq!(
            wrong(&[2, 2], &["2"], "o i => o"),
            "`i` is missing after `=>`: every axis of the array must appear"
        );
        assert_eq!(
            wrong(&[2, 2], &["2 -> 2"], "o i => i, o"),
            "the parameter is `2 -> 2`, with other axes than the spec"
        );
        assert_eq!(
            wrong(&[2, 2], &["2 -> 2"], "(o i => i -> o"),
            "`(o i` is no axis of an array: write `o`, `(h d)` or `1`"
        );
        assert_eq!(
            wrong(&[4, 2], &["2 -> 2"; 2], "o i => i -> o"),
            "nothing indexes the parameters: add a name that occurs only on the left, as `p` in `(p o) i => i -> o`"
        );
        assert_eq!(check(&[3, 2], &["2 -> 2"], Some("o i => i -> o")), Err(Misfit::None));
    }
}
