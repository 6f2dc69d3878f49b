//! scratch
use broadloom_diagnostics::*;
use broadloom_lang::*;
struct O;
impl Observer for O {
    fn printed(&mut self, line: &str) {
        println!("{line}");
    }
    fn repeated(&mut self, _: u64, _: u64, _: &[(String, f64)]) {}
    fn ended(&mut self) {}
    fn notice(&mut self, t: &str) {
        println!("notice {t}");
    }
}
fn main() {
    let file = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let t = std::time::Instant::now();
    let mut p = compile(
        "t.loom",
        &text,
        &Options { folder: std::path::Path::new(&file).parent().unwrap().into(), ..Options::default() },
    );
    eprintln!("{:?}", t.elapsed());
    print!("{}", render_all(&p.sources, &p.diagnostics, 0, Style::default()));
    if p.made.len() < 60 {
        if let Ok(shapes) = p.graph.final_shapes() {
            for m in &p.made {
                println!("{:20} {}", m.name, shapes.get(m.tensor));
            }
        }
    }
    if p.is_ok() && std::env::args().nth(2).is_none() {
        let sources = p.sources.clone();
        if let Err(d) = p.run(&RunOptions::default(), &mut O) {
            print!("{}", render(&sources, &d, Style::default()));
        }
    }
}
