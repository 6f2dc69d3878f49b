//! The laws of the ground algebra, one test per proposition of the Formal Core.
//!
//! Each law is checked on *all* rows up to rank 3, with every marker, over two sets
//! of four dimensions, and then on random larger rows. Laws alone would also hold of
//! a wrong order (the identity, say), so the `def_*` tests first compare the library
//! with [`naive`], a transcription of the definitions that shares no code with it.

mod domain;
mod naive;
mod relation;

use broadloom_core::order::{AnyRow, Basis, Bounded, Dim, Rigid, Row};
use domain::*;
use proptest::prelude::*;
use relation::{Bits, Relation};

// ------------------------------------------------- definitions, read twice

/// Checks that two relations hold between the same indices.
fn assert_agree<A, B>(library: (&[A], impl Fn(&A, &A) -> bool), definition: (&[B], impl Fn(&B, &B) -> bool)) {
    let expected = Relation::on(definition.0, definition.1);
    assert_eq!(Relation::on(library.0, library.1), expected);
}

#[test]
fn def_1_2_dim_order() {
    for dims in dim_domains() {
        let definition = |a: &Dim, b: &Dim| naive::dim_refines(*a, *b);
        assert_agree((&dims, |a, b| a.refines(*b)), (&dims, definition));
    }
}

#[test]
fn def_2_1_row_accessors() {
    for flanks in flanks(&dim_domains()[0], 3) {
        let row = row(&flanks);
        assert_eq!((row.lead(), row.trail()), (&*flanks.0, &*flanks.1));
        assert_eq!(row.marker(), flanks.0.len());
        assert_eq!(row.rank(), flanks.0.len() + flanks.1.len());
        assert_eq!(row.axes(), naive::flat(&flanks));
        assert!(row.flat().eq(naive::flat(&flanks)));
        let again = Row::marked_at(row.flat(), row.marker());
        assert_eq!(again.as_ref(), Some(&row));
        assert_eq!(Row::marked_at(row.flat(), row.rank() + 1), None);
        assert_eq!(row == Row::trailing(row.flat()), row.marker() == 0);
        assert_eq!(row.rigid(), Rigid::new(row.flat()));
    }
}

#[test]
fn def_2_2_expansion() {
    for flanks in flanks(&dim_domains()[0], 3) {
        let (row, rigid) = (row(&flanks), row(&flanks).rigid());
        for n in 0..6 {
            let expected = naive::expand(&flanks, n);
            assert_eq!(row.expand(n), expected);
            assert_eq!(rigid.expand(n), (n == row.rank()).then_some(row.axes()));
        }
    }
}

#[test]
fn def_2_3_and_remark_2_15_row_relations() {
    for dims in dim_domains() {
        let flanks = flanks(&dims, 3);
        let rows: Vec<Row> = flanks.iter().map(row).collect();
        let one_shot = |a: &_, b: &_| naive::rigid_refines(&naive::flat(a), b);
        let flat_eq = |a: &_, b: &_| naive::flat(a) == naive::flat(b);
        assert_agree((&rows, Row::refines), (&flanks, naive::refines));
        assert_agree((&rows, Row::refines_once), (&flanks, one_shot));
        assert_agree((&rows, |a, b| a.rigid().refines_row(b)), (&flanks, one_shot));
        assert_agree((&rows, Row::flat_eq), (&flanks, flat_eq));
    }
}

#[test]
fn def_2_12_two_sorted_order() {
    let unpack = |row: &AnyRow| match row {
        AnyRow::Marked(row) => (true, (row.lead().to_vec(), row.trail().to_vec())),
        AnyRow::Rigid(rigid) => (false, (vec![], rigid.axes().to_vec())),
    };
    for dims in dim_domains() {
        let rows = any_rows(&dims, 3);
        let unpacked: Vec<_> = rows.iter().map(unpack).collect();
        let clauses = |(a_marked, a): &_, (b_marked, b): &_| match (a_marked, b_marked) {
            (true, true) => naive::refines(a, b),
            (false, false) => naive::pointwise(&a.1, &b.1),
            (false, true) => naive::rigid_refines(&a.1, b),
            (true, false) => false,
        };
        assert_agree((&rows, AnyRow::refines), (&unpacked, clauses));
    }
}

// ------------------------------------------------------------- dimensions

fn bounded(dims: &[Dim]) -> Vec<Bounded> {
    let dims = dims.iter().map(|&dim| Bounded::Dim(dim));
    std::iter::once(Bounded::Bottom).chain(dims).collect()
}

#[test]
fn prop_1_3_lattice() {
    for dims in dim_domains() {
        let all = bounded(&dims);
        let index = indices(&all);
        let order = Relation::on(&all, |a, b| a.refines(*b));
        let dual = Relation::on(&all, |a, b| b.refines(*a));
        assert!(order.is_partial_order());
        for (i, a) in all.iter().enumerate() {
            assert!(a.refines(Bounded::TOP) && Bounded::Bottom.refines(*a));
            for (j, b) in all.iter().enumerate() {
                assert_eq!(order.least_upper_bound(i, j), Some(index[&a.join(*b)]));
                assert_eq!(dual.least_upper_bound(i, j), Some(index[&a.meet(*b)]));
                if let (Some(one), Some(two)) = (a.dim(), b.dim()) {
                    assert_eq!(Bounded::Dim(one.join(two)), a.join(*b));
                    assert_eq!(one.meet(two), a.meet(*b).dim());
                }
                // Height two: a chain of three distinct elements has both ends in it.
                for c in &all {
                    let chain = a.refines(*b) && b.refines(*c);
                    if chain && a != b && b != c {
                        assert_eq!((*a, *c), (Bounded::Bottom, Bounded::TOP));
                    }
                }
            }
        }
    }
}

#[test]
fn prop_1_4_not_distributive() {
    for dims in dim_domains() {
        let all = bounded(&dims);
        let mut failures = 0;
        for &a in &all {
            for &b in &all {
                for &c in &all {
                    // Modular: the law holds wherever c lies below a.
                    if c.refines(a) {
                        assert_eq!(a.meet(b.join(c)), a.meet(b).join(c));
                    }
                    let ends = [Bounded::Bottom, Bounded::TOP];
                    let atoms = [a, b, c].iter().all(|x| !ends.contains(x));
                    let triple = atoms && a != b && b != c && a != c;
                    let distributes = a.meet(b.join(c)) == a.meet(b).join(a.meet(c));
                    assert_eq!(distributes, !triple, "{a:?} {b:?} {c:?}");
                    failures += usize::from(!distributes);
                }
            }
        }
        // Distributivity fails exactly on three distinct atoms, here in six orders.
        assert_eq!(failures, 6);
    }
}

// ------------------------------------------------------- the marked order

/// Returns true if `result↑n ⊑ operand↑n` axis by axis.
fn expansions_refine(result: &Row, operand: &Row, n: usize) -> bool {
    let expansions = result.expand(n).zip(operand.expand(n));
    expansions.is_some_and(|(res, opnd)| naive::pointwise(&res, &opnd))
}

#[test]
fn lemma_2_4_expansion_monotone() {
    for rows in row_domains() {
        for (i, j) in Relation::on(&rows, Row::refines).pairs() {
            for n in rows[i].rank()..=rows[i].rank() + 3 {
                assert!(expansions_refine(&rows[i], &rows[j], n));
            }
        }
    }
}

#[test]
fn prop_2_5_partial_order() {
    for rows in row_domains() {
        assert!(Relation::on(&rows, Row::refines).is_partial_order());
    }
}

#[test]
fn prop_2_6_empty_row_is_top() {
    for rows in row_domains() {
        assert!(rows.contains(&Row::empty()));
        for top in &rows {
            let above_all = rows.iter().all(|row| row.refines(top));
            assert_eq!(above_all, *top == Row::empty());
        }
    }
}

#[test]
fn prop_2_7_join_is_least_upper_bound() {
    for rows in row_domains() {
        let index = indices(&rows);
        let order = Relation::on(&rows, Row::refines);
        for (i, one) in rows.iter().enumerate() {
            for (j, two) in rows.iter().enumerate() {
                // Upper bounds have no larger rank, so the domain holds all of them.
                let join = index[&one.join(two)];
                assert_eq!(order.sets[join], order.sets[i].and(&order.sets[j]));
            }
        }
    }
}

/// Not in the Formal Core: the dual of Prop. 2.7. Lower bounds of two rows of rank 2
/// have any rank; the search covers those up to one above that of the largest meet.
#[test]
fn dual_of_prop_2_7_meet_is_greatest_lower_bound_where_one_exists() {
    let dims = [UNIT, Dim::sized(2), Dim::atom(2, Basis(1))];
    let (rows, below) = (rows(&dims, 2), rows(&dims, 5));
    let index = indices(&below);
    let marked = Relation::between(&rows, &below, |a, b| b.refines(a));
    let one_shot = Relation::between(&rows, &below, |a, b| b.refines_once(a));
    let mut met = 0;
    for (i, one) in rows.iter().enumerate() {
        for (j, two) in rows.iter().enumerate() {
            let bounds = marked.sets[i].and(&marked.sets[j]);
            let meet = one.meet(two);
            if let Some(meet) = &meet {
                let lower_set = Bits::of(below.len(), |k| below[k].refines(meet));
                assert!(index.contains_key(meet) && lower_set == bounds);
                met += 1;
            }
            // Without a meet there is no lower bound at all, of either kind.
            assert_eq!(meet.is_none(), bounds.is_empty());
            let results = one_shot.sets[i].and(&one_shot.sets[j]);
            assert_eq!(meet.is_none(), results.is_empty());
        }
    }
    assert!(met > rows.len() && met < rows.len() * rows.len());
}

// ------------------------------------------------------- flat equivalence

#[test]
fn prop_2_10_i_mutual_order_is_identity() {
    for rows in row_domains() {
        let order = Relation::on(&rows, Row::refines);
        let flat = Relation::on(&rows, Row::flat_eq);
        assert!(order.is_antisymmetric());
        // ≈ is an equivalence, and coarser than the identity.
        assert!(flat.is_reflexive() && flat.is_transitive());
        assert!(flat.pairs().all(|(i, j)| flat.has(j, i)));
        assert!(flat.pairs().any(|(i, j)| i != j));
    }
}

#[test]
fn prop_2_10_ii_distinct_flat_equal_rows_are_incomparable() {
    for rows in row_domains() {
        let order = Relation::on(&rows, Row::refines);
        for (i, j) in Relation::on(&rows, Row::flat_eq).pairs() {
            assert!(i == j || !order.has(i, j));
        }
    }
}

#[test]
fn prop_2_10_iii_no_equivalence_is_a_congruence() {
    let [two, three, four] = [2, 3, 4].map(Dim::sized);
    let result = Row::new([three], [two, four]);
    let (operand, flat_equal) = (Row::new([three], [four]), Row::new([three, four], []));
    assert!(operand.flat_eq(&flat_equal));
    assert!(result.refines(&operand) && !result.refines(&flat_equal));

    // Rows with equal down-sets, or equal up-sets, are equal.
    for rows in row_domains() {
        let up = Relation::on(&rows, Row::refines).sets;
        let down = Relation::on(&rows, |a, b| b.refines(a)).sets;
        for i in 0..rows.len() {
            for j in 0..i {
                assert!(up[i] != up[j] && down[i] != down[j]);
            }
        }
    }
}

/// `≈` is equality of expansions at the rows' own rank. Distinct flat-equal rows
/// always differ in flank-fit, in both directions. They differ at higher ranks
/// exactly if an atom lies between their markers: `[1∅]·◇·[]` and `[]·◇·[1∅]` have
/// the same expansions at every rank. (The Formal Core's aside after Prop. 2.10 says
/// that flat-equal rows with different markers expand differently, without this
/// proviso.)
#[test]
fn prop_2_10_iv_flat_equality_is_the_kernel_of_own_rank_expansion() {
    for dims in dim_domains() {
        let flanks = flanks(&dims, 3);
        for one in &flanks {
            for two in &flanks {
                let (a, b) = (row(one), row(two));
                let own_rank = a.expand(a.rank()) == b.expand(b.rank());
                assert_eq!(a.flat_eq(&b), own_rank);
                if a.flat_eq(&b) && a != b {
                    assert!(!naive::flanks_fit(one, two) && !naive::flanks_fit(two, one));
                    let (from, to) = (a.marker().min(b.marker()), a.marker().max(b.marker()));
                    let atom_between = a.axes()[from..to].iter().any(|&dim| dim != UNIT);
                    for n in a.rank() + 1..=a.rank() + 3 {
                        assert_eq!(a.expand(n) != b.expand(n), atom_between);
                    }
                }
            }
        }
    }
}

// ------------------------------------------------------------ rigid rows

#[test]
fn prop_2_13_two_sorted_partial_order() {
    for dims in dim_domains() {
        let rows = any_rows(&dims, 3);
        let index = indices(&rows);
        let order = Relation::on(&rows, AnyRow::refines);
        assert!(order.is_partial_order());

        let empty = AnyRow::from(Row::empty());
        for (top, row) in rows.iter().enumerate() {
            let above_all = (0..rows.len()).all(|i| order.has(i, top));
            assert_eq!(above_all, *row == empty);
        }
        // Content equality is identity on the rigid sort, and nothing lies strictly
        // between a marked row and its flattening.
        for (i, one) in rows.iter().enumerate() {
            let AnyRow::Marked(marked) = one else {
                continue;
            };
            let flat = index[&AnyRow::from(marked.rigid())];
            assert!(order.has(flat, i) && !order.has(i, flat));
            let between = order.sets[flat].iter().filter(|&k| order.has(k, i));
            assert_eq!(between.count(), 2);
            for two in rows.iter().filter(|two| one.flat_eq(two)) {
                assert_eq!((two.rank(), two.axes()), (one.rank(), one.axes()));
                assert!(matches!(two, AnyRow::Marked(_)) || *two == rows[flat]);
            }
        }
    }
}

#[test]
fn prop_2_13_clause_d_is_forced() {
    // Def. 2.12 with (d) weakened to equal rank and pointwise refinement.
    let weakened = |result: &AnyRow, operand: &AnyRow| match (result, operand) {
        (AnyRow::Marked(_), AnyRow::Rigid(_)) => naive::pointwise(result.axes(), operand.axes()),
        _ => result.refines(operand),
    };
    let (three, five) = (Dim::sized(3), Dim::sized(5));
    let low = AnyRow::from(Row::new([five], [three]));
    let middle = AnyRow::from(Row::trailing([three]));
    let high = AnyRow::from(Rigid::new([three]));
    assert!(weakened(&low, &middle) && weakened(&middle, &high) && !weakened(&low, &high));

    // No row escapes: every weakened step has a marked row below it that breaks.
    let rows = any_rows(&[UNIT, three, five], 3);
    let relation = Relation::on(&rows, weakened);
    assert!(!relation.is_transitive());
    for (i, j) in relation.pairs() {
        let steps = (&rows[i], &rows[j]);
        if matches!(steps, (AnyRow::Marked(_), AnyRow::Rigid(_))) && rows[i].rank() < 3 {
            let breaks = |k| relation.has(k, i) && !relation.has(k, j);
            assert!((0..rows.len()).any(breaks));
        }
    }
}

/// Remark 2.14 leaves joins of mixed sorts open. Exhaustive search shows when two rows of the
/// two-sorted order have a least upper bound: always in the marked sort; a rigid and another row
/// only if there is only one place to cut.
#[test]
fn remark_2_14_joins_of_mixed_sorts() {
    for dims in dim_domains() {
        let rows = any_rows(&dims, 3);
        let order = Relation::on(&rows, AnyRow::refines);
        for (i, one) in rows.iter().enumerate() {
            for (j, two) in rows.iter().enumerate() {
                let exists = match (one, two) {
                    (AnyRow::Marked(_), AnyRow::Marked(_)) => true,
                    (AnyRow::Rigid(a), AnyRow::Rigid(b)) => {
                        a.rank() == b.rank() || a.rank().min(b.rank()) == 0
                    }
                    (AnyRow::Marked(row), AnyRow::Rigid(rigid))
                    | (AnyRow::Rigid(rigid), AnyRow::Marked(row)) => {
                        let one_flank = row.lead().is_empty() || row.trail().is_empty();
                        row.rank() <= rigid.rank() || one_flank || rigid.rank() == 0
                    }
                };
                assert_eq!(order.least_upper_bound(i, j).is_some(), exists);
            }
        }
    }
}

// -------------------------------------------------- the one-shot relation

#[test]
fn remark_2_15_marked_order_implies_one_shot() {
    for rows in row_domains() {
        let marked = Relation::on(&rows, Row::refines);
        let once = Relation::on(&rows, Row::refines_once);
        assert!(marked.pairs().all(|(i, j)| once.has(i, j)));
        assert!(once.pairs().any(|(i, j)| !marked.has(i, j)));
    }
}

#[test]
fn remark_2_15_one_shot_admits_what_flank_fit_excludes() {
    let [three, four, five] = [3, 4, 5].map(Dim::sized);
    let literal = Row::trailing([three, five, four]);
    let values = rows(&[UNIT, three, four, five], 1);
    let solutions = |relation: fn(&Row, &Row) -> bool| {
        let solves = |rho: &&Row| {
            let lead = [&[three], rho.lead()].concat();
            let template = Row::new(lead, [rho.trail(), &[four]].concat());
            relation(&template, &literal)
        };
        values.iter().filter(solves).count()
    };
    assert_eq!(solutions(Row::refines), 0);
    // The two solutions are [5] with either marker.
    assert_eq!(solutions(Row::refines_once), 2);
}

#[test]
fn remark_2_15_mutual_one_shot_is_flat_equality() {
    for rows in row_domains() {
        let once = Relation::on(&rows, Row::refines_once);
        let mutual = Relation::on(&rows, |a, b| a.refines_once(b) && b.refines_once(a));
        assert!(once.is_reflexive());
        assert_eq!(mutual, Relation::on(&rows, Row::flat_eq));
    }
}

/// The one-shot relation is reflexive but not transitive. The smallest broken chains
/// have ranks 2, 1, 1, such as `[3, 5]`, `[3]·◇·[]`, `[]·◇·[3]`.
#[test]
fn remark_2_15_one_shot_is_not_transitive() {
    for rows in row_domains() {
        let once = Relation::on(&rows, Row::refines_once);
        assert!(!once.is_transitive());
        let mut smallest = [usize::MAX; 3];
        for (i, j) in once.pairs() {
            for k in once.sets[j].iter().filter(|&k| !once.has(i, k)) {
                let ranks = [i, j, k].map(|at| rows[at].rank());
                smallest = smallest.min(ranks);
                assert!(ranks[0] > ranks[1], "a step of equal rank composes");
            }
        }
        assert_eq!(smallest, [2, 1, 1]);
    }
}

/// The second steps that compose with every first step are exactly those along which expansion is
/// monotone, in particular those of the marked order (Lemma 2.4).
#[test]
fn remark_2_15_one_shot_composes_where_expansion_is_monotone() {
    for rows in row_domains() {
        let once = Relation::on(&rows, Row::refines_once);
        let results = Relation::on(&rows, |a, b| b.refines_once(a)).sets;
        for (j, k) in once.pairs() {
            let mut ranks = rows[j].rank()..=3;
            let monotone = ranks.all(|n| expansions_refine(&rows[j], &rows[k], n));
            assert_eq!(results[j].within(&results[k]), monotone);
            assert!(monotone || !rows[j].refines(&rows[k]));
        }
    }
}

/// The join of Prop. 2.7 is an upper bound for the one-shot relation as well, but a
/// row below it may be one too: the markers of the two rows cut it short.
#[test]
fn remark_2_15_marked_join_is_not_least_for_one_shot() {
    let three = Dim::sized(3);
    let (one, two) = (Row::new([three], []), Row::new([], [three]));
    assert_eq!(one.join(&two), Row::empty());
    assert!(one.refines_once(&two) && two.refines_once(&one));

    for rows in row_domains() {
        for one in &rows {
            for two in &rows {
                let join = one.join(two);
                assert!(one.refines_once(&join) && two.refines_once(&join));
            }
        }
    }
}

// ------------------------------------------------------ larger random rows

fn any_dim() -> impl Strategy<Value = Dim> {
    let atom = (1..6_u64, 0..3_u32).prop_map(|(size, basis)| Dim::atom(size, Basis(basis)));
    prop_oneof![1 => Just(UNIT), 2 => atom]
}

fn any_flanks() -> impl Strategy<Value = naive::Flanks> {
    let axes = prop::collection::vec(any_dim(), 0..=6);
    (axes, any::<prop::sample::Index>()).prop_map(|(axes, at)| {
        let marker = at.index(axes.len() + 1);
        (axes[..marker].to_vec(), axes[marker..].to_vec())
    })
}

/// A row and one above it: inner axes dropped, other axes relaxed to the unit.
fn above(below: naive::Flanks) -> impl Strategy<Value = (naive::Flanks, naive::Flanks)> {
    let cuts = (0..=below.0.len(), 0..=below.1.len());
    let relax = prop::collection::vec(prop::bool::weighted(0.3), 6);
    (Just(below), cuts, relax).prop_map(|(below, (lead, trail), relax)| {
        let keep = |(&dim, &unit): (&Dim, &bool)| if unit { UNIT } else { dim };
        let leads = below.0[..lead].iter().zip(&relax).map(keep);
        let from = below.1.len() - trail;
        let trails = below.1[from..].iter().zip(relax.iter().rev()).map(keep);
        let above = (leads.collect(), trails.collect());
        (below, above)
    })
}

fn related() -> impl Strategy<Value = (naive::Flanks, naive::Flanks)> {
    any_flanks().prop_flat_map(above)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Def. 2.3, Remark 2.15 and Prop. 2.10(ii) on unrelated and on related pairs.
    #[test]
    fn random_rows_follow_the_definitions(
        one in any_flanks(), two in any_flanks(), (low, high) in related(), at in 0..7_usize,
    ) {
        let moved = Row::marked_at(row(&low).flat(), at).unwrap_or_default();
        let moved = (moved.lead().to_vec(), moved.trail().to_vec());
        let unrelated = [(&one, &two), (&low, &one), (&high, &low)];
        let related = [(&low, &high), (&moved, &low), (&moved, &high)];
        for (a, b) in unrelated.into_iter().chain(related) {
            let (res, opnd) = (row(a), row(b));
            let once = naive::rigid_refines(&naive::flat(a), b);
            prop_assert_eq!(res.refines(&opnd), naive::refines(a, b));
            prop_assert_eq!(res.refines_once(&opnd), once);
            prop_assert!(once || !res.refines(&opnd));
            prop_assert_eq!(res.flat_eq(&opnd), once && opnd.refines_once(&res));
            prop_assert!(res == opnd || !res.flat_eq(&opnd) || !res.refines(&opnd));
            let rigid = naive::pointwise(&naive::flat(a), &naive::flat(b));
            prop_assert_eq!(res.rigid().refines(&opnd.rigid()), rigid);
            prop_assert!(res.refines(&Row::empty()));
        }
        prop_assert!(row(&low).refines(&row(&high)));
    }

    /// Lemma 2.4, Prop. 2.5 and the mixed chains of Prop. 2.13.
    #[test]
    fn random_chains_compose(
        (low, middle, high) in related()
            .prop_flat_map(|(low, middle)| (Just(low), above(middle)))
            .prop_map(|(low, (middle, high))| (row(&low), row(&middle), row(&high))),
        extra in 0..4_usize,
    ) {
        prop_assert!(low.refines(&middle) && middle.refines(&high));
        prop_assert!(low.refines(&high));
        prop_assert!(low == high || !high.refines(&low));
        prop_assert!(expansions_refine(&low, &high, low.rank() + extra));
        let (rigid, middle) = (AnyRow::from(low.rigid()), AnyRow::from(middle));
        let (low, high) = (AnyRow::from(low), AnyRow::from(high));
        prop_assert!(rigid.refines(&low) && rigid.refines(&middle) && rigid.refines(&high));
        prop_assert!(!low.refines(&rigid) && !high.refines(&rigid));
    }

    /// Prop. 2.7 and its dual, on two rows that mostly have `high` above both.
    #[test]
    fn random_rows_have_joins_and_bounded_meets((low, high) in related(), other in any_flanks()) {
        let [low, high, other] = [&low, &high, &other].map(row);
        let other = high.meet(&other).unwrap_or(other);

        let join = low.join(&other);
        prop_assert_eq!(&join, &other.join(&low));
        prop_assert!(low.refines(&join) && other.refines(&join));
        prop_assert_eq!(join.refines(&high), other.refines(&high));
        prop_assert_eq!(join == other, low.refines(&other));
        prop_assert_eq!(&low.join(&high), &high);

        let meet = low.meet(&other);
        prop_assert_eq!(&meet, &other.meet(&low));
        prop_assert_eq!(meet.as_ref() == Some(&low), low.refines(&other));
        if let Some(meet) = meet {
            prop_assert!(meet.refines(&low) && meet.refines(&other));
            prop_assert_eq!(meet.join(&low), low.clone());
        }
        // Two rows above the same one have a meet, which is above it too.
        let met = high.meet(&join);
        prop_assert!(met.is_some_and(|met| low.refines(&met)));
        prop_assert_eq!(low.meet(&join), Some(low));
    }
}
