//! Advice: what is said about a mistake beyond its message. Nothing is evaluated here; these functions read the state of
//! evaluation, and some report the mistake that they explain.
//!
//! | file | explains |
//! |---|---|
//! | `foreign`, `elsewhere` | names that do not exist, or not here |
//! | `call_advice` | nothing: a sentence about a call, with the text in its place |
//! | `translated`, `rules` | layers and rules as other libraries configure them |
//! | `habits`, `printed`, `reordered` | what other libraries write otherwise |
//! | `code` | nothing: code in advice of the library, in the syntax of this language |
//! | `axes` | nothing: the shapes that name an axis |
//! | `blame`, `clashes`, `wanted`, `misgiven` | what a function takes, and what it is given |
//! | `causes`, `concerned`, `makers`, `windows` | the earlier line that a shape error comes from |

mod axes;
pub(in crate::eval) mod blame;
pub(in crate::eval) mod call_advice;
pub(in crate::eval) mod causes;
pub(in crate::eval) mod clashes;
pub(crate) mod code;
mod concerned;
pub(in crate::eval) mod elsewhere;
pub(in crate::eval) mod foreign;
pub(in crate::eval) mod habits;
pub(crate) mod makers;
pub(in crate::eval) mod misgiven;
pub(in crate::eval) mod printed;
pub(in crate::eval) mod reordered;
pub(in crate::eval) mod rules;
pub(in crate::eval) mod translated;
pub(in crate::eval) mod wanted;
pub(in crate::eval) mod windows;
