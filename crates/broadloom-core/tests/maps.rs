//! Injectivity and surjectivity of index maps against enumeration of the maps.

use std::collections::HashSet;

use broadloom_core::Size;
use broadloom_core::projection::{Component, Verdict, is_injective, is_surjective};
use broadloom_testing::Dice;

/// Every point of a box.
fn points(extents: &[u64]) -> Vec<Vec<u64>> {
    extents.iter().fold(vec![vec![]], |points, extent| {
        let extend = |point: Vec<u64>| (0..*extent).map(move |at| [point.clone(), vec![at]].concat());
        points.into_iter().flat_map(extend).collect()
    })
}

fn cells(map: &[Component], extents: &[u64]) -> Vec<Vec<i64>> {
    points(extents).iter().map(|point| map.iter().map(|component| component.at(point)).collect()).collect()
}

/// Sizes that hold every position, after moving the least one to zero.
fn fit(map: &mut [Component], extents: &[u64]) -> Vec<u64> {
    let fit = |component: &mut Component| {
        let extent = |index: u32| Some(extents[index as usize].into());
        let (least, greatest) = component.range(extent).expect("all are numbers");
        component.offset = component.offset - least;
        (greatest - least + 1).get()
    };
    map.iter_mut().map(fit).collect()
}

fn check(map: &mut [Component], extents: &[u64]) {
    let sizes = fit(map, extents);
    let all = cells(map, extents);
    let image: HashSet<&Vec<i64>> = all.iter().collect();
    let expected = |holds: bool| if holds { Verdict::Yes } else { Verdict::No };
    assert_eq!(is_injective(map, extents), expected(image.len() == all.len()), "{map:?} over {extents:?}");
    let total: u64 = sizes.iter().product();
    assert_eq!(
        is_surjective(map, extents, &sizes),
        expected(image.len() as u64 == total),
        "{map:?} over {extents:?}"
    );
}

#[test]
fn verdicts_agree_with_enumeration() {
    let mut dice = Dice::new(7);
    for _ in 0..30_000 {
        let loops = dice.roll(4) as usize;
        let extents: Vec<u64> = (0..loops).map(|_| 1 + dice.roll(4)).collect();
        let mut map: Vec<Component> = (0..dice.roll(4))
            .map(|_| {
                let terms: Vec<(i64, u32)> = (0..loops as u32)
                    .map(|index| (dice.roll(7) as i64 - 2, index))
                    .filter(|_| loops > 0)
                    .collect();
                let kept: Vec<(i64, u32)> = terms.into_iter().filter(|_| dice.roll(3) > 0).collect();
                Component::new(0, kept)
            })
            .collect();
        check(&mut map, &extents);
    }
}

#[test]
fn the_known_traps() {
    let sum = |terms: &[(i64, u32)]| Component::new(0, terms.iter().copied());
    // (i + j, i) is not onto; 3a + 4b over (3, 2) is one-to-one; a diagonal is one-to-one and not onto.
    check(&mut [sum(&[(1, 0), (1, 1)]), sum(&[(1, 0)])], &[3, 4]);
    check(&mut [sum(&[(3, 0), (4, 1)])], &[3, 2]);
    check(&mut [sum(&[(1, 0)]), sum(&[(1, 0)])], &[5]);
    assert_eq!(is_injective(&[sum(&[(3, 0), (4, 1)])], &[3, 2]), Verdict::Yes);
    assert_eq!(is_surjective(&[sum(&[(1, 0), (1, 1)]), sum(&[(1, 0)])], &[3, 4], &[6, 3]), Verdict::No);
    // Interleaving: every second cell.
    assert_eq!(is_surjective(&[sum(&[(2, 0)])], &[3], &[6]), Verdict::No);
}

#[test]
fn large_maps_are_settled_without_enumeration() {
    let sum = |terms: &[(i64, u32)]| Component::new(0, terms.iter().copied());
    let extents = [4096, 4096, 3];
    let map = [sum(&[(4096, 0), (1, 1)]), sum(&[(1, 2)])];
    assert_eq!(is_injective(&map, &extents), Verdict::Yes);
    assert_eq!(is_surjective(&map, &extents, &[4096 * 4096, 3]), Verdict::Yes);
    // A convolution's reads overlap.
    assert_eq!(is_injective(&[sum(&[(1, 0), (1, 1)])], &[4096, 3]), Verdict::No);
}

/// A verdict for all sizes holds at each of them. Coefficients and extents are expressions over two
/// arguments.
#[test]
fn verdicts_for_all_sizes_hold_at_each() {
    let mut dice = Dice::new(11);
    let (n, m) = (Size::argument(0, 1), Size::argument(1, 1));
    let sizes = [Size::ONE, Size::from(2), Size::from(3), n, m, n * m, n * 2, m + 1, n + m];
    let mut settled = [0, 0];
    for _ in 0..4_000 {
        let loops = 1 + dice.roll(3) as usize;
        let mut pick = |from: &[Size]| from[dice.roll(from.len() as u64) as usize];
        let extents: Vec<Size> = (0..loops).map(|_| pick(&sizes)).collect();
        // Often as they are in memory: each loop moves as far as those inside it reach.
        let mut stride = Size::ONE;
        let mut map = vec![Component::fixed(0)];
        for index in (0..loops).rev() {
            let coefficient = if pick(&[Size::ZERO, Size::ONE]) == 1 { stride } else { pick(&sizes) };
            map[0] = map[0].plus(&Component::new(0, [(coefficient, index as u32)]));
            stride = stride * extents[index];
        }
        if pick(&[Size::ZERO, Size::ONE]) == 1 {
            map.push(Component::iterate(0));
        }
        let cells: Vec<Size> = map.iter().enumerate().map(|(axis, _)| [stride, extents[0]][axis]).collect();
        let (injective, surjective) = (is_injective(&map, &extents), is_surjective(&map, &extents, &cells));
        settled[0] += usize::from(injective.holds());
        settled[1] += usize::from(surjective.holds());
        for point in [[1, 1], [1, 3], [2, 1], [3, 2]] {
            let at =
                |sizes: &[Size]| -> Vec<u64> { sizes.iter().map(|size| size.at(&point).unwrap()).collect() };
            let map: Vec<Component> = map.iter().map(|sum| sum.with(&point).unwrap()).collect();
            let (extents, cells) = (at(&extents), at(&cells));
            if injective.holds() {
                assert_eq!(is_injective(&map, &extents), Verdict::Yes, "{map:?} over {extents:?}");
            }
            if surjective.holds() {
                assert_eq!(is_surjective(&map, &extents, &cells), Verdict::Yes, "{map:?} over {extents:?}");
            }
        }
    }
    assert!(settled.iter().all(|settled| *settled > 200), "much of it is settled: {settled:?}");
}
