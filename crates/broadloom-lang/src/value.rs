//! What expressions evaluate to while a program is built.

use std::cell::RefCell;
use std::rc::Rc;

use broadloom::{Array, Initial, Operation, Tensor};
use rustc_hash::FxHashMap;

use crate::builtin::Builtin;
use crate::position::Position;
use crate::size::Size;
use crate::syntax::ast::{Def, ExprId, File, Name};

/// A value of the language. All but tensors exist only while the program is built.
#[derive(Clone)]
pub(crate) enum Value {
    Number(f64),
    Text(Rc<str>),
    Tensor(Tensor),
    /// A captured or a named size, or arithmetic on such.
    Size(Rc<Size>),
    List(Rc<[Value]>),
    /// From a number up to, not including, another one.
    Range(i64, i64),
    /// A function that wants its configuration.
    Function(Rc<Function>),
    /// A function that is ready to be applied.
    Layer(Rc<Layer>),
    /// A function that is applied as if nothing were trained.
    Inference(Rc<Value>),
    Builtin(&'static Builtin),
    Operation(Rc<Operation>),
    Initial(Rc<Initial>),
    Array(Rc<Array>),
    /// Numbers that were written down, in a list or in a file of text: 64-bit floats until it is known what holds them.
    Numbers(Rc<Array>),
    Module(Rc<Scope>),
    /// A number that depends on which repetition runs.
    Position(Rc<Position>),
    /// What a call gives that is made for what it does.
    Nothing,
    /// Something is wrong with it, and that has been reported.
    Mistake,
}

impl Value {
    /// What it is, in a sentence.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::Tensor(_) => "a tensor",
            Value::Size(..) => "a size",
            Value::List(_) => "a list",
            Value::Range(..) => "a range",
            Value::Function(_) => "a function that wants its configuration",
            Value::Layer(_) | Value::Inference(_) | Value::Builtin(_) | Value::Operation(_) => "a function",
            Value::Initial(_) => "an initialiser",
            Value::Array(_) | Value::Numbers(_) => "an array",
            Value::Module(_) => "a module",
            Value::Position(_) => "the number of a repetition",
            Value::Nothing => "nothing",
            Value::Mistake => "a mistake",
        }
    }

    /// Whether two values are known to differ: configuration that changes from use to use.
    pub fn differs(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a != b,
            (Value::Text(a), Value::Text(b)) => a != b,
            (Value::Tensor(a), Value::Tensor(b)) => a != b,
            (Value::Builtin(a), Value::Builtin(b)) => !std::ptr::eq(*a, *b),
            (Value::Function(a), Value::Function(b)) => !Rc::ptr_eq(a, b),
            (Value::Layer(a), Value::Layer(b)) => {
                let configured =
                    |a: &Layer, b: &Layer| a.config.iter().zip(&b.config).any(|(a, b)| a.differs(b));
                !Rc::ptr_eq(a, b) && (!Rc::ptr_eq(&a.function, &b.function) || configured(a, b))
            }
            (Value::List(a), Value::List(b)) if Rc::ptr_eq(a, b) => false,
            (Value::List(a), Value::List(b)) => {
                a.len() != b.len() || a.iter().zip(&**b).any(|(a, b)| a.differs(b))
            }
            (Value::Range(a, b), Value::Range(c, d)) => (a, b) != (c, d),
            (Value::Position(a), Value::Position(b)) => a != b,
            (Value::Size(a), Value::Size(b)) => a != b,
            (Value::Inference(a), Value::Inference(b)) => a.differs(b),
            _ => std::mem::discriminant(self) != std::mem::discriminant(other),
        }
    }
}

/// What names stand for in one place of a program.
pub(crate) struct Scope {
    names: RefCell<FxHashMap<Name, Value>>,
    outer: Option<Rc<Scope>>,
}

impl Scope {
    pub fn new(outer: Option<Rc<Scope>>) -> Rc<Scope> {
        Rc::new(Scope { names: RefCell::default(), outer })
    }

    pub fn bind(&self, name: Name, value: Value) {
        self.names.borrow_mut().insert(name, value);
    }

    /// What a name stands for here, or further out.
    pub fn find(&self, name: Name) -> Option<Value> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if let Some(value) = here.names.borrow().get(&name) {
                return Some(value.clone());
            }
            scope = here.outer.as_deref();
        }
        None
    }

    /// What a name stands for in this scope itself.
    pub fn own(&self, name: Name) -> Option<Value> {
        self.names.borrow().get(&name).cloned()
    }

    /// The names of this scope itself whose values are of some kind, in no order.
    pub fn own_names(&self, kind: impl Fn(&Value) -> bool) -> Vec<Name> {
        let names = self.names.borrow();
        names.iter().filter(|(_, value)| kind(value)).map(|(name, _)| *name).collect()
    }

    /// All names that can be used here.
    pub fn all(&self) -> Vec<Name> {
        let mut names = Vec::new();
        let mut scope = Some(self);
        while let Some(here) = scope {
            names.extend(here.names.borrow().keys().copied());
            scope = here.outer.as_deref();
        }
        names
    }
}

/// Scopes that define functions. A function knows the scope it is defined in and that scope knows the function, so neither
/// would ever be freed: when evaluation ends, the scopes forget their names.
#[derive(Default)]
pub(crate) struct Defining(Vec<Rc<Scope>>);

impl Defining {
    pub fn note(&mut self, scope: &Rc<Scope>) {
        if !self.0.last().is_some_and(|last| Rc::ptr_eq(last, scope)) {
            self.0.push(scope.clone());
        }
    }
}

impl Drop for Defining {
    fn drop(&mut self) {
        for scope in &self.0 {
            let names = std::mem::take(&mut *scope.names.borrow_mut());
            drop(names);
        }
    }
}

/// A function as it is defined.
pub(crate) struct Function {
    pub def: Rc<Def>,
    pub file: Rc<File>,
    /// Where it is defined.
    pub scope: Rc<Scope>,
}

/// A function with its configuration, and with what that made: parameters, and layers inside of it.
pub(crate) struct Layer {
    pub function: Rc<Function>,
    /// The configuration, and the parameters by name.
    pub scope: Rc<Scope>,
    /// The values of the configuration, in order.
    pub config: Vec<Value>,
    /// What each place of the body has made, once for all applications.
    pub made: RefCell<FxHashMap<Place, Value>>,
    /// What its parameters are called: the path of the layer it was made in, and a name.
    pub outer: Rc<str>,
    pub name: RefCell<Rc<str>>,
    /// The path of its own, once something is called by it.
    pub path: RefCell<Option<Rc<str>>>,
}

/// An expression of a body, and which turn of which loops around it.
pub(crate) type Place = (ExprId, Rc<[u32]>);
