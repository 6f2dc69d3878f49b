"""Mutations of closing and of schemes: small mistakes in the source, each of which a test has to notice.

    python3 crates/broadloom-core/tests/mutations.py [--match] [NAME ...]

`mutations.txt` has the list. A copy of the repository (`target/mutations`) is built once, with all of them behind a switch; then the tests run with one
mistake after the other, until one of them fails. Prints a table of who noticed. Equivalent ones are run only if they are named. Exits with 1 if a
mutation survives, or is noticed though it is equivalent, or if its text is not in the source any more; with `--match`, only the latter is checked."""

import os, re, subprocess, sys
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
COPY = REPOSITORY / "target" / "mutations"
SOLVER = "crates/broadloom-core/src/solver/"

STAGES = {  # package, test, which of its tests
    "cases": ("broadloom-core", "all", "closing_by_definition::cases::"),
    "systems": ("broadloom-core", "all", "close_by_definition"),
    "suite": ("broadloom-lang", "cases", ""),
    "explanations": ("broadloom-rows", "cases", ""),
    "laws": ("broadloom-lang", "all", "laws::"),
    "unapplied": ("broadloom-lang", "cases", "unapplied::"),
    "signatures": ("broadloom-lang", "cases", "signatures::"),
    "replay": ("broadloom-lang", "all", "replay::"),
    "schemes": ("broadloom-lang", "all", "schemes::"),
}
CLOSING = ["cases", "systems", "suite", "explanations", "laws"]

SWITCH = """pub(crate) fn mutated(name: &str) -> bool {
    static NAME: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var("BROADLOOM_MUTATION").ok());
    NAME.as_deref() == Some(name)
}"""

Mutation = namedtuple("Mutation", "name mistake file function stages old new equivalent")


def mutations():
    """Reads the list; its head says how it is written."""
    for block in (HERE / "mutations.txt").read_text().split("\n\n"):
        if lines := [line for line in block.splitlines() if not line.startswith("#")]:
            texts = ["\n".join(line[2:] for line in lines if line.startswith(sign)) for sign in "-+="]
            file, function, *stages = lines[1].split()
            file = file if file.startswith("crates/") else SOLVER + file
            yield Mutation(*lines[0].split(": ", 1), file, function, stages or CLOSING, *texts)


def root(file):
    """The module of a crate that has the switch, and its path in the crate."""
    return (SOLVER + "mod.rs", "crate::solver") if file.startswith(SOLVER) else (file[: file.index("src/")] + "src/lib.rs", "crate")


def place(text, mutation):
    """Where the mistake is made: at exactly one place of the function."""
    start = re.search(rf"^( *).*\bfn {mutation.function}\b", text, re.M)
    end = text.index(f"\n{start[1]}}}\n", start.start()) if start else 0
    found = text.count(mutation.old, start.start(), end) if start else 0
    if found != 1:
        sys.exit(f"{mutation.name}: found {found} times in {mutation.file}, fn {mutation.function}:\n{mutation.old}")
    return (at := text.index(mutation.old, start.start())), at + len(mutation.old)


def switched(text, mutations):
    """The text of a file with all its mistakes behind the switch."""
    places = {}
    for mutation in mutations:
        places.setdefault(place(text, mutation), []).append(mutation)
    for (start, end), here in sorted(places.items(), reverse=True):
        arms = [f'if {root(mutation.file)[1]}::mutated("{mutation.name}") {{ {mutation.new} }} else ' for mutation in here]
        choice = "".join(arms) + f"{{ {text[start:end]} }}"
        text = text[:start] + (choice if text[end - 1] == ";" else f"({choice})") + text[end:]
    return text


def copy(every):
    """Copies what git knows or would add, with the mistakes. Only what changed is written, so that only that is built."""
    roots = {root(mutation.file)[0] for mutation in every}
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=REPOSITORY, text=True)
    for name in filter(lambda name: (REPOSITORY / name).is_file(), listed.splitlines()):
        content, target = (REPOSITORY / name).read_bytes(), COPY / name
        if here := [mutation for mutation in every if mutation.file == name]:
            content = switched(content.decode(), here).encode()
        content += ("\n" + SWITCH).encode() if name in roots else b""
        if not (target.is_file() and target.read_bytes() == content):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def failures(stage, mutation):
    """The tests of a stage that fail with a mistake."""
    package, test, which = STAGES[stage]
    command = ["cargo", "test", "--offline", "-p", package, "--test", test, "--", which]
    variables = dict(os.environ, CARGO_TARGET_DIR=str(COPY / "target"), BROADLOOM_MUTATION=mutation, BROADLOOM_SHOWN="0")
    try:
        ran = subprocess.run(command, cwd=COPY, env=variables, capture_output=True, text=True, errors="replace", timeout=900)
    except subprocess.TimeoutExpired:
        return {"does not end"}
    if "error: could not compile" in ran.stderr:
        sys.exit(ran.stderr[-4000:])
    return set(re.findall(r"^---- (.+?)(?: stdout)? ----$", ran.stdout, re.M)) or ({"ends early"} if ran.returncode else set())


def noticed(mutation, before):
    """The first stage with tests that fail with a mistake, and not without; nothing if there is none."""
    for stage in mutation.stages:
        if failed := failures(stage, mutation.name) - before[stage]:
            names = sorted(name.split("::")[-1].replace("_", " ") for name in failed)
            return f"{stage}: {names[0]}" + (f", and {len(names) - 1} more" if names[1:] else "")
    return ""


def main():
    wanted, every = [name for name in sys.argv[1:] if name != "--match"], list(mutations())
    for mutation in every:
        place((REPOSITORY / mutation.file).read_text(), mutation)
    if "--match" in sys.argv:
        return
    copy(every)
    chosen = [it for it in every if (it.name in wanted if wanted else not it.equivalent)]
    before = {stage: failures(stage, "") for stage in STAGES if any(stage in it.stages for it in chosen)}
    print(f"without a mistake, these fail: {sorted(set().union(*before.values()))}", file=sys.stderr)
    print("| mutation | in | the mistake | noticed by |\n|---|---|---|---|", flush=True)
    wrong = 0
    for mutation in chosen:
        by = noticed(mutation, before)
        wrong += bool(by) == bool(mutation.equivalent)
        print(f"| {mutation.name} | `{mutation.function}` | {mutation.mistake} | {by or '**nobody**'} |", flush=True)
    sys.exit(f"{wrong} not as expected" if wrong else 0)


if __name__ == "__main__":
    main()
