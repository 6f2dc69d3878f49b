//! Which shapes do functions take and give?

use broadloom::Certificate;
use broadloom_diagnostics::{Diagnostic, Sources};
use broadloom_lang::Asked;
use broadloom_lang::signature::{NotInferred, Signature};
use serde::Serialize;

use crate::Refusal;
use crate::analysis::Text;
use crate::place::Place;

/// The signatures of functions.
pub struct Signed {
    /// The answer.
    pub answer: Signatures,
    /// The mistakes in the program, in bodies of functions, or in the question.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that diagnostics and places refer to.
    pub sources: Sources,
    /// The fingerprint of the text and of all texts that it imports.
    pub fingerprint: String,
}

/// The signatures of functions, as plain data.
#[derive(Clone, Debug, Serialize)]
pub struct Signatures {
    /// The name of the text.
    pub file: String,
    /// One for each function, in the order of the text.
    pub signatures: Vec<FunctionSignature>,
}

/// The signature of a function, as plain data.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionSignature {
    /// The name of the function.
    pub name: String,
    /// The signature as it is written for people, without parameters and conditions.
    pub signature: String,
    /// Its configuration; none if it has no list of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Vec<String>>,
    /// The arguments that it is applied to.
    pub arguments: Vec<SignatureArgument>,
    /// Its result, as it is written for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The parameters that it makes.
    pub parameters: Vec<SignatureParameter>,
    /// The conditions on sizes.
    #[serde(rename = "where")]
    pub conditions: Vec<String>,
    /// Why nothing was inferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_inferred: Option<String>,
    /// Its signatures with the configurations that the program applies it with, if it waits for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<FunctionSignature>,
    /// The place of its definition.
    #[serde(flatten)]
    pub place: Place,
    /// The whole signature, for people.
    #[serde(skip)]
    pub text: String,
}

impl FunctionSignature {
    /// The whole signature, and below it those of its uses.
    pub fn with_uses(&self) -> String {
        let uses = self.uses.iter().map(|each| format!("\n{}", each.text));
        std::iter::once(self.text.clone()).chain(uses).collect()
    }
}

/// An argument of a function.
#[derive(Clone, Debug, Serialize)]
pub struct SignatureArgument {
    /// Its name.
    pub name: String,
    /// Its shape, if it is a tensor of which something is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Its default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A parameter that a function makes.
#[derive(Clone, Debug, Serialize)]
pub struct SignatureParameter {
    /// Its name, within the function.
    pub name: String,
    /// Its shape.
    pub shape: String,
}

/// The signatures of the functions of a program, of the library, or of one function.
///
/// ```
/// use broadloom_ide::{Text, signatures};
/// use broadloom_lang::Asked;
///
/// let text = Text::new("a.loom", "def twice(x) = x + x\n");
/// let found = signatures(&text, &Asked::Own);
/// assert_eq!(
///     found.answer.signatures[0].signature,
///     "twice(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> ..o.."
/// );
/// ```
pub fn signatures(text: &Text, asked: &Asked) -> Signed {
    let found = broadloom_lang::signatures(&text.name, &text.text, &text.options(None), asked);
    let signatures = found.list.iter().map(|signature| plain(&found.sources, signature)).collect();
    Signed {
        answer: Signatures { file: text.name.clone(), signatures },
        diagnostics: found.diagnostics,
        sources: found.sources,
        fingerprint: found.fingerprint,
    }
}

/// The signature of one function, and the certificate of its scheme.
pub struct CertifiedSignature {
    /// The signature, as people read it.
    pub signature: String,
    /// The certificate.
    pub certificate: Certificate,
}

/// The certificate of a function of a program or of the library, which is written as in the program: `dense`, `attention(8)`.
///
/// ```
/// use broadloom_ide::{Text, certified_signature};
///
/// let text = Text::new("a.loom", "def halves(x) = einsum(\"... | 2*i => ... | i\", x)\n");
/// let found = certified_signature(&text, "halves").unwrap();
/// assert_eq!(found.certificate.unproved(), None);
/// ```
pub fn certified_signature(text: &Text, function: &str) -> Result<CertifiedSignature, Refusal> {
    let found = broadloom_lang::certified_function(&text.name, &text.text, &text.options(None), function);
    let Some(signature) = found.signature else {
        let wrong = found.diagnostics.iter().rev().find(|diagnostic| diagnostic.is_error());
        let why = wrong.map(|wrong| wrong.message.clone());
        return Err(why.unwrap_or_else(|| format!("`{function}` is no function of the program")).into());
    };
    if let Err(NotInferred::Open(why) | NotInferred::Wrong(why)) = &signature.scheme {
        let message = format!("`{function}` has no scheme that could be certified: {why}");
        return Err(message.into());
    }
    match found.certificate {
        Some(certificate) => Ok(CertifiedSignature { signature: signature.to_string(), certificate }),
        None => Err(format!("the sizes of `{function}` are too large as expressions").into()),
    }
}

fn plain(sources: &Sources, signature: &Signature) -> FunctionSignature {
    let (head, scheme) = (signature.head(), signature.scheme.as_ref());
    let result = scheme.ok().map(|scheme| scheme.result.to_string());
    let arguments = signature.arguments.iter().map(|argument| SignatureArgument {
        name: argument.name.clone(),
        shape: argument.shape.as_ref().map(|shape| shape.text.clone()),
        default: argument.default.clone(),
    });
    let parameters = scheme.ok().map(|scheme| scheme.parameters.clone()).unwrap_or_default();
    let parameter = |(name, shape)| SignatureParameter { name, shape };
    FunctionSignature {
        name: signature.name.clone(),
        signature: result.as_ref().map_or(head.clone(), |result| format!("{head} -> {result}")),
        config: signature.config.clone(),
        arguments: arguments.collect(),
        result,
        parameters: parameters.into_iter().map(parameter).collect(),
        conditions: scheme.ok().map(|scheme| scheme.conditions.clone()).unwrap_or_default(),
        not_inferred: scheme.err().map(|(NotInferred::Open(why) | NotInferred::Wrong(why))| why.clone()),
        uses: signature.uses.iter().map(|each| plain(sources, each)).collect(),
        place: Place::new(sources, signature.span),
        text: signature.to_string(),
    }
}
