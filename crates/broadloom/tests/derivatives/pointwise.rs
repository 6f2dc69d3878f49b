//! Operations at each point, by name.

use super::*;

cases! {
    add ["2 | 3 -> 4", "2 | 3 -> 4"] |m, [a, b]| m.pointwise("+", &[a, b]);
    subtract ["5", "5"] |m, [a, b]| m.pointwise("-", &[a, b]);
    multiply ["5", "5"] |m, [a, b]| m.pointwise("*", &[a, b]);
    divide ["5", "5"] |m, [a, b]| m.pointwise("/", &[a, b]);
    power ["5", "5"] |m, [a, b]| m.pointwise("**", &[a.abs(), b]);
    power_of_a_negative_base ["5"] |_, [a]| a.pow(3.0);
    power_by_a_number ["5"] |_, [a]| a.pow(-2.0);
    power_of_a_number ["5"] |m, [a]| m.builder.number(1.7).pow(a);
    maximum ["5", "5"] |m, [a, b]| m.pointwise("max", &[a, b]);
    minimum ["5", "5"] |m, [a, b]| m.pointwise("min", &[a, b]);
    modulo ["5", "5"] |m, [a, b]| m.pointwise("mod", &[a * 3.0, b]);
    // Truth values are constant between kinks, so something else is multiplied by them.
    less ["5", "5"] |m, [a, b]| m.pointwise("<", &[a, b]) * a + b;
    less_or_equal ["5", "5"] |m, [a, b]| m.pointwise("<=", &[a, b]) * a + b;
    greater ["5", "5"] |m, [a, b]| m.pointwise(">", &[a, b]) * a + b;
    greater_or_equal ["5", "5"] |m, [a, b]| m.pointwise(">=", &[a, b]) * a + b;
    equal ["5", "5"] |m, [a, b]| m.pointwise("==", &[a.sign(), b.sign()]) * a + b;
    not_equal ["5", "5"] |m, [a, b]| m.pointwise("!=", &[a.sign(), b.sign()]) * a + b;
    and ["5", "5"] |m, [a, b]| m.pointwise("and", &[a.less(0.0), b.less(0.0)]) * a + b;
    or ["5", "5"] |m, [a, b]| m.pointwise("or", &[a.less(0.0), b.less(0.0)]) * a + b;
    not ["5"] |m, [a]| m.pointwise("not", &[a.less(0.0)]) * a + a;
    select ["5", "5", "5"] |m, [a, b, c]| m.builder.select(a.greater(0.0), b * a, c);
    select_by_another_condition ["5", "5"] |m, [a, b]| m.builder.select(a.less(b), a.square(), b.exp());
    negate ["5"] |m, [a]| m.pointwise("neg", &[a]);
    exponential ["5"] |m, [a]| m.pointwise("exp", &[a]);
    logarithm ["5"] |m, [a]| m.pointwise("log", &[a.abs()]);
    square_root ["5"] |m, [a]| m.pointwise("sqrt", &[a.abs()]);
    reciprocal ["5"] |m, [a]| m.pointwise("recip", &[a]);
    sine ["5"] |m, [a]| m.pointwise("sin", &[a]);
    cosine ["5"] |m, [a]| m.pointwise("cos", &[a]);
    hyperbolic_tangent ["5"] |m, [a]| m.pointwise("tanh", &[a]);
    logistic ["5"] |m, [a]| m.pointwise("sigmoid", &[a]);
    rectified ["5"] |m, [a]| m.pointwise("relu", &[a]);
    absolute ["5"] |m, [a]| m.pointwise("abs", &[a]);
    sign ["5"] |m, [a]| m.pointwise("sign", &[a]) * a;
    square ["5"] |m, [a]| m.pointwise("square", &[a]);
    exponential_less_one ["5"] |m, [a]| m.pointwise("expm1", &[a]);
    tangent ["5"] |m, [a]| m.pointwise("tan", &[a * 0.5]);
    arcus_sine ["5"] |m, [a]| m.pointwise("asin", &[m.pointwise("tanh", &[a])]);
    arcus_cosine ["5"] |m, [a]| m.pointwise("acos", &[m.pointwise("tanh", &[a])]);
    arcus_tangent ["5"] |m, [a]| m.pointwise("atan", &[a]);
    angle ["5", "5"] |m, [a, b]| m.pointwise("atan2", &[a, b]);
    hyperbolic_sine ["5"] |m, [a]| m.pointwise("sinh", &[a]);
    hyperbolic_cosine ["5"] |m, [a]| m.pointwise("cosh", &[a]);
    area_sine ["5"] |m, [a]| m.pointwise("asinh", &[a]);
    area_cosine ["5"] |m, [a]| m.pointwise("acosh", &[m.pointwise("square", &[a]) + 1.5]);
    area_tangent ["5"] |m, [a]| m.pointwise("atanh", &[m.pointwise("tanh", &[a])]);
    error_function ["5"] |m, [a]| m.pointwise("erf", &[a]);
    floor ["5"] |m, [a]| m.pointwise("floor", &[a * 3.0]) * a;
    ceiling ["5"] |m, [a]| m.pointwise("ceil", &[a * 3.0]) * a;
    round ["5"] |m, [a]| m.pointwise("round", &[a * 3.0]) * a;
}
