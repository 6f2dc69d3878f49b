//! A few operations on explicit numbers: every tensor is computed by running its nest.

use broadloom::{Graph, SliceIndex, Tensor};
use broadloom_core::projection::Verdict;

use crate::meaning::array::{Array, Form};
use crate::meaning::case;
use crate::meaning::notation::{self, Use};
use crate::meaning::runner::{self, Arithmetic, SUM};

/// The origin of the numbers of a tensor.
#[derive(Clone)]
enum Origin {
    /// 0, 1, 2, … in memory order.
    Range,
    Values(Vec<f64>),
    Filled(f64),
    Spec(Use, Vec<Tensor>, Arithmetic),
    /// An operation of the graph without a spec, and the position of a slice.
    Other(Vec<Tensor>, Arithmetic, u64),
}

/// A graph, and the origins of its numbers.
#[derive(Default)]
pub struct Sheet {
    pub graph: Graph,
    origins: Vec<(Tensor, Origin)>,
}

impl Sheet {
    fn leaf(&mut self, shape: &str, origin: Origin) -> Tensor {
        let name = format!("x{}", self.origins.len());
        let tensor = self.graph.data(&name, shape).expect("the shape is well written");
        self.origins.push((tensor, origin));
        tensor
    }

    /// Data with the numbers 0, 1, 2, … in memory order.
    pub fn range(&mut self, shape: &str) -> Tensor {
        self.leaf(shape, Origin::Range)
    }

    /// Data with these numbers, in memory order.
    pub fn data(&mut self, shape: &str, values: &[f64]) -> Tensor {
        self.leaf(shape, Origin::Values(values.to_vec()))
    }

    /// A parameter with this declaration, filled with one number.
    pub fn param(&mut self, shape: &str, value: f64) -> Tensor {
        let tensor = self.graph.param_shaped("w", shape).expect("the shape is well written");
        self.origins.push((tensor, Origin::Filled(value)));
        tensor
    }

    /// The results of a spec, whose sizes may be set.
    pub fn split(&mut self, spec: &str, operands: &[Tensor], sizes: &[(&str, u64)]) -> Vec<Tensor> {
        let sizes = sizes.iter().map(|(name, size)| (String::from(*name), *size)).collect();
        let usage = Use { spec: String::from(spec), sizes, ..Use::default() };
        let results = case::einsum(&mut self.graph, &usage, operands).expect("the operation is accepted");
        for result in &results {
            self.origins.push((*result, Origin::Spec(usage.clone(), operands.to_vec(), SUM)));
        }
        results
    }

    pub fn einsum(&mut self, spec: &str, operands: &[Tensor]) -> Tensor {
        self.split(spec, operands, &[])[0]
    }

    /// An operation by a spec with another arithmetic.
    pub fn einsum_by(&mut self, arithmetic: Arithmetic, spec: &str, operands: &[Tensor]) -> Tensor {
        let result = self.graph.einsum(spec, operands).expect("the operation is accepted");
        let usage = Use { spec: String::from(spec), ..Use::default() };
        self.origins.push((result, Origin::Spec(usage, operands.to_vec(), arithmetic)));
        result
    }

    pub fn compose(&mut self, a: Tensor, b: Tensor) -> Tensor {
        let result = self.graph.compose(a, b).expect("the operation is accepted");
        self.origins.push((result, Origin::Other(vec![a, b], SUM, 0)));
        result
    }

    pub fn add(&mut self, a: Tensor, b: Tensor) -> Tensor {
        let result = self.graph.add(a, b).expect("the operation is accepted");
        self.origins
            .push((result, Origin::Other(vec![a, b], Arithmetic { combine: |a, b| a + b, ..SUM }, 0)));
        result
    }

    /// `a + 1`.
    pub fn successor(&mut self, a: Tensor) -> Tensor {
        let one = self.graph.number(1.0);
        self.origins.push((one, Origin::Filled(1.0)));
        self.add(a, one)
    }

    pub fn slice(&mut self, a: Tensor, index: SliceIndex, position: u64) -> Tensor {
        let result = self.graph.slice(a, index).expect("the operation is accepted");
        self.origins.push((result, Origin::Other(vec![a], SUM, position)));
        result
    }

    /// The same elements in another shape.
    pub fn reshape(&mut self, a: Tensor) -> Tensor {
        let result = self.graph.convert(a, 1, 1).expect("the operation is accepted");
        self.origins.push((result, Origin::Other(vec![a], SUM, 0)));
        result
    }

    pub fn shape(&mut self, tensor: Tensor) -> String {
        self.graph.final_shape(tensor).expect("the program has shapes").to_string()
    }

    fn form(&mut self, tensor: Tensor) -> Form {
        Form::of(&self.graph.final_shape(tensor).expect("the program has shapes"))
    }

    /// The numbers of a tensor, in memory order.
    pub fn values(&mut self, tensor: Tensor) -> Vec<f64> {
        self.array(tensor).values
    }

    /// The verdicts on the operation that makes a tensor: that it writes no cell twice, and that it
    /// writes all.
    pub fn verdicts(&mut self, tensor: Tensor) -> [Verdict; 2] {
        let nest = self.graph.projection(tensor).expect("the operation has a nest");
        let which = nest.tensors.iter().position(|result| *result == tensor).expect("it is a result");
        [nest.is_injective(which), nest.is_surjective(which)]
    }

    fn array(&mut self, tensor: Tensor) -> Array {
        let origin = self.origins.iter().find(|(known, _)| *known == tensor).expect("it is on the sheet");
        let origin = origin.1.clone();
        let sizes = self.form(tensor).memory();
        match origin {
            Origin::Range => Array::range(sizes),
            Origin::Values(values) => {
                assert_eq!(values.len() as u64, sizes.iter().product::<u64>());
                Array { sizes, values }
            }
            Origin::Filled(value) => {
                let mut array = Array::zeros(sizes);
                array.values.fill(value);
                array
            }
            Origin::Spec(usage, operands, arithmetic) => {
                self.run(tensor, &operands, arithmetic, 0, Some(&usage))
            }
            Origin::Other(operands, arithmetic, position) => {
                self.run(tensor, &operands, arithmetic, position, None)
            }
        }
    }

    /// Runs the nest that makes a tensor; a sum of products by a spec is compared with its definition.
    fn run(
        &mut self,
        tensor: Tensor,
        operands: &[Tensor],
        arithmetic: Arithmetic,
        position: u64,
        usage: Option<&Use>,
    ) -> Array {
        let arrays: Vec<Array> = operands.iter().map(|operand| self.array(*operand)).collect();
        let nest = self.graph.projection(tensor).expect("the operation has a nest");
        runner::check_order(&nest).expect("the loops are in order");
        let results: Vec<Form> =
            nest.tensors[..nest.results].iter().map(|result| self.form(*result)).collect();
        let forms: Vec<Form> = operands.iter().map(|operand| self.form(*operand)).collect();
        let meaning = usage.map(|usage| {
            let operands: Vec<(&Form, &Array)> = forms.iter().zip(&arrays).collect();
            notation::evaluate(usage, &operands, &results).expect("the definitions apply")
        });
        let unpadded = || nest.sizes.iter().map(|sizes| vec![false; sizes.len()]).collect();
        let padded = meaning.as_ref().map_or_else(unpadded, |meaning| meaning.padded.clone());
        let arrays: Vec<&Array> = arrays.iter().collect();
        let run =
            runner::run(&nest, &arrays, position, &padded, arithmetic).expect("every address is inside");
        let which = nest.tensors.iter().position(|result| *result == tensor).expect("it is a result");
        if let Some(meaning) = meaning
            && arithmetic.neutral == SUM.neutral
            && (arithmetic.combine)(2.0, 3.0) == 6.0
        {
            assert_eq!(run.results, meaning.results);
        }
        run.results[which].clone()
    }
}
