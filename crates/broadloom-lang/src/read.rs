//! The program that an evaluation has made, and what is found by looking at it as a whole.

use broadloom::KnownNests;
use broadloom_diagnostics::Span;

use crate::eval::advice::makers;
use crate::eval::{Eval, weights};
use crate::plan::Plan;
use crate::program::{Options, Program};
use crate::weights::{Load, Weights};

impl Program {
    /// The program that an evaluation has made, without advice that has to be tried.
    pub(crate) fn as_read(eval: Eval<'_>, options: &Options, nests: Option<KnownNests>) -> Program {
        let (mut program, loads) = Program::shaped(eval, options);
        program.nests = nests;
        program.look_at_all(loads, options);
        program
    }

    /// Finds what needs shapes.
    pub(crate) fn look_at_all(&mut self, loads: Vec<Load>, options: &Options) {
        if options.until.is_none() {
            self.look_at_numbers();
            self.look_at_bits();
            self.look_at_weights(loads, options.load.as_deref());
            self.look_at_streams();
            self.rehearse();
        }
        self.look_at_dims();
        // In the order of the text, independent of the phase that found them.
        self.diagnostics.sort_by_key(|diagnostic| {
            diagnostic.primary().map(|label| (label.span.source, label.span.start))
        });
    }

    /// The program that an evaluation has made, with its shapes, and the weights that it loads.
    pub(crate) fn shaped(eval: Eval<'_>, options: &Options) -> (Program, Vec<Load>) {
        // Scopes and layers are not needed any more when shapes are inferred, which takes memory.
        let (mut program, loads) = Program::evaluated(eval, options);
        if options.until.is_none() {
            program.close();
        }
        (program, loads)
    }

    /// The program that an evaluation has made, before its shapes are closed.
    fn evaluated(mut eval: Eval<'_>, options: &Options) -> (Program, Vec<Load>) {
        if options.until.is_none() && eval.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()) {
            eval.unassigned_states();
        }
        let main = eval.main();
        let loads = weights::loads(&mut eval);
        let plan = Plan { actions: eval.finish_plan(), ..std::mem::take(&mut eval.plan) };
        let makers: Vec<Option<Span>> =
            (0..eval.applied.len() as u32).map(|at| makers::configured_at(&eval, at)).collect();
        // The scopes of applications are given back one by one, and names that are taken at once: this is when most memory is held.
        eval.forget_names();
        let applied = std::mem::take(&mut eval.applied).into_iter().zip(makers);
        let applications = applied.map(|(applied, made)| applied.shown(made, &eval.names)).collect();
        let program = Program {
            sources: eval.sources,
            main,
            files: eval.files,
            imports: eval.imports,
            definitions: eval.definitions,
            graph: eval.graph.into_inner(),
            diagnostics: eval.diagnostics,
            plan,
            made: eval.made,
            axis_names: eval.axis_names,
            dims: eval.dims,
            sizes: eval.asked,
            origins: eval.origins,
            applications,
            words: options.words,
            specs: eval.specs,
            piped: eval.piped,
            names: eval.names,
            file: eval.own_file,
            weights: Weights::default(),
            nests: None,
            work: eval.work,
            walked: eval.walked,
            replayed: eval.replay.played,
        };
        (program, loads)
    }
}
