//! Compilers that are missing or wrong, and caches that are broken or belong to strangers.

use super::*;

/// A program that is compiled.
const SMALL: &str = "data x : 4 = [1, 2, 3, 4]\nprint x * 2\n";

/// A script that stands in for a compiler.
fn script(world: &World, name: &str, body: &str) -> PathBuf {
    let path = world.write(name, format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

/// Runs the small program with some variables set, and says how that ended and what was said.
pub(super) fn run_with(world: &World, variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    world.write("small.loom", SMALL);
    let mut command = world.command(&["run", "small.loom", "--backend", "native"]);
    command.envs(variables.iter().copied());
    let output = command.output().expect("the command runs");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn compilers_with_arguments() {
    let world = World::new("compilers");
    let log = world.path("log");
    let tool = script(&world, "my cc", &format!("echo \"$@\" >> '{}'; exec cc \"$@\"", log.display()));
    let tool = tool.to_str().expect("a path in UTF-8");
    for (variable, value) in [
        ("BROADLOOM_CC", "cc -m64".to_string()),
        ("CC", "  cc   -DX='a b' ".to_string()),
        ("CC", tool.to_string()),
        ("BROADLOOM_CC", format!("'{tool}' -DLOOK=1")),
        ("BROADLOOM_CC", format!("env A=b \"{tool}\" -DSECOND")),
    ] {
        let (status, printed, said) = run_with(&world, &[(variable, &value)]);
        assert_eq!((status, printed.as_str()), (Some(0), "[2 4 6 8]\n"), "{value}: {said}");
    }
    let log = text(&world.read("log"));
    assert!(log.contains("-DLOOK=1 -O3") && log.contains("-DSECOND -O3"), "{log}");
}

/// A compiler that the user names is used, or an error says why not; an error also reports a compiler that
/// does not work.
#[test]
fn compilers_that_cannot_be() {
    let world = World::new("no_compilers");
    world.write("small.loom", SMALL);
    for variable in ["BROADLOOM_CC", "CC"] {
        for backend in ["auto", "native"] {
            let mut command = world.command(&["run", "small.loom", "--backend", backend]);
            let output = command.env(variable, "no-such-cc -m64").output().expect("the command runs");
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("`no-such-cc -m64`") && said.contains(variable), "{said}");
        }
    }
    let (status, _, said) = run_with(&world, &[("CC", "/bin/false")]);
    assert!(status == Some(1) && said.contains("/bin/false"), "{said}");
    let broken = script(&world, "broken", "[ \"$1\" = --version ] && exit 0; echo 'I am broken' >&2; exit 1");
    let (status, _, said) = run_with(&world, &[("CC", broken.to_str().expect("UTF-8"))]);
    assert!(status == Some(1) && said.contains("I am broken"), "{said}");
    let killed = script(&world, "killed", "[ \"$1\" = --version ] && exit 0; kill -9 $$");
    let (status, _, said) = run_with(&world, &[("CC", killed.to_str().expect("UTF-8"))]);
    assert!(status == Some(1) && said.contains("the C compiler failed"), "{said}");
    let nothing = script(&world, "nothing", "exit 0");
    let (status, _, said) = run_with(&world, &[("CC", nothing.to_str().expect("UTF-8"))]);
    assert!(status == Some(1) && said.contains("has made nothing"), "{said}");
}

/// A cache that others can write to is not used, and neither is one that is somewhere else than it says; the program runs.
#[test]
fn caches_of_strangers() {
    let world = World::new("strangers");
    let good = (Some(0), "[2 4 6 8]\n".to_string(), String::new());
    assert_eq!(run_with(&world, &[]), good);
    let cache = world.path("cache");
    let mode = std::fs::metadata(&cache).expect("the cache").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "only this user can enter it");
    let count = |folder: &Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
    let kept = count(&cache);
    assert_eq!(kept, 4, "source, code, sum and tag");
    let temporary = world.path("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let temporary = temporary.to_str().expect("UTF-8").to_string();
    let refused = |folder: &Path, reason: &str| {
        let folder = folder.to_str().expect("UTF-8");
        let (status, printed, said) =
            run_with(&world, &[("BROADLOOM_CACHE", folder), ("TMPDIR", &temporary)]);
        assert_eq!((status, printed.as_str()), (Some(0), "[2 4 6 8]\n"), "{said}");
        assert!(said.contains("is not used") && said.contains(reason), "{said}");
        assert_eq!(count(Path::new(&temporary)), 0, "what stood in for it is removed");
    };
    for mode in [0o777, 0o770, 0o1777, 0o702] {
        let open = world.path("open");
        let _ = std::fs::remove_dir_all(&open);
        std::fs::create_dir(&open).expect("a folder");
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).expect("permissions");
        refused(&open, "other users may write to it");
        assert_eq!(count(&open), 0, "nothing is put there");
    }
    // Others may rename a folder inside of one that is open to all, unless that has the sticky bit.
    for (mode, refuses) in [(0o777, true), (0o1777, false), (0o775, false)] {
        let above = world.path("above");
        let _ = std::fs::remove_dir_all(&above);
        std::fs::create_dir(&above).expect("a folder");
        std::fs::set_permissions(&above, std::fs::Permissions::from_mode(mode)).expect("permissions");
        let within = above.join("cache");
        if refuses {
            refused(&within, "may put another in its place");
            assert_eq!(count(&within), 0, "nothing is put there");
        } else {
            let within = within.to_str().expect("UTF-8");
            assert_eq!(run_with(&world, &[("BROADLOOM_CACHE", within)]), good, "{mode:o}");
        }
    }
    let link = world.path("link");
    std::os::unix::fs::symlink(&cache, &link).expect("a link");
    refused(&link, "it is a link");
    refused(&world.path("link/"), "it is a link");
    refused(&world.write("file", ""), "it is not a folder");
    refused(Path::new("/proc/nowhere/cache"), "");
    assert_eq!(count(&cache), kept, "nothing was added");
    // Without a home there is a folder in the common one, for this user alone.
    let mut command = world.command(&["run", "small.loom", "--backend", "native"]);
    ["BROADLOOM_CACHE", "HOME", "XDG_CACHE_HOME"].into_iter().for_each(|name| _ = command.env_remove(name));
    let output = command.env("TMPDIR", &temporary).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let made = std::fs::read_dir(&temporary).expect("a folder").flatten().next().expect("a cache");
    assert_eq!(made.metadata().expect("the cache").permissions().mode() & 0o777, 0o700);
}

/// A cache of another user is not used, and neither is a file of another user in a cache of ours. Only root can give files away.
#[test]
fn caches_of_other_users() {
    let world = World::new("other_users");
    let good = (Some(0), "[2 4 6 8]\n".to_string(), String::new());
    assert_eq!(run_with(&world, &[]), good);
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(12345), Some(12345));
    let files =
        || std::fs::read_dir(world.path("cache")).expect("the cache").flatten().map(|entry| entry.path());
    if let Err(error) = files().try_for_each(|file| give(&file)) {
        // Past the test harness, which shows what passing tests print to nobody.
        let notice =
            format!("notice: caches of other users are not tested, since only root can make one: {error}\n");
        std::io::stderr().write_all(notice.as_bytes()).expect("standard error");
        return;
    }
    assert_eq!(run_with(&world, &[]), good, "files of another user are made again");
    let _ = std::fs::remove_dir_all(world.path("cache"));
    assert_eq!(run_with(&world, &[]), good);
    give(&world.path("cache")).expect("a cache of another user");
    let (status, printed, said) = run_with(&world, &[]);
    assert_eq!((status, printed.as_str()), (Some(0), "[2 4 6 8]\n"), "{said}");
    assert!(said.contains("is not used") && said.contains("another user"), "{said}");
}

/// A folder of other files is not taken for a cache that can be emptied, and a limit that is no number is said to be wrong.
#[test]
fn folders_that_are_no_caches() {
    let world = World::new("no_cache");
    std::fs::create_dir(world.path("cache")).expect("a folder");
    world.write("cache/letters.txt", "dear\n");
    let ended = world.output(&["cache", "--clear"]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(text(&ended.stderr).contains("it is no cache"), "{}", text(&ended.stderr));
    let (status, printed, said) = run_with(&world, &[("BROADLOOM_CACHE_LIMIT", "abc")]);
    assert_eq!((status, printed.as_str()), (Some(0), "[2 4 6 8]\n"), "{said}");
    assert!(said.contains("BROADLOOM_CACHE_LIMIT is \"abc\"") && said.contains("1073741824"), "{said}");
}

/// Programs run with any kind of broken file in the cache, and with what dead processes left there.
#[test]
fn caches_that_are_broken() {
    let world = World::new("broken_cache");
    let good = (Some(0), "[2 4 6 8]\n".to_string(), String::new());
    assert_eq!(run_with(&world, &[]), good);
    let stale = world.path("cache/work-00000000000000000000000000000000");
    std::fs::create_dir(&stale).expect("a folder");
    std::fs::write(stale.join("lock"), "").expect("a file");
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::open(&stale).and_then(|file| file.set_modified(long_ago)).expect("another time");
    for entry in std::fs::read_dir(world.path("cache")).expect("the cache").flatten() {
        if entry.path().is_file() {
            std::fs::remove_file(entry.path()).expect("a file");
            std::fs::write(entry.path(), "nonsense").expect("a file");
            assert_eq!(run_with(&world, &[]), good);
        }
    }
    assert!(!stale.exists(), "what the dead have left is removed");
    // Neither a cache nor a temporary folder.
    let nowhere = world.shell("BROADLOOM_CACHE=/proc/none TMPDIR=/proc/none broadloom run small.loom");
    assert_eq!(String::from_utf8_lossy(&nowhere.stdout), good.1);
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(said.contains("no place to compile in") && said.contains("BROADLOOM_CACHE or TMPDIR"), "{said}");
    // A disk that is full where the cache is.
    let full = world.shell("trap '' XFSZ; ulimit -f 0; broadloom run small.loom --backend native");
    assert!(full.status.code().is_some(), "{:?}", full.status);
}

#[test]
fn the_cache_is_shown_limited_and_cleared() {
    let world = World::new("cache_command");
    let cache = |arguments: &[&str]| {
        let output = world.output(&[&["cache"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(cache(&[]).contains("cache: 0 entries, 0 bytes of at most 1"), "{}", cache(&[]));
    run_with(&world, &[]);
    assert!(cache(&[]).contains(": 1 entry, "), "{}", cache(&[]));
    world.write("cache/mine.txt", "not of the cache");
    world.write("other.loom", "data x : 3 = [1, 2, 3]\nprint x + 1\n");
    assert_eq!(world.output(&["run", "other.loom", "--backend", "native"]).status.code(), Some(0));
    assert!(cache(&["--json"]).contains("\"entries\":2,"), "{}", cache(&["--json"]));
    // What is added pushes out what is older, and what was used a moment ago stays longest.
    world.write("third.loom", "data x : 5 = [1, 2, 3, 4, 5]\nprint x + 1\n");
    let mut command = world.command(&["run", "third.loom", "--backend", "native"]);
    assert!(command.env("BROADLOOM_CACHE_LIMIT", "1").status().expect("it runs").success());
    assert!(cache(&[]).contains(": 1 entry, "), "{}", cache(&[]));
    assert!(cache(&["--clear"]).contains(": removed 1 entry, "));
    assert!(cache(&[]).contains(": 0 entries"), "{}", cache(&[]));
    assert!(world.path("cache/mine.txt").exists(), "what is not of the cache stays");
    let mut command = world.command(&["cache"]);
    let output = command.env("BROADLOOM_CACHE_LIMIT", "much").output().expect("it runs");
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("a number of bytes"));
    // Others lose the right to write to it, and a link is not followed.
    std::fs::set_permissions(world.path("cache"), std::fs::Permissions::from_mode(0o777))
        .expect("permissions");
    assert!(cache(&[]).contains("not used, because other users may write to it"), "{}", cache(&[]));
    cache(&["--clear"]);
    assert_eq!(
        std::fs::metadata(world.path("cache")).expect("the cache").permissions().mode() & 0o777,
        0o755
    );
    std::os::unix::fs::symlink(world.path("cache"), world.path("link")).expect("a link");
    let mut command = world.command(&["cache", "--clear"]);
    let output = command.env("BROADLOOM_CACHE", world.path("link")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}
