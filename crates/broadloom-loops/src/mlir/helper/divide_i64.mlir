// The quotient rounded down: the nearest integer there is if it is too large, or infinite, and 0 for 0 by 0.
func.func private @divide_i64(%x: i64, %y: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %minus = arith.constant -1 : i64
  %least = arith.constant -9223372036854775808 : i64
  %greatest = arith.constant 9223372036854775807 : i64
  %by_zero = arith.cmpi eq, %y, %zero : i64
  %by_minus = arith.cmpi eq, %y, %minus : i64
  %is_least = arith.cmpi eq, %x, %least : i64
  %is_large = arith.andi %by_minus, %is_least : i1
  %unusual = arith.ori %by_zero, %is_large : i1
  %divisor = arith.select %unusual, %one, %y : i64
  %quotient = arith.floordivsi %x, %divisor : i64
  %is_below = arith.cmpi slt, %x, %zero : i64
  %is_zero = arith.cmpi eq, %x, %zero : i64
  %infinite = arith.select %is_below, %least, %greatest : i64
  %of_zero = arith.select %is_zero, %zero, %infinite : i64
  %usual = arith.select %is_large, %greatest, %quotient : i64
  %result = arith.select %by_zero, %of_zero, %usual : i64
  return %result : i64
}
