"""Programs: read, asked, and run."""

from __future__ import annotations

import operator
import os
import tempfile
import textwrap
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _broadloom
from ._answers import Answer, Division, Memory, Picture
from ._arrays import Given, arranged, as_kind
from ._errors import Error, Message
from ._jax import JaxFunction
from ._names import unknown
from ._parameters import Parameters
from ._places import warned
from ._progress import Progress, shown
from ._results import Copies, Function, Results, Run
from ._shapes import Shapes

__all__ = ["Program", "load", "program"]


class _Source(NamedTuple):
    """The arguments of a program, of which a copy is made again."""

    text: str
    name: str
    folder: str
    sizes: dict[str, int]
    seed: int
    backend: str
    threads: int | None
    weights: str | None
    mesh: dict[str, int] | None
    shard: dict[str, str]
    fsdp: str | None


class Program:
    """A tensor program. `bl.load` and `bl.program` make one.

    It has no mistakes: those are exceptions when it is read. Questions need no compiler and no arrays. Calling it computes
    its tensors from arrays, and `run` carries out what it does, such as training. Parameters last from one to the next. It can be
    used from several threads: calls take turns, and let other Python code run meanwhile.

    Pickling and copying keep the text and what was learned, the states of optimisers included.
    """

    def __init__(
        self,
        text: str,
        *,
        name: str = "<program>",
        folder: str | os.PathLike[str] = ".",
        sizes: Mapping[str, int] | None = None,
        seed: int = 0,
        backend: str = "auto",
        threads: int | None = None,
        weights: str | os.PathLike[str] | None = None,
        mesh: Mapping[str, int] | None = None,
        shard: Mapping[str, str] | None = None,
        fsdp: str | None = None,
    ) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a program is a text, not {type(text).__name__}; `bl.load` reads one from a file")
        if text.strip().endswith(".loom") and "\n" not in text.strip():
            raise Error._plain(f"`{text.strip()}` is the name of a file", "`bl.load` reads a program from a file")
        # Files are read again when the program is copied, and the working folder may be another one by then.
        file = None if weights is None else os.path.abspath(weights)
        place = os.path.abspath(folder)
        chosen = {each: _whole(f"sizes[{each!r}]", size, 0) for each, size in (sizes or {}).items()}
        seed, threads = _whole("seed", seed, 0), None if threads is None else _whole("threads", threads, 1)
        mesh = None if mesh is None else _devices(mesh)
        self._source = _Source(text, name, place, chosen, seed, backend, threads, file, mesh, _divisions(shard), fsdp)
        axes = None if mesh is None else list(mesh.items())
        self._program = _broadloom.Program(
            text, name, place, list(chosen.items()), file, axes, list(self._source.shard.items()), fsdp
        )
        self._data = self._program.data()
        #: A notice about devices that runs leave out, until it was given.
        self._left_out = None if backend == "xla" else self._program.left_out()
        self._lock = threading.Lock()
        self._session: _broadloom.Running | None = None
        #: Why arrays of the last call were copied; or only their names, if none was: the rest is made when it is read.
        self._copies: Copies | tuple[str, ...] = Copies()

    @property
    def text(self) -> str:
        """The text that it was read from."""
        return self._source.text

    @property
    def name(self) -> str:
        """The name of the text, as messages show it."""
        return self._source.name

    # Questions

    @property
    def shapes(self) -> Shapes:
        """The shapes of all tensors, by name; those inside of functions too, if they are parameters."""
        return Shapes(*self._program.shapes())

    def check(self) -> list[Message]:
        """Warnings: what may not be what is meant. It is an error if the devices of its mesh cannot share it as it asks for.

        >>> import broadloom as bl
        >>> text = 'data a : 2, 3\\ndata b : 3, 4\\nlet y = einsum("i j; j k => i", a, b)\\n'
        >>> for warning in bl.program(text).check():
        ...     print(warning.code, warning.summary)
        W0505 `k` is only in the second operand, and is summed alone there
        """
        return [Message._of(message) for message in self._program.warnings()]

    def signature(self, name: str) -> Answer:
        """The shapes that a function takes and gives, also one of the library.

        >>> import broadloom as bl
        >>> bl.program("def twice(x : ..b.. | n) = x + x\\n").signature("twice")
        twice(x : ..b.. | n) -> ..b.. | n
        """
        return Answer(*self._program.signature(name))

    def explain(self, name: str) -> Answer:
        """The reasons for the size of an axis, `y.output.0`, of all axes of a row (`y.output`), or of a tensor (`y`).

        >>> import broadloom as bl
        >>> bl.program("data x : 32 | 784\\nlet y = {w} @ x + {b : 64}\\n").explain("w.input.0")
        w.input.0 is 784, forced
        1 | data x : 32 | 784
          |      - the output axis of `x`, declared `32 | 784`
        2 | let y = {w} @ x + {b : 64}
          |         ------- `w @ x`: contracts the input of `w` with the output of `x`
          |          ^ so `w` is `784 -> 64`
        """
        return Answer(*self._program.explain(name))

    def loops(
        self, name: str | None = None, *, all: bool = False, forward: bool = False, optimised: bool = False
    ) -> Answer:
        """The loops that compute a tensor, and those of its gradients.

        Args:
            name: A tensor; by default every operation of the program.
            all: True to include operations inside of library functions.
            forward: True to leave gradients out.
            optimised: True for the loops as they run; the other arguments do not matter then.
        """
        return Answer(*self._program.loops(name, all, forward, optimised))

    def graph(self, of: str | None = None, *, depth: int | None = None, all: bool = False) -> Picture:
        """A picture of the program as SVG, which notebooks show.

        Args:
            of: Draw only what this tensor is computed from.
            depth: How many operations to go back from there.
            all: True to look into library functions.
        """
        return Picture(self._program.graph(of, depth, all))

    def memory(
        self,
        *,
        fits: str | int | None = None,
        train: str | None = None,
        optimiser: str = "adam",
        planned: bool = True,
    ) -> Memory:
        """The memory that it needs, and the largest sizes that fit. With a mesh it is the memory of one device.

        Args:
            fits: The memory that there is: `"8GiB"`, `"500MB"`, or a number of bytes.
            train: A tensor of one number, to be minimised; without it the program is measured as it is.
            optimiser: `"sgd"`, `"momentum"` or `"adam"`, which keep different states.
            planned: False to compile the program and measure what it really allocates.

        >>> import broadloom as bl
        >>> used = bl.program("dim n in 1..64 = 32\\ndata x : n | 784\\nlet y = x |> linear(10)\\n").memory(fits="200kB")
        >>> used.fits, used.largest
        (False, {'n': 52})
        """
        limit = None if fits is None else str(fits)
        return Memory(*self._program.memory(limit, train, optimiser, planned))

    def mesh(self) -> Division:
        """Its division over the devices of its mesh, and what these send each other. Nothing is run.

        >>> import broadloom as bl
        >>> text = "dim batch = 8\\ndata x : batch | 3\\nlet loss = mean(square({w : ... -> 2} @ x))\\n"
        >>> bl.program(text, name="a.loom", mesh={"data": 4}, shard={"batch": "data"}).mesh()
        4 devices: data=4
        <BLANKLINE>
        tensor  shape       bytes  on each device  group
        x       8/data | 3     96              24  data
        w       3 -> 2         24              24  parameters
        loss    ()              4               4  activations
        and 5 tensors that functions, gradients and optimisers make: `shapes` has them
        <BLANKLINE>
        `forward`, in one run: what devices send each other
        devices do  along  times  bytes
        all-reduce  data       1      4  4 bytes
        <BLANKLINE>
        of                        needs       along  bytes  line      for
        (mean(…, square(w @ x)))  all-reduce  data       4  a.loom:3  mean("..b.. | ..i.. -> ..o.. =>", square(w @ x))
        """
        found = self._program.mesh()
        if found is None:
            raise Error._plain(
                "the program is for one device",
                "name several: `bl.program(…, mesh={\"data\": 4}, shard={\"batch\": \"data\"})`, or `mesh(data = 4, …)` in the program",
            )
        (data, text), listed = found
        return Division(data, text, listed)

    def verify(self, /, **arrays: Any) -> Answer:
        """Checks arrays against the program before anything runs; every misfit is in one exception.

        >>> import broadloom as bl
        >>> import numpy as np
        >>> p = bl.program("dim n in 1..64\\ndata x : n | 3\\ndata t : n | 3\\nlet loss = sum(x - t)\\n", name="a.loom")
        >>> p.verify(x=np.zeros((8, 3), "float32"), t=np.zeros((8, 3), "float32"))
        tensor  shape  array   type  from
        x       n | 3  [8, 3]  f32   the arguments
        t       n | 3  [8, 3]  f32   the arguments
        <BLANKLINE>
        dim  size  range  from
        n       8  1..64  x
        <BLANKLINE>
        2 arrays fit
        """
        return Answer(*self._program.verify({name: arranged(name, array).array for name, array in arrays.items()}))

    def stablehlo(self, routine: str | None = None, *, precision: str = "highest") -> str:
        """A module of StableHLO, which XLA takes: the forward pass, or a routine of the program with its gradients and updates.

        `@main` takes the tensors that the routine reads and returns those that it keeps, each with its name. Sizes are those of the program, `sizes` of
        `bl.program` included. With a mesh the module says how everything is divided over its devices.

        Args:
            routine: The name of a routine, such as `"step1"`; a name that is not there says which there are.
            precision: The precision with which XLA computes sums of products of 32-bit floats. `"highest"` counts all their digits; `"default"` takes what the
                device does fastest (tf32 on a GPU, bf16 on a TPU), `"high"` something between, if there is something; with `"bf16"` factors are
                rounded to that type on every device.

        >>> import broadloom as bl
        >>> text = bl.program("data x : 4 | 3\\nlet y = {w : ... -> 2} @ x\\n").stablehlo()
        >>> "%w: tensor<2x3xf32>" in text, "stablehlo.dot_general" in text
        (True, True)
        """
        return self._program.stablehlo(routine, precision)

    def jax(self, routine: str | None = None, *, precision: str = "highest") -> JaxFunction:
        """The forward pass, or a routine of the program, as a function of JAX: it runs where JAX runs, also inside of `jax.jit`.

        Parameters are arguments like data. Those that are not given have the values that they have now. JAX differentiates the forward pass, by the
        gradients of Broadloom, and no other routine.

        Args:
            routine: The name of a routine, as for `stablehlo`.
            precision: The precision of products, as for `stablehlo`; gradients are computed alike.
        """
        text = self.stablehlo(routine, precision=precision)
        is_forward = routine in (None, "forward")
        aliases = dict(self._program.aliases()) if is_forward else {}

        def backward(outputs: list[str]) -> str:
            """A module of StableHLO for the gradients of some outputs."""
            made = _broadloom.Differentiated(self._program, outputs, False, "reference", self._source.seed, None)
            return made.stablehlo(precision)

        return JaxFunction(text, self.parameters, backward if is_forward else None, aliases)

    # Running

    def __call__(self, /, *unnamed: Any, **arrays: Any) -> Results:
        """Computes every named tensor that can be computed from these arrays, and nothing else: nothing is learned.

        Arrays are NumPy, PyTorch or JAX arrays on the CPU. They are read where they are if that is possible (`copies` says
        which were copied, and why), and results are fresh: no later call changes them.

        >>> import broadloom as bl
        >>> import numpy as np
        >>> p = bl.program("data x : 2 | 3\\nlet y = 2 * x\\nlet total = sum(y)\\n")
        >>> p(x=np.ones((2, 3), "float32"))["total"]
        array(12., dtype=float32)
        """
        if unnamed:
            raise TypeError(f"a program takes arrays by name: `p({', '.join(f'{name}=array' for name in self._data)})`")
        return self._call(arrays, None)

    def only(self, *names: str) -> Function:
        """A function that computes only some tensors, and returns their arrays: one, or a tuple.

        >>> import broadloom as bl
        >>> import numpy as np
        >>> total = bl.program("data x : 2 | 3\\nlet y = 2 * x\\nlet total = sum(y)\\n").only("total")
        >>> total(x=np.ones((2, 3), "float32"))
        array(12., dtype=float32)
        """
        if not names:
            raise TypeError("only() takes the names of tensors")
        return Function(self, names)

    def run(
        self,
        steps: int | None = None,
        *,
        progress: bool | Progress | None = None,
        keep_going: bool = False,
        data: Mapping[str, Any] | None = None,
        **arrays: Any,
    ) -> Run:
        """Carries out the program: everything that it does, in order, such as training. What it prints is printed.

        Args:
            steps: How often its outermost loops are repeated, if that is not as the program says.
            progress: True to show how far it is, False not to; by default it is shown in terminals and notebooks. Or a function
                that is called after each step with how many there were, of how many, and the losses. A step is a repetition
                of a loop that minimises something, whatever loops are around it. The function can use the program: compute
                with it, and read, set and save parameters.
            keep_going: True to go on when a loss is not finite.
            data: Arrays by name, for names that are arguments of this function as well.
            arrays: Arrays by name, in place of the values that the program gives.

        Returns:
            The losses of each step, by name.

        >>> import broadloom as bl
        >>> p = bl.program('''
        ... data x : 4 | 1 = [[0], [1], [2], [3]]
        ... let loss = mean(square({a} * x - 2 * x))
        ... repeat 50:
        ...   minimise loss by sgd(0.1)
        ... print "a =", a
        ... ''')
        >>> ran = p.run()
        a = 2
        >>> len(ran.losses["loss"]), ran.losses["loss"][-1] < 1e-6
        (50, True)
        """
        steps = None if steps is None else _whole("steps", steps, 0)
        if self._left_out:
            self._on_one_machine()
        given = self._given({**(data or {}), **arrays})
        watcher = shown(progress)
        try:
            losses, held, notices = self._running.run(
                list(given.arrays.items()),
                steps,
                keep_going,
                watcher.line,
                (lambda done, of, losses: watcher(done, of, dict(losses))) if watcher.counts else None,
                watcher.compiling if watcher.counts else None,
                watcher.pauses,
            )
        finally:
            watcher.end()
        self._copies = Copies(given.copies(why for _, why in held))
        warned(notices)
        return Run(losses)

    @property
    def parameters(self) -> Parameters:
        """The parameters as named arrays, which can be read, set, saved and loaded."""
        return Parameters(self._running)

    @property
    def copies(self) -> Copies:
        """The arrays of the last call, each with why it was copied, if it was.

        >>> import broadloom as bl
        >>> import numpy as np
        >>> p = bl.program("data x : 3\\ndata y : 3\\nlet z = x + y\\n")
        >>> z = p(x=np.ones(3, "float32"), y=np.ones(3))["z"]
        >>> p.copies
        x: read where it is
        y: copied, because it is f64, and the program stores f32
        """
        copies = self._copies
        if not isinstance(copies, Copies):
            self._copies = copies = Copies(dict.fromkeys(copies))
        return copies

    def _call(self, arrays: dict[str, Any], only: list[str] | None) -> Results:
        if self._left_out:
            self._on_one_machine()
        given, answer = None, self._running.call(arrays, only)
        if answer is None:
            given = self._given(arrays)
            answer = self._running.call(given.arrays, only)
            if answer is None:
                raise Error._plain("arrays that were brought into form are refused; this is a defect")
        results, copied, left_out, notices = answer
        if given is not None and (copied or given.whys):
            self._copies = Copies(given.copies(copied or [None] * len(arrays)))
        else:
            self._copies = tuple(arrays) if copied is None else Copies(zip(arrays, copied))
        if notices:
            warned(notices)
        return Results(results if given is None else as_kind(results, given.kind), dict(left_out))

    def _given(self, arrays: dict[str, Any]) -> Given:
        """Arrays that were brought into form."""
        for name in arrays:
            if name not in self._data:
                self._foreign(name)
        given = Given(arrays)
        if given.lost:
            lost = given.lost
            warned([f"`{lost}` requires gradients, and results of a program have none: `bl.torch.Module` has them; `{lost}.detach()` wants none"])
        return given

    def _foreign(self, name: str) -> None:
        """Refuses an array that is not the values of any data."""
        if name in self.parameters:
            raise Error._plain(f"`{name}` is a parameter", f"set it: `parameters[{name!r}] = array`")
        if name in self.shapes:
            raise Error._plain(f"`{name}` is computed by the program and cannot be given")
        raise unknown("the program has no data called", name, self._data)

    @property
    def _running(self) -> _broadloom.Running:
        """The session, which is made when it is first needed."""
        session = self._session
        if session is None:
            with self._lock:
                if self._session is None:
                    source = self._source
                    self._session = _broadloom.Running(self._program, source.backend, source.seed, source.threads)
                session = self._session
        return session

    def _on_one_machine(self) -> None:
        """Warns once of devices that are left out by a backend that has one."""
        left_out, self._left_out = self._left_out, None
        if left_out:
            warned([left_out])

    def __repr__(self) -> str:
        return f"<broadloom program {self.name}>"

    def _repr_html_(self) -> str:
        return self.shapes._repr_html_()

    def __reduce__(self) -> tuple[Any, ...]:
        return _read, (self._source, self._learned())

    def _learned(self) -> bytes | None:
        """Parameters and states as a safetensors file, if there are any yet: before, the seed decides them."""
        if self._session is None or not self.parameters:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "learned.safetensors")
            self.parameters.save(path)
            with open(path, "rb") as file:
                return file.read()


def _whole(name: str, value: Any, least: int) -> int:
    """An argument that is a whole number, also one of NumPy."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise Error._plain(f"`{name}` is a whole number from {least} on, not {value!r}")
    return number


def _devices(mesh: Any) -> dict[str, int]:
    """The axes of a mesh with their numbers of devices."""
    if not isinstance(mesh, Mapping):
        raise Error._plain(f"`mesh` is {mesh!r}, and not names with numbers of devices", 'write `mesh={"data": 4}`; `mesh={}` is one device')
    return {str(axis): _whole(f"mesh[{axis!r}]", count, 1) for axis, count in mesh.items()}


def _divisions(shard: Any) -> dict[str, str]:
    """Axes of tensors with the mesh axes that divide them."""
    if shard is not None and not isinstance(shard, Mapping):
        raise Error._plain(f"`shard` is {shard!r}, and not axes with the mesh axes that divide them", 'write `shard={"batch": "data"}`')
    return {str(axes): str(over) for axes, over in (shard or {}).items()}


def _read(source: _Source, learned: bytes | None) -> Program:
    """A program that was pickled."""
    if learned is not None:
        # What was learned takes the place of the weights that it began with.
        source = source._replace(weights=None)
    made = Program(**source._asdict())
    if learned is not None:
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "learned.safetensors")
            with open(path, "wb") as file:
                file.write(learned)
            made.parameters.load(path)
    return made


def program(
    text: str,
    *,
    name: str = "<program>",
    folder: str | os.PathLike[str] = ".",
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    backend: str = "auto",
    threads: int | None = None,
    weights: str | os.PathLike[str] | None = None,
    mesh: Mapping[str, int] | None = None,
    shard: Mapping[str, str] | None = None,
    fsdp: str | None = None,
) -> Program:
    """Reads a program from a text. Mistakes are one `Error`, with all of them.

    Args:
        text: The program. Indentation that all of its lines have in common, as inside of a function, is taken away.
        name: What messages call it.
        folder: Where files that it names are.
        sizes: Sizes by name, in place of those of its `dim` lines.
        seed: Decides the first values of parameters, and random numbers.
        backend: `"native"` for machine code, which needs a C compiler; `"reference"` for the slow evaluator that needs none;
            `"auto"` for the first if there is a compiler; `"xla"` for the devices of JAX, in a process of its own.
        threads: How many threads compute; by default one for each processor.
        weights: A `.safetensors` file for parameters to begin with, under the names of `load(into = net, names = …)` in the
            program.
        mesh: Devices in a grid with named axes, `{"data": 4, "model": 2}`, in place of those that the program names; `{}` is one device.
            `backend="xla"` runs it on them, and `mesh()` shows how it is divided.
        shard: The mesh axes that divide axes of tensors, `{"batch": "data", "*.heads": "model"}`, besides what the program divides.
        fsdp: The mesh axis that divides parameters and states of optimisers as well.

    >>> import broadloom as bl
    >>> p = bl.program("data x : 32 | 784\\nlet y = relu({w} @ x + {b : 64})\\n")
    >>> p.shapes["w"]
    '784 -> 64'
    """
    text = textwrap.dedent(text) if isinstance(text, str) else text
    return Program(
        text,
        name=name,
        folder=folder,
        sizes=sizes,
        seed=seed,
        backend=backend,
        threads=threads,
        weights=weights,
        mesh=mesh,
        shard=shard,
        fsdp=fsdp,
    )


def load(
    path: str | os.PathLike[str],
    *,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    backend: str = "auto",
    threads: int | None = None,
    weights: str | os.PathLike[str] | None = None,
    mesh: Mapping[str, int] | None = None,
    shard: Mapping[str, str] | None = None,
    fsdp: str | None = None,
) -> Program:
    """Reads a program from a `.loom` file. Files that it names are found beside it. See `program` for the arguments.

    >>> import broadloom as bl
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.loom")
    >>> with open(path, "w") as file:
    ...     _ = file.write("data x : 32 | 784\\nlet y = relu({w} @ x + {b : 64})\\n")
    >>> bl.load(path).shapes["w"]
    '784 -> 64'
    """
    path = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise Error._plain(f"{path} is not a text: byte {error.start} is not UTF-8") from None
    folder = os.path.dirname(path) or "."
    return Program(
        text,
        name=path,
        folder=folder,
        sizes=sizes,
        seed=seed,
        backend=backend,
        threads=threads,
        weights=weights,
        mesh=mesh,
        shard=shard,
        fsdp=fsdp,
    )
