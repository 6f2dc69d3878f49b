module

/-!
# The ground algebra of broadcasting

Dimensions, rows and their orders, after *The Formal Core of OCANNL's Shape and Projection Inference*
("Formal Core"), sections 1 to 4. Every theorem that states a proposition of that document names it.

Every comparison reads `res.Refines opnd`, written `res ⊑ opnd` in the document: the operand may broadcast
into the result. Larger means fewer claims, so the unit and the empty row are at the top.

| here | there |
|---|---|
| `Dim`, `Dim.Refines` | Defs. 1.1 and 1.2 |
| `Bounded` | the lattice `D⊥` of Prop. 1.3 |
| `Row`, `Row.expand`, `Row.Refines` | Defs. 2.1, 2.2 and 2.3 |
| `Row.RefinesOnce`, `Row.FlatEq` | Remark 2.15(ii), Def. 2.9 |
| `DimTerm`, `DimConstraint`, `Step` | Defs. 3.1, 3.4 and 4.2 |
-/

@[expose] public noncomputable section

namespace Broadloom

/-! ## Dimensions -/

/-- A dimension (Def. 1.1): the claim-free unit, or an atom, which is a size in a basis.

Basis 0 is the default one. The document has sizes of at least 1; the order only compares sizes for equality,
so nothing here depends on that, and the empty parts of a concatenation may have size 0. -/
inductive Dim where
  | unit
  | atom (size basis : Nat)
  deriving DecidableEq

namespace Dim

/-- The atom of a size in the default basis. -/
abbrev sized (size : Nat) : Dim := .atom size 0

/-- The broadcast order (Def. 1.2): the operand is the unit, or the two are the same. -/
def Refines (res opnd : Dim) : Prop := opnd = .unit ∨ res = opnd

instance (res opnd : Dim) : Decidable (res.Refines opnd) := inferInstanceAs (Decidable (_ ∨ _))

theorem Refines.refl (d : Dim) : d.Refines d := .inr rfl

theorem Refines.antisymm {a b : Dim} (hab : a.Refines b) (hba : b.Refines a) : a = b := by
  grind [Refines]

theorem Refines.trans {a b c : Dim} (hab : a.Refines b) (hbc : b.Refines c) : a.Refines c := by
  grind [Refines]

/-- The least upper bound: what two dimensions both claim. -/
def join (a b : Dim) : Dim := if a = b then a else .unit

/-- `join` is the least upper bound. -/
theorem join_refines_iff {a b c : Dim} : (a.join b).Refines c ↔ a.Refines c ∧ b.Refines c := by
  grind [join, Refines]

end Dim

/-- A dimension or the bottom `⊥`, which stands for contradictory claims (Def. 1.1: the set `D⊥`). -/
inductive Bounded where
  | bottom
  | dim (d : Dim)
  deriving DecidableEq

namespace Bounded

/-- The greatest element. -/
abbrev top : Bounded := .dim .unit

/-- The broadcast order with the bottom below everything (Def. 1.2). -/
def Refines : Bounded → Bounded → Prop
  | .bottom, _ => True
  | .dim _, .bottom => False
  | .dim res, .dim opnd => res.Refines opnd

/-- The meet that Prop. 1.3 displays. -/
def meet : Bounded → Bounded → Bounded
  | .dim .unit, b => b
  | a, .dim .unit => a
  | a, b => if a = b then a else .bottom

/-- The join that Prop. 1.3 displays. -/
def join : Bounded → Bounded → Bounded
  | .bottom, b => b
  | a, .bottom => a
  | a, b => if a = b then a else top

/-- **Prop. 1.3**: `⊑` is reflexive. -/
theorem Refines.refl (a : Bounded) : a.Refines a := by
  cases a <;> simp [Refines, Dim.Refines.refl]

/-- **Prop. 1.3**: `⊑` is antisymmetric. -/
theorem Refines.antisymm {a b : Bounded} (hab : a.Refines b) (hba : b.Refines a) : a = b := by
  cases a <;> cases b <;> grind [Refines, Dim.Refines]

/-- **Prop. 1.3**: `⊑` is transitive. -/
theorem Refines.trans {a b c : Bounded} (hab : a.Refines b) (hbc : b.Refines c) : a.Refines c := by
  cases a <;> cases b <;> cases c <;> grind [Refines, Dim.Refines]

/-- **Prop. 1.3**: the unit is the top and `⊥` the bottom. -/
theorem bounded (a : Bounded) : bottom.Refines a ∧ a.Refines top := by
  cases a <;> simp [Refines, Dim.Refines]

/-- **Prop. 1.3**: `meet` is the greatest lower bound. -/
theorem refines_meet_iff {a b c : Bounded} : c.Refines (a.meet b) ↔ c.Refines a ∧ c.Refines b := by
  rcases a with _ | _ | _ <;> rcases b with _ | _ | _ <;> cases c <;> grind [meet, Refines, Dim.Refines]

/-- **Prop. 1.3**: `join` is the least upper bound. -/
theorem join_refines_iff {a b c : Bounded} : (a.join b).Refines c ↔ a.Refines c ∧ b.Refines c := by
  rcases a with _ | _ | _ <;> rcases b with _ | _ | _ <;> cases c <;> grind [join, Refines, Dim.Refines]

/-- **Prop. 1.3**: an atom covers `⊥`, and nothing else is below it. In particular atoms form an antichain. -/
theorem refines_atom_iff {a : Bounded} {size basis : Nat} :
    a.Refines (.dim (.atom size basis)) ↔ a = .bottom ∨ a = .dim (.atom size basis) := by
  cases a <;> simp [Refines, Dim.Refines]

/-- **Prop. 1.3**: the unit covers an atom, and nothing else is above it. -/
theorem atom_refines_iff {a : Bounded} {size basis : Nat} :
    (Bounded.dim (.atom size basis)).Refines a ↔ a = .dim (.atom size basis) ∨ a = top := by
  cases a <;> grind [Refines, Dim.Refines]

/-- **Prop. 1.3**: the lattice has height 2; a chain of three distinct elements leads from `⊥` to the unit. -/
theorem height {a b c : Bounded} (hab : a.Refines b) (hbc : b.Refines c) (ab : a ≠ b) (bc : b ≠ c) :
    a = .bottom ∧ c = top := by
  cases a <;> cases b <;> cases c <;> grind [Refines, Dim.Refines]

end Bounded

/-! ## Rows -/

/-- A row `l·◇·r` (Def. 2.1): a leading flank, the marker, a trailing flank. Equality sees the marker. -/
structure Row where
  lead : List Dim
  trail : List Dim
  deriving DecidableEq

/-- Refinement axis by axis of sequences of equal length: clause (ii) of Def. 2.3. -/
def PointwiseRefines : List Dim → List Dim → Prop
  | [], [] => True
  | res :: ress, opnd :: opnds => res.Refines opnd ∧ PointwiseRefines ress opnds
  | _, _ => False

/-- Refinement of flanks that are aligned at their first axis: the result's flank is at least as long as the
operand's and refines it up to its end. -/
def FlankRefines : List Dim → List Dim → Prop
  | _, [] => True
  | [], _ :: _ => False
  | res :: ress, opnd :: opnds => res.Refines opnd ∧ FlankRefines ress opnds

namespace Row

/-- The number of axes (Def. 2.1). -/
def rank (R : Row) : Nat := R.lead.length + R.trail.length

/-- The flat sequence `l·r` (Def. 2.9). -/
def flat (R : Row) : List Dim := R.lead ++ R.trail

/-- The expansion `R↑n` (Def. 2.2): units are inserted at the marker. It is meant for `R.rank ≤ n`. -/
def expand (R : Row) (n : Nat) : List Dim := R.lead ++ List.replicate (n - R.rank) .unit ++ R.trail

/-- The marked order (Def. 2.3): the operand's flanks fit inside those of the result, and the result refines
the operand's expansion axis by axis. -/
def Refines (res opnd : Row) : Prop :=
  (opnd.lead.length ≤ res.lead.length ∧ opnd.trail.length ≤ res.trail.length) ∧
    PointwiseRefines res.flat (opnd.expand res.rank)

/-- The one-shot order `⊑¹` (Remark 2.15(ii)): the result has at least the operand's rank and refines its
expansion axis by axis. The result's marker is not consulted. -/
def RefinesOnce (res opnd : Row) : Prop :=
  opnd.rank ≤ res.rank ∧ PointwiseRefines res.flat (opnd.expand res.rank)

/-- Flat equivalence `≈` (Def. 2.9): same axes, markers ignored. -/
def FlatEq (R S : Row) : Prop := R.flat = S.flat

/-- The row without axes. -/
def empty : Row := ⟨[], []⟩

/-- The join of Prop. 2.7: each flank is as long as the shorter of the two and is joined axis by axis from
its outer edge. -/
def join (R S : Row) : Row where
  lead := List.zipWith Dim.join R.lead S.lead
  trail := (List.zipWith Dim.join R.trail.reverse S.trail.reverse).reverse

end Row

/-! ### Sequences of axes -/

namespace PointwiseRefines

instance : (ress opnds : List Dim) → Decidable (PointwiseRefines ress opnds)
  | [], [] => inferInstanceAs (Decidable True)
  | res :: ress, opnd :: opnds =>
    have := instDecidable ress opnds
    inferInstanceAs (Decidable (res.Refines opnd ∧ PointwiseRefines ress opnds))
  | [], _ :: _ => inferInstanceAs (Decidable False)
  | _ :: _, [] => inferInstanceAs (Decidable False)

theorem refl : (xs : List Dim) → PointwiseRefines xs xs
  | [] => trivial
  | d :: xs => ⟨.refl d, refl xs⟩

theorem antisymm : {xs ys : List Dim} → PointwiseRefines xs ys → PointwiseRefines ys xs → xs = ys
  | [], [], _, _ => rfl
  | _ :: _, _ :: _, ⟨hxy, hxys⟩, ⟨hyx, hyxs⟩ => by rw [hxy.antisymm hyx, antisymm hxys hyxs]

theorem append_iff : {xs xs' ys ys' : List Dim} → xs.length = ys.length →
    (PointwiseRefines (xs ++ xs') (ys ++ ys') ↔ PointwiseRefines xs ys ∧ PointwiseRefines xs' ys')
  | [], _, [], _, _ => by simp [PointwiseRefines]
  | _ :: xs, _, _ :: ys, _, h => by
    simp only [List.length_cons, Nat.add_right_cancel_iff] at h
    simp [PointwiseRefines, append_iff h, and_assoc]

theorem reverse_iff : {xs ys : List Dim} → xs.length = ys.length →
    (PointwiseRefines xs.reverse ys.reverse ↔ PointwiseRefines xs ys)
  | [], [], _ => by simp
  | _ :: xs, _ :: ys, h => by
    simp only [List.length_cons, Nat.add_right_cancel_iff] at h
    simp [append_iff, h, reverse_iff h, PointwiseRefines, and_comm]

/-- Everything refines the units that an expansion inserts. -/
theorem units : (xs : List Dim) → PointwiseRefines xs (List.replicate xs.length .unit)
  | [] => trivial
  | _ :: xs => ⟨.inl rfl, units xs⟩

end PointwiseRefines

namespace FlankRefines

theorem refl : (xs : List Dim) → FlankRefines xs xs
  | [] => trivial
  | d :: xs => ⟨.refl d, refl xs⟩

theorem antisymm : {xs ys : List Dim} → FlankRefines xs ys → FlankRefines ys xs → xs = ys
  | [], [], _, _ => rfl
  | _ :: _, _ :: _, ⟨hxy, hxys⟩, ⟨hyx, hyxs⟩ => by rw [hxy.antisymm hyx, antisymm hxys hyxs]

theorem trans : {xs ys zs : List Dim} → FlankRefines xs ys → FlankRefines ys zs → FlankRefines xs zs
  | _, _, [], _, _ => by simp [FlankRefines]
  | _, [], _ :: _, _, h => nomatch h
  | [], _ :: _, _ :: _, h, _ => nomatch h
  | _ :: _, _ :: _, _ :: _, ⟨hxy, hxys⟩, ⟨hyz, hyzs⟩ => ⟨hxy.trans hyz, trans hxys hyzs⟩

theorem length_le : {xs ys : List Dim} → FlankRefines xs ys → ys.length ≤ xs.length
  | _, [], _ => Nat.zero_le _
  | _ :: _, _ :: _, ⟨_, h⟩ => Nat.succ_le_succ (length_le h)

/-- What lies beyond the operand's flank is not compared. -/
theorem append_iff : {xs ys : List Dim} → (zs : List Dim) → ys.length ≤ xs.length →
    (FlankRefines (xs ++ zs) ys ↔ FlankRefines xs ys)
  | _, [], _, _ => by simp [FlankRefines]
  | _ :: _, _ :: _, zs, h => by simp [FlankRefines, append_iff zs (Nat.le_of_succ_le_succ h)]

theorem pointwise_iff : {xs ys : List Dim} → xs.length = ys.length →
    (FlankRefines xs ys ↔ PointwiseRefines xs ys)
  | [], [], _ => by simp [FlankRefines, PointwiseRefines]
  | _ :: _, _ :: _, h => by simp [FlankRefines, PointwiseRefines, pointwise_iff (Nat.succ.inj h)]

theorem join_iff : {xs ys zs : List Dim} →
    (FlankRefines (List.zipWith Dim.join xs ys) zs ↔ FlankRefines xs zs ∧ FlankRefines ys zs)
  | _, _, [] => by simp [FlankRefines]
  | [], _, _ :: _ => by simp [FlankRefines]
  | _ :: _, [], _ :: _ => by simp [FlankRefines]
  | x :: xs, y :: ys, z :: zs => by
    have := @join_iff xs ys zs
    have := @Dim.join_refines_iff x y z
    simp only [List.zipWith_cons_cons, FlankRefines, *]
    grind

end FlankRefines

/-- A sequence refines an expansion exactly if it refines the two flanks, one at each of its edges. -/
theorem pointwise_expand_iff {xs : List Dim} {R : Row} (h : R.rank ≤ xs.length) :
    PointwiseRefines xs (R.expand xs.length) ↔
      FlankRefines xs R.lead ∧ FlankRefines xs.reverse R.trail.reverse := by
  obtain ⟨l, r⟩ := R
  simp only [Row.rank] at h
  obtain ⟨a, m, b, rfl, ha, hb⟩ : ∃ a m b, xs = a ++ m ++ b ∧ a.length = l.length ∧ b.length = r.length :=
    ⟨xs.take l.length, (xs.drop l.length).take (xs.length - l.length - r.length),
      (xs.drop l.length).drop (xs.length - l.length - r.length),
      by rw [List.append_assoc, List.take_append_drop, List.take_append_drop], by simp; omega, by simp; omega⟩
  have inserted : (a ++ m ++ b).length - (l.length + r.length) = m.length := by grind
  have lead : FlankRefines (a ++ m ++ b) l ↔ PointwiseRefines a l := by
    rw [List.append_assoc, FlankRefines.append_iff _ (by omega), FlankRefines.pointwise_iff ha]
  have trail : FlankRefines (a ++ m ++ b).reverse r.reverse ↔ PointwiseRefines b r := by
    rw [List.reverse_append, FlankRefines.append_iff _ (by simp; omega),
      FlankRefines.pointwise_iff (by simpa), PointwiseRefines.reverse_iff hb]
  rw [lead, trail, Row.expand, Row.rank, inserted, PointwiseRefines.append_iff (by simp [ha]),
    PointwiseRefines.append_iff ha]
  simp [PointwiseRefines.units]

/-! ### Propositions about rows -/

namespace Row

theorem length_flat (R : Row) : R.flat.length = R.rank := by simp [flat, rank]

/-- Def. 2.9: the expansion at a row's own rank is its flat sequence. -/
theorem expand_rank (R : Row) : R.expand R.rank = R.flat := by simp [expand, flat]

/-- The marked order is the product of two flank orders, one aligned at the front and one at the back. -/
theorem refines_iff {res opnd : Row} : res.Refines opnd ↔
    FlankRefines res.lead opnd.lead ∧ FlankRefines res.trail.reverse opnd.trail.reverse := by
  have fits : (opnd.lead.length ≤ res.lead.length ∧ opnd.trail.length ≤ res.trail.length) →
      (PointwiseRefines res.flat (opnd.expand res.rank) ↔
        FlankRefines res.lead opnd.lead ∧ FlankRefines res.trail.reverse opnd.trail.reverse) := by
    intro ⟨hl, hr⟩
    rw [← length_flat, pointwise_expand_iff (by simp [rank, flat]; omega), flat, List.reverse_append,
      FlankRefines.append_iff _ hl, FlankRefines.append_iff _ (by simpa)]
  constructor
  · intro ⟨h, refines⟩
    exact (fits h).mp refines
  · intro h
    have lengths := And.intro h.1.length_le h.2.length_le
    simp only [List.length_reverse] at lengths
    exact ⟨lengths, (fits lengths).mpr h⟩

/-- **Lemma 2.4** (expansion monotonicity). -/
theorem expand_mono {R S : Row} (h : R.Refines S) {n : Nat} (hn : R.rank ≤ n) :
    PointwiseRefines (R.expand n) (S.expand n) := by
  obtain ⟨lead, trail⟩ := refines_iff.mp h
  have fits := h.1
  have length : (R.expand n).length = n := by simp [expand, rank] at *; omega
  rw [show S.expand n = S.expand (R.expand n).length by rw [length],
    pointwise_expand_iff (by simp [rank] at *; omega), expand, List.reverse_append, List.append_assoc,
    FlankRefines.append_iff _ fits.1, FlankRefines.append_iff _ (by simpa using fits.2)]
  exact ⟨lead, trail⟩

/-- **Prop. 2.5**: `⊑` is reflexive. -/
theorem Refines.refl (R : Row) : R.Refines R := refines_iff.mpr ⟨.refl _, .refl _⟩

/-- **Prop. 2.5**: `⊑` is antisymmetric. -/
theorem Refines.antisymm {R S : Row} (hRS : R.Refines S) (hSR : S.Refines R) : R = S := by
  obtain ⟨lead, trail⟩ := refines_iff.mp hRS
  obtain ⟨lead', trail'⟩ := refines_iff.mp hSR
  cases R; cases S
  rw [Row.mk.injEq]
  exact ⟨lead.antisymm lead', List.reverse_inj.mp (trail.antisymm trail')⟩

/-- **Prop. 2.5**: `⊑` is transitive. -/
theorem Refines.trans {R S T : Row} (hRS : R.Refines S) (hST : S.Refines T) : R.Refines T := by
  obtain ⟨lead, trail⟩ := refines_iff.mp hRS
  obtain ⟨lead', trail'⟩ := refines_iff.mp hST
  exact refines_iff.mpr ⟨lead.trans lead', trail.trans trail'⟩

/-- **Prop. 2.6**: the empty row is the greatest element. -/
theorem refines_empty (R : Row) : R.Refines empty :=
  refines_iff.mpr ⟨by simp [empty, FlankRefines], by simp [empty, FlankRefines]⟩

/-- **Prop. 2.6**: nothing else is above all rows. -/
theorem eq_empty_of_greatest {T : Row} (h : ∀ R : Row, R.Refines T) : T = empty :=
  (refines_empty T).antisymm (h empty)

/-- **Prop. 2.7**: `join` is the least upper bound. -/
theorem join_refines_iff {R S T : Row} : (R.join S).Refines T ↔ R.Refines T ∧ S.Refines T := by
  simp only [refines_iff, join, List.reverse_reverse, FlankRefines.join_iff]
  grind

/-- **Prop. 2.7**: `join` is above both rows. -/
theorem refines_join (R S : Row) : R.Refines (R.join S) ∧ S.Refines (R.join S) :=
  join_refines_iff.mp (.refl _)

/-- **Prop. 2.7**: the flanks of the join are as long as the shorter of the two. -/
theorem length_join (R S : Row) : (R.join S).lead.length = min R.lead.length S.lead.length ∧
    (R.join S).trail.length = min R.trail.length S.trail.length := by
  simp [join]

/-- **Prop. 2.10(i)**: the equivalence that the order induces is identity. -/
theorem refines_both_iff_eq {R S : Row} : R.Refines S ∧ S.Refines R ↔ R = S :=
  ⟨fun h => h.1.antisymm h.2, fun h => h ▸ ⟨.refl R, .refl R⟩⟩

/-- **Prop. 2.10(ii)**: distinct `≈`-related rows are incomparable. -/
theorem incomparable_of_flatEq {R S : Row} (distinct : R ≠ S) (h : R.FlatEq S) :
    ¬R.Refines S ∧ ¬S.Refines R := by
  have equal_of_fit : R.lead.length = S.lead.length → R = S := fun length => by
    obtain ⟨lead, trail⟩ := List.append_inj h length
    cases R; cases S; simp_all
  have total := congrArg List.length h
  simp only [length_flat, rank] at total
  refine ⟨fun ⟨fits, _⟩ => distinct (equal_of_fit ?_), fun ⟨fits, _⟩ => distinct (equal_of_fit ?_)⟩ <;> omega

/-- **Prop. 2.10(iii)**: `≈` is not a congruence of the order. The witness of the document. -/
theorem flatEq_not_congruence :
    (Row.mk [.sized 3] [.sized 4]).FlatEq ⟨[.sized 3, .sized 4], []⟩ ∧
      (Row.mk [.sized 3] [.sized 2, .sized 4]).Refines ⟨[.sized 3], [.sized 4]⟩ ∧
      ¬(Row.mk [.sized 3] [.sized 2, .sized 4]).Refines ⟨[.sized 3, .sized 4], []⟩ := by
  simp [FlatEq, flat, Refines, expand, rank, PointwiseRefines, Dim.Refines]

/-- **Prop. 2.10(iii)**: no nontrivial equivalence is compatible with the order. An equivalence under which
related rows have the same rows below them relates each row to itself only. -/
theorem eq_of_congruence (related : Row → Row → Prop)
    (compatible : ∀ {R S}, related R S → ∀ X : Row, X.Refines R ↔ X.Refines S)
    {R S : Row} (h : related R S) : R = S :=
  ((compatible h R).mp (.refl R)).antisymm ((compatible h S).mpr (.refl S))

/-- **Remark 2.15(ii)**: the equivalence that the one-shot order induces is `≈`. This is what makes `≈` the
meaning of row equality. -/
theorem refinesOnce_both_iff_flatEq {R S : Row} : R.RefinesOnce S ∧ S.RefinesOnce R ↔ R.FlatEq S := by
  constructor
  · intro ⟨⟨leRS, hRS⟩, ⟨leSR, hSR⟩⟩
    have ranks : R.rank = S.rank := Nat.le_antisymm leSR leRS
    rw [ranks, expand_rank] at hRS
    rw [← ranks, expand_rank] at hSR
    exact hRS.antisymm hSR
  · intro h
    have ranks : R.rank = S.rank := by rw [← length_flat, ← length_flat, h]
    refine ⟨⟨Nat.le_of_eq ranks.symm, ?_⟩, ⟨Nat.le_of_eq ranks, ?_⟩⟩
    · rw [ranks, expand_rank, h]; exact .refl _
    · rw [← ranks, expand_rank, h]; exact .refl _

/-- **Remark 2.15(ii)**: the one-shot order admits matches that the marked order does not. An operand
`[3]·◇·[4]` fits the result `[]·◇·[3, 5, 4]`, although the result may still grow before its first axis. -/
theorem refinesOnce_not_refines :
    (Row.mk [] [.sized 3, .sized 5, .sized 4]).RefinesOnce ⟨[.sized 3], [.sized 4]⟩ ∧
      ¬(Row.mk [] [.sized 3, .sized 5, .sized 4]).Refines ⟨[.sized 3], [.sized 4]⟩ := by
  simp [RefinesOnce, flat, Refines, expand, rank, PointwiseRefines, Dim.Refines]

instance (res opnd : Row) : Decidable (res.RefinesOnce opnd) := inferInstanceAs (Decidable (_ ∧ _))

instance (R S : Row) : Decidable (R.FlatEq S) := inferInstanceAs (Decidable (R.flat = S.flat))

end Row

/-! ## Terms, constraints and the dimension rules -/

/-- A dimension term (Def. 3.1): a variable or a ground dimension. -/
inductive DimTerm where
  | var (index : Nat)
  | dim (d : Dim)

namespace DimTerm

/-- The ground dimension of a term under a ground substitution (Def. 3.2). -/
def eval (γ : Nat → Dim) : DimTerm → Dim
  | .var index => γ index
  | .dim d => d

/-- The term with `t` in the place of a variable. -/
def subst (s : DimTerm) (index : Nat) (t : DimTerm) : DimTerm :=
  match s with
  | .var other => if other = index then t else .var other
  | .dim d => .dim d

/-- Whether the term is the variable. -/
def mentions (index : Nat) : DimTerm → Bool
  | .var other => other == index
  | .dim _ => false

theorem eval_subst {γ : Nat → Dim} {index : Nat} {t : DimTerm} (h : γ index = t.eval γ) (s : DimTerm) :
    (s.subst index t).eval γ = s.eval γ := by
  cases s <;> grind [subst, eval]

end DimTerm

/-- An atomic constraint between dimension terms (Def. 3.4). -/
inductive DimConstraint where
  | eq (s t : DimTerm)
  | le (res opnd : DimTerm)

namespace DimConstraint

/-- Satisfaction by a ground substitution (Def. 3.4): identity, and the broadcast order. -/
def Holds (γ : Nat → Dim) : DimConstraint → Prop
  | .eq s t => s.eval γ = t.eval γ
  | .le res opnd => (res.eval γ).Refines (opnd.eval γ)

/-- The constraint with `t` in the place of a variable. -/
def subst (index : Nat) (t : DimTerm) : DimConstraint → DimConstraint
  | .eq s s' => .eq (s.subst index t) (s'.subst index t)
  | .le res opnd => .le (res.subst index t) (opnd.subst index t)

/-- Whether the variable occurs. -/
def mentions (index : Nat) : DimConstraint → Bool
  | .eq s t => s.mentions index || t.mentions index
  | .le res opnd => res.mentions index || opnd.mentions index

theorem holds_subst {γ : Nat → Dim} {index : Nat} {t : DimTerm} (h : γ index = t.eval γ) (p : DimConstraint) :
    (p.subst index t).Holds γ ↔ p.Holds γ := by
  cases p <;> simp [subst, Holds, DimTerm.eval_subst h]

end DimConstraint

/-- The dimension part of a configuration `⟨Φ; σ; B⟩` (Def. 4.1): constraints to be processed, bindings, and
the store of lower bounds and adjacencies, which are kept as the inequalities they stand for. -/
structure Config where
  goals : List DimConstraint
  bindings : List (Nat × DimTerm)
  store : List DimConstraint

namespace Config

/-- A ground substitution solves a configuration if it satisfies all of its parts. -/
def Solution (c : Config) (γ : Nat → Dim) : Prop :=
  (∀ p ∈ c.goals, p.Holds γ) ∧ (∀ b ∈ c.bindings, γ b.1 = b.2.eval γ) ∧ (∀ p ∈ c.store, p.Holds γ)

/-- The configuration with one more constraint to be processed. -/
def emit (c : Config) (p : DimConstraint) : Config := { c with goals := p :: c.goals }

/-- The configuration with one more stored inequality. -/
def record (c : Config) (p : DimConstraint) : Config := { c with store := p :: c.store }

/-- Binding (Def. 4.1): the term replaces the variable everywhere, and what is stored for the variable is
emitted again. -/
def bind (c : Config) (index : Nat) (t : DimTerm) : Config where
  goals := (c.goals ++ c.store.filter (·.mentions index)).map (·.subst index t)
  bindings := (index, t) :: c.bindings.map fun b => (b.1, b.2.subst index t)
  store := c.store.filter fun p => !p.mentions index

theorem solution_emit {c : Config} {p : DimConstraint} {γ : Nat → Dim} :
    (c.emit p).Solution γ ↔ p.Holds γ ∧ c.Solution γ := by
  simp [Solution, emit, and_assoc]

theorem solution_record {c : Config} {p : DimConstraint} {γ : Nat → Dim} :
    (c.record p).Solution γ ↔ p.Holds γ ∧ c.Solution γ := by
  simp [Solution, record]
  grind

theorem solution_bind {c : Config} {index : Nat} {t : DimTerm} {γ : Nat → Dim} :
    (c.bind index t).Solution γ ↔ γ index = t.eval γ ∧ c.Solution γ := by
  by_cases h : γ index = t.eval γ
  · have stored : (∀ p ∈ c.store, p.Holds γ) ↔
        (∀ p ∈ c.store, p.mentions index = true → p.Holds γ) ∧
          (∀ p ∈ c.store, p.mentions index = false → p.Holds γ) := by grind
    simp only [Solution, bind, List.forall_mem_map, List.forall_mem_append, List.forall_mem_cons,
      List.mem_filter, DimConstraint.holds_subst h, DimTerm.eval_subst h, stored]
    grind
  · simp [Solution, bind, h]

end Config

/-- The dimension rules (Def. 4.2). `Step p c next` reads: processing the constraint `p` in the configuration
`c`, from which it was taken, leads to `next`, where `none` is `fail`.

The table of the document reads equality up to symmetry; here that is a rule, `DE_symm`. -/
inductive Step : DimConstraint → Config → Option Config → Prop
  | DE_refl {t c} : Step (.eq t t) c (some c)
  | DE_symm {s t c} : Step (.eq s t) c (some (c.emit (.eq t s)))
  | DE_clash {a b c} : a ≠ b → Step (.eq (.dim a) (.dim b)) c none
  | DE_bind {α t c} : t ≠ .var α → Step (.eq (.var α) t) c (some (c.bind α t))
  | DI_top {t c} : Step (.le t (.dim .unit)) c (some c)
  | DI_refl {t c} : Step (.le t t) c (some c)
  | DI_ground {res opnd c} : res.Refines opnd → Step (.le (.dim res) (.dim opnd)) c (some c)
  | DI_ground_fail {res opnd c} : ¬res.Refines opnd → Step (.le (.dim res) (.dim opnd)) c none
  | DI_pin {α n b c} :
    Step (.le (.var α) (.dim (.atom n b))) c (some (c.emit (.eq (.var α) (.dim (.atom n b)))))
  | DI_pin_top {α c} : Step (.le (.dim .unit) (.var α)) c (some (c.emit (.eq (.var α) (.dim .unit))))
  | DI_cap_record {α n b c} :
    Step (.le (.dim (.atom n b)) (.var α)) c (some (c.record (.le (.dim (.atom n b)) (.var α))))
  | DI_cap_same {α n b c} :
    .le (.dim (.atom n b)) (.var α) ∈ c.store → Step (.le (.dim (.atom n b)) (.var α)) c (some c)
  | DI_cap_collapse {α n b n' b' c} :
    .le (.dim (.atom n' b')) (.var α) ∈ c.store → Dim.atom n b ≠ .atom n' b' →
      Step (.le (.dim (.atom n b)) (.var α)) c (some (c.emit (.eq (.var α) (.dim .unit))))
  | DI_adj {α β c} : α ≠ β → Step (.le (.var α) (.var β)) c (some (c.record (.le (.var α) (.var β))))

/-- **Def. 4.2, justifications**: every dimension rule preserves the set of solutions, in both directions; a
rule that fails does so only where there is no solution. -/
theorem Step.sound {p : DimConstraint} {c : Config} {next : Option Config} (step : Step p c next)
    (γ : Nat → Dim) : (c.emit p).Solution γ ↔ ∃ d, next = some d ∧ d.Solution γ := by
  rw [Config.solution_emit]
  cases step with
  | DE_refl => simp [DimConstraint.Holds]
  | DE_symm => simp [DimConstraint.Holds, Config.solution_emit, eq_comm]
  | DE_clash h => simp [DimConstraint.Holds, DimTerm.eval, h]
  | DE_bind _ => simp [DimConstraint.Holds, DimTerm.eval, Config.solution_bind]
  | DI_top => simp [DimConstraint.Holds, DimTerm.eval, Dim.Refines]
  | DI_refl => simp [DimConstraint.Holds, Dim.Refines]
  | DI_ground h => simp [DimConstraint.Holds, DimTerm.eval, h]
  | DI_ground_fail h => simp [DimConstraint.Holds, DimTerm.eval, h]
  | DI_pin => simp [DimConstraint.Holds, DimTerm.eval, Dim.Refines, Config.solution_emit]
  | DI_pin_top => simp [DimConstraint.Holds, DimTerm.eval, Dim.Refines, Config.solution_emit, eq_comm]
  | DI_cap_record => simp [Config.solution_record]
  | DI_cap_same stored => simp [Config.Solution]; grind
  | DI_cap_collapse stored distinct =>
    have cap {γ} (h : c.Solution γ) := h.2.2 _ stored
    simp only [Option.some.injEq, exists_eq_left', Config.solution_emit, DimConstraint.Holds, DimTerm.eval,
      Dim.Refines] at *
    grind
  | DI_adj _ => simp [Config.solution_record]

end Broadloom
