// The product of integers: the nearest there is if it is too large, which it is unless its upper half repeats its sign.
func.func private @multiply_i64(%x: i64, %y: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %least = arith.constant -9223372036854775808 : i64
  %greatest = arith.constant 9223372036854775807 : i64
  %last = arith.constant 63 : i64
  %low, %high = arith.mulsi_extended %x, %y : i64
  %sign = arith.shrsi %low, %last : i64
  %is_large = arith.cmpi ne, %high, %sign : i64
  %signs = arith.xori %x, %y : i64
  %is_below = arith.cmpi slt, %signs, %zero : i64
  %nearest = arith.select %is_below, %least, %greatest : i64
  %result = arith.select %is_large, %nearest, %low : i64
  return %result : i64
}
