// The remainder with the sign of the divisor, and 0 if that is 0.
func.func private @modulo_i64(%x: i64, %y: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %minus = arith.constant -1 : i64
  %by_zero = arith.cmpi eq, %y, %zero : i64
  %by_minus = arith.cmpi eq, %y, %minus : i64
  %by_either = arith.ori %by_zero, %by_minus : i1
  %divisor = arith.select %by_either, %one, %y : i64
  %rest = arith.remsi %x, %divisor : i64
  %is_some = arith.cmpi ne, %rest, %zero : i64
  %signs = arith.xori %rest, %divisor : i64
  %differ = arith.cmpi slt, %signs, %zero : i64
  %moves = arith.andi %is_some, %differ : i1
  %moved = arith.addi %rest, %divisor : i64
  %result = arith.select %moves, %moved, %rest : i64
  return %result : i64
}
