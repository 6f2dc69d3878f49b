module

public import Ranges

/-!
The certificate of `GoodRange` with a wrong coefficient: `z` has `8*seq/8` elements, which is not `seq + seq/8`.
-/

@[expose] public noncomputable section

open Broadloom

namespace WrongRange

def family : Family where
  ranges := [
    -- Name 0: batch
    ⟨1, some 64⟩,
    -- Name 1: seq
    ⟨8, some 512⟩]
  conditions := [
    -- seq is a multiple of 8
    ⟨⟨[(1, [1])], 8⟩, .whole⟩]
  forms := [
    -- Size 0: batch
    ⟨[(1, [0])], 1⟩,
    -- Size 1: seq
    ⟨[(1, [1])], 1⟩,
    -- Size 2: seq/8
    ⟨[(1, [1])], 8⟩,
    -- Size 3: 8*seq/8
    ⟨[(8, [1])], 8⟩]

def sample : List Nat := [1, 16]

def system : System where
  constraints := [
    -- dim batch in 1..64, dim seq in 8..512: dimensions 0 and 1
    .atLeast (.var 0) 1,
    .atMost (.var 0) 64,
    .atLeast (.var 1) 8,
    .atMost (.var 1) 512,
    -- x: batch | seq
    .rowEq ⟨[], some 0, []⟩ ⟨[], none, [.var 0]⟩,
    .rowEq ⟨[], some 1, []⟩ ⟨[], none, [.var 1]⟩,
    -- seq = 8 * t, where t is dimension 2
    .affine (.var 1) (.var 2) 8 0 none,
    .rowEq ⟨[], some 2, []⟩ ⟨[], none, [.var 2]⟩,
    -- z has the elements of x and those of y
    .concat (.var 3) [.var 1, .var 2] 0,
    .rowEq ⟨[], some 3, []⟩ ⟨[], none, [.var 3]⟩,
    -- its batch refines the batch of x
    .rowLe ⟨[], some 4, []⟩ ⟨[], some 0, []⟩,
    -- 8 times the elements of y are those of x
    .count [.row 2] 1 (some (.var 1)) 8 []]

def solution : Assignment where
  dims := [.sized (form 0), .sized (form 1), .sized (form 2), .sized (form 3)]
  rows := [
    ⟨[], [.sized (form 0)]⟩, ⟨[], [.sized (form 1)]⟩, ⟨[], [.sized (form 2)]⟩, ⟨[], [.sized (form 3)]⟩,
    ⟨[], [.sized (form 0)]⟩]

def shapes : List Shape := [
  ⟨"batch of z", ⟨[], some 4, []⟩, [.sized (form 0)]⟩,
  ⟨"output of z", ⟨[], some 3, []⟩, [.sized (form 3)]⟩]

theorem certificate : family.Holds system solution := checkAll_sound (by decide +kernel)

theorem inferred : family.Gives solution shapes := givesAll_sound (by decide +kernel)

theorem possible : family.Admits (sizesOf sample) := admits_sound (by decide +kernel)

end WrongRange
