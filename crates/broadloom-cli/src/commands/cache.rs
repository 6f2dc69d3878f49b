//! `broadloom cache`: shows or empties the cache of compiled programs.

use broadloom::{Cache, CacheUsage};
use broadloom_diagnostics::Sources;
use broadloom_ide::words::bytes;
use serde::Serialize;

use crate::json;
use crate::output::{Output, Status};
use crate::program::{shown_path, unusable};

/// The arguments of `cache`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Delete all cached programs
    #[arg(long)]
    clear: bool,
    /// Print a JSON object in the format of docs/schema.json
    #[arg(long)]
    json: bool,
}

pub(crate) const HELP: &str = "\
`broadloom run` compiles a program once, and reuses the machine code afterwards. It is kept in the folder BROADLOOM_CACHE, or
`broadloom` in XDG_CACHE_HOME, or `.cache/broadloom` in the home folder. Beyond 1 GiB, or BROADLOOM_CACHE_LIMIT bytes, the least
recently used code is removed.

The code in the folder is executed. Therefore the folder is used only if it is a real folder, belongs to you (or to root), and no
other user can write to it; otherwise programs are compiled anew each time, in a private folder. `--clear` also removes other
users' permission to write to it. Deleting the folder is always safe.

Exit status: 0 success, 2 the folder cannot be cleared.

Examples:
  broadloom cache
  broadloom cache --clear
  BROADLOOM_CACHE_LIMIT=100000000 broadloom run mlp.loom";

/// Shows the cache, or empties it.
pub fn run(args: &Args) -> Output {
    let cache = Cache::usual();
    let usage = if args.clear { cache.clear() } else { cache.usage() };
    let usage = match usage {
        Ok(usage) => usage,
        Err(reason) => {
            let verb = if args.clear { "clear" } else { "look at" };
            let message = format!("cannot {verb} the cache {}: {reason}", shown_path(cache.folder()));
            return unusable("cache", message, args.json);
        }
    };
    let stdout = match args.json {
        true => json::object("cache", &Sources::new(), &[], Data::new(args.clear, &usage)),
        false => text_of(args.clear, &usage),
    };
    Output { stdout, ..Output::new(Status::Fine) }
}

fn text_of(cleared: bool, usage: &CacheUsage) -> String {
    let plural = if usage.entries == 1 { "entry" } else { "entries" };
    let held = format!("{} {plural}, {}", usage.entries, bytes(usage.bytes));
    let folder = shown_path(&usage.folder);
    match &usage.unusable {
        _ if cleared => format!("{folder}: removed {held}\n"),
        Some(reason) => format!("{folder}: not used, because {reason}\n"),
        None => format!("{folder}: {held} of at most {}\n", bytes(usage.limit)),
    }
}

#[derive(Serialize)]
struct Data<'a> {
    folder: String,
    /// The number before the removal, with `--clear`.
    entries: usize,
    bytes: u64,
    limit: u64,
    cleared: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<&'a str>,
}

impl<'a> Data<'a> {
    fn new(cleared: bool, usage: &'a CacheUsage) -> Data<'a> {
        Data {
            folder: usage.folder.display().to_string(),
            entries: usage.entries,
            bytes: usage.bytes,
            limit: usage.limit,
            cleared,
            unusable: usage.unusable.as_deref(),
        }
    }
}
