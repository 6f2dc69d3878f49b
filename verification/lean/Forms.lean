module

/-!
# Sizes as expressions over names

A size of a program with named sizes is an expression over the names: `batch`, `seq/8`, `2*batch*seq + 1`. Here it
is a `Form`: a polynomial with whole coefficients, divided by a number. What a program needs of its sizes is
that two expressions are equal, that one is at most another, and that a quotient is a whole number, for all sizes of
the names in their ranges that meet its conditions.

`Family.equal`, `Family.atMost` and `Family.proper` decide that; the theorems with the same names and `_sound` say
that they are right when they say yes. They may say no where yes would be right: polynomials are compared
coefficient by coefficient, after the conditions that something is zero have been used as rewrite rules; inequalities
follow from the ends of the ranges, one summand at a time, and from at most one condition; and a quotient is
whole because its coefficients are, or because conditions say so that remain when multiples of others are taken away.
-/

@[expose] public noncomputable section

namespace Broadloom

/-! ## Polynomials -/

/-- A polynomial over the names `0, 1, …`: summands with a coefficient and the names that are multiplied. -/
abbrev Poly := List (Int × List Nat)

/-- The product of the sizes of some names. -/
def product (sizes : Nat → Nat) : List Nat → Int
  | [] => 1
  | name :: names => sizes name * product sizes names

namespace Poly

/-- The value at given sizes of the names. -/
def value (sizes : Nat → Nat) : Poly → Int
  | [] => 0
  | (factor, names) :: rest => factor * product sizes names + value sizes rest

/-- The product with a number and some names. -/
def shift (factor : Int) (names : List Nat) : Poly → Poly
  | [] => []
  | (other, others) :: rest => (factor * other, names ++ others) :: shift factor names rest

/-- The product with a number. -/
abbrev scale (factor : Int) (p : Poly) : Poly := shift factor [] p

/-- The product of two polynomials. -/
def times : Poly → Poly → Poly
  | [], _ => []
  | (factor, names) :: rest, q => shift factor names q ++ times rest q

end Poly

/-- Adds a name to a sorted product. -/
def insertName (name : Nat) : List Nat → List Nat
  | [] => [name]
  | other :: rest => if name ≤ other then name :: other :: rest else other :: insertName name rest

/-- The names of a product in their order. -/
def sortNames : List Nat → List Nat
  | [] => []
  | name :: rest => insertName name (sortNames rest)

/-- The product without the names of another, if it has them all. -/
def without (names : List Nat) : List Nat → Option (List Nat)
  | [] => some names
  | name :: rest => if name ∈ names then without (names.erase name) rest else none

namespace Poly

/-- Adds a summand, to the one with the same names if there is one. -/
def addTerm (factor : Int) (names : List Nat) : Poly → Poly
  | [] => if factor = 0 then [] else [(factor, names)]
  | (other, others) :: rest =>
    if others = names then
      if factor + other = 0 then rest else (factor + other, names) :: rest
    else (other, others) :: addTerm factor names rest

/-- The polynomial with every product of names once, in order, and without zeros. -/
def normal : Poly → Poly
  | [] => []
  | (factor, names) :: rest => addTerm factor (sortNames names) (normal rest)

/-- The coefficient of a product of names in a normal polynomial. -/
def coefficient (names : List Nat) : Poly → Int
  | [] => 0
  | (factor, others) :: rest => if others = names then factor else coefficient names rest

end Poly

section values

variable {sizes : Nat → Nat}

theorem product_append (xs ys : List Nat) : product sizes (xs ++ ys) = product sizes xs * product sizes ys := by
  induction xs with
  | nil => simp [product]
  | cons x xs ih => simp [product, ih, Int.mul_assoc]

theorem product_nonneg (names : List Nat) : 0 ≤ product sizes names := by
  induction names with
  | nil => simp [product]
  | cons name names ih => exact Int.mul_nonneg (Int.natCast_nonneg _) ih

theorem product_insertName (name : Nat) (names : List Nat) :
    product sizes (insertName name names) = sizes name * product sizes names := by
  induction names with
  | nil => rfl
  | cons other rest ih =>
    unfold insertName
    split
    · rfl
    · simp only [product, ih]; grind

theorem product_sortNames (names : List Nat) : product sizes (sortNames names) = product sizes names := by
  induction names with
  | nil => rfl
  | cons name rest ih => simp [sortNames, product_insertName, ih, product]

theorem product_erase {name : Nat} {names : List Nat} (h : name ∈ names) :
    product sizes names = sizes name * product sizes (names.erase name) := by
  induction names with
  | nil => simp at h
  | cons other rest ih =>
    by_cases same : other = name
    · subst same; simp [product]
    · have : name ∈ rest := by grind
      have distinct : (other == name) = false := by simpa using same
      simp only [List.erase_cons, distinct, product, ih this]
      simp only [Bool.false_eq_true, if_false, product]
      grind

theorem product_without {names less rest : List Nat} (h : without names less = some rest) :
    product sizes names = product sizes less * product sizes rest := by
  induction less generalizing names with
  | nil => simp_all [without, product]
  | cons name less ih =>
    unfold without at h
    split at h
    · rw [product_erase ‹_›, ih h, product, Int.mul_assoc]
    · cases h

namespace Poly

theorem value_append (p q : Poly) : value sizes (p ++ q) = value sizes p + value sizes q := by
  induction p with
  | nil => simp [value]
  | cons term p ih => simp [value, ih, Int.add_assoc]

theorem value_shift (factor : Int) (names : List Nat) (p : Poly) :
    value sizes (shift factor names p) = factor * product sizes names * value sizes p := by
  induction p with
  | nil => simp [value, shift]
  | cons term p ih =>
    obtain ⟨other, others⟩ := term
    simp only [shift, value, ih, product_append]
    grind

theorem value_scale (factor : Int) (p : Poly) : value sizes (scale factor p) = factor * value sizes p := by
  simp [value_shift, product]

theorem value_times (p q : Poly) : value sizes (times p q) = value sizes p * value sizes q := by
  induction p with
  | nil => simp [value, times]
  | cons term p ih =>
    obtain ⟨factor, names⟩ := term
    simp only [times, value, value_append, value_shift, ih]
    grind

theorem value_constant (n : Int) : value sizes [(n, [])] = n := by simp [value, product]

theorem value_addTerm (factor : Int) (names : List Nat) (p : Poly) :
    value sizes (addTerm factor names p) = factor * product sizes names + value sizes p := by
  induction p with
  | nil =>
    unfold addTerm
    split <;> simp_all [value]
  | cons term p ih =>
    obtain ⟨other, others⟩ := term
    unfold addTerm
    split
    · rename_i same
      subst same
      split
      · have : other = -factor := by omega
        subst this
        simp only [value]; grind
      · simp only [value]; grind
    · simp only [value, ih]; grind

theorem value_normal (p : Poly) : value sizes (normal p) = value sizes p := by
  induction p with
  | nil => rfl
  | cons term p ih => simp [normal, value, value_addTerm, product_sortNames, ih]

end Poly

end values

/-! ## Families of sizes -/

/-- An expression: a polynomial divided by a number. -/
structure Form where
  terms : Poly
  over : Nat

/-- The size that an expression stands for. The quotient is rounded; where `Family.proper` holds, nothing is. -/
def Form.size (sizes : Nat → Nat) (form : Form) : Nat := (form.terms.value sizes / form.over).toNat

/-- The range of a name: the least size, and the greatest if there is one. -/
structure SizeRange where
  least : Nat
  most : Option Nat

/-- What is asked of an expression. -/
inductive Need where
  | whole
  | zero
  | atLeast (least : Nat)
  | atMost (most : Nat)

/-- A condition on the sizes of names. -/
structure Condition where
  form : Form
  need : Need

/-- What it means that sizes meet a condition, without division: `p/n` is whole if `n` divides `p`, and so on. -/
def Condition.Holds (sizes : Nat → Nat) (c : Condition) : Prop :=
  match c.need with
  | .whole => (c.form.over : Int) ∣ c.form.terms.value sizes
  | .zero => c.form.terms.value sizes = 0
  | .atLeast least => (least * c.form.over : Int) ≤ c.form.terms.value sizes
  | .atMost most => c.form.terms.value sizes ≤ most * c.form.over

/-- The named sizes of a program: the ranges of the names `0, 1, …`, the conditions that the program relies on, and
the expressions that occur in its shapes. -/
structure Family where
  ranges : List SizeRange
  conditions : List Condition
  forms : List Form

/-- The range of a name, by its number. -/
def rangeOf : List SizeRange → Nat → SizeRange
  | [], _ => ⟨0, none⟩
  | range :: _, 0 => range
  | _ :: ranges, name + 1 => rangeOf ranges name

/-- Whether a size lies in a range. -/
def SizeRange.Holds (range : SizeRange) (size : Nat) : Prop :=
  range.least ≤ size ∧ ∀ most ∈ range.most, size ≤ most

/-- What it means that sizes of the names are among those that a program is made for. -/
structure Family.Admits (f : Family) (sizes : Nat → Nat) : Prop where
  ranges : ∀ name, (rangeOf f.ranges name).Holds (sizes name)
  conditions : ∀ c ∈ f.conditions, c.Holds sizes

/-! ## Zero -/

namespace Poly

/-- Less one summand, by a polynomial that is zero: its first summand divides that one. -/
def reduced (p zero : Poly) : Option Poly :=
  match zero with
  | [] => none
  | (factor, names) :: _ =>
    if factor = 0 then none
    else p.findSome? fun term =>
      (without term.2 names).map fun rest => scale factor p ++ shift (-term.1) rest zero

/-- Whether the polynomial is zero wherever some others are. -/
def isZero (zeros : List Poly) : Nat → Poly → Bool
  | 0, p => (normal p).isEmpty
  | fuel + 1, p =>
    match normal p with
    | [] => true
    | q => (zeros.findSome? (reduced q)).any (isZero zeros fuel)

theorem reduced_sound {sizes : Nat → Nat} {p zero less : Poly} (h : reduced p zero = some less)
    (isZero : value sizes zero = 0) (vanishes : value sizes less = 0) : value sizes p = 0 := by
  unfold reduced at h
  split at h
  · cases h
  · split at h
    · cases h
    · rename_i factor names more distinct
      obtain ⟨term, _, found⟩ := List.exists_of_findSome?_eq_some h
      obtain ⟨rest, _, rfl⟩ := Option.map_eq_some_iff.mp found
      rw [value_append, value_scale, value_shift, isZero] at vanishes
      have : factor * value sizes p = 0 := by rw [Int.mul_zero, Int.add_zero] at vanishes; exact vanishes
      rcases Int.mul_eq_zero.mp this with zero | zero
      · contradiction
      · exact zero

theorem isZero_sound {sizes : Nat → Nat} {zeros : List Poly} (all : ∀ zero ∈ zeros, value sizes zero = 0)
    {fuel : Nat} {p : Poly} (h : isZero zeros fuel p = true) : value sizes p = 0 := by
  induction fuel generalizing p with
  | zero =>
    have : normal p = [] := by simpa [isZero] using h
    rw [← value_normal, this]; rfl
  | succ fuel ih =>
    rw [← value_normal]
    unfold isZero at h
    split at h
    · rename_i empty
      rw [empty]; rfl
    · obtain ⟨less, found, vanishes⟩ := (Option.any_eq_true ..).mp h
      obtain ⟨zero, mem, reduces⟩ := List.exists_of_findSome?_eq_some found
      exact reduced_sound reduces (all zero mem) (ih vanishes)

end Poly

/-! ## Bounds -/

/-- The product of the least sizes. -/
def lowProduct (ranges : List SizeRange) : List Nat → Nat
  | [] => 1
  | name :: names => (rangeOf ranges name).least * lowProduct ranges names

/-- The product of the greatest sizes. -/
def highProduct (ranges : List SizeRange) : List Nat → Option Nat
  | [] => some 1
  | name :: names =>
    match (rangeOf ranges name).most, highProduct ranges names with
    | some most, some rest => some (most * rest)
    | _, _ => none

namespace Poly

/-- The least value of a summand. -/
def leastTerm (ranges : List SizeRange) (factor : Int) (names : List Nat) : Option Int :=
  if 0 ≤ factor then some (factor * lowProduct ranges names)
  else (highProduct ranges names).map fun (most : Nat) => factor * (most : Int)

/-- A number that the value is not below. -/
def least (ranges : List SizeRange) : Poly → Option Int
  | [] => some 0
  | (factor, names) :: rest =>
    match leastTerm ranges factor names, least ranges rest with
    | some one, some others => some (one + others)
    | _, _ => none

/-- Whether no value is negative by the ranges alone. -/
def inRanges (ranges : List SizeRange) (p : Poly) : Bool := (least ranges (normal p)).any (0 ≤ ·)

/-- Whether no value is negative, by the ranges and a polynomial that is not: a multiple of it, which takes its first
summand away, is subtracted. -/
def inRangesLess (ranges : List SizeRange) (p known : Poly) : Bool :=
  match known with
  | [] => false
  | (factor, names) :: _ =>
    factor ≠ 0 &&
      inRanges ranges (scale factor.natAbs p ++ scale (-(coefficient names (normal p)).natAbs) known)

/-- Whether no value is negative, by the ranges and at most one of some polynomials that are not. -/
def nonneg (ranges : List SizeRange) (known : List Poly) (p : Poly) : Bool :=
  inRanges ranges p || known.any (inRangesLess ranges p)

end Poly

section bounds

variable {sizes : Nat → Nat} {ranges : List SizeRange}
  (within : ∀ name, (rangeOf ranges name).Holds (sizes name))

include within

theorem lowProduct_le (names : List Nat) : (lowProduct ranges names : Int) ≤ product sizes names := by
  induction names with
  | nil => simp [lowProduct, product]
  | cons name names ih =>
    have := (within name).1
    simp only [lowProduct, product, Int.natCast_mul]
    exact Int.mul_le_mul (by omega) ih (Int.natCast_nonneg _) (Int.natCast_nonneg _)

theorem le_highProduct {names : List Nat} {most : Nat} (h : highProduct ranges names = some most) :
    product sizes names ≤ most := by
  induction names generalizing most with
  | nil =>
    cases h
    simp [product]
  | cons name names ih =>
    unfold highProduct at h
    split at h
    · rename_i high rest isHigh isRest
      cases h
      have := (within name).2 high isHigh
      simp only [product, Int.natCast_mul]
      exact Int.mul_le_mul (by omega) (ih isRest) (product_nonneg _) (Int.natCast_nonneg _)
    · cases h

namespace Poly

theorem leastTerm_le {factor least : Int} {names : List Nat} (h : leastTerm ranges factor names = some least) :
    least ≤ factor * product sizes names := by
  unfold leastTerm at h
  split at h
  · cases h
    exact Int.mul_le_mul_of_nonneg_left (lowProduct_le within names) ‹_›
  · obtain ⟨most, high, rfl⟩ := Option.map_eq_some_iff.mp h
    exact Int.mul_le_mul_of_nonpos_left (by omega) (le_highProduct within high)

theorem least_le {p : Poly} {bound : Int} (h : least ranges p = some bound) : bound ≤ value sizes p := by
  induction p generalizing bound with
  | nil => simp_all [least, value]
  | cons term p ih =>
    obtain ⟨factor, names⟩ := term
    unfold least at h
    split at h
    · rename_i one others isOne isOthers
      cases h
      have := leastTerm_le within isOne
      have := ih isOthers
      simp only [value]; omega
    · cases h

theorem inRanges_sound {p : Poly} (h : inRanges ranges p = true) : 0 ≤ value sizes p := by
  unfold inRanges at h
  rw [← value_normal]
  cases bound : least ranges (normal p) with
  | none => simp [bound] at h
  | some bound' =>
    have := least_le within bound
    simp [bound] at h
    omega

theorem inRangesLess_sound {p known : Poly} (h : inRangesLess ranges p known = true)
    (nonneg : 0 ≤ value sizes known) : 0 ≤ value sizes p := by
  unfold inRangesLess at h
  split at h
  · cases h
  · rename_i factor names rest
    simp only [Bool.and_eq_true, decide_eq_true_eq] at h
    obtain ⟨distinct, rest⟩ := h
    have sum := inRanges_sound within rest
    rw [value_append, value_scale, value_scale] at sum
    have less := Int.mul_nonneg
      (Int.natCast_nonneg (coefficient names (normal p)).natAbs) nonneg
    have positive : (0 : Int) < factor.natAbs := by omega
    by_cases negative : value sizes p < 0
    · have := Int.mul_neg_of_pos_of_neg positive negative
      rw [Int.neg_mul] at sum
      omega
    · omega

theorem nonneg_sound {p : Poly} {known : List Poly} (h : nonneg ranges known p = true)
    (all : ∀ q ∈ known, 0 ≤ value sizes q) : 0 ≤ value sizes p := by
  simp only [nonneg, Bool.or_eq_true, List.any_eq_true] at h
  rcases h with h | ⟨q, mem, h⟩
  · exact inRanges_sound within h
  · exact inRangesLess_sound within h (all q mem)

end Poly

end bounds

/-! ## Quotients -/

namespace Poly

/-- The summands that a number does not divide. -/
def rest (divisor : Nat) (p : Poly) : Poly := (normal p).filter fun term => term.1 % divisor ≠ 0

/-- Takes a multiple of a quotient that is whole away, if its first summand divides the first one here. -/
def lessWhole (divisor : Nat) (p : Poly) (whole : Form) : Option Poly :=
  match p, whole.terms with
  | (factor, names) :: _, (first, firstNames) :: _ =>
    if first ≠ 0 ∧ factor / first * whole.over % divisor = 0 ∧ factor / first * first = factor then
      (without names firstNames).map fun more => p ++ shift (-(factor / first)) more whole.terms
    else none
  | _, _ => none

/-- Whether a number divides every value, because it divides the coefficients, or by quotients that are whole. -/
def isMultiple (wholes : List Form) (divisor : Nat) : Nat → Poly → Bool
  | 0, p => (rest divisor p).isEmpty
  | fuel + 1, p =>
    match rest divisor p with
    | [] => true
    | q => (wholes.findSome? (lessWhole divisor q)).any (isMultiple wholes divisor fuel)

variable {sizes : Nat → Nat} {divisor : Nat}

theorem dvd_sub_filter (p : Poly) : (divisor : Int) ∣
    value sizes p - value sizes (p.filter fun term => term.1 % divisor ≠ 0) := by
  induction p with
  | nil => simp [value]
  | cons term p ih =>
    obtain ⟨factor, names⟩ := term
    by_cases divides : factor % divisor = 0
    · rw [List.filter_cons_of_neg (by simpa using divides), value, Int.add_sub_assoc]
      exact Int.dvd_add (Int.dvd_mul_of_dvd_left (Int.dvd_of_emod_eq_zero divides)) ih
    · rw [List.filter_cons_of_pos (by simpa using divides), value, value]
      simpa [Int.add_sub_add_left] using ih

theorem dvd_of_rest {p : Poly} (h : (divisor : Int) ∣ value sizes (rest divisor p)) :
    (divisor : Int) ∣ value sizes p := by
  rw [← value_normal]
  have := Int.dvd_add (dvd_sub_filter (sizes := sizes) (divisor := divisor) (normal p)) h
  simpa [rest] using this

theorem dvd_of_lessWhole {p less : Poly} {whole : Form} (h : lessWhole divisor p whole = some less)
    (isWhole : (whole.over : Int) ∣ value sizes whole.terms) (divides : (divisor : Int) ∣ value sizes less) :
    (divisor : Int) ∣ value sizes p := by
  unfold lessWhole at h
  split at h
  · rename_i factor names rest first firstNames rest' isTerms
    split at h
    · rename_i facts
      obtain ⟨more, _, rfl⟩ := Option.map_eq_some_iff.mp h
      obtain ⟨quotient, isQuotient⟩ := isWhole
      obtain ⟨multiple, isMultiple⟩ := Int.dvd_of_emod_eq_zero facts.2.1
      rw [value_append, value_shift, isQuotient] at divides
      have taken : (divisor : Int) ∣ factor / first * product sizes more * (whole.over * quotient) :=
        ⟨multiple * product sizes more * quotient, by grind⟩
      have := Int.dvd_add divides taken
      simpa [Int.neg_mul, Int.add_assoc, Int.add_left_neg] using this
    · cases h
  · cases h

theorem isMultiple_sound {wholes : List Form} (all : ∀ whole ∈ wholes, (whole.over : Int) ∣ value sizes whole.terms)
    {fuel : Nat} {p : Poly} (h : isMultiple wholes divisor fuel p = true) : (divisor : Int) ∣ value sizes p := by
  induction fuel generalizing p with
  | zero =>
    have : rest divisor p = [] := by simpa [isMultiple] using h
    exact dvd_of_rest (by simp [this, value])
  | succ fuel ih =>
    apply dvd_of_rest
    unfold isMultiple at h
    split at h
    · rename_i empty
      simp [empty, value]
    · obtain ⟨less, found, divides⟩ := (Option.any_eq_true ..).mp h
      obtain ⟨whole, mem, isLess⟩ := List.exists_of_findSome?_eq_some found
      exact dvd_of_lessWhole isLess (all whole mem) (ih divides)

end Poly

/-! ## The facts that a family decides -/

namespace Family

/-- The polynomials that the conditions make zero. -/
def zeros (f : Family) : List Poly :=
  f.conditions.filterMap fun c => match c.need with
    | .zero => some c.form.terms
    | _ => none

/-- The quotients that the conditions make whole. -/
def wholes (f : Family) : List Form :=
  f.conditions.filterMap fun c => match c.need with
    | .whole => some c.form
    | _ => none

/-- The polynomials that the conditions keep from being negative. -/
def bounds (f : Family) : List Poly :=
  f.conditions.filterMap fun c => match c.need with
    | .atLeast least => some (c.form.terms ++ [(-(least * c.form.over : Int), [])])
    | .atMost most => some (Poly.scale (-1) c.form.terms ++ [((most * c.form.over : Int), [])])
    | _ => none

/-- How often a condition may be used in one proof. -/
def fuel : Nat := 1000

/-- Whether no value of a polynomial is negative. -/
def nonneg (f : Family) (p : Poly) : Bool := p.nonneg f.ranges f.bounds

/-- Whether an expression is a size, a whole number that is not negative, whatever the sizes of the names are. -/
def proper (f : Family) (form : Form) : Bool :=
  0 < form.over && Poly.isMultiple f.wholes form.over fuel form.terms && f.nonneg form.terms

variable {f : Family} {sizes : Nat → Nat} (admitted : f.Admits sizes)

include admitted

theorem zeros_sound : ∀ p ∈ f.zeros, Poly.value sizes p = 0 := by
  intro p mem
  obtain ⟨c, inside, isZero⟩ := List.mem_filterMap.mp mem
  have := admitted.conditions c inside
  unfold Condition.Holds at this
  grind

theorem wholes_sound : ∀ form ∈ f.wholes, (form.over : Int) ∣ Poly.value sizes form.terms := by
  intro form mem
  obtain ⟨c, inside, isWhole⟩ := List.mem_filterMap.mp mem
  have := admitted.conditions c inside
  unfold Condition.Holds at this
  grind

theorem bounds_sound : ∀ p ∈ f.bounds, 0 ≤ Poly.value sizes p := by
  intro p mem
  obtain ⟨c, inside, isBound⟩ := List.mem_filterMap.mp mem
  have := admitted.conditions c inside
  unfold Condition.Holds at this
  split at isBound
  · cases isBound
    rename_i least isNeed
    rw [isNeed] at this
    rw [Poly.value_append, Poly.value_constant]
    simp only at this
    omega
  · cases isBound
    rename_i most isNeed
    rw [isNeed] at this
    rw [Poly.value_append, Poly.value_constant, Poly.value_scale]
    simp only at this
    omega
  · cases isBound

theorem nonneg_sound {p : Poly} (h : f.nonneg p = true) : 0 ≤ Poly.value sizes p :=
  Poly.nonneg_sound admitted.ranges h (bounds_sound admitted)

/-- Nothing is rounded where an expression is found to be a size. -/
theorem proper_sound {form : Form} (h : f.proper form = true) :
    0 < form.over ∧ form.terms.value sizes = form.over * (form.size sizes : Int) := by
  simp only [proper, Bool.and_eq_true, decide_eq_true_eq] at h
  obtain ⟨⟨positive, multiple⟩, nonneg⟩ := h
  obtain ⟨quotient, isQuotient⟩ := Poly.isMultiple_sound (wholes_sound admitted) multiple
  have nonneg := nonneg_sound admitted nonneg
  refine ⟨positive, ?_⟩
  have over : (form.over : Int) ≠ 0 := by omega
  have nonneg : 0 ≤ quotient := by
    rw [isQuotient] at nonneg
    exact Int.nonneg_of_mul_nonneg_right nonneg (by omega)
  rw [Form.size, isQuotient, Int.mul_ediv_cancel_left _ over, Int.toNat_of_nonneg nonneg]

end Family

/-! ## Arithmetic of sizes -/

/-- The least number that stands for an expression instead of itself. Sizes of programs are below. -/
def firstForm : Nat := 18446744073709551616

/-- The number that stands for an expression, by its place in the list. -/
def form (place : Nat) : Nat := firstForm + place

namespace Family

/-- The expression at a place of the list. -/
def formAt : List Form → Nat → Form
  | [], _ => ⟨[], 1⟩
  | form :: _, 0 => form
  | _ :: forms, place + 1 => formAt forms place

/-- The expression that a number stands for: the number itself, or one of the list. -/
def formOf (f : Family) (number : Nat) : Form :=
  if number < firstForm then ⟨[(number, [])], 1⟩ else formAt f.forms (number - firstForm)

/-- The size that a number stands for, at given sizes of the names. -/
def sizeAt (f : Family) (sizes : Nat → Nat) (number : Nat) : Nat :=
  if number < firstForm then number else (formAt f.forms (number - firstForm)).size sizes

end Family

/-- Sums and products of numbers and sizes. -/
inductive Expr where
  | num (n : Nat)
  | size (number : Nat)
  | add (x y : Expr)
  | mul (x y : Expr)

namespace Expr

/-- The value, where `size` says what numbers stand for. -/
def value (size : Nat → Nat) : Expr → Nat
  | .num n => n
  | .size number => size number
  | .add x y => x.value size + y.value size
  | .mul x y => x.value size * y.value size

/-- The expression over the names. -/
def form (f : Family) : Expr → Form
  | .num n => ⟨[(n, [])], 1⟩
  | .size number => f.formOf number
  | .add x y =>
    let (x, y) := (x.form f, y.form f)
    ⟨(Poly.scale y.over x.terms ++ Poly.scale x.over y.terms).normal, x.over * y.over⟩
  | .mul x y =>
    let (x, y) := (x.form f, y.form f)
    ⟨(Poly.times x.terms y.terms).normal, x.over * y.over⟩

end Expr

namespace Family

/-- Whether all expressions of the list are sizes. -/
def allProper (f : Family) : Bool := f.forms.all f.proper

/-- Whether two expressions are equal for all sizes. -/
def equal (f : Family) (x y : Expr) : Bool :=
  let (x, y) := (x.form f, y.form f)
  Poly.isZero f.zeros fuel (Poly.scale y.over x.terms ++ Poly.scale (-x.over) y.terms)

/-- Whether one expression is at most another for all sizes. Both are whole, so that less than one of difference does
not count. -/
def atMost (f : Family) (x y : Expr) : Bool :=
  let (x, y) := (x.form f, y.form f)
  f.nonneg (Poly.scale x.over y.terms ++ Poly.scale (-y.over) x.terms ++ [((x.over * y.over : Int) - 1, [])])

variable {f : Family} {sizes : Nat → Nat} (admitted : f.Admits sizes) (proper : f.allProper = true)

include admitted proper

theorem formAt_sound (place : Nat) : 0 < (formAt f.forms place).over ∧
    (formAt f.forms place).terms.value sizes =
      (formAt f.forms place).over * ((formAt f.forms place).size sizes : Int) := by
  have all : ∀ form ∈ f.forms, f.proper form = true := by simpa [allProper] using proper
  generalize f.forms = forms at all
  induction forms generalizing place with
  | nil => simp [formAt, Poly.value, Form.size]
  | cons form forms ih =>
    cases place with
    | zero => exact proper_sound admitted (all form (by simp))
    | succ place => exact ih place fun form mem => all form (by simp [mem])

theorem formOf_sound (number : Nat) : 0 < (f.formOf number).over ∧
    (f.formOf number).terms.value sizes = (f.formOf number).over * (f.sizeAt sizes number : Int) := by
  unfold formOf sizeAt
  split
  · simp [Poly.value_constant]
  · exact formAt_sound admitted proper _

theorem form_sound (e : Expr) : 0 < (e.form f).over ∧
    (e.form f).terms.value sizes = (e.form f).over * (e.value (f.sizeAt sizes) : Int) := by
  induction e with
  | num n => simp [Expr.form, Expr.value, Poly.value_constant]
  | size number => exact formOf_sound admitted proper number
  | add x y ihx ihy =>
    refine ⟨Nat.mul_pos ihx.1 ihy.1, ?_⟩
    simp only [Expr.form, Expr.value, Poly.value_normal, Poly.value_append, Poly.value_scale, ihx.2, ihy.2,
      Int.natCast_mul, Int.natCast_add]
    grind
  | mul x y ihx ihy =>
    refine ⟨Nat.mul_pos ihx.1 ihy.1, ?_⟩
    simp only [Expr.form, Expr.value, Poly.value_normal, Poly.value_times, ihx.2, ihy.2, Int.natCast_mul]
    grind

theorem equal_sound {x y : Expr} (h : f.equal x y = true) :
    x.value (f.sizeAt sizes) = y.value (f.sizeAt sizes) := by
  obtain ⟨posX, valueX⟩ := form_sound admitted proper x
  obtain ⟨posY, valueY⟩ := form_sound admitted proper y
  have zero := Poly.isZero_sound (zeros_sound admitted) h
  rw [Poly.value_append, Poly.value_scale, Poly.value_scale, valueX, valueY] at zero
  have product : ((x.form f).over * (y.form f).over : Int) *
      ((x.value (f.sizeAt sizes) : Int) - y.value (f.sizeAt sizes)) = 0 := by grind
  rcases Int.mul_eq_zero.mp product with zero | zero
  · have := Int.mul_pos (Int.natCast_pos.mpr posX) (Int.natCast_pos.mpr posY)
    omega
  · omega

theorem atMost_sound {x y : Expr} (h : f.atMost x y = true) :
    x.value (f.sizeAt sizes) ≤ y.value (f.sizeAt sizes) := by
  obtain ⟨posX, valueX⟩ := form_sound admitted proper x
  obtain ⟨posY, valueY⟩ := form_sound admitted proper y
  have nonneg := nonneg_sound admitted h
  rw [Poly.value_append, Poly.value_append, Poly.value_scale, Poly.value_scale, Poly.value_constant, valueX,
    valueY] at nonneg
  have positive := Int.mul_pos (Int.natCast_pos.mpr posX) (Int.natCast_pos.mpr posY)
  have product : (0 : Int) < ((x.form f).over * (y.form f).over : Int) *
      ((y.value (f.sizeAt sizes) : Int) - x.value (f.sizeAt sizes) + 1) := by grind
  by_cases less : (y.value (f.sizeAt sizes) : Int) - x.value (f.sizeAt sizes) + 1 < 1
  · have := Int.mul_nonpos_of_nonneg_of_nonpos (Int.le_of_lt positive)
      (show (y.value (f.sizeAt sizes) : Int) - x.value (f.sizeAt sizes) + 1 ≤ 0 by omega)
    omega
  · omega

end Family

end Broadloom
