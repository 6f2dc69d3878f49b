// The difference of integers: the nearest there is if it is too large.
func.func private @subtract_i64(%x: i64, %y: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %least = arith.constant -9223372036854775808 : i64
  %greatest = arith.constant 9223372036854775807 : i64
  %difference = arith.subi %x, %y : i64
  %signs = arith.xori %x, %y : i64
  %from_x = arith.xori %x, %difference : i64
  %both = arith.andi %signs, %from_x : i64
  %is_large = arith.cmpi slt, %both, %zero : i64
  %is_below = arith.cmpi slt, %x, %zero : i64
  %nearest = arith.select %is_below, %least, %greatest : i64
  %result = arith.select %is_large, %nearest, %difference : i64
  return %result : i64
}
