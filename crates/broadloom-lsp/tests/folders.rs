//! Names across the files of the open folders: references and renaming reach files that are not open. Files that change are watched.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::Client;

/// A folder with programs, which is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("broadloom-lsp-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep")).expect("a folder");
        let folder = Folder(std::fs::canonicalize(folder).expect("a folder"));
        folder.write(
            "layers.loom",
            "def twice(x) = 2 * x\ndef four(twice) = twice + twice\ndef eight(x) = twice(x)\n",
        );
        folder
            .write("open.loom", "import \"layers.loom\"\ndata x : 3\nlet y = layers.twice(layers.four(x))\n");
        folder.write(
            "deep/closed.loom",
            "import \"../layers.loom\" as l\ndata x : 3\nlet y = l.twice(l.twice(x))\n",
        );
        folder.write("deep/other.loom", "import \"layers.loom\"\nlet y = layers.twice(1)\n");
        folder.write("deep/layers.loom", "def twice(x) = x\n");
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a file");
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.0.join(name).display())
    }

    fn client(&self, capabilities: Value) -> Client {
        Client::in_folder("utf-8", capabilities, json!(format!("file://{}", self.0.display())))
    }

    /// Opens a file as it is.
    fn open(&self, client: &mut Client, name: &str) {
        let text = std::fs::read_to_string(self.0.join(name)).expect("a file");
        client.open(&self.uri(name), &text);
    }

    /// Asks about a place of a file.
    fn ask(
        &self,
        client: &mut Client,
        method: &str,
        name: &str,
        at: (u32, u32),
        more: Value,
    ) -> Result<Value, String> {
        let mut params = json!({
            "textDocument": { "uri": self.uri(name) },
            "position": { "line": at.0, "character": at.1 },
        });
        more.as_object().into_iter().flatten().for_each(|(key, value)| params[key] = value.clone());
        client.ask(&format!("textDocument/{method}"), params).map_err(|(_, message)| message)
    }

    /// Each file with the places of ranges in it, as line and column.
    fn places<'v>(
        &self,
        ranges: impl Iterator<Item = (&'v str, &'v Value)>,
    ) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (uri, range) in ranges {
            let name = uri.rsplit_once(&format!("{}/", self.0.display())).map_or(uri, |(_, name)| name);
            let start = &range["start"];
            all.entry(name.to_string())
                .or_default()
                .push(format!("{}:{}", start["line"], start["character"]));
        }
        all.values_mut().for_each(|places| places.sort());
        all
    }
}

/// Every place of `twice` in the files of the folder.
fn expected() -> BTreeMap<String, Vec<String>> {
    let places = |all: &[&str]| all.iter().map(ToString::to_string).collect();
    [
        ("layers.loom".to_string(), places(&["0:4", "2:15"])),
        ("open.loom".to_string(), places(&["2:15"])),
        ("deep/closed.loom".to_string(), places(&["2:10", "2:18"])),
    ]
    .into()
}

#[test]
fn names_are_found_and_renamed_in_files_that_are_not_open() {
    let folder = Folder::new("names");
    // Asked in the module, and in a program that imports it, where the module is open or not.
    for (opened, asked, at) in [
        (vec!["layers.loom"], "layers.loom", (0, 5)),
        (vec!["open.loom"], "open.loom", (2, 16)),
        (vec!["open.loom", "layers.loom"], "open.loom", (2, 16)),
        (vec!["deep/closed.loom"], "deep/closed.loom", (2, 11)),
    ] {
        let mut client = folder.client(json!({}));
        opened.iter().for_each(|name| folder.open(&mut client, name));
        let context = json!({ "context": { "includeDeclaration": true } });
        let found = folder.ask(&mut client, "references", asked, at, context).expect("places");
        let found = found.as_array().expect("a list").iter();
        let found = folder.places(found.filter_map(|each| Some((each["uri"].as_str()?, &each["range"]))));
        assert_eq!(found, expected(), "references from {asked}");
        let range = folder.ask(&mut client, "prepareRename", asked, at, json!({})).expect("a name");
        assert_eq!(range["placeholder"], "twice");
        let edit =
            folder.ask(&mut client, "rename", asked, at, json!({ "newName": "double" })).expect("edits");
        let edits = edit["changes"].as_object().expect("changes").iter();
        let edits = edits.flat_map(|(uri, edits)| {
            edits.as_array().into_iter().flatten().map(move |edit| (&**uri, &edit["range"]))
        });
        assert_eq!(folder.places(edits), expected(), "renamed from {asked}");
        // What the module already has cannot be the name.
        let refused = folder
            .ask(&mut client, "rename", asked, at, json!({ "newName": "eight" }))
            .expect_err("a reason");
        assert_eq!(refused, "`eight` is the name of something else here");
    }
}

/// Arguments are given by name in other files, and what a module has is written in texts that are printed, behind letters that are two units of UTF-16.
#[test]
fn arguments_and_names_in_texts_are_renamed_in_other_files() {
    let folder = Folder::new("arguments");
    folder.write("wide.loom", "def wide(size)(x) = {w : ... -> size} @ x\r\nlet gain = 2\r\n");
    let uses = "import \"wide.loom\"\r\ndata x : 3\r\nlet y = x |> wide.wide(size = 4)\r\nprint y, \"𝔸 {wide.wide(size = 5)(x)} {wide.gain}\"\r\n";
    folder.write("uses.loom", uses);
    // A function of the library has an argument of the same name.
    folder.write(
        "others.loom",
        "import \"wide.loom\"\ndata x : 3\nlet y = x |> linear(size = 4) |> wide.wide(5)\n",
    );
    let size: &[(&str, &[&str])] = &[("wide.loom", &["0:32", "0:9"]), ("uses.loom", &["2:23", "3:24"])];
    let gain: &[(&str, &[&str])] = &[("wide.loom", &["1:4"]), ("uses.loom", &["3:44"])];
    for (asked, at, expected) in [
        ("wide.loom", (0, 10), size),
        ("uses.loom", (2, 24), size),
        ("uses.loom", (3, 25), size),
        ("wide.loom", (1, 5), gain),
        ("uses.loom", (3, 45), gain),
    ] {
        let root = json!(format!("file://{}", folder.0.display()));
        let mut client = Client::in_folder("utf-16", json!({}), root);
        folder.open(&mut client, asked);
        let edit = folder.ask(&mut client, "rename", asked, at, json!({ "newName": "new" })).expect("edits");
        let edits = edit["changes"].as_object().expect("changes").iter();
        let edits = edits.flat_map(|(uri, edits)| {
            edits.as_array().into_iter().flatten().map(move |edit| (&**uri, &edit["range"]))
        });
        let expected = expected
            .iter()
            .map(|(name, places)| (name.to_string(), places.iter().map(ToString::to_string).collect()));
        assert_eq!(folder.places(edits), expected.collect(), "renamed from {asked} at {at:?}");
    }
    let mut client = folder.client(json!({}));
    folder.open(&mut client, "others.loom");
    let refused = folder.ask(&mut client, "rename", "others.loom", (2, 22), json!({ "newName": "new" }));
    assert_eq!(refused.expect_err("a reason"), "`size` is an argument of a function of the library");
}

/// An argument with the name of a function of the module is another thing.
#[test]
fn names_that_other_files_do_not_know() {
    let folder = Folder::new("own");
    let mut client = folder.client(json!({}));
    folder.open(&mut client, "layers.loom");
    let edit =
        folder.ask(&mut client, "rename", "layers.loom", (1, 10), json!({ "newName": "x" })).expect("edits");
    let changes = edit["changes"].as_object().expect("changes");
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[&folder.uri("layers.loom")].as_array().map(Vec::len), Some(3));
}

/// An editor that can watch files is asked to, and says what changed.
#[test]
fn files_that_change_on_the_disk() {
    let folder = Folder::new("watched");
    let watches = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut client = folder.client(watches);
    let asked = client.request();
    assert_eq!(asked.method, "client/registerCapability");
    let watchers = &asked.params["registrations"][0]["registerOptions"]["watchers"];
    assert_eq!(watchers[0]["globPattern"], "**/*.loom");
    folder.open(&mut client, "open.loom");
    assert!(client.diagnostics(&folder.uri("open.loom"), 1).is_empty());
    folder.write("layers.loom", "def other(x) = x\n");
    let change = |name: &str| json!({ "changes": [{ "uri": folder.uri(name), "type": 2 }] });
    client.tell("workspace/didChangeWatchedFiles", change("layers.loom"));
    assert!(!client.diagnostics(&folder.uri("open.loom"), 1).is_empty());
    // A file of data counts where it is read.
    let program = "data x : 2, 2 = load(\"table.csv\")\nprint sum(x)\n";
    folder.write("table.csv", "1,2\n3,4\n");
    client.open(&folder.uri("data.loom"), program);
    assert_eq!(client.diagnostics(&folder.uri("data.loom"), 1), Vec::<Value>::new());
    folder.write("table.csv", "1,2,3\n3,4,5\n");
    client.tell("workspace/didChangeWatchedFiles", change("table.csv"));
    assert!(!client.diagnostics(&folder.uri("data.loom"), 1).is_empty());
}

/// Names that nothing uses are shown faintly, and are no warnings.
#[test]
fn names_that_are_not_used() {
    let folder = Folder::new("unused");
    let mut client = folder.client(json!({}));
    let uri = folder.uri("new.loom");
    client.open(&uri, "data x : 3\nlet y = 2 * x\nprint sum(x)\n");
    let found = client.diagnostics(&uri, 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["tags"], &found[0]["severity"]), (&json!([1]), &json!(4)));
}
