//! The data of a mistake.

/// A fact about a mistake, as data: the sizes and names that its sentences mention. Whoever looks for a change that mends
/// it reads these, and never a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fact {
    /// An axis would have both sizes, in the order of the ends.
    Sizes([u64; 2]),
    /// An axis would have two sizes, and the message says so of the axis by its name.
    NamedAxis {
        /// The name of the tensor whose axis it is, if the message has that too.
        of: Option<String>,
    },
    /// A window has no room in an axis of this tensor.
    NoRoom {
        /// The name of the tensor.
        of: String,
    },
    /// The line asks for something that cannot be had, however it is written.
    Impossible,
    /// The parts of an axis add up to another size than it has.
    Parts {
        /// The size of the axis.
        whole: u64,
        /// The sum of its parts.
        sum: u64,
    },
    /// Several parts have no room in an axis, which is written so.
    TooLarge(String),
    /// An axis would be two named sizes.
    SizeNames([String; 2]),
    /// The two sides of a product have different numbers of axes where it contracts them.
    ProductRank,
    /// A tensor has another number of axes than a spec writes for it.
    SpecRank,
    /// A number would do in place of another.
    Instead {
        /// The number that is written.
        written: u64,
        /// The number that would do.
        fits: u64,
    },
    /// A function takes sizes up to one of these.
    AtMost {
        /// The greatest sizes.
        most: Vec<u64>,
        /// The sizes it is given.
        given: Vec<u64>,
    },
    /// An index lies behind the rows of a table.
    Index {
        /// The index.
        index: u64,
        /// The number of rows.
        rows: u64,
    },
    /// A layer is made without its first argument, which is a size.
    NoSize {
        /// The function that makes the layer.
        layer: String,
    },
    /// A division over devices asks for something that cannot be had: an axis, and the mesh axis that it would be divided over.
    Shard {
        /// The name of the axis.
        axes: String,
        /// The mesh axis.
        over: String,
    },
    /// The number of devices along this mesh axis does not fit.
    MeshAxis(String),
    /// The mesh axis that parameters and states would be divided over does not fit.
    StoredOver,
    /// A parameter reads different sizes, because it is applied twice.
    OneMap {
        /// The parameter.
        name: String,
    },
}
