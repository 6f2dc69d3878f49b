//! Functions of Rust with signatures.
//!
//! A function that adds to a graph is wrapped in a [`Function`]. Its body is walked once, with arguments of which nothing is
//! known, and what follows for its shapes is its signature; a body that contradicts itself is an error there, whether or not
//! anyone applies it. An application walks the body again, because parameters and closing belong to the whole graph.

use std::fmt;

use broadloom_graph::{Error, ErrorKind, Scheme, StatedNames, Tensor};

use crate::Graph;

/// A function that adds tensors to a graph, with its signature.
///
/// ```
/// use broadloom::{Error, Function, Graph};
///
/// let dense = Function::new("dense", ["x"], |g: &mut Graph, [x]| {
///     let (w, b) = (g.param_shaped("w", "... -> 10")?, g.param_shaped("b", "10")?);
///     let y = g.compose(w, x)?;
///     g.add(y, b)
/// })?;
/// assert_eq!(
///     dense.to_string(),
///     "dense(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> 10\n  parameters  w : ..o.. -> 10\n              b : 10\n"
/// );
///
/// let mut g = Graph::new();
/// let x = g.data("x", "32 | 784")?;
/// let y = dense.apply(&mut g, [x])?;
/// assert_eq!(g.final_shape(y)?.to_string(), "32 | 10");
/// # Ok::<(), Error>(())
/// ```
///
/// A body that is wrong whatever it is applied to is refused, and an application that does not fit says what the function takes:
///
/// ```
/// use broadloom::{Function, Graph};
///
/// let wrong = Function::new("wrong", ["x"], |g: &mut Graph, [x]| {
///     let y = g.einsum("... | i => ... | i", &[x])?;
///     g.einsum("... | i j => ... | i", &[y])
/// });
/// assert!(wrong.is_err());
///
/// let mix = Function::new("mix", ["a", "b"], |g: &mut Graph, [a, b]| g.einsum("i j; j k => i k", &[a, b])).unwrap();
/// let mut g = Graph::new();
/// let (x, y) = (g.data("x", "3, 4").unwrap(), g.data("y", "5, 6").unwrap());
/// let error = mix.apply(&mut g, [x, y]).unwrap_err();
/// let help = error.help().last().unwrap().to_string();
/// assert_eq!(help, "`mix` takes `a : i, j`, `b : j, k`; here, `a : 3, 4`, `b : 5, 6`");
/// ```
pub struct Function<const N: usize, F> {
    name: String,
    arguments: [String; N],
    body: F,
    signature: Result<FunctionSignature, Error>,
}

/// The shapes of a function over variables, as they are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionSignature {
    /// The shapes of the arguments.
    pub arguments: Vec<String>,
    /// The parameters that the function makes, with their shapes.
    pub parameters: Vec<(String, String)>,
    /// The shapes of the results.
    pub results: Vec<String>,
    /// True if the function gives a list of results, and not one tensor.
    pub is_list: bool,
    /// The conditions on the sizes.
    pub conditions: Vec<String>,
}

/// The results of a [`Function`]: a tensor, or several.
pub trait FunctionResults {
    /// True if they are a list.
    const IS_LIST: bool;

    /// The tensors, in order.
    fn tensors(&self) -> Vec<Tensor>;
}

impl FunctionResults for Tensor {
    const IS_LIST: bool = false;

    fn tensors(&self) -> Vec<Tensor> {
        vec![*self]
    }
}

impl<const N: usize> FunctionResults for [Tensor; N] {
    const IS_LIST: bool = true;

    fn tensors(&self) -> Vec<Tensor> {
        self.to_vec()
    }
}

impl FunctionResults for Vec<Tensor> {
    const IS_LIST: bool = true;

    fn tensors(&self) -> Vec<Tensor> {
        self.clone()
    }
}

impl<const N: usize, R, F> Function<N, F>
where
    R: FunctionResults,
    F: Fn(&mut Graph, [Tensor; N]) -> Result<R, Error>,
{
    /// Wraps a function, with the names of its arguments, and infers its signature. A body that contradicts itself is an error;
    /// one that has to know more of its arguments has no [signature](Function::signature).
    pub fn new(name: &str, arguments: [&str; N], body: F) -> Result<Function<N, F>, Error> {
        let signature = match signature(&arguments, &body) {
            Err(error) if is_contradiction(&error) => return Err(error.inside(&format!("`{name}`"))),
            signature => signature,
        };
        Ok(Function { name: name.to_string(), arguments: arguments.map(str::to_string), body, signature })
    }

    /// Applies the function: adds its body to a graph.
    pub fn apply(&self, graph: &mut Graph, arguments: [Tensor; N]) -> Result<R, Error> {
        (self.body)(graph, arguments).map_err(|error| self.blamed(graph, arguments, error))
    }

    /// The error of an application, with what the function takes and what it was given.
    fn blamed(&self, graph: &Graph, given: [Tensor; N], error: Error) -> Error {
        let Ok(signature) = &self.signature else { return error };
        if !is_contradiction(&error) {
            return error;
        }
        let takes: Vec<String> = self.written(signature).iter().map(|each| format!("`{each}`")).collect();
        let here = self.arguments.iter().zip(given).map(|(name, tensor)| {
            let shape = graph.shape(tensor).to_string();
            format!("`{name} : {shape}`")
        });
        let here: Vec<String> = here.collect();
        error.with_help(format!("`{}` takes {}; here, {}", self.name, takes.join(", "), here.join(", ")))
    }
}

impl<const N: usize, F> Function<N, F> {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The signature; or the reason why the body could not be walked before it is applied.
    pub fn signature(&self) -> Result<&FunctionSignature, &Error> {
        self.signature.as_ref()
    }

    /// The arguments with their shapes.
    fn written(&self, signature: &FunctionSignature) -> Vec<String> {
        let all = self.arguments.iter().zip(&signature.arguments);
        all.map(|(name, shape)| format!("{name} : {shape}")).collect()
    }
}

/// True of a mistake that a body makes whatever its arguments are, if they are not known.
fn is_contradiction(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Mismatch | ErrorKind::Arithmetic | ErrorKind::Notation)
}

/// Infers the signature of a function from its body, with open arguments.
fn signature<const N: usize, R: FunctionResults>(
    names: &[&str; N],
    body: &impl Fn(&mut Graph, [Tensor; N]) -> Result<R, Error>,
) -> Result<FunctionSignature, Error> {
    let mut graph = Graph::new();
    let arguments = names.map(|name| graph.argument(name));
    let results = body(&mut graph, arguments)?.tensors();
    let params = graph.params();
    let others: Vec<Tensor> = params.iter().chain(&results).copied().collect();
    let scheme = graph.scheme(&arguments, &others, &StatedNames::default())?;
    let Scheme { shapes, conditions, .. } = &scheme;
    let texts: Vec<String> = shapes.iter().map(|shape| scheme.text(shape)).collect();
    let (taken, rest) = texts.split_at(N.min(texts.len()));
    let (made, given) = rest.split_at(params.len().min(rest.len()));
    let name = |param: &Tensor| graph.name_of(*param).unwrap_or_default().to_string();
    Ok(FunctionSignature {
        arguments: taken.to_vec(),
        parameters: params.iter().map(name).zip(made.iter().cloned()).collect(),
        results: given.to_vec(),
        is_list: R::IS_LIST,
        conditions: conditions.clone(),
    })
}

impl<const N: usize, F> fmt::Display for Function<N, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signature = match &self.signature {
            Ok(signature) => signature,
            Err(error) => {
                let (name, arguments) = (&self.name, self.arguments.join(", "));
                return writeln!(f, "{name}({arguments})\n  not inferred: {}", error.message());
            }
        };
        let results = signature.results.join("; ");
        let results = if signature.is_list { format!("[{results}]") } else { results };
        writeln!(f, "{}({}) -> {results}", self.name, self.written(signature).join(", "))?;
        let width = signature.parameters.iter().map(|(name, _)| name.chars().count()).max();
        let width = width.unwrap_or_default();
        for (at, (name, shape)) in signature.parameters.iter().enumerate() {
            let head = if at == 0 { "parameters" } else { "" };
            writeln!(f, "  {head:<10}  {name:<width$} : {shape}")?;
        }
        for (at, condition) in signature.conditions.iter().enumerate() {
            let head = if at == 0 { "where" } else { "" };
            writeln!(f, "  {head:<10}  {condition}")?;
        }
        Ok(())
    }
}

impl<const N: usize, F> fmt::Debug for Function<N, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).field("signature", &self.signature).finish()
    }
}
