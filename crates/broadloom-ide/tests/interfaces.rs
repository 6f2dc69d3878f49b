//! Interfaces beside modules: a program that imports a module has the same answers with a current interface as without one, and
//! checks fewer functions; an interface that is not current is reported, and not used.

use std::path::{Path, PathBuf};

use broadloom_ide::{Interface, Text};
use broadloom_lang::{Options, Program, compile};

/// The modules of the tests. `shared.loom` uses a tensor of its own, `outer.loom` imports another one.
const MODULES: [(&str, &str); 3] = [
    (
        "layers.loom",
        "def gated(size)(x) = sigmoid({gate : ... -> size} @ x) * ({value : ... -> size} @ x)\n\
         def twice(x) = x + x\n\
         def part(x, small) = if small then mean(x) else sum(x)\n\
         def promised(x : ..b.. | n) : ..b.. | n = tanh(x)\n",
    ),
    ("shared.loom", "data offset : 3\ndef moved(x) = x + offset\ndef plain(x) = 2 * x\n"),
    ("outer.loom", "import \"layers.loom\" as layers\ndef again(x) = layers.twice(layers.twice(x))\n"),
];

/// Programs that import them: right ones, and ones with mistakes of all kinds.
const PROGRAMS: [&str; 8] = [
    "import \"layers.loom\"\ndata x : 32 | 6\nlet y = x |> layers.gated(16)\n",
    "import \"layers.loom\"\ndata x : 32 | 6\nlet y = layers.part(x, true)\nlet z = layers.promised(x)\n",
    "import \"layers.loom\"\ndata x : 32 | 6\ndata v : 5\nlet y = layers.gated(4)(x) + v\n",
    "import \"layers.loom\"\ndata x : 32 | 6\nlet y = layers.twice(x, x)\nlet z = layers.thrice(x)\n",
    "import \"layers.loom\"\ndata x : 32 | 6, 7\nlet y = layers.promised(x)\n",
    "import \"shared.loom\"\ndata x : 5 | 3\nlet y = shared.moved(x)\n",
    "import \"shared.loom\"\ndata w : 4\nlet y = shared.offset + w\n",
    "import \"outer.loom\"\ndata x : 5 | 3\nlet y = outer.again(x)\ndef own(x) = missing(x)\n",
];

/// A folder with the modules and no interfaces.
fn stage(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    for (file, text) in MODULES {
        std::fs::write(folder.join(file), text).expect("a file for the test");
    }
    folder
}

/// Writes the interface of a module beside it.
fn write_interface(folder: &Path, module: &str) {
    let text = std::fs::read_to_string(folder.join(module)).expect("a module");
    let text = Text { folder: folder.into(), ..Text::new(module, text) };
    let (interface, signed) = Interface::of(&text);
    assert!(signed.diagnostics.is_empty(), "{module}: {:?}", signed.diagnostics);
    std::fs::write(folder.join(format!("{module}i")), interface.to_string()).expect("a file");
}

fn read(folder: &Path, program: &str) -> Program {
    compile("main.loom", program, &Options { folder: folder.into(), ..Options::default() })
}

/// Everything that a program answers: its diagnostics, and its shapes if it has some.
fn answers(program: &mut Program) -> String {
    let mut out: String = program
        .diagnostics
        .iter()
        .map(|each| format!("{} {} {:?}\n", each.code, each.message, each.labels))
        .collect();
    for made in program.graph.tensors() {
        let shape = program.graph.final_shape(made).map(|shape| shape.to_string());
        out.push_str(&format!("{:?} {:?}\n", program.graph.name_of(made), shape.ok()));
    }
    out
}

#[test]
fn answers_are_the_same_and_less_is_checked() {
    let folder = stage("interfaces-same");
    let without: Vec<(String, usize)> = PROGRAMS
        .iter()
        .map(|text| {
            let mut program = read(&folder, text);
            assert_eq!(program.definitions.by_interface, 0, "{text}");
            (answers(&mut program), program.definitions.checked)
        })
        .collect();
    MODULES.iter().for_each(|(module, _)| write_interface(&folder, module));
    for (text, (expected, checked)) in PROGRAMS.iter().zip(without) {
        let mut program = read(&folder, text);
        assert_eq!(answers(&mut program), expected, "{text}");
        let now = program.definitions;
        assert_eq!(now.checked + now.by_interface, checked, "{text}");
        assert!(now.by_interface > 0, "{text}");
    }
    // What uses a tensor of the module is checked again: importers may restrict it.
    let program = read(&folder, PROGRAMS[6]);
    assert_eq!((program.definitions.checked, program.definitions.by_interface), (1, 1));
    // All four functions of `layers` have been checked before.
    let program = read(&folder, PROGRAMS[0]);
    assert_eq!((program.definitions.checked, program.definitions.by_interface), (0, 4));
}

#[test]
fn an_interface_that_is_not_current_is_reported_and_not_used() {
    let folder = stage("interfaces-stale");
    MODULES.iter().for_each(|(module, _)| write_interface(&folder, module));
    let codes = |text: &str| {
        let program = read(&folder, text);
        (
            program.diagnostics.iter().map(|each| each.code).collect::<Vec<_>>(),
            program.definitions.by_interface,
        )
    };
    let (outer, layers) = ("import \"outer.loom\"\n", "import \"layers.loom\"\n");
    // `again` uses a module, and is checked again.
    assert_eq!((codes(outer), codes(layers)), ((vec![], 4), (vec![], 4)));
    // A mistake in a function that nobody applies is found, although the interface was right once.
    let wrong = format!("{}def broken(x) = missing(x)\n", MODULES[0].1);
    std::fs::write(folder.join("layers.loom"), wrong).expect("a file");
    let (found, skipped) = codes(layers);
    assert!(found.contains(&"W0515") && found.contains(&"E0201") && skipped == 0, "{found:?}");
    // The interface of a module depends on what it imports.
    let (found, skipped) = codes(outer);
    assert_eq!((found.iter().filter(|code| **code == "W0515").count(), skipped), (2, 0), "{found:?}");
    std::fs::write(folder.join("layers.loom"), MODULES[0].1).expect("a file");
    assert_eq!(codes(outer), (vec![], 4));
    // One of another version, and a text that is none.
    let kept = std::fs::read_to_string(folder.join("layers.loomi")).expect("an interface");
    for other in [kept.replace("version 2", "version 1"), "anything".to_string()] {
        std::fs::write(folder.join("layers.loomi"), other).expect("a file");
        assert_eq!(codes(layers), (vec!["W0515"], 0));
    }
}

/// Sizes that are set from outside may decide what functions do.
#[test]
fn sizes_from_outside_are_checked_again() {
    let folder = stage("interfaces-sizes");
    write_interface(&folder, "layers.loom");
    let sizes = vec![("n".to_string(), 3)];
    let text = "dim n = 4\nimport \"layers.loom\"\ndata x : n\nlet y = layers.twice(x)\n";
    let program = compile("main.loom", text, &Options { folder, sizes, ..Options::default() });
    assert_eq!(program.definitions.by_interface, 0);
}

/// An interface by itself is not enough, and the message says so.
#[test]
fn an_interface_without_its_module() {
    let folder = stage("interfaces-alone");
    write_interface(&folder, "layers.loom");
    std::fs::remove_file(folder.join("layers.loom")).expect("a file");
    let program = read(&folder, PROGRAMS[0]);
    let [wrong] = program.diagnostics.as_slice() else { panic!("{:?}", program.diagnostics) };
    assert_eq!(wrong.code, "E0204");
    assert!(wrong.help.iter().any(|help| help.contains("its interface is there")), "{:?}", wrong.help);
}
