module

/-!
# Named, ranged and dynamic dimensions

The Lean part of *Tensor Dimension Inference*: its definitions (sections "Dimension Representation",
"Unification Algorithm", "Runtime Verification", "Memory Estimation") and the theorems of its section "Lean
Verification". That section elides most definitions; they are filled in from the algorithms of the other
sections. A theorem that does not hold as printed stands here restated, after the counterexample.

| printed | here |
|---|---|
| `shapesCompatible_refl` | needs ranges that are not empty |
| `unifyDim_success_eq` | needs a third case, the intersection of two ranges; `unifyDim_admits` says what it is for |
| `matmulShape_deterministic` | as printed; it holds of every function, `matmulShape_eq_some_iff` says more |
| `min_le_max_elements` | needs ranges that are not empty; `elements_between` says what it is for |
| `training_fits_if_max_fits` | as printed |
-/

@[expose] public noncomputable section

namespace TensorDimensions

/-! ## Dimensions -/

/-- A dimension. The constructor that is printed `variable` is called `var`, since `variable` is a keyword. -/
inductive Dim where
  | literal (value : Nat)
  | var (id : Nat) (name : Option String)
  | named (name : String) (lo hi : Option Nat)
  | dynamic
  | broadcast
  deriving DecidableEq

abbrev TensorShape := List Dim

/-- Whether a size lies in a range whose ends are both optional. -/
def inRange (lo hi : Option Nat) (size : Nat) : Bool := lo.all (· ≤ size) && hi.all (size ≤ ·)

/-- Whether some size lies in the range. -/
def rangeNonempty : Option Nat → Option Nat → Bool
  | some lo, some hi => lo ≤ hi
  | _, _ => true

/-- Whether a size may occur at run time where the dimension was declared: `verify_dim_at_runtime`. -/
def Dim.admits : Dim → Nat → Bool
  | .literal value, size => size == value
  | .named _ lo hi, size => inRange lo hi size
  | .var _ _, _ => true
  | .dynamic, _ => true
  | .broadcast, _ => true

/-- Whether sizes may occur at run time where the shape was declared: `verify_shape_at_runtime`. -/
def admits : TensorShape → List Nat → Bool
  | [], [] => true
  | d :: s, size :: sizes => d.admits size && admits s sizes
  | _, _ => false

/-- Some size of at least one is admitted. Only a dimension with an impossible range, or a literal zero, is
not satisfiable. -/
def Dim.Satisfiable (d : Dim) : Prop := ∃ size, 1 ≤ size ∧ d.admits size

/-! ## Unification -/

inductive UnifyResult where
  | success (d : Dim)
  | failure
  deriving DecidableEq

/-- Unification of two dimensions, `unify_dims`, without its context: what a variable is bound to is the other
side. Differences from the printed algorithm, which follow its prose: a named dimension without a range meets
any literal, and a literal meets a named dimension in both orders. -/
def unifyDim : Dim → Dim → UnifyResult
  | .literal m, .literal n => if m = n then .success (.literal n) else .failure
  | .var _ _, d => .success d
  | d, .var _ _ => .success d
  | .dynamic, d => .success d
  | d, .dynamic => .success d
  | .broadcast, .literal n => .success (.literal n)
  | .literal n, .broadcast => .success (.literal n)
  | .broadcast, .broadcast => .success .broadcast
  | .named name lo hi, .named name' lo' hi' =>
    if name = name' ∧ rangeNonempty (lo.merge max lo') (hi.merge min hi') then
      .success (.named name (lo.merge max lo') (hi.merge min hi'))
    else .failure
  | .named _ lo hi, .literal n => if inRange lo hi n then .success (.literal n) else .failure
  | .literal n, .named _ lo hi => if inRange lo hi n then .success (.literal n) else .failure
  | _, _ => .failure

/-- Equality of dimensions. -/
def dimEq (d₁ d₂ : Dim) : Bool := d₁ = d₂

/-- Whether two shapes unify, axis by axis. -/
def shapesCompatible : TensorShape → TensorShape → Bool
  | [], [] => true
  | d₁ :: s₁, d₂ :: s₂ => unifyDim d₁ d₂ ≠ .failure && shapesCompatible s₁ s₂
  | _, _ => false

/-- `shapesCompatible_refl` does not hold as printed: a range may be empty, and then it is empty after
intersection with itself. -/
theorem not_shapesCompatible_refl : ¬∀ s, shapesCompatible s s = true :=
  fun h => absurd (h [.named "batch" (some 5) (some 3)]) (by decide)

/-- Every shape whose dimensions can have a size is compatible with itself. -/
theorem shapesCompatible_refl (s : TensorShape) (satisfiable : ∀ d ∈ s, d.Satisfiable) :
    shapesCompatible s s = true := by
  induction s with
  | nil => rfl
  | cons d s ih =>
    simp only [List.forall_mem_cons] at satisfiable
    have unifies : unifyDim d d ≠ .failure := by
      obtain ⟨⟨size, _, admitted⟩, _⟩ := satisfiable
      rcases d with _ | _ | ⟨_, _ | lo, _ | hi⟩ | _ | _ <;>
        simp_all [unifyDim, rangeNonempty, Option.merge, Dim.admits, inRange] <;> omega
    simp [shapesCompatible, unifies, ih satisfiable.2]

/-- `unifyDim_success_eq` does not hold as printed: two ranges that overlap unify to their intersection, which
is neither of them. -/
theorem not_unifyDim_success_eq :
    ¬∀ d₁ d₂ d, unifyDim d₁ d₂ = .success d → dimEq d₁ d ∨ dimEq d₂ d :=
  fun h => absurd
    (h (.named "batch" (some 1) (some 32)) (.named "batch" (some 16) (some 64))
      (.named "batch" (some 16) (some 32)) (by decide)) (by decide)

/-- The result of unification is one of the two dimensions, or the intersection of two ranges of one name. -/
theorem unifyDim_success_eq (d₁ d₂ d : Dim) (h : unifyDim d₁ d₂ = .success d) :
    dimEq d₁ d ∨ dimEq d₂ d ∨ ∃ name lo hi lo' hi', d₁ = .named name lo hi ∧ d₂ = .named name lo' hi' ∧
      d = .named name (lo.merge max lo') (hi.merge min hi') := by
  cases d₁ <;> cases d₂ <;> simp only [unifyDim, UnifyResult.success.injEq, reduceCtorEq] at h <;> first
    | subst h
      simp [dimEq]
    | split at h
      · obtain ⟨⟨rfl, _⟩, rfl⟩ := And.intro ‹_ ∧ _› (UnifyResult.success.inj h)
        exact .inr (.inr ⟨_, _, _, _, _, rfl, rfl, rfl⟩)
      · cases h
    | split at h <;> simp_all [dimEq]

theorem inRange_merge {lo lo' hi hi' : Option Nat} {size : Nat} :
    inRange (lo.merge max lo') (hi.merge min hi') size = (inRange lo hi size && inRange lo' hi' size) := by
  have lower : (lo.merge max lo').all (· ≤ size) = (lo.all (· ≤ size) && lo'.all (· ≤ size)) := by
    cases lo <;> cases lo' <;> simp [Option.merge, Nat.max_le]
  have upper : (hi.merge min hi').all (size ≤ ·) = (hi.all (size ≤ ·) && hi'.all (size ≤ ·)) := by
    cases hi <;> cases hi' <;> simp [Option.merge, Nat.le_min]
  simp only [inRange, lower, upper]
  ac_rfl

/-- What unification is for: a size is admitted by the result exactly if it is by both dimensions. -/
theorem unifyDim_admits {d₁ d₂ d : Dim} (h : unifyDim d₁ d₂ = .success d) (size : Nat) :
    d.admits size = (d₁.admits size && d₂.admits size) := by
  cases d₁ <;> cases d₂ <;> simp only [unifyDim, UnifyResult.success.injEq, reduceCtorEq] at h <;> first
    | subst h
      simp [Dim.admits]
    | grind [Dim.admits, inRange_merge]

/-! ## Matrix multiplication -/

/-- The rule `[M, K] @ [K, N] → [M, N]`. -/
def matmulShape (left right : TensorShape) : Option TensorShape :=
  match left, right with
  | [m, k₁], [k₂, n] => if unifyDim k₁ k₂ = .failure then none else some [m, n]
  | _, _ => none

/-- Matmul determinism, as printed. It holds because `matmulShape` is a function. -/
theorem matmulShape_deterministic (l r s₁ s₂ : TensorShape) :
    matmulShape l r = some s₁ → matmulShape l r = some s₂ → s₁ = s₂ := by
  intro h₁ h₂
  exact Option.some.inj (h₁.symm.trans h₂)

/-- When matmul has a shape, and which. -/
theorem matmulShape_eq_some_iff {l r s : TensorShape} : matmulShape l r = some s ↔
    ∃ m k₁ k₂ n, l = [m, k₁] ∧ r = [k₂, n] ∧ unifyDim k₁ k₂ ≠ .failure ∧ s = [m, n] := by
  constructor
  · unfold matmulShape
    grind
  · rintro ⟨m, k₁, k₂, n, rfl, rfl, unifies, rfl⟩
    simp [matmulShape, unifies]

/-! ## Numbers of elements -/

/-- The least size of a dimension, if one is known. The printed algorithm assumes 1 for variables and for
`broadcast`; that would be no upper bound, so here they have neither. -/
def Dim.least : Dim → Option Nat
  | .literal value => some value
  | .named _ lo _ => some (lo.getD 1)
  | .dynamic => some 1
  | .var _ _ => none
  | .broadcast => none

/-- The greatest size of a dimension, if there is one. The printed algorithm has a large number instead. -/
def Dim.greatest : Dim → Option Nat
  | .literal value => some value
  | .named _ _ hi => hi
  | .dynamic => none
  | .var _ _ => none
  | .broadcast => none

def minElements : TensorShape → Option Nat
  | [] => some 1
  | d :: s => do return (← d.least) * (← minElements s)

def maxElements : TensorShape → Option Nat
  | [] => some 1
  | d :: s => do return (← d.greatest) * (← maxElements s)

/-- `min_le_max_elements` does not hold as printed: a range may be empty. -/
theorem not_min_le_max_elements :
    ¬∀ s min max, minElements s = some min → maxElements s = some max → min ≤ max :=
  fun h => absurd (h [.named "batch" (some 5) (some 3)] 5 3 (by decide) (by decide)) (by decide)

/-- The bounds on a dimension hold for each size of at least one that it admits. -/
theorem Dim.between {d : Dim} {size : Nat} (positive : 1 ≤ size) (admitted : d.admits size) :
    (∀ least, d.least = some least → least ≤ size) ∧
      (∀ greatest, d.greatest = some greatest → size ≤ greatest) := by
  rcases d with _ | _ | ⟨_, _ | lo, _ | hi⟩ | _ | _ <;>
    simp_all [Dim.admits, Dim.least, Dim.greatest, inRange]

/-- What the bounds are for: the number of elements at run time lies between them, whenever sizes of at least
one were found to be admitted. -/
theorem elements_between {s : TensorShape} {sizes : List Nat} (positive : ∀ size ∈ sizes, 1 ≤ size)
    (admitted : admits s sizes) : (∀ min, minElements s = some min → min ≤ sizes.foldr (· * ·) 1) ∧
      (∀ max, maxElements s = some max → sizes.foldr (· * ·) 1 ≤ max) := by
  induction s generalizing sizes with
  | nil => cases sizes <;> simp_all [admits, minElements, maxElements]
  | cons d s ih =>
    cases sizes with
    | nil => simp [admits] at admitted
    | cons size sizes =>
      simp only [admits, Bool.and_eq_true, List.forall_mem_cons] at admitted positive
      obtain ⟨least, greatest⟩ := Dim.between positive.1 admitted.1
      obtain ⟨min, max⟩ := ih positive.2 admitted.2
      simp only [minElements, maxElements, List.foldr_cons, Option.pure_def, Option.bind_eq_bind,
        Option.bind_eq_some_iff, Option.some.injEq]
      refine ⟨?_, ?_⟩
      · rintro _ ⟨a, ha, b, hb, rfl⟩
        exact Nat.mul_le_mul (least a ha) (min b hb)
      · rintro _ ⟨a, ha, b, hb, rfl⟩
        exact Nat.mul_le_mul (greatest a ha) (max b hb)

/-- The least number of elements is at most the greatest, if every dimension can have a size. -/
theorem min_le_max_elements (s : TensorShape) (satisfiable : ∀ d ∈ s, d.Satisfiable) :
    ∀ min max, minElements s = some min → maxElements s = some max → min ≤ max := by
  have sizes : ∃ sizes : List Nat, (∀ size ∈ sizes, 1 ≤ size) ∧ admits s sizes := by
    induction s with
    | nil => exact ⟨[], by simp, rfl⟩
    | cons d s ih =>
      simp only [List.forall_mem_cons] at satisfiable
      obtain ⟨⟨size, positive, admitted⟩, rest⟩ := satisfiable
      obtain ⟨sizes, positives, admitteds⟩ := ih rest
      exact ⟨size :: sizes, by simp [positive]; exact positives, by simp [admits, admitted, admitteds]⟩
  obtain ⟨sizes, positive, admitted⟩ := sizes
  obtain ⟨below, above⟩ := elements_between positive admitted
  exact fun min max hmin hmax => Nat.le_trans (below min hmin) (above max hmax)

/-! ## Memory -/

/-- Bounds on a number of bytes. -/
structure MemoryBound where
  minBytes : Nat
  maxBytes : Nat
  deriving DecidableEq

structure DeviceMemory where
  availableBytes : Nat

/-- The training memory model: `parameters + gradients + optimizer state + activations`. -/
structure TrainingMemory where
  parameters : MemoryBound
  gradients : MemoryBound
  optimizerState : MemoryBound
  activations : MemoryBound

namespace TrainingMemory

def totalMin (tm : TrainingMemory) : Nat :=
  tm.parameters.minBytes + tm.gradients.minBytes + tm.optimizerState.minBytes + tm.activations.minBytes

def totalMax (tm : TrainingMemory) : Nat :=
  tm.parameters.maxBytes + tm.gradients.maxBytes + tm.optimizerState.maxBytes + tm.activations.maxBytes

end TrainingMemory

/-- Training memory safety, as printed. Its second premise is not needed. -/
theorem training_fits_if_max_fits (tm : TrainingMemory) (device : DeviceMemory) (actual : Nat) :
    tm.totalMax ≤ device.availableBytes → tm.totalMin ≤ actual → actual ≤ tm.totalMax →
      actual ≤ device.availableBytes := by
  omega

/-- Memory of a tensor, `estimate_tensor_memory`, if its number of elements is bounded. -/
def tensorMemory (s : TensorShape) (elemSize : Nat) : Option MemoryBound := do
  return ⟨(← minElements s) * elemSize, (← maxElements s) * elemSize⟩

/-- Training with Adam: gradients are as large as the parameters, the optimizer's state twice as large. -/
def adam (parameters activations : MemoryBound) : TrainingMemory where
  parameters := parameters
  gradients := parameters
  optimizerState := ⟨2 * parameters.minBytes, 2 * parameters.maxBytes⟩
  activations := activations

/-! ### The example of the section "Memory Estimation"

Parameters `[784, 256]` and `[256, 10]`, activations `[batch: 1..64, 256]`, four bytes each. The document errs
in its first product: it has `784 · 256 = 200,960`, which is `785 · 256`; the product is 200,704. Its sums are
then too large by 256 floats for the parameters and by 4,096 bytes in total. -/

namespace Example

theorem first_layer : minElements [.literal 784, .literal 256] = some 200704 ∧ 785 * 256 = 200960 := by
  decide

theorem second_layer : minElements [.literal 256, .literal 10] = some 2560 := by decide

/-- 203,264 floats, where the document has 203,520. -/
def parameters : MemoryBound := ⟨(200704 + 2560) * 4, (200704 + 2560) * 4⟩

theorem parameter_bytes : parameters = ⟨813056, 813056⟩ := by decide

theorem activation_bytes :
    tensorMemory [.named "batch" (some 1) (some 64), .literal 256] 4 = some ⟨1024, 65536⟩ := by decide

/-- Printed: 3,257,344 and 3,321,856. -/
theorem total_bytes : (adam parameters ⟨1024, 65536⟩).totalMin = 3253248 ∧
    (adam parameters ⟨1024, 65536⟩).totalMax = 3317760 := by decide

end Example

end TensorDimensions
