//! The progress line of a loop.
//!
//! ```text
//!  62% ███████████▏      312/500  1,204/s  0:03 left  loss 0.0412
//! ```

use std::time::Duration;

use broadloom_lang::show::number;

use broadloom_ide::words::grouped;

/// The largest number of columns of the bar.
const BAR: usize = 30;
/// The least time between two updates.
const PAUSE: Duration = Duration::from_millis(100);

/// The progress of a loop over time.
#[derive(Default)]
pub(crate) struct Progress {
    /// The time when the first repetition ended. It includes
    /// compilation, so it does not count for the rate.
    first: Option<Duration>,
    shown: Option<Duration>,
}

impl Progress {
    /// The line after a repetition, or `None` if the last one was shown a moment ago. `now` may
    /// count from any start.
    pub fn after(
        &mut self,
        now: Duration,
        (done, of): (u64, u64),
        losses: &[(String, f64)],
        columns: usize,
    ) -> Option<String> {
        let first = *self.first.get_or_insert(now);
        if self.shown.is_some_and(|shown| now < shown + PAUSE) {
            return None;
        }
        self.shown = Some(now);
        let elapsed = now.saturating_sub(first).as_secs_f64();
        let rate = if done > 1 && elapsed > 0.0 { Some((done - 1) as f64 / elapsed) } else { None };
        Some(line(done, of, rate, losses, columns))
    }

    /// Starts again for the next loop.
    pub fn restart(&mut self) {
        *self = Progress::default();
    }
}

fn line(done: u64, of: u64, rate: Option<f64>, losses: &[(String, f64)], columns: usize) -> String {
    let share = if of == 0 { 1.0 } else { done as f64 / of as f64 };
    let mut parts = vec![format!("{}/{}", grouped(done), grouped(of))];
    if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
        parts.push(match rate {
            rate if rate >= 10.0 => format!("{}/s", grouped(rate.round() as u64)),
            rate => format!("{rate:.2}/s"),
        });
        parts.push(format!("{} left", clock((of.saturating_sub(done)) as f64 / rate)));
    }
    parts.extend(losses.iter().map(|(name, loss)| format!("{name} {}", number(*loss))));
    let head = format!("{:>3.0}% ", (share * 100.0).floor());
    // Parts that do not fit are left out, from the end; a bar that would be too short is left out.
    let length = |parts: &[String]| parts.iter().map(|part| part.chars().count() + 2).sum::<usize>();
    while parts.len() > 1 && head.len() + length(&parts) >= columns {
        parts.pop();
    }
    let room = columns.saturating_sub(head.len() + length(&parts) + 1).min(BAR);
    let bar = if room >= 5 { bar(share, room) } else { String::new() };
    format!("{head}{bar}  {}", parts.join("  "))
}

/// A bar with this many columns, exact to an eighth of a column.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).floor() as usize;
    let mut bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    let missing = columns - bar.chars().count().min(columns);
    bar.extend(std::iter::repeat_n('·', missing));
    bar
}

/// Seconds as minutes and seconds.
fn clock(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let losses = [("loss".to_string(), 0.04123)];
        assert_eq!(
            line(312, 500, Some(104.2), &losses, 80),
            " 62% ██████████████████▋···········  312/500  104/s  0:02 left  loss 0.04123"
        );
        assert_eq!(line(1, 3, None, &[], 30), " 33% ██████▎············  1/3");
        assert_eq!(line(1, 3, None, &[], 10), " 33%   1/3");
        assert!(line(312, 500, Some(104.2), &losses, 30).chars().count() <= 30);
    }

    #[test]
    fn pictures_are_rare() {
        let mut progress = Progress::default();
        let mut shown = |ms| progress.after(Duration::from_millis(ms), (ms, 1000), &[], 80).is_some();
        assert_eq!([1, 50, 100, 101, 150, 250].map(&mut shown), [true, false, false, true, false, true]);
    }

    #[test]
    fn clocks() {
        assert_eq!([0.2, 61.0, 3_661.4].map(clock), ["0:00", "1:01", "1:01:01"]);
    }
}
