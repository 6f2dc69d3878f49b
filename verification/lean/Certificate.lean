module

public import GroundAlgebra

/-!
# Certificates of inferred shapes

A certificate is a Lean file that states the constraints of one program, the sizes and rows that Broadloom
inferred for their variables, and the theorem that the second satisfy the first. Lean's kernel evaluates the
checker of this file to prove it; nothing that Broadloom computed is taken on trust.

`System.Holds` says what a solution is, in the words of `GroundAlgebra`. `check` decides it, and `check_sound`
and `check_complete` say that it decides it rightly.

## The format

The file `Layer.lean` is a certificate of `y = w @ x` with `x: 32 | 784` and `y: 32 | 10`:

    module

    public import Certificate

    @[expose] public noncomputable section

    open Broadloom

    namespace Layer

    def system : System where
      constraints := [
        -- x is declared with batch [32] and output [784]: rows 0 and 1.
        .rowEq ⟨[], some 0, []⟩ ⟨[], none, [.dim (.sized 32)]⟩,
        .rowEq ⟨[], some 1, []⟩ ⟨[], none, [.dim (.sized 784)]⟩,
        -- The input of w (row 2) meets the output of x.
        .rowLe ⟨[], some 2, []⟩ ⟨[], some 1, []⟩,
        -- The batch of y (row 3) refines the batch of x, its output (row 4) the output of w (row 5).
        .rowLe ⟨[], some 3, []⟩ ⟨[], some 0, []⟩,
        .rowLe ⟨[], some 4, []⟩ ⟨[], some 5, []⟩,
        -- y is declared.
        .rowEq ⟨[], some 3, []⟩ ⟨[], none, [.dim (.sized 32)]⟩,
        .rowEq ⟨[], some 4, []⟩ ⟨[], none, [.dim (.sized 10)]⟩]

    def solution : Assignment where
      dims := []
      rows := [
        ⟨[], [.sized 32]⟩, ⟨[], [.sized 784]⟩, ⟨[], [.sized 784]⟩,
        ⟨[], [.sized 32]⟩, ⟨[], [.sized 10]⟩, ⟨[], [.sized 10]⟩]

    def shapes : List Shape := [
      ⟨"input of w", ⟨[], some 2, []⟩, [.sized 784]⟩,
      ⟨"output of w", ⟨[], some 5, []⟩, [.sized 10]⟩]

    theorem certificate : system.Holds solution := check_sound (by decide +kernel)

    theorem inferred : solution.Gives shapes := gives_sound (by decide +kernel)

    end Layer

* The namespace is the name of the file: a capital letter, then letters, digits and underscores. The lines above
  `namespace` and the two theorems are always these.
* `system` has the constraints, and, as `discardable := [i, …]`, the dimension variables that may be empty, if
  there are any. `solution` has the values of the dimension variables `0, 1, …` and of the row variables `0, 1, …`,
  which are numbered apart; one without a value stands for the unit or the empty row. `shapes` has what the
  program's author wants to read, and may be empty.
* A dimension is `.unit`, `.sized n` (an atom of the default basis) or `.atom n b` (of the basis numbered `b`).
  A dimension term is `.var i` or `.dim d` with a dimension `d`.
* A row is `⟨lead, trail⟩`, lists of dimensions. A row term is `⟨lead, hole, trail⟩`, where the flanks are lists of
  dimension terms and the hole is `none` for the marker or `some r` for row variable `r`.
* A piece is `.dim t` or `.row r`. A window is `⟨kernel, dilation, ends⟩` with `.padded`, `.valid` or `.dropped` last.
* A constraint is a constructor of `Constraint` below with its arguments in order, for example
  `.affine (.var 0) (.var 1) 2 0 (some ⟨.var 2, 1, .valid⟩)` for an axis read by a window at stride 2.
* Comments are allowed. Words that could make the text mean something else are not, not even in comments and
  names (`verification/check` has the list); a name that is such a word gets an underscore.
-/

@[expose] public noncomputable section

namespace Broadloom

/-- The number of elements along a dimension; the unit counts as one. -/
def Dim.size : Dim → Nat
  | .unit => 1
  | .atom size _ => size

/-- The number of elements of some axes together. -/
def elements : List Dim → Nat
  | [] => 1
  | d :: ds => d.size * elements ds

/-- A row term (Def. 3.1): a leading flank, the marker (`none`) or a row variable, a trailing flank. -/
structure RowTerm where
  lead : List DimTerm
  hole : Option Nat
  trail : List DimTerm

/-- A part of a sequence of axes: one axis, or all axes of a row variable. -/
inductive Piece where
  | dim (t : DimTerm)
  | row (index : Nat)

/-- What a window does at the ends of an axis: it may reach beyond them, the last one ends with the axis, or what
is left at the end is too little for another one. -/
inductive Ends where
  | padded
  | valid
  | dropped

/-- The window of a convolution or of pooling: the size of its kernel, the distance of neighbouring kernel
positions, and what happens at the ends of the axis. The kernel is a term, or a dimension once it is ground. -/
structure Window (κ : Type) where
  kernel : κ
  dilation : Nat
  ends : Ends

/-- An atomic constraint: those of Def. 3.4, and the arithmetic on sizes that convolutions, concatenation,
fixed indices and element counts need. -/
inductive Constraint where
  /-- The two dimensions are identical. -/
  | dimEq (s t : DimTerm)
  /-- The result refines the operand. -/
  | dimLe (res opnd : DimTerm)
  /-- The rows have the same axes; markers are not consulted. -/
  | rowEq (R S : RowTerm)
  /-- The result refines the operand in the one-shot order. -/
  | rowLe (res opnd : RowTerm)
  /-- The result has no axis and claims no size that none of the operands has. -/
  | madeOf (res : RowTerm) (opnds : List RowTerm)
  /-- The axis is visited at every `stride`-th position from `offset` on, with a window if there is one. -/
  | affine (axis over : DimTerm) (stride offset : Nat) (window : Option (Window DimTerm))
  /-- The axis is the concatenation of the components and of `literal` further elements. -/
  | concat (axis : DimTerm) (components : List DimTerm) (literal : Nat)
  /-- The axis has at least so many elements. -/
  | atLeast (axis : DimTerm) (least : Nat)
  /-- The axis has at most so many elements. -/
  | atMost (axis : DimTerm) (most : Nat)
  /-- The pieces have together `coeff·over / (denom·dividedBy)` elements; without `over` it counts as one. -/
  | count (pieces : List Piece) (coeff : Nat) (over : Option DimTerm) (denom : Nat) (dividedBy : List DimTerm)
  /-- The pieces, one after another, are these axes. -/
  | exact (pieces : List Piece) (axes : List DimTerm)

/-- Values for the dimension variables `0, 1, …` and the row variables `0, 1, …`. -/
structure Assignment where
  dims : List Dim
  rows : List Row

/-- The element at an index, or the default beyond the end. -/
def lookup {α : Type} (default : α) : List α → Nat → α
  | [], _ => default
  | a :: _, 0 => a
  | _ :: as, index + 1 => lookup default as index

namespace Assignment

/-- The ground dimension of a term. -/
def dim (a : Assignment) (t : DimTerm) : Dim := t.eval (lookup .unit a.dims)

/-- The ground row of a row variable. -/
def rowVar (a : Assignment) (index : Nat) : Row := lookup .empty a.rows index

/-- The ground row of a term (Def. 3.2): the variable's value is spliced in at the marker. -/
def row (a : Assignment) (R : RowTerm) : Row :=
  let middle := (R.hole.map a.rowVar).getD .empty
  ⟨R.lead.map a.dim ++ middle.lead, middle.trail ++ R.trail.map a.dim⟩

/-- The axes of some pieces, one after another. -/
def pieces (a : Assignment) : List Piece → List Dim
  | [] => []
  | .dim t :: rest => a.dim t :: a.pieces rest
  | .row index :: rest => (a.rowVar index).flat ++ a.pieces rest

end Assignment

/-- A row made of others: it is not longer than the longest of them, and each size it claims is claimed by one of
them at the same place, once that one is stretched at its marker. -/
def MadeOf (res : Row) (opnds : List Row) : Prop :=
  (res.rank = 0 ∨ ∃ R ∈ opnds, res.rank ≤ R.rank) ∧
    ∀ d ∈ res.flat.zipIdx, d.1 = .unit ∨
      ∃ R ∈ opnds, R.rank ≤ res.rank ∧ (R.expand res.rank)[d.2]? = some d.1

/-- The size of an affine axis that is iterated `over` times:

* strided: `stride·over`, and as much more as an offset beyond the stride asks for;
* padded: `stride·over`;
* valid: `stride·(over − 1) + 1 + dilation·(kernel − 1) + offset`, written without subtraction;
* dropped: that, and less than `stride` more. -/
def AffineSize (size over stride offset : Nat) : Option (Window Dim) → Prop
  | none => size = stride * over + (offset + 1 - stride)
  | some ⟨.unit, _, _⟩ => False
  | some ⟨.atom _ _, _, .padded⟩ => size = stride * over
  | some ⟨.atom kernel _, dilation, .valid⟩ =>
    size + stride + dilation = stride * over + dilation * kernel + 1 + offset
  | some ⟨.atom kernel _, dilation, .dropped⟩ =>
    stride * over + dilation * kernel + 1 + offset ≤ size + stride + dilation ∧
      size + dilation < stride * over + dilation * kernel + 1 + offset

/-- An affine axis of ground dimensions: they claim sizes, and the axis has the basis of what is iterated. -/
def AffineAxis (axis over : Dim) (stride offset : Nat) (window : Option (Window Dim)) : Prop :=
  match axis, over with
  | .atom size basis, .atom over basis' => basis = basis' ∧ AffineSize size over stride offset window
  | _, _ => False

/-- Parts of a concatenation have one basis; the unit and an empty part have none to speak of. -/
def SameBasis : Dim → Dim → Prop
  | .atom m b, .atom n b' => m = 0 ∨ n = 0 ∨ b = b'
  | _, _ => True

/-- What it means that an assignment satisfies a constraint. -/
def Constraint.Holds (a : Assignment) : Constraint → Prop
  | .dimEq s t => a.dim s = a.dim t
  | .dimLe res opnd => (a.dim res).Refines (a.dim opnd)
  | .rowEq R S => (a.row R).FlatEq (a.row S)
  | .rowLe res opnd => (a.row res).RefinesOnce (a.row opnd)
  | .madeOf res opnds => MadeOf (a.row res) (opnds.map a.row)
  | .affine axis over stride offset window =>
    AffineAxis (a.dim axis) (a.dim over) stride offset
      (window.map fun w => ⟨a.dim w.kernel, w.dilation, w.ends⟩)
  | .concat axis components literal =>
    let parts := components.map a.dim
    (a.dim axis).size = literal + (parts.map Dim.size).sum ∧
      ∀ c ∈ a.dim axis :: parts, ∀ d ∈ a.dim axis :: parts, SameBasis c d
  | .atLeast axis least => least ≤ (a.dim axis).size
  | .atMost axis most => (a.dim axis).size ≤ most
  | .count pieces coeff over denom dividedBy =>
    denom * elements (a.pieces pieces) * elements (dividedBy.map a.dim) =
      coeff * (over.map fun t => (a.dim t).size).getD 1
  | .exact pieces axes => a.pieces pieces = axes.map a.dim

/-- The constraints of a program. Dimension variables listed as discardable stand for parts of a
concatenation that may be empty. -/
structure System where
  constraints : List Constraint
  discardable : List Nat := []

/-- What it means that an assignment is a solution: every constraint holds, and no dimension is empty
(Def. 1.1: `n ≥ 1`), except discardable ones. -/
structure System.Holds (s : System) (a : Assignment) : Prop where
  constraints : ∀ c ∈ s.constraints, c.Holds a
  dims : ∀ d ∈ a.dims.zipIdx, d.1.size ≠ 0 ∨ d.1 = .sized 0 ∧ d.2 ∈ s.discardable
  rows : ∀ R ∈ a.rows, ∀ d ∈ R.flat, d.size ≠ 0

/-- A row of the program, by the name its author knows, and the axes inferred for it. -/
structure Shape where
  name : String
  row : RowTerm
  axes : List Dim

/-- The assignment gives each row the axes that are stated. -/
def Assignment.Gives (a : Assignment) (shapes : List Shape) : Prop :=
  ∀ s ∈ shapes, (a.row s.row).flat = s.axes

/-! ## The checker -/

instance (size over stride offset : Nat) :
    (window : Option (Window Dim)) → Decidable (AffineSize size over stride offset window)
  | none => inferInstanceAs (Decidable (_ = _))
  | some ⟨.unit, _, _⟩ => inferInstanceAs (Decidable False)
  | some ⟨.atom _ _, _, .padded⟩ => inferInstanceAs (Decidable (_ = _))
  | some ⟨.atom _ _, _, .valid⟩ => inferInstanceAs (Decidable (_ = _))
  | some ⟨.atom _ _, _, .dropped⟩ => inferInstanceAs (Decidable (_ ∧ _))

instance : (axis over : Dim) → (stride offset : Nat) → (window : Option (Window Dim)) →
    Decidable (AffineAxis axis over stride offset window)
  | .atom _ _, .atom _ _, _, _, _ => inferInstanceAs (Decidable (_ ∧ _))
  | .unit, _, _, _, _ => inferInstanceAs (Decidable False)
  | .atom _ _, .unit, _, _, _ => inferInstanceAs (Decidable False)

instance : (c d : Dim) → Decidable (SameBasis c d)
  | .atom _ _, .atom _ _ => inferInstanceAs (Decidable (_ ∨ _))
  | .unit, _ => inferInstanceAs (Decidable True)
  | .atom _ _, .unit => inferInstanceAs (Decidable True)

instance (res : Row) (opnds : List Row) : Decidable (MadeOf res opnds) := inferInstanceAs (Decidable (_ ∧ _))

instance (a : Assignment) : (c : Constraint) → Decidable (c.Holds a)
  | .dimEq _ _ => inferInstanceAs (Decidable (_ = _))
  | .dimLe _ _ => inferInstanceAs (Decidable (Dim.Refines _ _))
  | .rowEq _ _ => inferInstanceAs (Decidable (Row.FlatEq _ _))
  | .rowLe _ _ => inferInstanceAs (Decidable (Row.RefinesOnce _ _))
  | .madeOf _ _ => inferInstanceAs (Decidable (MadeOf _ _))
  | .affine _ _ _ _ _ => inferInstanceAs (Decidable (AffineAxis _ _ _ _ _))
  | .concat _ _ _ => inferInstanceAs (Decidable (_ ∧ _))
  | .atLeast _ _ => inferInstanceAs (Decidable (_ ≤ _))
  | .atMost _ _ => inferInstanceAs (Decidable (_ ≤ _))
  | .count _ _ _ _ _ => inferInstanceAs (Decidable (_ = _))
  | .exact _ _ => inferInstanceAs (Decidable (_ = _))

/-- Decides whether an assignment is a solution. -/
def check (s : System) (a : Assignment) : Bool :=
  s.constraints.all (fun c => decide (c.Holds a)) &&
    a.dims.zipIdx.all (fun d => decide (d.1.size ≠ 0 ∨ d.1 = .sized 0 ∧ d.2 ∈ s.discardable)) &&
    a.rows.all (fun R => R.flat.all fun d => decide (d.size ≠ 0))

theorem check_iff {s : System} {a : Assignment} : check s a = true ↔ s.Holds a := by
  constructor
  · simp only [check, Bool.and_eq_true, List.all_eq_true, decide_eq_true_eq]
    intro ⟨⟨constraints, dims⟩, rows⟩
    exact ⟨constraints, dims, rows⟩
  · intro ⟨constraints, dims, rows⟩
    simp only [check, Bool.and_eq_true, List.all_eq_true, decide_eq_true_eq]
    exact ⟨⟨constraints, dims⟩, rows⟩

/-- What the checker accepts is a solution. -/
theorem check_sound {s : System} {a : Assignment} (h : check s a = true) : s.Holds a := check_iff.mp h

/-- Every solution is accepted. -/
theorem check_complete {s : System} {a : Assignment} (h : s.Holds a) : check s a = true := check_iff.mpr h

/-- Decides whether the rows have the stated axes. -/
def gives (a : Assignment) (shapes : List Shape) : Bool :=
  shapes.all fun s => decide ((a.row s.row).flat = s.axes)

/-- What the checker accepts is so. -/
theorem gives_sound {a : Assignment} {shapes : List Shape} (h : gives a shapes = true) : a.Gives shapes := by
  simpa [gives, Assignment.Gives] using h

/-! ## Examples

One for each kind of arithmetic, with a near miss. -/

namespace Example

/-- A window of 3 at stride 2 inside the axis: 4 positions need `2·3 + 3 = 9` elements. -/
example : AffineAxis (.sized 9) (.sized 4) 2 0 (some ⟨.sized 3, 1, .valid⟩) ∧
    ¬AffineAxis (.sized 8) (.sized 4) 2 0 (some ⟨.sized 3, 1, .valid⟩) := by decide

/-- The same window with padding: `2·4 = 8`. -/
example : AffineAxis (.sized 8) (.sized 4) 2 0 (some ⟨.sized 3, 1, .padded⟩) := by decide

/-- The same window, dropping what is left: 9 and 10 elements have 4 positions, 8 have 3 and 11 have 5. -/
example : AffineAxis (.sized 9) (.sized 4) 2 0 (some ⟨.sized 3, 1, .dropped⟩) ∧
    AffineAxis (.sized 10) (.sized 4) 2 0 (some ⟨.sized 3, 1, .dropped⟩) ∧
    ¬AffineAxis (.sized 8) (.sized 4) 2 0 (some ⟨.sized 3, 1, .dropped⟩) ∧
    ¬AffineAxis (.sized 11) (.sized 4) 2 0 (some ⟨.sized 3, 1, .dropped⟩) := by decide

/-- A stride alone; what is iterated claims a size, and the axis has its basis. -/
example : AffineAxis (.atom 8 1) (.atom 4 1) 2 0 none ∧ ¬AffineAxis (.atom 8 1) (.atom 4 0) 2 0 none ∧
    ¬AffineAxis (.sized 2) .unit 2 0 none := by decide

/-- Dimension variable 0 is 12, row variable 0 is `[3]·◇·[4]`. -/
def solution : Assignment := ⟨[.sized 12], [⟨[.sized 3], [.sized 4]⟩]⟩

/-- `12 = 5 + 6 + 1`, where a unit counts as one. -/
example : (Constraint.concat (.var 0) [.dim (.sized 5), .dim .unit] 6).Holds solution ∧
    ¬(Constraint.concat (.var 0) [.dim (.sized 5), .dim .unit] 7).Holds solution := by decide

/-- The axes of the row have `24·1 / 2` elements, and as many as the variable. -/
example : (Constraint.count [.row 0] 24 none 2 []).Holds solution ∧
    (Constraint.count [.row 0] 1 (some (.var 0)) 1 []).Holds solution ∧
    ¬(Constraint.count [.row 0, .dim (.var 0)] 24 none 2 []).Holds solution := by decide

/-- The row and the variable are the axes 3, 4 and 12. -/
example : (Constraint.exact [.row 0, .dim (.var 0)] [.dim (.sized 3), .dim (.sized 4), .var 0]).Holds solution ∧
    ¬(Constraint.exact [.row 0] [.dim (.sized 4), .dim (.sized 3)]).Holds solution := by decide

/-- The index 11 may be read, the index 12 may not. -/
example : (Constraint.atLeast (.var 0) 12).Holds solution ∧
    ¬(Constraint.atLeast (.var 0) 13).Holds solution := by decide

/-- A range that ends at 12 has room for it, one that ends at 11 has not. -/
example : (Constraint.atMost (.var 0) 12).Holds solution ∧
    ¬(Constraint.atMost (.var 0) 11).Holds solution := by decide

/-- The row broadcasts at its marker, between 3 and 4. -/
example : (Constraint.rowLe ⟨[], none, [.dim (.sized 3), .var 0, .dim (.sized 4)]⟩ ⟨[], some 0, []⟩).Holds solution ∧
    ¬(Constraint.rowLe ⟨[], none, [.var 0, .dim (.sized 3), .dim (.sized 4)]⟩ ⟨[], some 0, []⟩).Holds solution := by
  decide

/-- What `[3]·◇·[4]` and `[_, 4]` broadcast to has their axes; a third one, or a 5, would come from nowhere. -/
example : (Constraint.madeOf ⟨[], none, [.dim (.sized 3), .dim (.sized 4)]⟩
      [⟨[], some 0, []⟩, ⟨[], none, [.dim .unit, .dim (.sized 4)]⟩]).Holds solution ∧
    ¬(Constraint.madeOf ⟨[], none, [.dim (.sized 3), .dim .unit, .dim (.sized 4)]⟩ [⟨[], some 0, []⟩]).Holds solution ∧
    ¬(Constraint.madeOf ⟨[], none, [.dim (.sized 3), .dim (.sized 5)]⟩ [⟨[], some 0, []⟩]).Holds solution := by
  decide

end Example

end Broadloom
