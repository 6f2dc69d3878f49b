//! Scratch.
use broadloom::{Graph, Kind, Error, Tensor, Routine};

fn show(g: &mut Graph, t: Tensor) {
    let shape = match g.final_shape(t) { Ok(s) => s.to_string(), Err(_) => "ERR".into() };
    println!("== {} : {shape}  known {}  how {:?}", g.label_of(t), g.shape(t), g.how_known(t));
    for kind in Kind::ALL {
        let axes = g.why_axes(t, kind).unwrap();
        println!("  -- {} has {} axes (forced {})", kind.name(), axes.size, axes.forced);
        for p in &axes.parts { println!("       [{:?}] {} | {:?}", p.step, p.text, p.short); }
        for axis in 0..axes.size.parse::<usize>().unwrap() {
            let why = g.why(t, kind, axis).unwrap();
            println!("  -- {} {axis} = {} (forced {})", kind.name(), why.size, why.forced);
            for p in &why.parts { println!("       [{:?}] {} | {:?}", p.step, p.text, p.short); }
        }
    }
}

#[test]
fn scratch() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32 | 784")?;
    let (w1, b1, w2) = (g.param("w1"), g.param_shaped("b1", "64")?, g.param("w2"));
    let h = g.compose(w1, x)?;
    let h = g.add(h, b1)?;
    let h = g.relu(h)?;
    g.name(h, "h");
    let logits = g.compose(w2, h)?;
    let target = g.data("target", "32 | 10")?;
    let loss = g.sub(logits, target)?;
    let sq = g.square(loss)?;
    let total = g.einsum("... | ... => 0", &[sq])?;
    let c = g.constant(1.0);
    let lc = g.mul(loss, c)?;
    let grad = g.gradient(w1)?;
    let part = g.einsum("... | i => i | ...", &[loss])?;
    g.name(part, "part");
    for t in [x, w1, b1, w2, h, logits, loss, total, c, lc, grad, part] { show(&mut g, t); }

    println!("################ conv");
    let mut g = Graph::new();
    let image = g.data("image", "... | 28, 28, 3")?;
    let batch = g.captured(image, "batch")?;
    g.set(batch, 8)?;
    let kernel = g.param("kernel");
    let conv = g.einsum("... | 2*oh<+kh, 2*ow<+kw, ic; kh, kw, ic -> oc => ... | oh, ow, oc", &[image, kernel])?;
    g.name(conv, "conv");
    for (label, size) in [("kh", 4), ("kw", 4), ("oc", 16)] { let l = g.captured(conv, label)?; g.set(l, size)?; }
    let act = g.relu(conv)?;
    let t = g.transpose(act)?;
    for t in [image, kernel, conv, act, t] { show(&mut g, t); }

    println!("################ residual");
    let mut g = Graph::new();
    let x = g.data("x", "8 | 5")?;
    let mut y = x;
    for i in 0..6 {
        let w = g.param_shaped(&format!("w{i}"), "n -> n")?;
        let z = g.compose(w, y)?;
        y = g.add(y, z)?;
        g.name(y, &format!("y{i}"));
    }
    let near = g.data("near", "5")?;
    let last = g.add(y, near)?;
    show(&mut g, y);
    show(&mut g, last);
    let a = g.data("a", "2, 3")?;
    let b = g.data("b", "4, 3")?;
    let c = g.constant(1.0);
    let ac = g.add(a, c)?;
    let bc = g.add(b, c)?;
    show(&mut g, c);
    let s = g.state("s");
    let mut r = Routine::new("r");
    r.assign(&mut g, "s =+ ac", &[("s", s), ("ac", ac)])?;
    show(&mut g, s);
    let d = g.data_with_count("d", "... | ...", 24)?;
    let e = g.convert(d, 1, 1);
    let words = g.data("words", "6")?;
    let numbers = g.convert(words, 4, 1)?;
    show(&mut g, numbers);
    let sl = g.slice(x, broadloom::Index::Run { range: Some(8) })?;
    show(&mut g, sl);
    let cat = g.einsum("i; j => i^j", &[words, near])?;
    show(&mut g, cat);
    show(&mut g, d);
    println!("{:?}", g.broadcasts()?);
    let _ = (bc, e);
    Ok(())
}
