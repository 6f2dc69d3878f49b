module

public import Certificate
public import Forms

/-!
# Certificates for all sizes in a range

A program with named sizes (`dim batch in 1..64`) has one shape for every size of its names. A certificate of it says
that its constraints hold for all of them: for all sizes in the ranges that meet the conditions the program relies on.

`Family.Holds` says what that means in the words of `Certificate`: at each of these sizes the program is one
without names, and `System.Holds` of it. `checkAll` decides it, as far as it goes, and `checkAll_sound` says that it
is right when it says yes. It may say no where yes would be right; `Forms` says where.

Ranks are those of the certificate, the same at all sizes. Rows and inequalities are checked by the checker for
one size with numbers that stand for expressions: what it needs of sizes is that they are equal, and numbers are equal
only if expressions are (`Constraint.map_holds`).

## The format

A certificate is as in `Certificate`, with `Ranges` in place of `Certificate`, and

* `family` has the ranges of the names `0, 1, …` as `⟨least, some most⟩` or `⟨least, none⟩`; the conditions, each an
  expression and what is asked of it (`.whole`, `.zero`, `.atLeast n`, `.atMost n`); and the expressions of the
  shapes. An expression `⟨[(2, [0, 1]), (-1, [])], 8⟩` is `(2·v₀·v₁ − 1)/8`;
* `.sized (form i)` and `.atom (form i) b` are dimensions of the size that is expression `i` of the family;
* `sample` has sizes of the names, so that nobody certifies what no size meets;
* the theorems are always these:

      theorem certificate : family.Holds system solution := checkAll_sound (by decide +kernel)

      theorem inferred : family.Gives solution shapes := givesAll_sound (by decide +kernel)

      theorem possible : family.Admits (sizesOf sample) := admits_sound (by decide +kernel)
-/

@[expose] public noncomputable section

namespace Broadloom

/-! ## Other sizes in the place of numbers -/

/-- The dimension with another size. -/
def Dim.map (g : Nat → Nat) : Dim → Dim
  | .unit => .unit
  | .atom size basis => .atom (g size) basis

def DimTerm.map (g : Nat → Nat) : DimTerm → DimTerm
  | .var index => .var index
  | .dim d => .dim (d.map g)

def Row.map (g : Nat → Nat) (R : Row) : Row := ⟨R.lead.map (Dim.map g), R.trail.map (Dim.map g)⟩

def RowTerm.map (g : Nat → Nat) (R : RowTerm) : RowTerm :=
  ⟨R.lead.map (DimTerm.map g), R.hole, R.trail.map (DimTerm.map g)⟩

def Piece.map (g : Nat → Nat) : Piece → Piece
  | .dim t => .dim (t.map g)
  | .row index => .row index

def Window.map (g : Nat → Nat) (w : Window DimTerm) : Window DimTerm := ⟨w.kernel.map g, w.dilation, w.ends⟩

/-- The constraint with other sizes. Strides, numbers of elements and bounds are no sizes and stay. -/
def Constraint.map (g : Nat → Nat) : Constraint → Constraint
  | .dimEq s t => .dimEq (s.map g) (t.map g)
  | .dimLe res opnd => .dimLe (res.map g) (opnd.map g)
  | .rowEq R S => .rowEq (R.map g) (S.map g)
  | .rowLe res opnd => .rowLe (res.map g) (opnd.map g)
  | .madeOf res opnds => .madeOf (res.map g) (opnds.map (RowTerm.map g))
  | .affine axis over stride offset window =>
    .affine (axis.map g) (over.map g) stride offset (window.map (Window.map g))
  | .concat axis components literal => .concat (axis.map g) (components.map (DimTerm.map g)) literal
  | .atLeast axis least => .atLeast (axis.map g) least
  | .atMost axis most => .atMost (axis.map g) most
  | .count pieces coeff over denom dividedBy =>
    .count (pieces.map (Piece.map g)) coeff (over.map (DimTerm.map g)) denom (dividedBy.map (DimTerm.map g))
  | .exact pieces axes => .exact (pieces.map (Piece.map g)) (axes.map (DimTerm.map g))

def System.map (g : Nat → Nat) (s : System) : System := ⟨s.constraints.map (Constraint.map g), s.discardable⟩

def Assignment.map (g : Nat → Nat) (a : Assignment) : Assignment := ⟨a.dims.map (Dim.map g), a.rows.map (Row.map g)⟩

def Shape.map (g : Nat → Nat) (s : Shape) : Shape := ⟨s.name, s.row.map g, s.axes.map (Dim.map g)⟩

/-! ## What a certificate says -/

namespace Family

/-- At all sizes that the family admits, the assignment is a solution. -/
def Holds (f : Family) (s : System) (a : Assignment) : Prop :=
  ∀ sizes, f.Admits sizes → (s.map (f.sizeAt sizes)).Holds (a.map (f.sizeAt sizes))

/-- At all sizes that the family admits, the rows have the stated axes. -/
def Gives (f : Family) (a : Assignment) (shapes : List Shape) : Prop :=
  ∀ sizes, f.Admits sizes → (a.map (f.sizeAt sizes)).Gives (shapes.map (Shape.map (f.sizeAt sizes)))

end Family

/-- The sizes of a list; names beyond its end have the size 1. -/
def sizesOf (sample : List Nat) (name : Nat) : Nat := lookup 1 sample name

/-! ## The checker -/

/-- The number of elements along a dimension. -/
def Dim.expr : Dim → Expr
  | .unit => .num 1
  | .atom size _ => .size size

/-- The number of elements of some axes together. -/
def elementsExpr : List Dim → Expr
  | [] => .num 1
  | d :: ds => .mul d.expr (elementsExpr ds)

/-- The sum of the sizes of some axes. -/
def sumExpr : List Dim → Expr
  | [] => .num 0
  | d :: ds => .add d.expr (sumExpr ds)

namespace Family

/-- `AffineSize` for all sizes. -/
def affineSize (f : Family) (size over stride offset : Nat) : Option (Window Dim) → Bool
  | none => f.equal (.size size) (.add (.mul (.num stride) (.size over)) (.num (offset + 1 - stride)))
  | some ⟨.unit, _, _⟩ => false
  | some ⟨.atom _ _, _, .padded⟩ => f.equal (.size size) (.mul (.num stride) (.size over))
  | some ⟨.atom kernel _, dilation, .valid⟩ => f.equal (reach size stride dilation) (need over stride offset kernel dilation)
  | some ⟨.atom kernel _, dilation, .dropped⟩ =>
    f.atMost (need over stride offset kernel dilation) (reach size stride dilation) &&
      f.atMost (.add (.add (.size size) (.num dilation)) (.num 1)) (need over stride offset kernel dilation)
where
  reach (size stride dilation : Nat) : Expr := .add (.add (.size size) (.num stride)) (.num dilation)
  need (over stride offset kernel dilation : Nat) : Expr :=
    .add (.add (.add (.mul (.num stride) (.size over)) (.mul (.num dilation) (.size kernel))) (.num 1)) (.num offset)

/-- `AffineAxis` for all sizes. -/
def affineAxis (f : Family) (axis over : Dim) (stride offset : Nat) (window : Option (Window Dim)) : Bool :=
  match axis, over with
  | .atom size basis, .atom over basis' => basis = basis' && f.affineSize size over stride offset window
  | _, _ => false

/-- Decides a constraint for all sizes: arithmetic over expressions, everything else as for one size. -/
def accepts (f : Family) (a : Assignment) : Constraint → Bool
  | .affine axis over stride offset window =>
    f.affineAxis (a.dim axis) (a.dim over) stride offset
      (window.map fun w => ⟨a.dim w.kernel, w.dilation, w.ends⟩)
  | .concat axis components literal =>
    let parts := components.map a.dim
    f.equal (a.dim axis).expr (.add (.num literal) (sumExpr parts)) &&
      decide (∀ c ∈ a.dim axis :: parts, ∀ d ∈ a.dim axis :: parts, SameBasis c d)
  | .atLeast axis least => f.atMost (.num least) (a.dim axis).expr
  | .atMost axis most => f.atMost (a.dim axis).expr (.num most)
  | .count pieces coeff over denom dividedBy =>
    f.equal (.mul (.mul (.num denom) (elementsExpr (a.pieces pieces))) (elementsExpr (dividedBy.map a.dim)))
      (.mul (.num coeff) ((over.map fun t => (a.dim t).expr).getD (.num 1)))
  | c => decide (c.Holds a)

/-- Whether a dimension is a size in the default basis. -/
def isSized : Dim → Bool
  | .atom _ 0 => true
  | _ => false

/-- Whether a dimension has an element at all sizes. -/
def nonempty (f : Family) (d : Dim) : Bool := f.atMost (.num 1) d.expr

end Family

/-- Decides whether an assignment is a solution for all sizes of a family. -/
def checkAll (f : Family) (s : System) (a : Assignment) : Bool :=
  f.allProper && s.constraints.all (f.accepts a) &&
    a.dims.zipIdx.all (fun d => f.nonempty d.1 || (Family.isSized d.1 && decide (d.2 ∈ s.discardable))) &&
    a.rows.all (fun R => R.flat.all f.nonempty)

/-- Decides whether the rows have the stated axes at all sizes of a family. -/
def givesAll (a : Assignment) (shapes : List Shape) : Bool := gives a shapes

/-- Decides whether sizes are in a range. -/
def SizeRange.holds (range : SizeRange) (size : Nat) : Bool :=
  range.least ≤ size && range.most.all (size ≤ ·)

instance (sizes : Nat → Nat) (c : Condition) : Decidable (c.Holds sizes) :=
  match h : c.need with
  | .whole => decidable_of_iff (c.form.terms.value sizes % c.form.over = 0)
      (by simp only [Condition.Holds, h]; exact (Int.dvd_iff_emod_eq_zero ..).symm)
  | .zero => decidable_of_iff (c.form.terms.value sizes = 0) (by simp only [Condition.Holds, h])
  | .atLeast least => decidable_of_iff ((least * c.form.over : Int) ≤ c.form.terms.value sizes)
      (by simp only [Condition.Holds, h])
  | .atMost most => decidable_of_iff (c.form.terms.value sizes ≤ most * c.form.over)
      (by simp only [Condition.Holds, h])

/-- Decides whether a family admits the sizes of a list, which has one for each name. -/
def Family.admits (f : Family) (sample : List Nat) : Bool :=
  f.ranges.zipIdx.all (fun range => range.1.holds (sizesOf sample range.2)) &&
    f.conditions.all fun c => decide (c.Holds (sizesOf sample))

/-! ## It is right -/

section maps

variable {g : Nat → Nat}

theorem lookup_map {α β : Type} (h : α → β) (default : α) (as : List α) (index : Nat) :
    lookup (h default) (as.map h) index = h (lookup default as index) := by
  induction as generalizing index with
  | nil => rfl
  | cons a as ih => cases index with
    | zero => rfl
    | succ index => exact ih index

namespace Assignment

theorem dim_map (a : Assignment) (t : DimTerm) : (a.map g).dim (t.map g) = (a.dim t).map g := by
  cases t with
  | var index => exact lookup_map (Dim.map g) .unit a.dims index
  | dim d => rfl

theorem dims_map (a : Assignment) (ts : List DimTerm) :
    (ts.map (DimTerm.map g)).map (a.map g).dim = (ts.map a.dim).map (Dim.map g) := by
  simp [dim_map]

theorem rowVar_map (a : Assignment) (index : Nat) : (a.map g).rowVar index = (a.rowVar index).map g :=
  lookup_map (Row.map g) .empty a.rows index

theorem row_map (a : Assignment) (R : RowTerm) : (a.map g).row (R.map g) = (a.row R).map g := by
  obtain ⟨lead, hole, trail⟩ := R
  cases hole with
  | none => simp [row, RowTerm.map, Row.map, Row.empty, dim_map]
  | some index => simp [row, RowTerm.map, Row.map, rowVar_map, dim_map]

end Assignment

namespace Row

theorem flat_map (R : Row) : (R.map g).flat = R.flat.map (Dim.map g) := by simp [Row.map, flat]

theorem rank_map (R : Row) : (R.map g).rank = R.rank := by simp [Row.map, rank]

theorem expand_map (R : Row) (n : Nat) : (R.map g).expand n = (R.expand n).map (Dim.map g) := by
  simp [expand, rank_map]
  simp [Row.map, Dim.map]

end Row

theorem Assignment.pieces_map (a : Assignment) (ps : List Piece) :
    (a.map g).pieces (ps.map (Piece.map g)) = (a.pieces ps).map (Dim.map g) := by
  induction ps with
  | nil => rfl
  | cons piece ps ih => cases piece with
    | dim t => simp [pieces, Piece.map, dim_map, ih]
    | row index => simp [pieces, Piece.map, rowVar_map, Row.flat_map, ih]

theorem Dim.Refines.map {res opnd : Dim} (h : res.Refines opnd) : (res.map g).Refines (opnd.map g) := by
  rcases h with rfl | rfl
  · exact .inl rfl
  · exact .inr rfl

theorem PointwiseRefines.map : {xs ys : List Dim} → PointwiseRefines xs ys →
    PointwiseRefines (xs.map (Dim.map g)) (ys.map (Dim.map g))
  | [], [], _ => trivial
  | _ :: _, _ :: _, ⟨head, tail⟩ => ⟨head.map, map tail⟩

theorem Row.RefinesOnce.map {res opnd : Row} (h : res.RefinesOnce opnd) :
    (res.map g).RefinesOnce (opnd.map g) := by
  refine ⟨by simpa [Row.rank_map] using h.1, ?_⟩
  rw [Row.flat_map, Row.rank_map, Row.expand_map]
  exact h.2.map

theorem MadeOf.map {res : Row} {opnds : List Row} (h : MadeOf res opnds) :
    MadeOf (res.map g) (opnds.map (Row.map g)) := by
  obtain ⟨rank, claims⟩ := h
  refine ⟨?_, ?_⟩
  · rcases rank with empty | ⟨R, mem, le⟩
    · exact .inl (by rw [Row.rank_map]; exact empty)
    · exact .inr ⟨R.map g, List.mem_map_of_mem mem, by simpa [Row.rank_map] using le⟩
  · intro ⟨d, place⟩ mem
    rw [List.mem_zipIdx_iff_getElem?, Row.flat_map, List.getElem?_map] at mem
    obtain ⟨e, isAt, rfl⟩ := Option.map_eq_some_iff.mp mem
    rcases claims (e, place) (List.mem_zipIdx_iff_getElem?.mpr isAt) with unit | ⟨R, mem, le, isAt⟩
    · exact .inl (by simp only at unit; rw [unit]; rfl)
    · refine .inr ⟨R.map g, List.mem_map_of_mem mem, by simpa [Row.rank_map] using le, ?_⟩
      rw [Row.rank_map, Row.expand_map, List.getElem?_map, isAt]
      rfl

theorem SameBasis.map (zero : g 0 = 0) {c d : Dim} (h : SameBasis c d) : SameBasis (c.map g) (d.map g) := by
  cases c <;> cases d <;> simp_all [SameBasis, Dim.map]
  grind

theorem Dim.expr_value (d : Dim) : d.expr.value g = (d.map g).size := by cases d <;> rfl

theorem elementsExpr_value (ds : List Dim) : (elementsExpr ds).value g = elements (ds.map (Dim.map g)) := by
  induction ds with
  | nil => rfl
  | cons d ds ih => simp [elementsExpr, Expr.value, elements, Dim.expr_value, ih]

theorem sumExpr_value (ds : List Dim) :
    (sumExpr ds).value g = ((ds.map (Dim.map g)).map Dim.size).sum := by
  induction ds with
  | nil => rfl
  | cons d ds ih => simp [sumExpr, Expr.value, Dim.expr_value, ih]

end maps

namespace Family

variable {f : Family} {sizes : Nat → Nat} (admitted : f.Admits sizes) (proper : f.allProper = true)

theorem sizeAt_zero : f.sizeAt sizes 0 = 0 := by simp [sizeAt, firstForm]

include admitted proper

theorem affineSize_sound {size over stride offset : Nat} {window : Option (Window Dim)}
    (h : f.affineSize size over stride offset window = true) :
    AffineSize (f.sizeAt sizes size) (f.sizeAt sizes over) stride offset
      (window.map fun w => ⟨w.kernel.map (f.sizeAt sizes), w.dilation, w.ends⟩) := by
  rcases window with _ | ⟨_ | ⟨kernel, basis⟩, dilation, _ | _ | _⟩
  · exact equal_sound admitted proper h
  · cases h
  · cases h
  · cases h
  · exact equal_sound admitted proper h
  · exact equal_sound admitted proper h
  · simp only [affineSize, Bool.and_eq_true] at h
    exact ⟨atMost_sound admitted proper h.1, Nat.lt_of_succ_le (atMost_sound admitted proper h.2)⟩

theorem affineAxis_sound {axis over : Dim} {stride offset : Nat} {window : Option (Window Dim)}
    (h : f.affineAxis axis over stride offset window = true) :
    AffineAxis (axis.map (f.sizeAt sizes)) (over.map (f.sizeAt sizes)) stride offset
      (window.map fun w => ⟨w.kernel.map (f.sizeAt sizes), w.dilation, w.ends⟩) := by
  cases axis <;> cases over <;> simp only [affineAxis, Bool.and_eq_true, decide_eq_true_eq, reduceCtorEq] at h
  exact ⟨h.1, affineSize_sound admitted proper h.2⟩

theorem accepts_sound {a : Assignment} {c : Constraint} (h : f.accepts a c = true) :
    (c.map (f.sizeAt sizes)).Holds (a.map (f.sizeAt sizes)) := by
  cases c with
  | dimEq s t =>
    have : a.dim s = a.dim t := of_decide_eq_true h
    simp [Constraint.map, Constraint.Holds, Assignment.dim_map, this]
  | dimLe res opnd =>
    have : (a.dim res).Refines (a.dim opnd) := of_decide_eq_true h
    simpa [Constraint.map, Constraint.Holds, Assignment.dim_map] using this.map
  | rowEq R S =>
    have : (a.row R).flat = (a.row S).flat := of_decide_eq_true h
    simp [Constraint.map, Constraint.Holds, Assignment.row_map, Row.FlatEq, Row.flat_map, this]
  | rowLe res opnd =>
    have : (a.row res).RefinesOnce (a.row opnd) := of_decide_eq_true h
    simpa [Constraint.map, Constraint.Holds, Assignment.row_map] using this.map
  | madeOf res opnds =>
    have : MadeOf (a.row res) (opnds.map a.row) := of_decide_eq_true h
    have := this.map (g := f.sizeAt sizes)
    simpa [Constraint.map, Constraint.Holds, Assignment.row_map, List.map_map, Function.comp_def] using this
  | affine axis over stride offset window =>
    have := affineAxis_sound admitted proper h
    simpa [Constraint.map, Constraint.Holds, Assignment.dim_map, Window.map, Option.map_map, Function.comp_def]
      using this
  | concat axis components literal =>
    simp only [accepts, Bool.and_eq_true] at h
    obtain ⟨sum, bases⟩ := h
    have sum := equal_sound admitted proper sum
    have bases := of_decide_eq_true bases
    simp only [Dim.expr_value, Expr.value, sumExpr_value] at sum
    simp only [Constraint.map, Constraint.Holds, Assignment.dim_map, Assignment.dims_map]
    refine ⟨sum, ?_⟩
    rw [← List.map_cons]
    intro c memC d memD
    obtain ⟨c, inC, rfl⟩ := List.mem_map.mp memC
    obtain ⟨d, inD, rfl⟩ := List.mem_map.mp memD
    exact (bases c inC d inD).map sizeAt_zero
  | atLeast axis least =>
    have := atMost_sound admitted proper h
    simpa [Constraint.map, Constraint.Holds, Assignment.dim_map, Dim.expr_value, Expr.value] using this
  | atMost axis most =>
    have := atMost_sound admitted proper h
    simpa [Constraint.map, Constraint.Holds, Assignment.dim_map, Dim.expr_value, Expr.value] using this
  | count pieces coeff over denom dividedBy =>
    have := equal_sound admitted proper h
    simp only [Expr.value, elementsExpr_value] at this
    simp only [Constraint.map, Constraint.Holds, Assignment.pieces_map, Assignment.dims_map]
    cases over <;> simpa [Expr.value, Dim.expr_value, Assignment.dim_map] using this
  | exact pieces axes =>
    have : a.pieces pieces = axes.map a.dim := of_decide_eq_true h
    simp only [Constraint.map, Constraint.Holds, Assignment.pieces_map, Assignment.dims_map, this]

theorem nonempty_sound {d : Dim} (h : f.nonempty d = true) : (d.map (f.sizeAt sizes)).size ≠ 0 := by
  have := atMost_sound admitted proper h
  simp only [Expr.value, Dim.expr_value] at this
  omega

end Family

/-- What the checker accepts is a solution at all sizes. -/
theorem checkAll_sound {f : Family} {s : System} {a : Assignment} (h : checkAll f s a = true) : f.Holds s a := by
  intro sizes admitted
  simp only [checkAll, Bool.and_eq_true, List.all_eq_true] at h
  obtain ⟨⟨⟨proper, constraints⟩, dims⟩, rows⟩ := h
  refine ⟨?_, ?_, ?_⟩
  · intro c mem
    obtain ⟨c, inside, rfl⟩ := List.mem_map.mp mem
    exact Family.accepts_sound admitted proper (constraints c inside)
  · intro ⟨d, place⟩ mem
    rw [List.mem_zipIdx_iff_getElem?] at mem
    simp only [Assignment.map, List.getElem?_map] at mem
    obtain ⟨e, isAt, rfl⟩ := Option.map_eq_some_iff.mp mem
    have := dims (e, place) (List.mem_zipIdx_iff_getElem?.mpr isAt)
    simp only [Bool.or_eq_true, Bool.and_eq_true, decide_eq_true_eq] at this
    rcases this with nonempty | ⟨sized, discardable⟩
    · exact .inl (Family.nonempty_sound admitted proper nonempty)
    · rcases e with _ | ⟨size, basis⟩
      · cases sized
      · rcases basis with _ | basis
        · by_cases empty : f.sizeAt sizes size = 0
          · exact .inr ⟨by simp [Dim.map, empty], discardable⟩
          · exact .inl (by simpa [Dim.map, Dim.size] using empty)
        · cases sized
  · intro R mem d inside
    obtain ⟨R, memR, rfl⟩ := List.mem_map.mp mem
    rw [Row.flat_map] at inside
    obtain ⟨d, memD, rfl⟩ := List.mem_map.mp inside
    exact Family.nonempty_sound admitted proper (rows R memR d memD)

/-- What the checker accepts is so at all sizes. -/
theorem givesAll_sound {f : Family} {a : Assignment} {shapes : List Shape} (h : givesAll a shapes = true) :
    f.Gives a shapes := by
  intro sizes _ shape mem
  obtain ⟨shape, inside, rfl⟩ := List.mem_map.mp mem
  have := gives_sound h shape inside
  simp only [Shape.map, Assignment.row_map, Row.flat_map, this]

theorem rangeOf_holds {ranges : List SizeRange} {sizes : Nat → Nat}
    (h : ∀ range ∈ ranges.zipIdx, range.1.Holds (sizes range.2)) (name : Nat) :
    (rangeOf ranges name).Holds (sizes name) := by
  induction ranges generalizing name sizes with
  | nil => simp [rangeOf, SizeRange.Holds]
  | cons range ranges ih =>
    cases name with
    | zero => exact h (range, 0) (by simp)
    | succ name =>
      refine ih (sizes := fun name => sizes (name + 1)) (fun ⟨other, place⟩ mem => ?_) name
      refine h (other, place + 1) ?_
      rw [List.mem_zipIdx_iff_getElem?] at mem ⊢
      simpa using mem

/-- Sizes that are found to be admitted are. -/
theorem admits_sound {f : Family} {sample : List Nat} (h : f.admits sample = true) :
    f.Admits (sizesOf sample) := by
  simp only [Family.admits, Bool.and_eq_true, List.all_eq_true, decide_eq_true_eq] at h
  refine ⟨rangeOf_holds fun range mem => ?_, h.2⟩
  have := h.1 range mem
  simp only [SizeRange.holds, Bool.and_eq_true, decide_eq_true_eq] at this
  refine ⟨this.1, fun most isMost => ?_⟩
  have bound := this.2
  rw [Option.mem_def] at isMost
  simpa [isMost] using bound

end Broadloom
