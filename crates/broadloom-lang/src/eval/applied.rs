//! The applications of functions, as they are remembered.

use std::rc::Rc;

use broadloom_diagnostics::Span;

use crate::program::Application;
use crate::syntax::ast::Names;
use crate::value::{Function, Layer, Scope, Value};

/// A function that was applied.
#[derive(Clone)]
pub(crate) struct Applied {
    pub(super) layer: Rc<Layer>,
    /// The names of its body: its arguments are among them.
    pub(super) scope: Rc<Scope>,
    /// The span of the application.
    pub(super) span: Span,
    pub(super) outer: Option<u32>,
    pub(super) library: bool,
}

impl Applied {
    /// Returns true if it is a function of the library.
    pub fn is_of_library(&self) -> bool {
        self.library
    }

    /// Returns true if it is a function of the library and was applied at this place.
    pub fn is_of_library_at(&self, place: Span) -> bool {
        self.library && self.span == place
    }

    /// The layer that was applied.
    pub fn layer(&self) -> &Rc<Layer> {
        &self.layer
    }

    /// The identity of the function.
    pub fn function(&self) -> *const Function {
        Rc::as_ptr(&self.layer.function)
    }

    /// The span of the function's name in its definition.
    pub fn defined(&self) -> Span {
        self.layer.function.def.name.span
    }

    /// The name of the function.
    pub fn name(&self) -> &Rc<str> {
        &self.layer.function.name
    }

    /// The path of the layer, once all names are given.
    pub fn path(&self) -> String {
        match &*self.layer.kept.path.borrow() {
            Some(path) => path.to_string(),
            None => self.layer.wanted_path(),
        }
    }

    /// Its public form, once all names are given, and with the place of its configuration.
    pub fn shown(&self, made: Option<Span>, names: &Names) -> Application {
        let Applied { layer, span, outer, library, .. } = self;
        let mut config = layer.function.def.config.iter().flatten().zip(&layer.config).enumerate();
        let open = config.find(|(_, (_, value))| matches!(value, Value::Nothing));
        Application {
            function: self.name().to_string(),
            path: self.path(),
            span: *span,
            made,
            outer: *outer,
            library: *library,
            open: open.map(|(at, (argument, _))| (names.text(argument.name.name).to_string(), at == 0)),
        }
    }
}
