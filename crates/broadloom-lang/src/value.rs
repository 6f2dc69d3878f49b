//! Values: the results of expressions while a program is built.

use std::cell::{Cell, RefCell};
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;

use broadloom::{Array, Initial, Operation, Tensor};
use broadloom_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::position::Position;
use crate::size::Size;
use crate::syntax::ast::{Def, ExprId, File, Name};

/// A function of the language, by its place in the table of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BuiltinId(pub u16);

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
    /// A function that still needs its configuration.
    Function(Rc<Function>),
    /// A function that is ready to be applied.
    Layer(Rc<Layer>),
    /// A function that is applied as if nothing were trained.
    Inference(Rc<Value>),
    /// A function of the language.
    Builtin(BuiltinId),
    Operation(Rc<Operation>),
    Initial(Rc<Initial>),
    Array(Rc<Array>),
    /// Numbers written in the program or in a text file. They stay 64-bit floats until the type of
    /// the tensor that will hold them is known.
    Numbers(Rc<Array>),
    Module(Rc<Scope>),
    /// A stream of batches, by its index in the plan, and the array in it that is meant, if one is named.
    Stream(usize, Option<usize>),
    /// A number that depends on the current repetition of a loop.
    Position(Arc<Position>),
    /// The result of a call made only for its effect.
    Nothing,
    /// An argument of a body that is not applied: nothing is known of it, not even its kind.
    Open,
    /// The result of arithmetic with such an argument: a number, a size or a tensor. It is this tensor if it is one.
    OpenNumber(Tensor),
    /// The result of an expression with an error that has already been reported.
    Mistake,
}

impl Value {
    /// Names the kind of value, with its article, for use in a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::Tensor(_) => "a tensor",
            Value::Size(..) => "a size",
            Value::List(_) => "a list",
            Value::Range(..) => "a range",
            Value::Function(_) => "a function without its configuration",
            Value::Layer(_) | Value::Inference(_) | Value::Builtin(_) | Value::Operation(_) => "a function",
            Value::Initial(_) => "an initialiser",
            Value::Array(_) | Value::Numbers(_) => "an array",
            Value::Module(_) => "a module",
            Value::Stream(..) => "a stream of batches",
            Value::Position(_) => "the number of a repetition",
            Value::Nothing => "nothing",
            Value::Open => "a value of any kind",
            Value::OpenNumber(_) => "a number or a tensor",
            Value::Mistake => "a mistake",
        }
    }

    /// Returns true if two values are known to differ. Used to find configuration that changes from
    /// one use to the next.
    pub fn differs(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a != b,
            (Value::Text(a), Value::Text(b)) => a != b,
            (Value::Tensor(a), Value::Tensor(b)) => a != b,
            (Value::Builtin(a), Value::Builtin(b)) => a != b,
            (Value::Function(a), Value::Function(b)) => !Rc::ptr_eq(a, b),
            (Value::Layer(a), Value::Layer(b)) => {
                let configured =
                    |a: &Layer, b: &Layer| a.config.iter().zip(&b.config).any(|(a, b)| a.differs(b));
                let is_one = Rc::ptr_eq(a, b) || Rc::ptr_eq(&a.kept, &b.kept);
                !is_one && (!Rc::ptr_eq(&a.function, &b.function) || configured(a, b))
            }
            (Value::List(a), Value::List(b)) if Rc::ptr_eq(a, b) => false,
            (Value::List(a), Value::List(b)) => {
                a.len() != b.len() || a.iter().zip(&**b).any(|(a, b)| a.differs(b))
            }
            (Value::Range(a, b), Value::Range(c, d)) => (a, b) != (c, d),
            (Value::Position(a), Value::Position(b)) => a != b,
            (Value::Size(a), Value::Size(b)) => a != b,
            (Value::Stream(a, b), Value::Stream(c, d)) => (a, b) != (c, d),
            (Value::Inference(a), Value::Inference(b)) => a.differs(b),
            (Value::Initial(a), Value::Initial(b)) => !Rc::ptr_eq(a, b) && a != b,
            (Value::Array(a), Value::Array(b)) | (Value::Numbers(a), Value::Numbers(b)) => {
                !Rc::ptr_eq(a, b) && !same_bits(a, b)
            }
            _ => std::mem::discriminant(self) != std::mem::discriminant(other),
        }
    }
}

/// Returns true if something in a value is a function inside of another one, as another application of that one has defined
/// it: it makes the same, and finds other values around it.
pub(crate) fn is_defined_again(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Layer(a), Value::Layer(b)) => !Rc::ptr_eq(a, b) && Rc::ptr_eq(&a.kept, &b.kept),
        (Value::Inference(a), Value::Inference(b)) => is_defined_again(a, b),
        (Value::List(a), Value::List(b)) if Rc::ptr_eq(a, b) => false,
        (Value::List(a), Value::List(b)) => a.iter().zip(&**b).any(|(a, b)| is_defined_again(a, b)),
        _ => false,
    }
}

/// Returns true if two values are known to be the same, so that whatever is made of them is the same.
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.to_bits() == b.to_bits(),
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Tensor(a), Value::Tensor(b)) => a == b,
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (Value::Range(a, b), Value::Range(c, d)) => (a, b) == (c, d),
        (Value::Nothing, Value::Nothing) => true,
        (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
        (Value::Layer(a), Value::Layer(b)) => Rc::ptr_eq(a, b),
        (Value::Operation(a), Value::Operation(b)) => Rc::ptr_eq(a, b),
        (Value::Module(a), Value::Module(b)) => Rc::ptr_eq(a, b),
        (Value::Initial(a), Value::Initial(b)) => Rc::ptr_eq(a, b),
        (Value::Array(a), Value::Array(b)) | (Value::Numbers(a), Value::Numbers(b)) => Rc::ptr_eq(a, b),
        (Value::Size(a), Value::Size(b)) => Rc::ptr_eq(a, b),
        (Value::Inference(a), Value::Inference(b)) => is_same(a, b),
        (Value::List(a), Value::List(b)) => {
            Rc::ptr_eq(a, b) || a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| is_same(a, b))
        }
        _ => false,
    }
}

/// Returns true if arrays hold the same numbers, NaN included.
fn same_bits(a: &Array, b: &Array) -> bool {
    let bits = |array: &Array| array.to_f64s().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    (a.dtype(), a.sizes()) == (b.dtype(), b.sizes()) && (a == b || bits(a) == bits(b))
}

/// The values that names stand for in one block of a program.
pub(crate) struct Scope {
    names: RefCell<Few<Name>>,
    outer: Option<Rc<Scope>>,
    /// The changes in it and in the layers of its functions; shared with the scopes around it.
    journal: Rc<Journal>,
    /// The number of scopes before it among those that share the journal.
    number: u32,
    /// True if functions are defined in it, or in a scope inside of it; those inside of bodies do not count.
    defines: Cell<bool>,
}

impl Scope {
    pub fn new(outer: Option<Rc<Scope>>) -> Rc<Scope> {
        let journal = outer.as_ref().map_or_else(Rc::default, |outer| outer.journal.clone());
        let number = journal.scopes.get();
        journal.scopes.set(number + 1);
        Rc::new(Scope { names: RefCell::default(), outer, journal, number, defines: Cell::new(false) })
    }

    /// Makes room for so many more names, and no more than that: most scopes are kept until the end.
    pub fn expect(&self, names: usize) {
        self.names.borrow_mut().few.reserve_exact(names);
    }

    pub fn bind(self: &Rc<Self>, name: Name, value: Value) {
        let before = self.names.borrow_mut().insert(name, value);
        if self.defines.get() {
            self.journal.epoch.set(self.journal.epoch.get() + 1);
        }
        self.journal.note(|| Change::Bound(self.clone(), name, before));
    }

    /// Drops its names.
    fn empty(&self) {
        let names = std::mem::take(&mut *self.names.borrow_mut());
        drop(names);
    }

    /// The number of scopes before it.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The changes in scopes and layers.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Finds the value of a name in this scope or in one around it.
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

    /// Finds the value of a name in this scope and those around it, up to one that does not count.
    pub fn find_inside(&self, name: Name, around: Option<&Rc<Scope>>) -> Option<Value> {
        let mut scope = Some(self);
        while let Some(here) =
            scope.filter(|here| !around.is_some_and(|around| std::ptr::eq(*here, &**around)))
        {
            if let Some(value) = here.names.borrow().get(&name) {
                return Some(value.clone());
            }
            scope = here.outer.as_deref();
        }
        None
    }

    /// Finds the value of a name, and the first scope on the way to it, or to the end, that is outside of something that has
    /// begun when there were so many scopes, and which has one older scope as its own.
    pub fn find_from(
        self: &Rc<Self>,
        name: Name,
        begin: u32,
        own: &Scope,
    ) -> (Option<Value>, Option<Rc<Scope>>) {
        let mut scope = self;
        while scope.number >= begin || std::ptr::eq(&**scope, own) {
            if let Some(value) = scope.names.borrow().get(&name) {
                return (Some(value.clone()), None);
            }
            match &scope.outer {
                Some(outer) => scope = outer,
                None => return (None, None),
            }
        }
        (scope.find(name), Some(scope.clone()))
    }

    /// Marks a scope in which a function is defined, and those around it: what the function finds there may change.
    pub fn define_in(&self) {
        let mut scope = Some(self);
        while let Some(here) = scope.filter(|here| !here.defines.get()) {
            here.defines.set(true);
            scope = here.outer.as_deref();
        }
    }

    /// Returns true if functions are defined in it outside of all bodies.
    pub fn is_of_file(&self) -> bool {
        self.defines.get()
    }

    /// Finds the value of a name in this scope only.
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
            names.extend(here.names.borrow().iter().map(|(name, _)| *name));
            scope = here.outer.as_deref();
        }
        names
    }
}

/// Up to so many values are kept in a list.
const FEW: usize = 16;

/// Values by names or places. Most scopes and layers have a few, which are found faster in a list, and take less memory there.
pub(crate) struct Few<K> {
    few: Vec<(K, Value)>,
    /// All of them, once there are more than [`FEW`].
    many: Option<Box<FxHashMap<K, Value>>>,
}

impl<K> Default for Few<K> {
    fn default() -> Few<K> {
        Few { few: Vec::new(), many: None }
    }
}

impl<K: Eq + Hash> Few<K> {
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.as_ref().is_none_or(|many| many.is_empty())
    }

    pub fn get(&self, key: &K) -> Option<&Value> {
        match &self.many {
            None => self.few.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            Some(many) => many.get(key),
        }
    }

    /// Keeps a value, and returns the one that was there.
    fn insert(&mut self, key: K, value: Value) -> Option<Value> {
        if let Some(many) = &mut self.many {
            return many.insert(key, value);
        }
        if let Some((_, known)) = self.few.iter_mut().find(|(known, _)| *known == key) {
            return Some(std::mem::replace(known, value));
        }
        if self.few.len() == self.few.capacity() {
            // A list that grows by itself begins with four.
            self.few.reserve_exact(self.few.len().max(1));
        }
        self.few.push((key, value));
        if self.few.len() > FEW {
            self.many = Some(Box::new(std::mem::take(&mut self.few).into_iter().collect()));
        }
        None
    }

    fn remove(&mut self, key: &K) -> Option<Value> {
        match &mut self.many {
            None => {
                let at = self.few.iter().position(|(known, _)| known == key);
                at.map(|at| self.few.remove(at).1)
            }
            Some(many) => many.remove(key),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &Value)> {
        let few = self.few.iter().map(|(key, value)| (key, value));
        few.chain(self.many.iter().flat_map(|many| many.iter()))
    }
}

/// Scopes that define functions. A function holds the scope that defines it and that scope holds
/// the function, so neither would ever be freed: when evaluation ends, the scopes drop their names.
/// Evaluations that go on from each other share this list.
#[derive(Default)]
pub(crate) struct Defining {
    scopes: RefCell<Vec<Rc<Scope>>>,
    /// True for an evaluation beside another one, which shares the journal and goes on.
    is_aside: bool,
}

impl Defining {
    /// The list of an evaluation beside another one.
    pub fn aside() -> Defining {
        Defining { scopes: RefCell::default(), is_aside: true }
    }

    pub fn note(&self, scope: &Rc<Scope>) {
        let mut scopes = self.scopes.borrow_mut();
        if !scopes.last().is_some_and(|last| Rc::ptr_eq(last, scope)) {
            scopes.push(scope.clone());
        }
    }

    /// Frees the scopes that there were not yet when there were so many, and keeps each of the others once: their evaluation
    /// has ended, and another one goes on from where it began.
    pub fn forget_since(&self, count: u32) {
        let scopes = std::mem::take(&mut *self.scopes.borrow_mut());
        let (mut kept, mut seen) = (Vec::new(), FxHashSet::default());
        for scope in scopes {
            if scope.number >= count {
                scope.empty();
            } else if seen.insert(Rc::as_ptr(&scope)) {
                kept.push(scope);
            }
        }
        *self.scopes.borrow_mut() = kept;
    }

    /// The number of scopes in the list.
    pub fn len(&self) -> usize {
        self.scopes.borrow().len()
    }
}

impl Drop for Defining {
    fn drop(&mut self) {
        for scope in self.scopes.borrow().iter() {
            if !self.is_aside {
                scope.journal.clear();
            }
            scope.empty();
        }
    }
}

/// The changes of scopes and layers since a checkpoint was made, so that evaluation can return to it. Nothing is noted
/// before.
#[derive(Default)]
pub(crate) struct Journal {
    changes: RefCell<Vec<Change>>,
    is_kept: Cell<bool>,
    /// The number of scopes.
    scopes: Cell<u32>,
    /// Changes with every name that functions may find outside of themselves.
    epoch: Cell<u32>,
}

/// An earlier state of a scope or a layer.
enum Change {
    Bound(Rc<Scope>, Name, Option<Value>),
    Made(Rc<Layer>, MadeAt, Option<Value>),
    Called(Rc<Layer>, Rc<str>),
    Placed(Rc<Layer>, Option<Rc<str>>),
    Part(Rc<Layer>, Name, Option<Value>),
    Param(Rc<Layer>, Name, Option<Value>),
    Inner(Rc<Layer>),
}

impl Journal {
    /// A number that changes with every name that functions may find outside of themselves.
    pub fn epoch(&self) -> u32 {
        self.epoch.get()
    }

    fn note(&self, change: impl FnOnce() -> Change) {
        if self.is_kept.get() {
            self.changes.borrow_mut().push(change());
        }
    }

    /// The number of scopes that there are or were.
    pub fn scopes(&self) -> u32 {
        self.scopes.get()
    }

    /// Notes changes from now on: a checkpoint is made, and takes the place of any other.
    pub fn begin(&self) {
        self.clear();
        self.is_kept.set(true);
    }

    /// Takes back the changes since the checkpoint, the last one first.
    pub fn undo(&self) {
        let changes = std::mem::take(&mut *self.changes.borrow_mut());
        changes.into_iter().rev().for_each(Change::undo);
    }

    /// Forgets all changes, and notes no more.
    fn clear(&self) {
        self.is_kept.set(false);
        let changes = std::mem::take(&mut *self.changes.borrow_mut());
        drop(changes);
    }
}

impl Change {
    fn undo(self) {
        match self {
            Change::Bound(scope, name, Some(value)) => _ = scope.names.borrow_mut().insert(name, value),
            Change::Bound(scope, name, None) => _ = scope.names.borrow_mut().remove(&name),
            Change::Made(layer, place, Some(value)) => _ = layer.kept.made.borrow_mut().insert(place, value),
            Change::Made(layer, place, None) => _ = layer.kept.made.borrow_mut().remove(&place),
            Change::Called(layer, name) => *layer.kept.name.borrow_mut() = name,
            Change::Placed(layer, path) => *layer.kept.path.borrow_mut() = path,
            Change::Part(layer, name, Some(value)) => _ = layer.kept.parts.borrow_mut().insert(name, value),
            Change::Part(layer, name, None) => _ = layer.kept.parts.borrow_mut().remove(&name),
            Change::Param(layer, name, Some(value)) => _ = layer.kept.params.borrow_mut().insert(name, value),
            Change::Param(layer, name, None) => _ = layer.kept.params.borrow_mut().remove(&name),
            Change::Inner(layer) => _ = layer.kept.inner.borrow_mut().pop(),
        }
    }
}

/// A function as it is defined.
pub(crate) struct Function {
    pub def: Arc<Def>,
    pub file: Arc<File>,
    /// The scope in which it is defined.
    pub scope: Rc<Scope>,
    /// The definition, from its first word to the end of its body.
    pub span: Span,
    /// True if it is defined in the body of another function.
    pub is_nested: bool,
    /// The text of its name.
    pub name: Rc<str>,
}

/// A function with its configuration, and with the
/// parameters and inner layers that were made for it.
pub(crate) struct Layer {
    pub function: Rc<Function>,
    /// The configuration by name.
    pub scope: Rc<Scope>,
    /// The values of the configuration, in order.
    pub config: Vec<Value>,
    /// The parameters and layers that its applications have made.
    pub kept: Rc<Kept>,
    /// The path of the layer in which this one was made, if it was made in one: the first part of its parameters' names.
    pub outer: Option<Rc<str>>,
    /// The place where it was given its configuration, if it has one.
    pub made_at: Cell<Option<Span>>,
}

/// A function without configuration inside of another: the place of its definition, the turns of the loops around it, and
/// its layer.
type InnerFunction = (u32, Rc<[u32]>, Rc<Layer>);

/// The parameters and layers that the applications of a layer have made, and its name. A function that is defined in the body of another one is
/// a new layer in every application of that one, because other names are around it, and all of these share what they make.
#[derive(Default)]
pub(crate) struct Kept {
    /// The value that each place of the body has made: it is shared by all applications.
    pub made: RefCell<Few<MadeAt>>,
    /// The parameters that the body has made: fields of the layer, by their names in the tables.
    pub params: RefCell<Few<Name>>,
    /// The layers, and lists of layers, that the body has bound to names: fields beside the parameters.
    pub parts: RefCell<Few<Name>>,
    /// The functions without configuration that the body defines, with the places of their definitions in the text and the
    /// turns of the loops around them.
    pub inner: RefCell<Vec<InnerFunction>>,
    pub name: RefCell<Rc<str>>,
    /// The path of the layer, once something has been named by it.
    pub path: RefCell<Option<Rc<str>>>,
}

impl Kept {
    /// Returns true if no application has made anything.
    pub fn has_made_nothing(&self) -> bool {
        let inner = self.inner.borrow();
        self.made.borrow().is_empty()
            && self.parts.borrow().is_empty()
            && inner.iter().all(|(.., layer)| layer.kept.has_made_nothing())
    }
}

impl Layer {
    /// The path that is wanted for it: that of the layer around it, and its name.
    pub fn wanted_path(&self) -> String {
        let name = self.kept.name.borrow();
        match &self.outer {
            Some(outer) => [outer, ".", &**name].concat(),
            None => name.to_string(),
        }
    }

    /// Returns true if no application has made anything that it keeps.
    pub fn has_made_nothing(&self) -> bool {
        self.kept.has_made_nothing()
    }

    /// The layer of a function without configuration that the body defined there in an earlier application.
    pub fn inner_at(&self, place: u32, turns: &[u32]) -> Option<Rc<Layer>> {
        let inner = self.kept.inner.borrow();
        let same = inner.iter().find(|(known, around, _)| *known == place && **around == *turns);
        same.map(|(.., layer)| layer.clone())
    }

    /// Keeps the layer of a function that the body defines.
    pub fn keep_inner(self: &Rc<Self>, place: u32, turns: Rc<[u32]>, layer: Rc<Layer>) {
        self.kept.inner.borrow_mut().push((place, turns, layer));
        self.scope.journal.note(|| Change::Inner(self.clone()));
    }

    /// Keeps the value that a place of the body has made.
    pub fn keep(self: &Rc<Self>, place: MadeAt, value: Value) {
        let before = self.kept.made.borrow_mut().insert(place.clone(), value);
        self.scope.journal.note(|| Change::Made(self.clone(), place, before));
    }

    /// Keeps a layer that the body has bound to a name, so that it is a field.
    pub fn keep_part(self: &Rc<Self>, name: Name, value: Value) {
        let before = self.kept.parts.borrow_mut().insert(name, value);
        self.scope.journal.note(|| Change::Part(self.clone(), name, before));
    }

    /// Keeps a parameter that the body has made, so that it is a field. The first of a name keeps it.
    pub fn keep_param(self: &Rc<Self>, name: Name, value: &Value) {
        if self.kept.params.borrow().get(&name).is_some() {
            return;
        }
        let before = self.kept.params.borrow_mut().insert(name, value.clone());
        self.scope.journal.note(|| Change::Param(self.clone(), name, before));
    }

    /// Names the layer, unless it has been used under another name.
    pub fn call_it(self: &Rc<Self>, name: &str) {
        if self.kept.path.borrow().is_none() {
            let before = self.kept.name.replace(name.into());
            self.scope.journal.note(|| Change::Called(self.clone(), before));
        }
    }

    /// Decides the path that the names of its parameters begin with.
    pub fn place_at(self: &Rc<Self>, path: Rc<str>) {
        let before = self.kept.path.replace(Some(path));
        self.scope.journal.note(|| Change::Placed(self.clone(), before));
    }
}

/// An expression of a body, with the current turn of each loop around it.
pub(crate) type MadeAt = (ExprId, Rc<[u32]>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ast::Names;

    #[test]
    fn names_are_found_however_many_there_are() {
        let mut names = Names::default();
        let all: Vec<Name> = (0..3 * FEW).map(|at| names.intern(&format!("name{at}"))).collect();
        let number = |value: Option<Value>| match value {
            Some(Value::Number(number)) => number as usize,
            _ => usize::MAX,
        };
        for count in [1, FEW, FEW + 1, 3 * FEW] {
            let scope = Scope::new(None);
            scope.journal().begin();
            all[..count].iter().for_each(|name| scope.bind(*name, Value::Number(0.0)));
            for (at, name) in all[..count].iter().enumerate() {
                scope.bind(*name, Value::Number(at as f64));
            }
            for (at, name) in all.iter().enumerate() {
                let expected = if at < count { at } else { usize::MAX };
                assert_eq!(number(scope.find(*name)), expected, "{at} of {count}");
            }
            assert_eq!(scope.all().len(), count);
            scope.journal().undo();
            assert!(scope.all().is_empty() && scope.own(all[0]).is_none());
        }
    }
}
