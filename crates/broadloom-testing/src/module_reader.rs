//! Reads which modules of a crate use which, from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of a crate: a text without comments and tests for each module, by its path.
pub struct Crate {
    /// The texts, by the paths of their modules.
    pub files: BTreeMap<String, String>,
    /// The modules of the names that the root of the crate exports.
    exports: BTreeMap<String, String>,
}

impl Crate {
    /// Reads the crate in a folder.
    pub fn read(folder: &Path) -> Crate {
        let root = folder.join("src");
        let mut found = Vec::new();
        find(&root, &mut found);
        let mut files = BTreeMap::new();
        let mut exported = String::new();
        for path in found {
            let inside = path.strip_prefix(&root).expect("the file is in the folder");
            let name = inside.with_extension("").to_string_lossy().replace(['/', '\\'], "::");
            let name = name.strip_suffix("::mod").unwrap_or(&name).to_string();
            // The root of the crate names everything; unit tests may use everything.
            let text = plain(&fs::read_to_string(&path).expect("a readable source"));
            match &*name {
                "lib" => exported = text,
                _ if name.ends_with("::tests") => {}
                _ => {
                    files.insert(name, text);
                }
            }
        }
        let mut read = Crate { files, exports: BTreeMap::new() };
        for path in paths(&exported) {
            let name = path.rsplit("::").next().unwrap_or_default().to_string();
            if let Some(module) = read.resolve("", &format!("crate::{path}")) {
                read.exports.insert(name, module);
            }
        }
        read
    }

    /// Every pair of a module and another one that it uses.
    pub fn uses(&self) -> BTreeSet<(String, String)> {
        let mut uses = BTreeSet::new();
        for (module, text) in &self.files {
            for path in paths(text) {
                if let Some(used) = self.resolve(module, &path).filter(|used| used != module) {
                    uses.insert((module.clone(), used));
                }
            }
        }
        uses
    }

    /// The module that a path leads into, if it is one of this crate.
    fn resolve(&self, module: &str, path: &str) -> Option<String> {
        let mut parts: Vec<&str> = path.split("::").collect();
        let mut at: Vec<&str> = module.split("::").collect();
        match parts[0] {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                while parts.first() == Some(&"super") {
                    parts.remove(0);
                    at.pop();
                }
                parts.insert(0, "super");
            }
            child if self.files.contains_key(&format!("{module}::{child}")) => parts.insert(0, "self"),
            _ => return None,
        }
        at.extend(&parts[1..]);
        let mut prefixes = (1..=at.len()).rev().map(|len| at[..len].join("::"));
        let found = prefixes.find(|prefix| self.files.contains_key(prefix));
        found.or_else(|| self.exports.get(*at.first()?).cloned())
    }
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).expect("a folder of sources") {
        let path = item.expect("an item of a folder").path();
        if path.is_dir() {
            find(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A source text without comments and without its module of tests.
fn plain(text: &str) -> String {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    match code.find("#[cfg(test)]\nmod tests {") {
        Some(tests) => code[..tests].to_string(),
        None => code,
    }
}

/// Every path of a text with at least two parts; those of `use` declarations one by one.
fn paths(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = String::new();
    for (at, statement) in text.split(';').enumerate() {
        let declaration = statement.rfind("use ").filter(|start| {
            let before = statement[..*start].chars().next_back();
            before.is_none_or(|before| before.is_whitespace())
        });
        match declaration {
            Some(start) if at < text.matches(';').count() => {
                expand("", statement[start + 4..].trim(), &mut paths);
                rest.push_str(&statement[..start]);
            }
            _ => rest.push_str(statement),
        }
    }
    let is_part = |part: char| part.is_alphanumeric() || part == '_' || part == ':';
    paths.extend(rest.split(|part| !is_part(part)).filter(|path| path.contains("::")).map(str::to_string));
    paths
}

/// The paths of a tree such as `a::{b, c::{d, e}}`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, inner)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or_default().trim();
        paths.push(format!("{prefix}{name}"));
        return;
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut start) = (0, 0);
    for (at, sign) in inner.char_indices().chain([(inner.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[start..at].trim();
                if !part.is_empty() {
                    expand(&format!("{prefix}{head}"), part, paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Modules that use each other in circles: for each circle its modules, in order.
#[allow(dead_code, reason = "one of the tests that share this file forbids circles altogether")]
pub fn circles(uses: &BTreeSet<(String, String)>) -> Vec<Vec<String>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in uses {
        next.entry(from).or_default().insert(to);
    }
    let reached = |from: &str| {
        let (mut found, mut open): (BTreeSet<&str>, Vec<&str>) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for to in next.get(module).into_iter().flatten() {
                if found.insert(to) {
                    open.push(to);
                }
            }
        }
        found
    };
    let reaches: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|from| (*from, reached(from))).collect();
    let mut circles = BTreeSet::new();
    for (module, found) in &reaches {
        let meets = |other: &&&str| reaches.get(**other).is_some_and(|back| back.contains(module));
        let circle: Vec<String> = found.iter().filter(meets).map(ToString::to_string).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[test]
fn trees_of_paths_are_expanded() {
    let mut found = paths("use a::{b, c::{d as e}};\nfn f() { super::g::h(); }\nuse i::j;\n");
    found.sort();
    assert_eq!(found, ["a::b", "a::c::d", "i::j", "super::g::h"]);
}
