module

public import Certificate

/-!
The certificate of `y = w @ x + b` with `x: 32 | 784` (batch 32, output 784) and `b: 10`, written by hand.
Nobody says what `w` is.

Each tensor has a batch, an input and an output row:

| tensor | batch | input | output |
|---|---|---|---|
| `w` | 0 | 1 | 2 |
| `x` | 3 | 4 | 5 |
| `b` | 6 | 7 | 8 |
| `w @ x` | 9 | 10 | 11 |
| `y` | 12 | 13 | 14 |
-/

@[expose] public noncomputable section

open Broadloom

namespace Good

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
    ⟨[], []⟩, ⟨[], [.sized 784]⟩, ⟨[], [.sized 10]⟩,
    ⟨[], [.sized 32]⟩, ⟨[], []⟩, ⟨[], [.sized 784]⟩,
    ⟨[], []⟩, ⟨[], []⟩, ⟨[], [.sized 10]⟩,
    ⟨[], [.sized 32]⟩, ⟨[], []⟩, ⟨[], [.sized 10]⟩,
    ⟨[], [.sized 32]⟩, ⟨[], []⟩, ⟨[], [.sized 10]⟩]

def shapes : List Shape := [
  ⟨"batch of w", ⟨[], some 0, []⟩, []⟩,
  ⟨"input of w", ⟨[], some 1, []⟩, [.sized 784]⟩,
  ⟨"output of w", ⟨[], some 2, []⟩, [.sized 10]⟩,
  ⟨"batch of y", ⟨[], some 12, []⟩, [.sized 32]⟩,
  ⟨"output of y", ⟨[], some 14, []⟩, [.sized 10]⟩]

theorem certificate : system.Holds solution := check_sound (by decide +kernel)

theorem inferred : solution.Gives shapes := gives_sound (by decide +kernel)

end Good
