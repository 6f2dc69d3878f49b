//! The most general instance of a body: variables for what it leaves open, as long as it has a solution with them.

use broadloom_core::order::Dim;
use broadloom_core::{Closed, Constraint, DimTerm, DimVar, Need, Role, RowTerm, Symbol};
use broadloom_spec::{Kind, SpecNames};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Choices, ComputedSize, RowVariable, SchemeInstance, Variable, forms, fresh_symbol, one_symbol};
use crate::declaration::StatedNames;
use crate::error::{Error, ErrorKind};
use crate::shape::{Axis, Shape};
use crate::step::{Aspect, Op, RowRef, Step, Tensor, place};
use crate::symbols::read;
use crate::view::View;
use crate::{Graph, final_shapes, partial_shape, undetermined};

/// The most general instance of a body, as far as rows are what was chosen for them.
pub(super) fn instance(
    graph: &Graph,
    (arguments, others): (&[Tensor], &[Tensor]),
    stated: &StatedNames,
    choices: &Choices,
) -> Result<SchemeInstance, Error> {
    let mut instance = Instance {
        graph: graph.clone(),
        stated: stated.clone(),
        choices: choices.clone(),
        rows: Vec::new(),
        axes: Vec::new(),
        spare: None,
        is_undecided: false,
        later: Some(Undecided::default()),
    };
    instance.graph.closed(|_, _| ())?;
    // First the sizes that shapes are computed from: `2*n` is said with `n`.
    for (_, size) in instance.computed() {
        size.var().into_iter().for_each(|size| instance.generalise_axis(size));
    }
    for argument in arguments {
        instance.generalise(*argument);
    }
    // Sizes of parameters that only the user of the function decides.
    let rows_of = |tensor: &Tensor| Kind::ALL.map(|kind| (*tensor, kind));
    let mut given: Vec<(Tensor, Kind)> = arguments.iter().flat_map(rows_of).collect();
    for (param, kind) in undetermined::holes(&mut instance.graph)? {
        let row = instance.graph.rows(param)[place(kind)];
        let known = partial_shape::partial_row(&instance.graph, row);
        let ends = (known.lead.len(), known.trail.len());
        // A parameter has no more axes than it needs.
        let short = Some(ends).filter(|ends| *ends != (0, 0) && known.open);
        let short = short.and_then(|ends| instance.with_axes(param, kind, ends, None));
        let axes = short.unwrap_or_else(|| instance.generalise_row(param, kind));
        axes.into_iter().for_each(|axis| instance.generalise_axis(axis));
        given.push((param, kind));
    }
    // Sizes of results that only the user of the function decides, if the signature has names for them.
    let named = instance.stated.axes.iter().filter_map(|(_, at)| instance.graph.stated.get(*at as usize));
    let named: Vec<DimVar> = named.filter_map(|(_, size)| size.var()).collect();
    let named: Vec<DimVar> = named
        .into_iter()
        .filter(|size| instance.is_open(*size) && instance.generalise_together(&[*size]))
        .collect();
    // What was undecided as long as these were open.
    let Undecided { rows, axes: mut later } = instance.later.take().unwrap_or_default();
    for (tensor, kind) in rows {
        later.extend(instance.generalise_row(tensor, kind));
    }
    let mut known: FxHashSet<DimVar> = FxHashSet::default();
    later.retain(|axis| instance.is_open(*axis) && known.insert(*axis));
    if !instance.generalise_together(&later) {
        later.into_iter().for_each(|axis| instance.generalise_axis(axis));
    }
    let asked: Vec<Tensor> = arguments.iter().chain(others).copied().collect();
    let mut shape = |tensor: &Tensor| final_shapes::final_shape(&mut instance.graph, *tensor);
    let shapes = asked.iter().map(&mut shape).collect::<Result<Vec<_>, _>>()?;
    let given = given
        .into_iter()
        .map(|(tensor, kind)| Ok((tensor, kind, shape(&tensor)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let computed = instance.computed();
    let computed = instance.computed_sizes(computed)?;
    let named = named.into_iter().map(|size| (Box::from(""), size.into())).collect();
    let opened = instance.computed_sizes(named)?;
    Ok(SchemeInstance { instance, asked, shapes, given, computed, opened })
}

/// A row that is no row variable has at most so many axes more than are known of it.
const MOST_UNSAID: usize = 4;

/// The outcome for a fresh variable in a row.
enum Tried {
    /// It stands there, beside these axes.
    Stands(Vec<DimVar>),
    /// Another variable stands there, beside these axes.
    Shared(Vec<DimVar>),
    /// It could stand there, and nothing would depend on it.
    Idle,
    /// The body has no solution with it.
    Refused,
}

/// The most general instance of a body, while it is made.
pub(super) struct Instance {
    pub graph: Graph,
    stated: StatedNames,
    choices: Choices,
    /// The variables that stand for rows.
    pub rows: Vec<RowVariable>,
    /// The variables that stand for axes.
    pub axes: Vec<Symbol>,
    /// A variable that was made and not used.
    spare: Option<Symbol>,
    /// True once closing could not decide something that was tried.
    is_undecided: bool,
    /// Rows and axes that are looked at again once all others have their variables; none if they have.
    later: Option<Undecided>,
}

/// Rows and axes that closing cannot decide as long as others are open.
#[derive(Default)]
struct Undecided {
    rows: Vec<(Tensor, Kind)>,
    axes: Vec<DimVar>,
}

impl Instance {
    /// The sizes of the stated signature that others are computed from, with their names.
    fn computed(&self) -> Vec<(Box<str>, DimTerm)> {
        let numbers = self.stated.computed.iter();
        numbers.filter_map(|at| self.graph.stated.get(*at as usize).cloned()).collect()
    }

    /// Some sizes with what the instance has for them.
    fn computed_sizes(&mut self, computed: Vec<(Box<str>, DimTerm)>) -> Result<Vec<ComputedSize>, Error> {
        let read = |closed: &Closed<'_>, view: &View<'_>| {
            let mut found = Vec::new();
            for (name, term) in computed {
                closed.each_axis(RowTerm::closed(std::slice::from_ref(&term)), |dim| {
                    found.push(ComputedSize { name: name.clone(), term, size: view.axis(closed, dim) });
                });
            }
            found
        };
        self.graph.closed(read).map(|(found, _)| found)
    }

    /// Gives every open row and every open axis of a tensor a variable.
    fn generalise(&mut self, tensor: Tensor) {
        let mut open = Vec::new();
        for kind in Kind::ALL {
            open.extend(self.generalise_row(tensor, kind));
        }
        for axis in open {
            self.generalise_axis(axis);
        }
    }

    /// Gives the open middle of a row a variable; returns its axes, apart from that one.
    fn generalise_row(&mut self, tensor: Tensor, kind: Kind) -> Vec<DimVar> {
        let row = self.graph.rows(tensor)[place(kind)];
        let known = partial_shape::partial_row(&self.graph, row);
        let ends = (known.lead.len(), known.trail.len());
        if !known.open {
            return self.with_axes(tensor, kind, ends, None).unwrap_or_default();
        }
        if self.choices.only.contains(&(tensor, kind)) {
            let (lead, trail) = if ends == (0, 0) { (0, 1) } else { ends };
            // The body may need more axes than it says which.
            let mut more = 0..=MOST_UNSAID;
            return more
                .find_map(|more| self.with_axes(tensor, kind, (lead + more, trail), None))
                .unwrap_or_default();
        }
        let fresh = self.fresh();
        self.is_undecided = false;
        let tried = self.with_fresh(tensor, kind, ends, fresh);
        if let Tried::Stands(axes) = tried {
            self.spare = None;
            self.rows.push(RowVariable { symbol: fresh, tensor, kind });
            return axes;
        }
        if let Tried::Shared(axes) = tried {
            return axes;
        }
        if let (Tried::Refused, true, Some(later)) = (&tried, self.is_undecided, &mut self.later) {
            later.rows.push((tensor, kind));
            return Vec::new();
        }
        // Where some axes are known and others would mean nothing, they need not be there.
        if matches!(tried, Tried::Idle)
            && let Some(axes) = self.with_axes(tensor, kind, ends, None)
        {
            return axes;
        }
        // The body may need others, though no row of a spec and no other tensor has them by themselves.
        if matches!(tried, Tried::Idle)
            && let Some(axes) = self.with_axes(tensor, kind, ends, Some(fresh))
        {
            self.spare = None;
            self.rows.push(RowVariable { symbol: fresh, tensor, kind });
            return axes;
        }
        let (same, other): (Vec<_>, Vec<_>) = self.rows.iter().copied().partition(|own| own.kind == kind);
        let known = same.into_iter().chain(other).map(|row: RowVariable| Some(row.symbol));
        let none = Some(None).filter(|_| ends != (0, 0));
        let possible: Vec<Option<Symbol>> = known.chain(none).collect();
        possible.into_iter().find_map(|symbol| self.with_axes(tensor, kind, ends, symbol)).unwrap_or_default()
    }

    /// Puts a fresh variable into a row. Where some of the axes are known to be there, it may stand before, between or
    /// after them: it stands where the author of the body has a row, or where other tensors have the same axes.
    fn with_fresh(
        &mut self,
        tensor: Tensor,
        kind: Kind,
        (lead, trail): (usize, usize),
        fresh: Symbol,
    ) -> Tried {
        let before = self.graph.clone();
        if lead + trail == 0 {
            let Some(axes) = self.with_axes(tensor, kind, (0, 0), Some(fresh)) else { return Tried::Refused };
            if !self.choices.last.contains(&(tensor, kind)) && !self.is_label(fresh) {
                return Tried::Stands(axes);
            }
            // The author names one axis of the row, the last one: there may be others before it.
            let alone = std::mem::replace(&mut self.graph, before);
            if let Some(axes) = self.with_axes(tensor, kind, (0, 1), Some(fresh)) {
                if !self.is_label_beside(fresh, &axes) {
                    return Tried::Stands(axes);
                }
                self.graph = alone;
                return Tried::Stands(Vec::new());
            }
            let known: Vec<Symbol> =
                self.rows.iter().filter(|row| row.kind == kind).map(|row| row.symbol).collect();
            let shared = known.into_iter().find_map(|row| self.with_axes(tensor, kind, (0, 1), Some(row)));
            return match shared {
                Some(axes) => Tried::Shared(axes),
                None => {
                    self.graph = alone;
                    Tried::Stands(Vec::new())
                }
            };
        }
        let mut tried = Tried::Refused;
        let count = lead + trail;
        let places: Vec<usize> =
            [lead].into_iter().chain((0..=count).rev().filter(|place| *place != lead)).collect();
        for written in [true, false] {
            for place in &places {
                let Some(axes) = self.with_axes(tensor, kind, (*place, count - place), Some(fresh)) else {
                    continue;
                };
                let is_row = if written { self.is_spec_row(fresh) } else { self.is_elsewhere(tensor, fresh) };
                if is_row && !self.is_label(fresh) {
                    return Tried::Stands(axes);
                }
                self.graph = before.clone();
                tried = Tried::Idle;
            }
        }
        tried
    }

    /// True if the body treats a variable as one axis also where the axes beside it have sizes of their own: as long as these
    /// are open, closing may take the variable for them.
    fn is_label_beside(&mut self, symbol: Symbol, axes: &[DimVar]) -> bool {
        if !self.is_label(symbol) {
            return false;
        }
        let open: Vec<DimVar> = axes.iter().copied().filter(|axis| self.is_open(*axis)).collect();
        let (graph, count) = (self.graph.clone(), self.axes.len());
        let is_apart = !open.is_empty() && self.generalise_together(&open) && !self.is_label(symbol);
        self.graph = graph;
        self.axes.truncate(count);
        !is_apart
    }

    /// True if the body treats a variable as one axis: it is the size of a label, or the size of a label depends on it
    /// and no row of a spec is it.
    fn is_label(&mut self, symbol: Symbol) -> bool {
        let is_row = self.is_spec_row(symbol);
        let read = |closed: &Closed<'_>, view: &View<'_>| {
            let mut labels = view.labels.iter().map(|label| RowTerm::closed(std::slice::from_ref(label)));
            labels.any(|label| match is_row {
                true => one_symbol(closed, label) == Some(symbol),
                false => forms(closed, label).any(|form| form.symbols().contains(&symbol)),
            })
        };
        self.graph.closed(read).is_ok_and(|(found, _)| found)
    }

    /// True if a row of a spec or of a declared shape is exactly a variable.
    fn is_spec_row(&mut self, symbol: Symbol) -> bool {
        let (rows, stated) = (&self.graph.spec_rows.clone(), &self.stated.rows);
        let read = |closed: &Closed<'_>, view: &View<'_>| {
            let stated = stated.iter().map(|(_, row)| RowTerm::var(*row));
            let mut rows = rows.iter().map(|row| row.term(view.axes)).chain(stated);
            rows.any(|row| one_symbol(closed, row) == Some(symbol))
        };
        self.graph.closed(read).is_ok_and(|(found, _)| found)
    }

    /// True if a variable is a whole axis of a tensor other than the one it was made for.
    fn is_elsewhere(&mut self, tensor: Tensor, symbol: Symbol) -> bool {
        let read = |closed: &Closed<'_>, view: &View<'_>| {
            let others = view.tensors.iter().enumerate().filter(|(at, _)| *at != tensor.index());
            let rows = others.flat_map(|(_, data)| data.rows.iter());
            { rows }
                .any(|row| forms(closed, row.term(view.axes)).any(|form| form.as_symbol() == Some(symbol)))
        };
        self.graph.closed(read).is_ok_and(|(found, _)| found)
    }

    /// Gives each of some axes a variable of its own, all at once: one of them may be decided only where others are. Returns
    /// false if that contradicts the body, or is not decided either.
    fn generalise_together(&mut self, axes: &[DimVar]) -> bool {
        let mut sizes: Vec<(DimVar, Symbol)> = Vec::new();
        for axis in axes {
            sizes.push((*axis, fresh_symbol(&mut self.graph)));
        }
        let equations: Vec<(DimVar, DimTerm)> =
            sizes.iter().filter_map(|(axis, symbol)| Some((*axis, self.term(*symbol)?))).collect();
        let holds = self.assume(Tensor(0), |graph| {
            for (axis, size) in equations {
                graph.constrain(Constraint::DimEq(axis.into(), size), 0, Aspect::Whole);
            }
        });
        if holds {
            self.axes.extend(sizes.into_iter().map(|(_, symbol)| symbol));
        }
        holds
    }

    fn generalise_axis(&mut self, axis: DimVar) {
        if !self.is_open(axis) {
            return;
        }
        let fresh = self.fresh();
        self.is_undecided = false;
        if self.with_size(axis, fresh) {
            self.spare = None;
            self.axes.push(fresh);
            return;
        }
        if self.is_undecided {
            // Still undecided at the end, it stays open: that another size would do for it does not make them equal.
            if let Some(later) = &mut self.later {
                later.axes.push(axis);
            }
            return;
        }
        let known = self.axes.clone();
        let _ = known.into_iter().any(|symbol| self.with_size(axis, symbol));
    }

    /// Returns true if nothing is known of the size of an axis.
    fn is_open(&self, axis: DimVar) -> bool {
        let solver = &self.graph.solver;
        solver.observe_dim(axis).is_none() && solver.observe_form(axis.into()).is_none()
    }

    /// A variable that nothing has.
    fn fresh(&mut self) -> Symbol {
        let symbol = self.spare.unwrap_or_else(|| fresh_symbol(&mut self.graph));
        self.spare = Some(symbol);
        symbol
    }

    /// Says that a row has as many axes as are known of it, around a variable or around nothing; returns the axes, or
    /// nothing if that contradicts the body.
    fn with_axes(
        &mut self,
        tensor: Tensor,
        kind: Kind,
        (lead, trail): (usize, usize),
        middle: Option<Symbol>,
    ) -> Option<Vec<DimVar>> {
        let row = self.graph.rows(tensor)[place(kind)];
        let middle = middle.and_then(|symbol| self.term(symbol));
        let mut vars = Vec::new();
        let holds = self.assume(tensor, |graph| {
            vars.extend((0..lead + trail).map(|_| graph.solver.dim_var(Role::Interior)));
            let start = graph.axes.len() as u32;
            graph.axes.extend(vars[..lead].iter().map(|var| DimTerm::from(*var)));
            graph.axes.extend(middle);
            graph.axes.extend(vars[lead..].iter().map(|var| DimTerm::from(*var)));
            let trail = (graph.axes.len() as u32 - start) as u16;
            graph.equate_rows(row, RowRef { start, lead: 0, trail, hole: None }, 0, Aspect::Row(kind));
        });
        holds.then_some(vars)
    }

    /// Says that an axis has the size of a variable, unless that contradicts the body.
    fn with_size(&mut self, axis: DimVar, symbol: Symbol) -> bool {
        let Some(size) = self.term(symbol) else { return false };
        self.assume(Tensor(0), |graph| {
            graph.constrain(Constraint::DimEq(axis.into(), size), 0, Aspect::Whole)
        })
    }

    fn term(&self, symbol: Symbol) -> Option<DimTerm> {
        read::symbol_data(&self.graph, symbol).map(|data| data.var.into())
    }

    /// Adds something, and takes it back if the body has no solution with it, or only for some sizes that are equal by
    /// chance.
    fn assume(&mut self, about: Tensor, say: impl FnOnce(&mut Graph)) -> bool {
        let graph = &mut self.graph;
        let Ok(before) = graph.begin(&[]) else { return false };
        say(graph);
        graph.steps.push(Step::Declared(about));
        graph.settled = None;
        let by_chance = |closed: &Closed<'_>| closed.checks().iter().any(|check| check.need == Need::Zero);
        let closed = match graph.solver.is_stuck() {
            true => None,
            false => Some(graph.closed(|closed, _| by_chance(closed))),
        };
        let holds = matches!(closed, Some(Ok((false, _))));
        self.is_undecided |= matches!(closed, Some(Err(error)) if error.kind() == ErrorKind::GaveUp);
        if !holds {
            graph.steps.pop();
            graph.take_back(before);
            graph.settled = None;
        }
        holds
    }

    /// The sizes with names of their own that the body makes equal to something else.
    pub fn settled(
        &mut self,
        known: usize,
        variables: &FxHashMap<Symbol, Variable>,
    ) -> Result<Vec<String>, Error> {
        let vars: Vec<(String, DimVar)> =
            self.graph.symbols[..known].iter().map(|data| (data.name.to_string(), data.var)).collect();
        let (found, _) = self.graph.closed(|closed, _| {
            let form = |var: &DimVar| match closed.dim(*var) {
                Dim::Symbolic(symbolic) => Ok(closed.form(symbolic.form)),
                other => Err(other),
            };
            vars.iter().map(|(_, var)| form(var)).collect::<Vec<_>>()
        })?;
        let name = |symbol: Symbol| match variables.get(&symbol) {
            Some(variable) => variable.to_string(),
            None => read::symbol_data(&self.graph, symbol).map_or("?".into(), |data| data.name.to_string()),
        };
        let settled = vars.iter().zip(found).enumerate().filter_map(|(at, ((own, _), found))| match found {
            Ok(form) if form.as_symbol() == Some(Symbol(at as u32)) => None,
            Ok(form) => Some(format!("`{own}` = `{}`", form.show(name))),
            Err(dim) => Some(format!("`{own}` = `{}`", crate::shape::elements(dim)?)),
        });
        Ok(settled.collect())
    }

    /// Names for the variables that occur: those that the author of the body has for them, or usual ones.
    pub fn variables(&mut self, shapes: &[Shape]) -> Result<FxHashMap<Symbol, Variable>, Error> {
        let axes = shapes.iter().flat_map(|shape| Kind::ALL.into_iter().flat_map(|kind| shape.row(kind)));
        let sizes = axes.filter_map(|axis| match axis {
            Axis::Symbolic(size, _) => Some(size.form().symbols()),
            _ => None,
        });
        let used: FxHashSet<Symbol> = sizes.flatten().collect();
        let mut taken: FxHashSet<String> =
            self.graph.symbols.iter().map(|data| data.name.to_string()).collect();
        let mut variables = FxHashMap::default();
        let written = self.written_names()?;
        let rows = self.rows.iter().map(|row| (row.symbol, Some(row.kind)));
        // What the author states is called as it is stated, and nothing else is.
        let stated = self.stated.axes.iter().map(|(name, _)| name);
        let stated: FxHashSet<String> =
            stated.chain(self.stated.rows.iter().map(|(name, _)| name)).map(ToString::to_string).collect();
        let all: Vec<_> = rows.chain(self.axes.iter().map(|symbol| (*symbol, None))).collect();
        for (symbol, kind) in all.into_iter().filter(|(symbol, _)| used.contains(symbol)) {
            let is_free = |name: &String| !taken.contains(name) && !is_of_part(name);
            let own = written.iter().find(|(of, name)| *of == symbol && is_free(name));
            // A row of a parameter that an argument has, too, is called as in the argument.
            let places = shapes.iter().flat_map(|shape| Kind::ALL.map(|kind| (kind, shape.row(kind))));
            let is_it = |axis: &Axis| matches!(axis, Axis::Symbolic(size, _) if size.form().as_symbol() == Some(symbol));
            let first = places.into_iter().find(|(_, row)| row.iter().any(is_it)).map(|(kind, _)| kind);
            let usual = match kind.map(|kind| first.unwrap_or(kind)) {
                Some(Kind::Batch) => "b",
                Some(Kind::Input) => "i",
                Some(Kind::Output) => "o",
                None => "n",
            };
            let numbered = || {
                let mut names = (2..).map(|number| format!("{usual}{number}"));
                let is_free = |name: &String| !taken.contains(name) && !stated.contains(name);
                Some(usual.to_string()).filter(is_free).or_else(|| names.find(is_free))
            };
            let Some(name) = own.map(|(_, name)| name.clone()).or_else(numbered) else { continue };
            taken.insert(name.clone());
            variables.insert(symbol, Variable { name, is_row: kind.is_some() });
        }
        Ok(variables)
    }

    /// The labels and rows of specs and declared shapes that are exactly one variable, with their names, in the order in
    /// which they were written.
    fn written_names(&mut self) -> Result<Vec<(Symbol, String)>, Error> {
        let graph = &mut self.graph;
        let mut tables: Vec<(SpecNames, u32, u32)> = Vec::new();
        for step in &graph.steps {
            match step {
                Step::Op { op: Op::Einsum { spec, labels, rows, .. }, .. } => {
                    tables.push((graph.specs.get(*spec).spec.names.clone(), *labels, *rows));
                }
                Step::Leaf { tensor, .. } => {
                    let Some(declared) = graph.declarations.get(tensor) else { continue };
                    let named = declared.named.as_deref();
                    tables.extend(named.map(|named| (named.decl.names.clone(), named.labels, named.rows)));
                }
                _ => {}
            }
        }
        let rows = graph.spec_rows.clone();
        let stated = &self.stated;
        let size = |(_, at): &(Box<str>, u32)| graph.stated.get(*at as usize).cloned();
        let sizes: Vec<(Box<str>, DimTerm)> = stated.axes.iter().filter_map(size).collect();
        let read = |closed: &Closed<'_>, view: &View<'_>| {
            let mut found = Vec::new();
            let mut add = |row: RowTerm<'_>, name: &str| {
                found.extend(one_symbol(closed, row).map(|symbol| (symbol, name.to_string())));
            };
            stated.rows.iter().for_each(|(name, row)| add(RowTerm::var(*row), name));
            for (name, axis) in &sizes {
                add(RowTerm::closed(std::slice::from_ref(axis)), name);
            }
            for (names, labels, first) in &tables {
                for (id, name) in names.rows.iter() {
                    add(rows[(first + 3 + id.0) as usize].term(view.axes), &name.text);
                }
                for (id, name) in names.axes.iter() {
                    let label = view.labels[(labels + id.0) as usize];
                    add(RowTerm::closed(std::slice::from_ref(&label)), &name.text);
                }
            }
            found
        };
        graph.closed(read).map(|(found, _)| found)
    }
}

/// True of `part0`, `part1` and so on, which `concat` calls what it puts side by side: they say nothing about a size.
fn is_of_part(name: &str) -> bool {
    let number = name.strip_prefix("part").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
}
