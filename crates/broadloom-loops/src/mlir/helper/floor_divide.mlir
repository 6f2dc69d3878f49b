// The quotient rounded down, from the remainder, so that a quotient that is nearly whole is not rounded up first.
func.func private @floor_divide(%x: f64, %y: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %rest = arith.remf %x, %y : f64
  %is_some = arith.cmpf une, %rest, %zero : f64
  %rest_below = arith.cmpf olt, %rest, %zero : f64
  %divisor_below = arith.cmpf olt, %y, %zero : f64
  %differ = arith.xori %rest_below, %divisor_below : i1
  %above = arith.andi %is_some, %differ : i1
  %more = arith.uitofp %above : i1 to f64
  %whole = arith.subf %x, %rest : f64
  %towards_zero = arith.divf %whole, %y : f64
  %down = arith.subf %towards_zero, %more : f64
  %quotient = math.roundeven %down : f64
  %by_zero = arith.cmpf oeq, %y, %zero : f64
  %infinite = arith.divf %x, %y : f64
  %result = arith.select %by_zero, %infinite, %quotient : f64
  return %result : f64
}
