//! Functions of matrices, on all matrices of a batch at once.
//!
//! They are written with loops over columns and operations that every device has, and not as calls of LAPACK or of a library of one
//! vendor, which are known by other names to each: a module runs everywhere, and what has no answer is NaN in the same cases as
//! on other backends. For the same reason `stablehlo.cholesky` and `stablehlo.triangular_solve` are not used: what they leave of a matrix that is not positive,
//! or of a singular one, is for each device to choose.
//!
//! | file | holds |
//! |---|---|
//! | `batch` | matrices of a batch, and operations on them |
//! | `eliminate` | elimination, triangular matrices, Cholesky |
//! | `reflect` | QR, least squares |
//! | `rotate` | eigenvalues, singular values |

mod batch;
mod eliminate;
mod reflect;
mod rotate;

use broadloom_loops::{BufferId, MatrixFunction, Role, Size};

use crate::function::{Content, Writer};
use crate::tensor::Tensor;
use batch::Batch;

impl Writer<'_> {
    /// Computes a function on all rows of a buffer, which hold the parts of its matrices one after another.
    pub fn matrices(
        &mut self,
        function: MatrixFunction,
        work: BufferId,
        sizes: &[u64],
    ) -> Result<(), String> {
        let row = self.content_or_zero(work)?;
        let axis = row.rank() - 1;
        let places: Vec<Size> = sizes.iter().map(|size| Size::from(*size)).collect();
        let place = |part: usize| function.place(part, &places).as_number().unwrap_or_default() as u64;
        let size = |part: usize| match *function.part(part) {
            [] => [1, 1],
            [n] => [sizes[n], 1],
            [m, n, ..] => [sizes[m], sizes[n]],
        };
        let mut batch = Batch { text: &mut self.text, sizes: row.sizes[..axis].to_vec() };
        let mut parts = Vec::new();
        for (role, part) in function.reads() {
            let mut spans: Vec<_> = row.sizes.iter().map(|size| (0, *size, 1)).collect();
            spans[axis] = (place(*part), place(part + 1), 1);
            let flat = batch.text.slice(&row, &spans);
            parts.push((*role, batch.reshape(&flat, size(*part))));
        }
        let made = computed(&mut batch, function, &Parts(parts));
        self.contents[work.index()] = Content::Splat(0.0);
        for ((_, part), made) in function.writes().iter().zip(made) {
            let mut shape = row.sizes.clone();
            shape[axis] = place(part + 1) - place(*part);
            let flat = self.text.reshape(&made, &shape);
            self.put_part(work, axis, place(*part), flat)?;
        }
        Ok(())
    }
}

/// The matrices that a function reads.
struct Parts(Vec<(Role, Tensor)>);

impl Parts {
    fn get(&self, role: Role) -> &Tensor {
        let found = self.0.iter().find(|(known, _)| *known == role);
        &found.expect("a function is computed from the parts that it reads").1
    }
}

/// The parts that a function writes, in the order in which it lists them.
fn computed(batch: &mut Batch<'_>, function: MatrixFunction, parts: &Parts) -> Vec<Tensor> {
    use MatrixFunction::*;
    let operand = |at: usize| parts.get(Role::Operand(at));
    let result = |at: usize| parts.get(Role::Result(at));
    let gradient = |at: usize| parts.get(Role::ResultGradient(at));
    match function {
        Solve => vec![batch.solution(operand(0), operand(1))],
        SolveBack => batch.solution_back(operand(0), result(0), gradient(0)).into(),
        Inverse => vec![batch.inverse(operand(0))],
        InverseBack => vec![batch.inverse_back(result(0), gradient(0))],
        Det => vec![batch.det(operand(0))],
        DetBack => vec![batch.det_back(operand(0), gradient(0))],
        LogDet => vec![batch.logdet(operand(0))],
        LogDetBack => vec![batch.logdet_back(operand(0), gradient(0))],
        Cholesky => vec![batch.cholesky(operand(0))],
        CholeskyBack => vec![batch.cholesky_back(result(0), gradient(0))],
        // Without as many rows as columns there is no answer.
        Qr | Svd if is_wide(batch, operand(0)) => {
            let [m, n] = batch.size(operand(0));
            let (tall, square, row) = ([m, n], [n, n], [n, 1]);
            let made = if function == Qr { vec![tall, square] } else { vec![tall, row, square] };
            made.into_iter().map(|size| batch.splat(f64::NAN, size)).collect()
        }
        Qr => batch.qr(operand(0)).into(),
        QrBack => vec![batch.qr_back([result(0), result(1), gradient(0), gradient(1)])],
        QrWide => batch.qr_wide(operand(0)).into(),
        QrWideBack => vec![batch.qr_wide_back([result(0), result(1), gradient(0), gradient(1)])],
        Lstsq => vec![batch.lstsq(operand(0), operand(1))],
        LstsqBack => batch.lstsq_back([operand(0), operand(1), result(0), gradient(0)]).into(),
        Eigh => batch.eigh(operand(0)).into(),
        EighBack => vec![batch.eigh_back([result(0), result(1), gradient(0), gradient(1)])],
        Svd => batch.svd(operand(0)).into(),
        SvdWide => batch.svd_wide(operand(0)).into(),
        SvdBack | SvdWideBack => vec![batch.svd_back(result(0), result(2), gradient(1))],
    }
}

fn is_wide(batch: &Batch<'_>, a: &Tensor) -> bool {
    let [rows, columns] = batch.size(a);
    rows < columns
}
