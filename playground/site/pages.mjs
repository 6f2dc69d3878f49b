// The pages of the site, in reading order. Every file of docs/ is one of them: the build fails if one is missing.

export const REPOSITORY = "https://github.com/broadloom/broadloom";

export const GROUPS = [
  {
    title: "Begin",
    pages: [
      { source: "README.md", name: "index", title: "Broadloom" },
      { source: "docs/tutorial.md", name: "tutorial", title: "Tutorial" },
    ],
  },
  {
    title: "The language",
    pages: [
      { source: "docs/language.md", name: "language", title: "The whole language" },
      { source: "docs/notation.md", name: "notation", title: "Specs" },
      { source: "docs/functions.md", name: "functions", title: "Functions have shapes" },
      { source: "docs/errors.md", name: "errors", title: "Messages" },
    ],
  },
  {
    title: "Where you write it",
    pages: [
      { source: "docs/editors.md", name: "editors", title: "Editors" },
      { source: "docs/playground.md", name: "playground", title: "In a web page" },
    ],
  },
  {
    title: "Python",
    pages: [
      { source: "docs/python.md", name: "python", title: "Programs and graphs" },
      { source: "docs/arrays.md", name: "arrays", title: "Specs on arrays" },
    ],
  },
  {
    title: "Rust",
    pages: [
      { source: "docs/shapes.md", name: "shapes", title: "Shapes" },
      { source: "docs/loops.md", name: "loops", title: "From shapes to loops" },
      { source: "docs/running.md", name: "running", title: "Running programs" },
    ],
  },
  {
    title: "Beyond",
    pages: [
      { source: "docs/scaling.md", name: "scaling", title: "A mesh of devices" },
      { source: "docs/rows.md", name: "rows", title: "The solver by itself" },
      { source: "docs/solver.md", name: "solver", title: "What the solver guarantees" },
      { source: "docs/reliability.md", name: "reliability", title: "Reliability" },
      { source: "docs/benchmarks.md", name: "benchmarks", title: "Benchmarks" },
    ],
  },
  {
    title: "The project",
    pages: [
      { source: "ARCHITECTURE.md", name: "architecture", title: "Architecture" },
      { source: "CONTRIBUTING.md", name: "contributing", title: "Contributing" },
      { source: "CHANGELOG.md", name: "changelog", title: "Changes" },
    ],
  },
];

export const PAGES = GROUPS.flatMap(({ pages }) => pages);

// Documents in which the programs under one heading go on from each other; in all others each is a program by itself. The tests of the
// documents read them in the same way.
export const GROWING = new Set(["docs/tutorial.md", "docs/notation.md"]);
