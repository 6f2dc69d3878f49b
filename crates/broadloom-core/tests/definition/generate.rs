//! Random systems as programs make them: leaves first, then operations on the tensors made so far.

use broadloom_core::Role;
use broadloom_testing::Dice;

use super::system::{Dim, System, Term};

/// A kind of random systems.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name for reports.
    pub name: &'static str,
    /// The most rows.
    pub rows: usize,
    /// The share, in percent, of tensors that get flanks where they could.
    pub flanks: usize,
    /// The share, in percent, of rows of leaves whose marker is elsewhere than at the left edge.
    pub markers: usize,
    /// The share, in percent, of operations that are an equality or inequality between any two
    /// tensors.
    pub loose: usize,
}

/// Sums of bare rows.
pub const SUMS: Profile = Profile { name: "sums", rows: 6, flanks: 0, markers: 0, loose: 5 };
/// Rows with flanks, as layers and specs make them.
pub const FLANKS: Profile = Profile { name: "flanks", rows: 6, flanks: 40, markers: 0, loose: 15 };
/// All constraints that are possible on rows with declared markers.
pub const LOOSE: Profile = Profile { name: "loose", rows: 6, flanks: 30, markers: 20, loose: 50 };

/// All kinds.
pub const PROFILES: [&Profile; 3] = [&SUMS, &FLANKS, &LOOSE];

/// The system of a seed.
pub fn generate(seed: u64, profile: &Profile) -> System {
    let mut maker = Maker { rng: Dice::new(seed), profile, system: System::default(), tensors: Vec::new() };
    maker.make();
    maker.system
}

struct Maker<'a> {
    rng: Dice,
    profile: &'a Profile,
    system: System,
    /// The rows of tensors that operations can be applied to.
    tensors: Vec<Term>,
}

impl Maker<'_> {
    fn make(&mut self) {
        for _ in 0..self.rng.below(3) {
            self.system.dim(if self.rng.percent(70) { Role::Interior } else { Role::Leaf });
        }
        for _ in 0..1 + self.rng.below(4) {
            self.leaf();
        }
        for _ in 0..self.rng.below(3) {
            let data = self.closed();
            self.tensors.push(data);
        }
        for _ in 0..1 + self.rng.below(5) {
            self.operation();
        }
    }

    fn leaf(&mut self) {
        let role = self.rng.pick(&[Role::Leaf, Role::Leaf, Role::Param, Role::Param, Role::Filler]);
        let marker = if self.rng.percent(self.profile.markers) { 1 + self.rng.below(2) } else { 0 };
        let row = self.system.row(role, marker);
        let term = self.around(row);
        self.tensors.push(term);
    }

    fn size(&mut self) -> Dim {
        match self.rng.below(10) {
            0 => Dim::Unit,
            1 | 2 if !self.system.dims.is_empty() => Dim::Var(self.rng.below(self.system.dims.len())),
            _ => Dim::Size(self.rng.pick(&[2, 3, 5, 5])),
        }
    }

    fn sizes(&mut self, most: usize) -> Vec<Dim> {
        (0..self.rng.below(most + 1)).map(|_| self.size()).collect()
    }

    fn closed(&mut self) -> Term {
        let trail = self.sizes(3);
        let lead = if self.rng.percent(self.profile.markers) { self.sizes(2) } else { Vec::new() };
        Term { lead, row: None, trail }
    }

    /// A row, sometimes between flanks.
    fn around(&mut self, row: usize) -> Term {
        let mut term = Term::var(row);
        if self.rng.percent(self.profile.flanks) {
            match self.rng.below(4) {
                0 => term.lead = vec![self.size()],
                1 => term.lead = self.sizes(2),
                2 => term.trail = self.sizes(2),
                _ => term.trail = vec![self.size()],
            }
        }
        term
    }

    fn tensor(&mut self) -> Term {
        let at = self.rng.below(self.tensors.len());
        self.tensors[at].clone()
    }

    fn marker(&self, term: &Term) -> usize {
        term.lead.len() + term.row.map_or(0, |row| self.system.rows[row].marker)
    }

    fn operation(&mut self) {
        if self.rng.percent(self.profile.loose) {
            return self.loose();
        }
        match self.rng.below(20) {
            0..=10 => self.sum(),
            11 | 12 => self.shared(),
            13 | 14 => self.spec(),
            15 => self.reader(),
            16 => self.accumulate(),
            _ => self.contract(),
        }
    }

    /// The result of two or three tensors, or a reader of one.
    fn sum(&mut self) {
        if self.system.rows.len() >= self.profile.rows {
            return self.contract();
        }
        let mut opnds: Vec<Term> = Vec::new();
        for _ in 0..self.rng.pick(&[2, 2, 2, 3, 1]) {
            // Data that is used once, so that a leaf is used with different rows.
            let opnd = if self.rng.percent(25) { self.closed() } else { self.tensor() };
            if !opnds.contains(&opnd) {
                opnds.push(opnd);
            }
        }
        let marker = opnds.iter().map(|opnd| self.marker(opnd)).max().unwrap_or(0);
        let res = self.system.row(Role::Interior, marker);
        self.system.sum(res, &opnds);
        let term = Term::var(res);
        self.tensors.push(term);
    }

    /// A tensor with the row of another one, and flanks of its own.
    fn shared(&mut self) {
        if let Some(row) = self.tensor().row {
            let term = self.around(row);
            self.tensors.push(term);
        }
    }

    /// A tensor read as axes around a new row, which is put between others.
    fn spec(&mut self) {
        if self.system.rows.len() >= self.profile.rows {
            return self.reader();
        }
        let read = self.tensor();
        let row = self.system.row(Role::Interior, 0);
        let written = self.around(row);
        self.system.equate(read, written);
        let result = self.around(row);
        self.tensors.push(result);
    }

    /// A tensor whose number of axes is read.
    fn reader(&mut self) {
        let read = self.tensor();
        let axes: Vec<Dim> =
            (0..self.rng.below(4))
                .map(|_| {
                    if self.rng.percent(60) { Dim::Var(self.system.dim(Role::Interior)) } else { self.size() }
                })
                .collect();
        self.system.equate(read, Term::closed(&axes));
    }

    /// Tensors accumulated into an existing one.
    fn accumulate(&mut self) {
        let (res, opnd) = (self.tensor(), self.tensor());
        if res != opnd {
            self.system.refine(res, opnd);
        }
    }

    /// The inputs of a weight refine the outputs of the tensor it is applied to.
    fn contract(&mut self) {
        let opnd = self.tensor();
        let row = self.rng.below(self.system.rows.len());
        if opnd.row != Some(row) {
            self.system.refine(Term::var(row), opnd);
        }
    }

    fn loose(&mut self) {
        let (a, b) = (self.tensor(), self.tensor());
        if a.row.is_some() && a.row == b.row && !self.rng.percent(5) {
            return;
        }
        match self.rng.below(3) {
            0 => self.system.equate(a, b),
            _ => self.system.refine(a, b),
        }
    }
}
