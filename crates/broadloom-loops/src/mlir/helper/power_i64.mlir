// The power of integers, by squaring: the nearest there is if it is too large. Beyond 64, only the sign depends on the exponent. A power by a
// negative number is a fraction, which is 0 here, unless it is of 1 or -1; that of 0 is the greatest integer.
func.func private @power_i64(%x: i64, %y: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %minus = arith.constant -1 : i64
  %most = arith.constant 64 : i64
  %greatest = arith.constant 9223372036854775807 : i64
  %odd = arith.andi %y, %one : i64
  %far = arith.addi %most, %odd : i64
  %is_far = arith.cmpi sgt, %y, %most : i64
  %is_below = arith.cmpi slt, %y, %zero : i64
  %above = arith.select %is_far, %far, %y : i64
  %exponent = arith.select %is_below, %odd, %above : i64
  %first = arith.constant 0 : index
  %bits = arith.constant 7 : index
  %step = arith.constant 1 : index
  %power, %square, %left = scf.for %bit = %first to %bits step %step iter_args(%power_so_far = %one, %base = %x, %rest = %exponent) -> (i64, i64, i64) {
    %last = arith.andi %rest, %one : i64
    %takes = arith.cmpi ne, %last, %zero : i64
    %more = func.call @multiply_i64(%power_so_far, %base) : (i64, i64) -> i64
    %next = arith.select %takes, %more, %power_so_far : i64
    %squared = func.call @multiply_i64(%base, %base) : (i64, i64) -> i64
    %fewer = arith.shrsi %rest, %one : i64
    scf.yield %next, %squared, %fewer : i64, i64, i64
  }
  %is_zero = arith.cmpi eq, %x, %zero : i64
  %is_one = arith.cmpi eq, %x, %one : i64
  %is_minus = arith.cmpi eq, %x, %minus : i64
  %is_unit = arith.ori %is_one, %is_minus : i1
  %of_zero = arith.select %is_zero, %greatest, %zero : i64
  %fraction = arith.select %is_unit, %power, %of_zero : i64
  %result = arith.select %is_below, %fraction, %power : i64
  return %result : i64
}
