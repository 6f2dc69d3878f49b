module

public import Certificate

/-!
The certificate of `Good.lean` with one wrong size: the input of `w` (row 1) is said to be 785, although it
has to meet the 784 of `x`. Lean must reject it.
-/

@[expose] public noncomputable section

open Broadloom

namespace Wrong

def system : System where
  constraints := [
    -- x: 32 | 784
    .rowEq ⟨[], some 3, []⟩ ⟨[], none, [.dim (.sized 32)]⟩,
    .rowEq ⟨[], some 4, []⟩ ⟨[], none, []⟩,
    .rowEq ⟨[], some 5, []⟩ ⟨[], none, [.dim (.sized 784)]⟩,
    -- b: 10
    .rowEq ⟨[], some 6, []⟩ ⟨[], none, []⟩,
    .rowEq ⟨[], some 7, []⟩ ⟨[], none, []⟩,
    .rowEq ⟨[], some 8, []⟩ ⟨[], none, [.dim (.sized 10)]⟩,
    -- w @ x: batches broadcast, w gives the output, x the input, and they meet in between
    .rowLe ⟨[], some 9, []⟩ ⟨[], some 0, []⟩,
    .rowLe ⟨[], some 9, []⟩ ⟨[], some 3, []⟩,
    .rowLe ⟨[], some 10, []⟩ ⟨[], some 4, []⟩,
    .rowLe ⟨[], some 11, []⟩ ⟨[], some 2, []⟩,
    .rowLe ⟨[], some 1, []⟩ ⟨[], some 5, []⟩,
    -- w @ x + b
    .rowLe ⟨[], some 12, []⟩ ⟨[], some 9, []⟩,
    .rowLe ⟨[], some 12, []⟩ ⟨[], some 6, []⟩,
    .rowLe ⟨[], some 13, []⟩ ⟨[], some 10, []⟩,
    .rowLe ⟨[], some 13, []⟩ ⟨[], some 7, []⟩,
    .rowLe ⟨[], some 14, []⟩ ⟨[], some 11, []⟩,
    .rowLe ⟨[], some 14, []⟩ ⟨[], some 8, []⟩]

def solution : Assignment where
  dims := []
  rows := [
    ⟨[], []⟩, ⟨[], [.sized 785]⟩, ⟨[], [.sized 10]⟩,
    ⟨[], [.sized 32]⟩, ⟨[], []⟩, ⟨[], [.sized 784]⟩,
    ⟨[], []⟩, ⟨[], []⟩, ⟨[], [.sized 10]⟩,
    ⟨[], [.sized 32]⟩, ⟨[], []⟩, ⟨[], [.sized 10]⟩,
    ⟨[], [.sized 32]⟩, ⟨[], []⟩, ⟨[], [.sized 10]⟩]

def shapes : List Shape := [
  ⟨"batch of w", ⟨[], some 0, []⟩, []⟩,
  ⟨"input of w", ⟨[], some 1, []⟩, [.sized 785]⟩,
  ⟨"output of w", ⟨[], some 2, []⟩, [.sized 10]⟩,
  ⟨"batch of y", ⟨[], some 12, []⟩, [.sized 32]⟩,
  ⟨"output of y", ⟨[], some 14, []⟩, [.sized 10]⟩]

theorem certificate : system.Holds solution := check_sound (by decide +kernel)

theorem inferred : solution.Gives shapes := gives_sound (by decide +kernel)

end Wrong
