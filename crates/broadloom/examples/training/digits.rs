//! A convolutional net learns to read digits that are drawn, moved about, and covered with noise.

use broadloom::blocks::{Window, conv2d, cross_entropy, linear, max_pool, mean};
use broadloom::random::{key_of, normal_f64, uniform_f64};
use broadloom::{Adam, Array, Builder, Error, Routine, Session, Settings};

/// The digits, five by seven.
const GLYPHS: [[&str; 7]; 10] = [
    [" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "],
    ["  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "],
    [" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"],
    [" ### ", "#   #", "    #", "  ## ", "    #", "#   #", " ### "],
    ["   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "],
    ["#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "],
    ["  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "],
    ["#####", "    #", "   # ", "  #  ", " #   ", " #   ", " #   "],
    [" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "],
    [" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "],
];

const SIDE: u64 = 12;
const BATCH: u64 = 64;

/// A batch of pictures and the digits in them.
fn pictures(name: &str, batch: u64) -> Result<(Array, Array), Error> {
    let key = key_of(batch, name);
    let (mut pixels, mut digits) = (Vec::new(), Vec::new());
    for picture in 0..BATCH {
        let draw = |what: u64, below: u64| (uniform_f64(key, 4 * picture + what) * below as f64) as u64;
        let (digit, left, top) = (draw(0, 10), draw(1, SIDE - 4), draw(2, SIDE - 6));
        for place in 0..SIDE * SIDE {
            let (row, column) = (place / SIDE, place % SIDE);
            let inside = (top..top + 7).contains(&row) && (left..left + 5).contains(&column);
            let ink = inside
                && GLYPHS[digit as usize][(row - top) as usize].as_bytes()[(column - left) as usize] == b'#';
            let noise = 0.2 * normal_f64(key_of(key, "noise"), picture * SIDE * SIDE + place);
            pixels.push((f64::from(u8::from(ink)) + noise) as f32);
        }
        digits.push(digit as i64);
    }
    Ok((Array::from_slice(&[BATCH, SIDE, SIDE, 1], &pixels)?, Array::from_slice(&[BATCH], &digits)?))
}

/// Trains a net and returns its accuracy on pictures it has not seen.
pub fn train(settings: Settings) -> Result<f64, Error> {
    let b = Builder::new();
    let x = b.data("x", &format!("{BATCH} | {SIDE}, {SIDE}, 1"));
    let digit = b.data("digit", &format!("{BATCH} |"));
    let window = Window::square(3).padded();
    let halves = Window::square(2).stride(2);
    let features = max_pool(conv2d(&b, "first", 16, window).apply(x).relu(), halves);
    let features = max_pool(conv2d(&b, "second", 32, window).apply(features).relu(), halves);
    // No flattening: the linear map has three input axes.
    let hidden = linear(&b, "third", 64).apply(features).relu();
    let scores = linear(&b, "fourth", 10).apply(hidden).named("scores");
    let loss = mean(cross_entropy(scores, digit)).named("loss");
    let (x, digit, scores, loss) = (x.tensor(), digit.tensor(), scores.tensor(), loss.tensor());

    let mut graph = b.finish()?;
    let mut step = Routine::new("step");
    step.backward(&mut graph, loss)?;
    let (rate, params) = (graph.number(0.004), graph.params());
    Adam::default().update(&mut graph, &mut step, &params, rate)?;
    let mut predict = Routine::new("predict");
    predict.forward(scores);

    let mut session = Session::with(graph, settings)?;
    for number in 0..500 {
        let (pixels, digits) = pictures("training", number)?;
        session.set(x, &pixels)?;
        session.set(digit, &digits)?;
        session.run(&step)?;
        if number % 50 == 0 {
            println!("step {number:3}  loss {:.4}", session.item(loss)?);
        }
    }

    let mut right = 0;
    for number in 0..16 {
        let (pixels, digits) = pictures("test", number)?;
        session.set(x, &pixels)?;
        session.run(&predict)?;
        let scores = session.get(scores)?.to_f64s();
        let best =
            |scores: &[f64]| (0..10).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).map(|at| at as f64);
        right += scores
            .chunks(10)
            .zip(digits.to_f64s())
            .filter(|(scores, digit)| best(scores) == Some(*digit))
            .count();
    }
    Ok(right as f64 / (16 * BATCH) as f64)
}
