//! The judge of runs, which compares one session that goes through many numbers for its names with
//! a session for each.

use broadloom::{Array, Error, Routine, Session, Settings, Tensor};

use crate::numbers::close;
use crate::symbolic::judge::{axes, plain};
use crate::symbolic::program::{Declared, Made, Op, Program, Size, values, waves};

/// A program that can be run.
pub struct Running {
    pub session: Session,
    step: Routine,
    /// Line and tensor of all data.
    pub data: Vec<(usize, Tensor)>,
    kept: Vec<Tensor>,
    lasting: Vec<Tensor>,
}

impl Running {
    /// A program with names or with numbers, which trains all its parameters.
    pub fn new(program: &Program, numbers: Option<&[u64]>, settings: Settings) -> Result<Running, Error> {
        let mut made = program.build(numbers)?;
        let loss = made.loss(program)?;
        let step = made.step(loss)?;
        let Made { graph, results, positions, .. } = made;
        let is_data = |line: &usize| matches!(program.lines[*line].op, Op::Data(_) | Op::Ids(..));
        let data: Vec<(usize, Tensor)> =
            (0..results.len()).filter(is_data).map(|line| (line, results[line][0])).collect();
        let lasting = graph.params();
        let kept = [loss].into_iter().chain(lasting.iter().copied()).collect();
        let mut session = Session::with(graph, settings)?;
        for (slice, position) in positions {
            session.set_position(slice, position)?;
        }
        Ok(Running { session, step, data, kept, lasting })
    }

    /// Sets all data, at its current size.
    pub fn set_all(&mut self, program: &Program) -> Result<(), Error> {
        for (line, tensor) in self.data.clone() {
            let array = self.values(program, line, tensor)?;
            self.session.set(tensor, &array)?;
        }
        Ok(())
    }

    /// Numbers for data, as many as it has elements now.
    pub fn values(&mut self, program: &Program, line: usize, tensor: Tensor) -> Result<Array, Error> {
        let sizes = self.session.sizes_of(tensor)?;
        Ok(values(program, line, &sizes, self.session.dtype(tensor)?))
    }

    /// Sets the initial values of parameters, at their current sizes.
    pub fn set_params(&mut self) -> Result<(), Error> {
        for (number, tensor) in self.lasting.clone().into_iter().enumerate() {
            let sizes = self.session.sizes_of(tensor)?;
            let first = waves(number, &sizes, self.session.dtype(tensor)?);
            self.session.set(tensor, &first)?;
        }
        Ok(())
    }

    /// A step of training: returns the loss and all parameters.
    pub fn run(&mut self) -> Result<Vec<Vec<f64>>, Error> {
        self.session.run(&self.step)?;
        self.kept.clone().into_iter().map(|tensor| Ok(self.session.get(tensor)?.to_f64s())).collect()
    }

    /// Increases the first number of each data a little.
    pub fn nudge(&mut self) -> Result<(), Error> {
        for (_, tensor) in self.data.clone() {
            let array = self.session.get(tensor)?;
            if array.dtype().is_float() {
                let mut numbers = array.to_f64s();
                numbers[0] += 1e-3;
                let nudged = Array::from_slice(array.sizes(), &numbers)?.convert(array.dtype());
                self.session.set(tensor, &nudged)?;
            }
        }
        Ok(())
    }

    /// Copies the parameters of another one.
    pub fn take_from(&mut self, other: &mut Running) -> Result<(), Error> {
        for (from, to) in other.lasting.clone().into_iter().zip(self.lasting.clone()) {
            let values = other.session.get(from)?;
            self.session.set(to, &values)?;
        }
        Ok(())
    }
}

/// The difference between two runs, as an error, if there is one.
pub fn difference(found: &[Vec<f64>], wanted: &[Vec<f64>], tolerance: f64) -> Result<(), String> {
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let of = if at == 0 { "the loss".into() } else { format!("parameter {at}") };
        if found.len() != wanted.len() {
            return Err(format!("{of} has {} elements, with numbers {}", found.len(), wanted.len()));
        }
        let agree = |(a, b): (&f64, &f64)| close(*a, *b, tolerance) || (a.is_nan() && b.is_nan());
        if let Some(place) = found.iter().zip(wanted).position(|pair| !agree(pair)) {
            return Err(format!("{of} at {place} is {}, with numbers {}", found[place], wanted[place]));
        }
    }
    Ok(())
}

/// Returns true if the program is valid at some numbers: with numbers, and in the declared ranges.
pub fn has_meaning(program: &Program, numbers: &[u64]) -> bool {
    program.in_range(numbers) && plain(program, numbers).is_ok()
}

/// The names in the declaration of some data, if nothing else in it is open.
pub fn names_of(program: &Program, line: usize) -> Option<(&Declared, Vec<usize>)> {
    let (Op::Data(declared) | Op::Ids(declared, _)) = &program.lines[line].op else { return None };
    let mut names = Vec::new();
    for axis in declared.axes() {
        match axis {
            Size::Named(at) => names.push(*at),
            Size::Number(_) => {}
            Size::Open(_) => return None,
        }
    }
    Some((declared, names))
}

/// The sizes of declared data in memory order, at some numbers.
pub fn sizes_at(declared: &Declared, numbers: &[u64]) -> Vec<u64> {
    let [batch, input, output] = &declared.0;
    let size = |axis: &Size| match axis {
        Size::Named(at) => numbers[*at],
        Size::Number(size) => *size,
        Size::Open(_) => 1,
    };
    [batch, output, input].into_iter().flatten().map(size).collect()
}

/// Returns true if lasting tensors have other sizes at other numbers.
pub fn lasting_changes(program: &Program, from: &[u64], to: &[u64]) -> bool {
    let sizes = |numbers: &[u64]| {
        // The loss may determine shapes of parameters.
        let mut made = program.build(Some(numbers)).ok()?;
        made.loss(program).ok()?;
        let shapes = made.graph.final_shapes().ok()?;
        let params = made.graph.params().into_iter().map(|param| {
            let shape = shapes.get(param);
            axes(&shape).map(broadloom::Axis::size).collect::<Vec<u64>>()
        });
        Some(params.collect::<Vec<_>>())
    };
    sizes(from) != sizes(to)
}
