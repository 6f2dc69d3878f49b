// An integer times 2 for each place: the nearest there is if it is too large. Fewer places than none shift right.
func.func private @shift_left_i64(%x: i64, %places: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %last = arith.constant 63 : i64
  %lowest = arith.constant -63 : i64
  %least = arith.constant -9223372036854775808 : i64
  %greatest = arith.constant 9223372036854775807 : i64
  %not_below = arith.maxsi %places, %zero : i64
  %left = arith.minsi %not_below, %last : i64
  %far = arith.cmpi sgt, %places, %last : i64
  %moved = arith.shli %x, %left : i64
  %back = arith.shrsi %moved, %left : i64
  %lost = arith.cmpi ne, %back, %x : i64
  %outside = arith.ori %lost, %far : i1
  %is_zero = arith.cmpi eq, %x, %zero : i64
  %is_below = arith.cmpi slt, %x, %zero : i64
  %nearest = arith.select %is_below, %least, %greatest : i64
  %limited = arith.select %outside, %nearest, %moved : i64
  %to_left = arith.select %is_zero, %zero, %limited : i64
  %not_above = arith.minsi %places, %zero : i64
  %within = arith.maxsi %not_above, %lowest : i64
  %right = arith.subi %zero, %within : i64
  %to_right = arith.shrsi %x, %right : i64
  %goes_right = arith.cmpi slt, %places, %zero : i64
  %result = arith.select %goes_right, %to_right, %to_left : i64
  return %result : i64
}
