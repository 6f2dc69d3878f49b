//! Code in advice, as data: each front writes it in its own language.

/// Code that advice shows. Names are those that messages use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// A tensor.
    Tensor(String),
    /// The operation that contracts the input of a map with the output of what it is applied to, without operands.
    Contraction,
    /// The contraction of two or more factors, from the left.
    Product(Vec<Code>),
    /// A map in the other direction.
    Transpose(Box<Code>),
    /// Arithmetic on the elements of two operands.
    Arithmetic(Arithmetic, Box<[Code; 2]>),
    /// A function, by its name, of tensors.
    Call(&'static str, Vec<Code>),
    /// An operation by a spec.
    Einsum {
        /// The spec.
        spec: String,
        /// The operands.
        operands: Vec<Code>,
    },
    /// An operation by a spec that takes its second or its third operand, as the first one says.
    Where {
        /// The spec.
        spec: String,
        /// The condition and the two operands.
        operands: Vec<Code>,
    },
    /// The mean by a spec.
    Mean {
        /// The spec.
        spec: String,
        /// The tensor.
        of: Box<Code>,
        /// The labels and rows of the spec that it is taken over.
        over: Vec<&'static str>,
    },
    /// The mean of all elements.
    MeanOfAll(Box<Code>),
    /// The sum of all elements.
    SumOfAll(Box<Code>),
    /// Elements of the second or of the third operand, as the first one says.
    Select(Vec<Code>),
    /// A number.
    Number(i64),
    /// The same numbers as 64-bit integers.
    Integers(Box<Code>),
    /// The same elements in another shape.
    Reshape(Box<Code>),
    /// The declaration of a named size.
    Dim,
    /// A named size with a number.
    Size(&'static str, u64),
    /// A setting of a run, which is said beside the program.
    Setting(Setting),
}

/// Arithmetic on two operands, which every language writes with a sign or a method of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the signs")]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

impl Arithmetic {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Sub => "-",
            Arithmetic::Mul => "*",
            Arithmetic::Div => "/",
        }
    }
}

/// Something that is said beside a program when it is run. Each front has its own way to write it: flags, arguments of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A number for a named size: the name, and the number.
    Size(String, String),
    /// Values for data, by its name.
    Data(String),
    /// An array that is held against a program, by the name of the data.
    Checked(String),
    /// Values for a parameter or a state, by its name.
    Values(String),
    /// Saved values of all parameters and states to begin with.
    Load,
    /// A file for the values of all parameters and states, without its ending.
    Save(String),
    /// The number that decides what is random.
    Seed(u64),
    /// The backend that runs a program, by its name.
    Backend(&'static str),
    /// Devices to divide a program over: the axes of the mesh with their numbers of devices.
    Mesh(Vec<(String, u64)>),
    /// An axis that is divided over a mesh axis: the names of both.
    Shard(String, String),
}

impl Code {
    /// A tensor, by the name that messages use.
    pub fn tensor(name: impl Into<String>) -> Code {
        Code::Tensor(name.into())
    }

    /// A name of messages as code. A tensor that the program does not name is the expression that the message shows: `…`.
    ///
    /// ```
    /// use broadloom_diagnostics::Code;
    ///
    /// assert_eq!(["net.w", "a + b"].map(Code::name_text), ["net.w", "…"]);
    /// ```
    pub fn name_text(name: &str) -> String {
        let is_name = name.chars().all(|letter| letter.is_alphanumeric() || "_.".contains(letter));
        if is_name { name.to_string() } else { "…".to_string() }
    }

    /// An operation by a spec on tensors.
    pub fn einsum(spec: impl Into<String>, operands: impl IntoIterator<Item = Code>) -> Code {
        Code::Einsum { spec: spec.into(), operands: operands.into_iter().collect() }
    }

    /// The same with other names of tensors.
    pub fn with_names(&self, rename: &dyn Fn(&str) -> String) -> Code {
        let one = |code: &Code| Box::new(code.with_names(rename));
        let all = |codes: &[Code]| codes.iter().map(|code| code.with_names(rename)).collect();
        match self {
            Code::Tensor(name) => Code::Tensor(rename(name)),
            Code::Product(factors) => Code::Product(all(factors)),
            Code::Transpose(map) => Code::Transpose(one(map)),
            Code::Arithmetic(sign, operands) => {
                Code::Arithmetic(*sign, Box::new([0, 1].map(|at: usize| operands[at].with_names(rename))))
            }
            Code::Call(name, operands) => Code::Call(name, all(operands)),
            Code::Einsum { spec, operands } => Code::Einsum { spec: spec.clone(), operands: all(operands) },
            Code::Where { spec, operands } => Code::Where { spec: spec.clone(), operands: all(operands) },
            Code::Mean { spec, of, over } => {
                Code::Mean { spec: spec.clone(), of: one(of), over: over.clone() }
            }
            Code::MeanOfAll(of) => Code::MeanOfAll(one(of)),
            Code::SumOfAll(of) => Code::SumOfAll(one(of)),
            Code::Select(operands) => Code::Select(all(operands)),
            Code::Integers(of) => Code::Integers(one(of)),
            Code::Reshape(of) => Code::Reshape(one(of)),
            Code::Contraction | Code::Number(_) | Code::Dim | Code::Size(..) | Code::Setting(_) => {
                self.clone()
            }
        }
    }

    /// A product of two tensors.
    pub fn product(left: &str, right: &str) -> Code {
        Code::Product(vec![Code::tensor(left), Code::tensor(right)])
    }
}

/// The words of a piece of advice, with code between them.
///
/// ```
/// use broadloom_diagnostics::{Code, Wording};
///
/// let advice = Wording::new("write ").code(Code::product("x", "w")).words(" here");
/// let written = advice.written(|code| match code {
///     Code::Product(_) => "x @ w".to_string(),
///     _ => "…".to_string(),
/// });
/// assert_eq!(written, "write `x @ w` here");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wording(Vec<WordingPart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum WordingPart {
    Words(String),
    /// The name of a tensor in code that the words around it write out.
    Name(String),
    Code(Code),
}

impl Wording {
    /// The beginning of advice.
    pub fn new(words: impl Into<String>) -> Wording {
        Wording::default().words(words)
    }

    /// Adds words.
    pub fn words(mut self, words: impl Into<String>) -> Wording {
        self.0.push(WordingPart::Words(words.into()));
        self
    }

    /// Adds the name of a tensor inside of code that is the same in all languages, with the backquotes of that code in the
    /// words around it.
    ///
    /// ```
    /// use broadloom_diagnostics::Wording;
    ///
    /// let advice = Wording::new("declare `").name("head.w").words(" : 3 -> 4`");
    /// let inside = advice.with_names(&|name| name.rsplit('.').next().unwrap_or(name).to_string());
    /// assert_eq!(inside.written(|_| String::new()), "declare `w : 3 -> 4`");
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Wording {
        self.0.push(WordingPart::Name(name.into()));
        self
    }

    /// Adds code.
    pub fn code(mut self, code: Code) -> Wording {
        self.0.push(WordingPart::Code(code));
        self
    }

    /// Adds other words with code.
    pub fn and(mut self, other: Wording) -> Wording {
        self.0.extend(other.0);
        self
    }

    /// The same with other names of tensors.
    pub fn with_names(&self, rename: &dyn Fn(&str) -> String) -> Wording {
        let renamed = |piece: &WordingPart| match piece {
            WordingPart::Words(words) => WordingPart::Words(words.clone()),
            WordingPart::Name(name) => WordingPart::Name(rename(name)),
            WordingPart::Code(code) => WordingPart::Code(code.with_names(rename)),
        };
        Wording(self.0.iter().map(renamed).collect())
    }

    /// Returns true if there is neither code nor the name of a tensor in it.
    pub fn is_plain(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, WordingPart::Words(_)))
    }

    /// Returns true if it names a setting of a run.
    pub fn names_setting(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, WordingPart::Code(Code::Setting(_))))
    }

    /// The advice, with its code in some language between backquotes.
    pub fn written(&self, write: impl Fn(&Code) -> String) -> String {
        let texts = self.0.iter().map(|piece| match piece {
            WordingPart::Words(words) | WordingPart::Name(words) => words.clone(),
            WordingPart::Code(code) => format!("`{}`", write(code)),
        });
        texts.collect()
    }
}
