// An integer from a float: without its fraction, the nearest there is if it is too large, 0 if it is not a number.
func.func private @to_i64(%x: f64) -> i64 {
  %zero = arith.constant 0.0 : f64
  %low = arith.constant -9223372036854775808.0 : f64
  %high = arith.constant 9223372036854775808.0 : f64
  %least = arith.constant -9223372036854775808 : i64
  %greatest = arith.constant 9223372036854775807 : i64
  %is_low = arith.cmpf olt, %x, %low : f64
  %is_high = arith.cmpf oge, %x, %high : f64
  %is_nan = arith.cmpf uno, %x, %x : f64
  %outside = arith.ori %is_low, %is_high : i1
  %unusual = arith.ori %outside, %is_nan : i1
  %usual = arith.select %unusual, %zero, %x : f64
  %whole = arith.fptosi %usual : f64 to i64
  %from_low = arith.select %is_low, %least, %whole : i64
  %integer = arith.select %is_high, %greatest, %from_low : i64
  return %integer : i64
}
