//! Buffers that are written part by part: concatenations, and gradients of slices.
//!
//! Parts along one axis are collected, and become one `concatenate` when the buffer is read.

use std::collections::BTreeMap;

use broadloom_loops::BufferId;

use super::{Content, Writer};
use crate::tensor::{Element, Tensor};

/// Parts of a buffer that have been written.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    axis: usize,
    /// The contents elsewhere.
    base: Content,
    /// The parts by their first positions; no two overlap.
    parts: BTreeMap<u64, Tensor>,
}

impl Parts {
    /// True if nothing is written in a stretch of an axis.
    fn is_free(&self, start: u64, end: u64) -> bool {
        let before = self.parts.range(..end).next_back();
        before.is_none_or(|(at, part)| at + part.sizes[self.axis] <= start)
    }
}

impl Writer<'_> {
    /// The contents of a buffer that must have been written.
    pub fn content(&mut self, id: BufferId) -> Result<Tensor, String> {
        let buffer = self.program.buffer(id);
        let (sizes, of) = (buffer.shape(), Element::Of(self.dtype(id)));
        let tensor = match std::mem::replace(&mut self.contents[id.index()], Content::Nothing) {
            Content::Nothing => return Err(format!("`{}` is read before it is written", buffer.name)),
            Content::Splat(value) => self.text.splat(value, &sizes, of),
            Content::Tensor(tensor) => tensor,
            Content::Parts(parts) => {
                let joined = self.joined(*parts, &sizes, of);
                self.divided(id, joined)
            }
        };
        self.contents[id.index()] = Content::Tensor(tensor.clone());
        Ok(tensor)
    }

    fn joined(&mut self, Parts { axis, base, parts }: Parts, sizes: &[u64], of: Element) -> Tensor {
        let mut list = Vec::new();
        let mut at = 0;
        let ends = parts.keys().copied().chain([sizes[axis]]).collect::<Vec<_>>();
        let mut parts = parts.into_values();
        for end in ends {
            if at < end {
                list.push(self.stretch(&base, (axis, at, end), sizes, of));
            }
            at = end;
            if let Some(part) = parts.next() {
                at += part.sizes[axis];
                list.push(part);
            }
        }
        self.text.concatenate(&list, axis)
    }

    /// The contents in a stretch of an axis.
    fn stretch(
        &mut self,
        base: &Content,
        (axis, start, end): (usize, u64, u64),
        sizes: &[u64],
        of: Element,
    ) -> Tensor {
        let mut shape = sizes.to_vec();
        shape[axis] = end - start;
        match base {
            Content::Tensor(tensor) => {
                let spans = sizes.iter().enumerate();
                let spans: Vec<_> = spans
                    .map(|(at, size)| if at == axis { (start, end, 1) } else { (0, *size, 1) })
                    .collect();
                self.text.slice(tensor, &spans)
            }
            Content::Splat(value) => self.text.splat(*value, &shape, of),
            Content::Nothing | Content::Parts(_) => self.text.splat(0.0, &shape, of),
        }
    }

    /// The old contents of a part of an axis: the number they all are, or a tensor.
    pub fn old_part(&mut self, id: BufferId, axis: usize, start: u64, end: u64) -> Result<Content, String> {
        match &self.contents[id.index()] {
            Content::Splat(value) => return Ok(Content::Splat(*value)),
            Content::Parts(parts) if parts.axis == axis && parts.is_free(start, end) => {
                if let Content::Splat(value) = parts.base {
                    return Ok(Content::Splat(value));
                }
            }
            _ => {}
        }
        let whole = Content::Tensor(self.content(id)?);
        let buffer = self.program.buffer(id);
        let (sizes, of) = (buffer.shape(), Element::Of(self.dtype(id)));
        Ok(Content::Tensor(self.stretch(&whole, (axis, start, end), &sizes, of)))
    }

    /// Replaces a part of an axis.
    pub fn put_part(&mut self, id: BufferId, axis: usize, start: u64, part: Tensor) -> Result<(), String> {
        let end = start + part.sizes[axis];
        let fits = matches!(&self.contents[id.index()], Content::Parts(parts) if parts.axis == axis && parts.is_free(start, end));
        if !fits {
            let base = match &self.contents[id.index()] {
                Content::Parts(_) => Content::Tensor(self.content(id)?),
                other => other.clone(),
            };
            let parts = Parts { axis, base, parts: BTreeMap::new() };
            self.contents[id.index()] = Content::Parts(Box::new(parts));
        }
        if let Content::Parts(parts) = &mut self.contents[id.index()] {
            parts.parts.insert(start, part);
        }
        Ok(())
    }
}
