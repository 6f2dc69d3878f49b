// The sum of integers: the nearest there is if it is too large, which it is if its sign is that of neither.
func.func private @add_i64(%x: i64, %y: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %least = arith.constant -9223372036854775808 : i64
  %greatest = arith.constant 9223372036854775807 : i64
  %sum = arith.addi %x, %y : i64
  %from_x = arith.xori %x, %sum : i64
  %from_y = arith.xori %y, %sum : i64
  %from_both = arith.andi %from_x, %from_y : i64
  %is_large = arith.cmpi slt, %from_both, %zero : i64
  %is_below = arith.cmpi slt, %x, %zero : i64
  %nearest = arith.select %is_below, %least, %greatest : i64
  %result = arith.select %is_large, %nearest, %sum : i64
  return %result : i64
}
