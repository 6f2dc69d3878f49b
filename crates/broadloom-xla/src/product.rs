//! Sums of products: `dot_general` for factors that share a loop over which is summed.

use broadloom_loops::{Binary, Dtype, Scalar, Unary};

use crate::function::{Content, Writer};
use crate::nest::{Nest, Over, Value, union};
use crate::operation::Monoid;
use crate::tensor::{Element, Tensor};

/// The factors of a product, and a number that it is multiplied with.
pub(crate) fn factors(scalar: &Scalar) -> (Vec<&Scalar>, f64) {
    let (mut list, mut scale) = (Vec::new(), 1.0);
    let mut stack = vec![scalar];
    while let Some(scalar) = stack.pop() {
        match scalar {
            Scalar::Binary(Binary::Mul, a, b) => stack.extend([&**b, &**a]),
            Scalar::Unary(Unary::Neg, a) => {
                scale = -scale;
                stack.push(a);
            }
            Scalar::Number(value) => scale *= value,
            other => list.push(other),
        }
    }
    (list, scale)
}

impl Writer<'_> {
    /// The sum of a value over all loops that are not kept.
    pub fn summed(&mut self, nest: &Nest<'_>, value: &Scalar, kept: &[usize]) -> Result<Over, String> {
        let (factors, scale) = factors(value);
        if factors.len() < 2 {
            let value = self.scalar(nest, value)?;
            return Ok(self.sum_over(nest, &value, kept));
        }
        let mut values = Vec::new();
        for factor in &factors {
            values.push(self.factor(nest, factor)?);
        }
        let all: Vec<Vec<usize>> = values.iter().map(|value| value.loops.clone()).collect();
        // A loop that no factor depends on adds up the same number.
        let reached = union(all.iter().map(Vec::as_slice));
        let missing = (0..nest.loops.len()).filter(|each| !reached.contains(each) && !kept.contains(each));
        let times: f64 = missing.map(|each| nest.extent(each) as f64).product();
        let is_last = |at: usize| at + 1 == values.len() && scale * times == 1.0;
        let mut product = values[0].clone();
        for at in 1..values.len() {
            let later = all[at + 1..].iter().map(Vec::as_slice);
            let wanted = union(later.chain([kept]));
            product = self.contracted(nest, (&product, &values[at]), &wanted, is_last(at))?;
        }
        let product = self.reduced(nest, &product, Monoid::Add, kept);
        Ok(self.scaled(product, scale * times))
    }

    /// The type of a sum of products of two factors: that of the target if the factors are short floats of that type too, and nothing
    /// but the sum goes there. XLA adds in 32 bits and rounds once, as it does for a product that is written by hand.
    pub fn made(&mut self, nest: &Nest<'_>, a: &Tensor, b: &Tensor) -> Result<Element, String> {
        let target = nest.cell.buffer;
        let of = Element::Of(self.dtype(target));
        let is_new = nest.accumulate == Some(Binary::Add)
            && matches!(self.contents[target.index()], Content::Splat(value) if value == 0.0);
        let alike = nest.real == Dtype::F32 && of.is_short_float() && a.of == of && b.of == of;
        let is_as_stored = is_new && alike && !self.may_meet(nest)?;
        Ok(if is_as_stored { of } else { Element::Of(nest.real) })
    }

    fn scaled(&mut self, product: Over, scale: f64) -> Over {
        if scale == 1.0 {
            return product;
        }
        let factor = self.text.splat(scale, &product.tensor.sizes, product.tensor.of);
        Over { tensor: self.text.each("multiply", &[&product.tensor, &factor]), loops: product.loops }
    }

    /// A factor: as it is stored if it is a short float, otherwise in the type that is computed in.
    fn factor(&mut self, nest: &Nest<'_>, factor: &Scalar) -> Result<Over, String> {
        if let Scalar::Load(cell) = factor
            && Element::Of(self.dtype(cell.buffer)).is_short_float()
        {
            return self.load(nest, cell);
        }
        let value = self.scalar(nest, factor)?;
        let loops = value.loops().to_vec();
        Ok(Over { tensor: self.real_over(nest, &value, &loops), loops })
    }

    /// The sum of a value over all loops that are not kept, without looking into it.
    fn sum_over(&mut self, nest: &Nest<'_>, value: &Value, kept: &[usize]) -> Over {
        let loops: Vec<usize> = (0..nest.loops.len())
            .filter(|each| value.loops().contains(each) || !kept.contains(each))
            .collect();
        let tensor = self.real_over(nest, value, &loops);
        self.reduced(nest, &Over { tensor, loops }, Monoid::Add, kept)
    }

    /// The product of two factors, summed over the loops that are not wanted. If it is the last of its nest, a sum may be stored as it is.
    fn contracted(
        &mut self,
        nest: &Nest<'_>,
        (a, b): (&Over, &Over),
        wanted: &[usize],
        is_last: bool,
    ) -> Result<Over, String> {
        let real = Element::Of(nest.real);
        let (a, b) = (self.alone(nest, a, b, wanted), self.alone(nest, b, a, wanted));
        let shared = |each: &&usize| b.loops.contains(each);
        let (batch, summed): (Vec<usize>, Vec<usize>) =
            a.loops.iter().filter(shared).partition(|each| wanted.contains(each));
        let loops = union([&a.loops[..], &b.loops]);
        if summed.is_empty() {
            let (a, b) = (self.spread(nest, &a, &loops), self.spread(nest, &b, &loops));
            let (a, b) = (self.text.convert(&a, real), self.text.convert(&b, real));
            return Ok(Over { tensor: self.text.each("multiply", &[&a, &b]), loops });
        }
        let of = if is_last { self.made(nest, &a.tensor, &b.tensor)? } else { real };
        let axes = |of: &Over, loops: &[usize]| -> Vec<usize> {
            loops.iter().filter_map(|each| of.loops.iter().position(|known| known == each)).collect()
        };
        let tensor = self.text.dot_general(
            (&a.tensor, &b.tensor),
            (&axes(&a, &batch), &axes(&b, &batch)),
            (&axes(&a, &summed), &axes(&b, &summed)),
            (real, of),
        );
        let free = |of: &Over| -> Vec<usize> {
            of.loops.iter().copied().filter(|each| !batch.contains(each) && !summed.contains(each)).collect()
        };
        let made: Vec<usize> = [batch.clone(), free(&a), free(&b)].concat();
        let loops = union([&made[..]]);
        let tensor: Tensor = self.in_order(&Over { tensor, loops: made }, &loops);
        Ok(Over { tensor, loops })
    }

    /// A factor, summed over loops that neither another factor nor the result depends on.
    fn alone(&mut self, nest: &Nest<'_>, own: &Over, other: &Over, wanted: &[usize]) -> Over {
        let kept = |each: &usize| wanted.contains(each) || other.loops.contains(each);
        let loops: Vec<usize> = own.loops.iter().copied().filter(kept).collect();
        if loops == own.loops {
            return own.clone();
        }
        let tensor = self.text.convert(&own.tensor, Element::Of(nest.real));
        self.reduced(nest, &Over { tensor, loops: own.loops.clone() }, Monoid::Add, &loops)
    }
}
