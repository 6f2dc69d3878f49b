//! Parameters and states in files: saving all of them, and going on from what was saved.

use std::path::Path;

use broadloom_array::files::{Tensors, read_safetensors, write_safetensors};
use broadloom_array::shown_path;
use broadloom_graph::lowering::{Face, Leaf};
use broadloom_graph::{Error, ErrorKind, Graph, Tensor};

use super::Session;
use super::prepare::lasting;
use crate::lower::Content;

impl Session {
    /// Writes all parameters and states to a safetensors file, with what was assigned to other tensors and what else is needed
    /// to go on as if nothing had happened.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.refresh()?;
        let mut arrays = Vec::new();
        for tensor in lasting(&self.graph) {
            self.initialise(Content::Value(tensor))?;
        }
        for tensor in lasting(&self.graph).into_iter().chain(assigned(&self.graph)) {
            if let Some(values) = self.store.read(Content::Value(tensor))? {
                arrays.push((self.graph.short_name(tensor), values));
            }
        }
        let text =
            [("broadloom.runs", self.runs.to_string()), ("broadloom.seed", self.settings.seed.to_string())];
        let mut metadata = self.texts.clone();
        metadata.extend(text.into_iter().map(|(key, value)| (key.to_string(), value)));
        Ok(write_safetensors(path, arrays, &metadata)?)
    }

    /// The text of a key that was [saved](Session::set_text) beside the values.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// Sets a text that is saved beside the values.
    pub fn set_text(&mut self, key: &str, text: String) {
        self.texts.insert(key.to_string(), text);
    }

    /// Reads parameters and states from a safetensors file. Every parameter must be there, with its shape;
    /// if anything is wrong nothing is changed.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.refresh()?;
        let path = path.as_ref();
        let file = read_safetensors(path)?;
        let (mut found, mut missing, mut misfits) = (Vec::new(), Vec::new(), Vec::new());
        for tensor in lasting(&self.graph).into_iter().chain(assigned(&self.graph)) {
            match file.get(&self.graph.short_name(tensor)) {
                Some(values) => {
                    let facts = (values.sizes(), values.dtype());
                    match self.store.fits(&self.graph, &self.layout, Content::Value(tensor), facts) {
                        Ok(()) => found.push((tensor, values)),
                        Err(error) => misfits.push((tensor, values.sizes(), error)),
                    }
                }
                None if self.graph.leaf(tensor).is_some() => missing.push(tensor),
                None => {}
            }
        }
        let mut misfits = misfits.into_iter();
        if let Some((tensor, sizes, error)) = misfits.next() {
            let error = error.about(&shown_path(path)).with_end(self.graph.declared_end(tensor));
            let others: Vec<String> = misfits.map(|(tensor, ..)| self.graph.short_name(tensor)).collect();
            return Err(self.explain_misfit(error, tensor, sizes, &others));
        }
        self.check_loaded(path, &file, &missing)?;
        for (tensor, values) in found {
            self.store.write(&self.graph, &self.layout, Content::Value(tensor), values)?;
        }
        let number = |key: &str| file.metadata.get(key).and_then(|text| text.parse().ok());
        self.runs = number("broadloom.runs").unwrap_or(self.runs);
        self.settings.seed = number("broadloom.seed").unwrap_or(self.settings.seed);
        self.texts = file.metadata;
        Ok(())
    }

    /// Adds which size of a parameter is another one in a file, and which other parameters do not fit.
    fn explain_misfit(&self, error: Error, tensor: Tensor, sizes: &[u64], others: &[String]) -> Error {
        let own = self.layout.buffer(&self.graph, Content::Value(tensor)).shape();
        let mut differing = own.iter().zip(sizes).filter(|(own, other)| own != other);
        let mut error = error;
        if let (Some((own, other)), None, true) =
            (differing.next(), differing.next(), own.len() == sizes.len())
        {
            error = error.with_help(format!(
                "the file has {other} where the program has {own}: write {other} there, or load a file that this program has saved"
            ));
        }
        match others.is_empty() {
            true => error,
            false => error.with_help(format!("the shapes of {} are others in the file, too", listed(others))),
        }
    }

    /// Refuses a file that lacks parameters; notes what else it lacks, and what it has and the program does not need.
    fn check_loaded(&mut self, path: &Path, file: &Tensors, missing: &[Tensor]) -> Result<(), Error> {
        let known = lasting(&self.graph).into_iter().chain(assigned(&self.graph));
        let known: Vec<String> = known.map(|tensor| self.graph.short_name(tensor)).collect();
        let extra = file.arrays.iter().map(|(name, _)| name).filter(|name| !known.contains(name));
        let extra: Vec<String> = extra.cloned().collect();
        let is_param = |tensor: &&Tensor| self.graph.leaf(**tensor) == Some(Leaf::Param);
        let names = |tensors: &[&Tensor]| -> Vec<String> {
            tensors.iter().map(|tensor| self.graph.short_name(**tensor)).collect()
        };
        let (params, states): (Vec<&Tensor>, Vec<&Tensor>) = missing.iter().partition(is_param);
        if let Some(first) = params.first() {
            let plural = if params.len() == 1 { "is no parameter" } else { "are no parameters" };
            let message = format!("{}: there {plural} {} in it", shown_path(path), listed(&names(&params)));
            let mut error = Error::new(ErrorKind::File, message).with_end(self.graph.declared_end(**first));
            let all: Vec<&str> = file.arrays.iter().map(|(name, _)| name.as_str()).take(12).collect();
            let all = if all.is_empty() { "no arrays".into() } else { all.join(", ") };
            error = error.with_end(format!("it has {all}"));
            if !extra.is_empty() {
                error = error.with_end(format!("nothing in the program is called {}", listed(&extra)));
            }
            let help = "load a file that was saved with these parameters, or give them these names";
            return Err(error.with_help(help));
        }
        let states = names(&states);
        if !states.is_empty() {
            let notice = format!("{} has no {}: they begin anew", shown_path(path), listed(&states));
            self.notices.push(notice);
        }
        if !extra.is_empty() {
            let notice =
                format!("{} has {}, which the program has no use for", shown_path(path), listed(&extra));
            self.notices.push(notice);
        }
        Ok(())
    }
}

/// The tensors that assignments have made, which later ones may read as they are.
fn assigned(graph: &Graph) -> impl Iterator<Item = Tensor> + '_ {
    graph.tensors().filter(|tensor| {
        graph.leaf(*tensor).is_none() && graph.assignment_text(graph.made_by(*tensor)).is_some()
    })
}

/// Some names; of many the first.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    shown.join(", ") + &more
}
