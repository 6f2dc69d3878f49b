// A program that goes on from the blocks above it: the engine is asked about the whole, and what it says of the last part is kept. All
// positions count units of UTF-16.

// What is known of the text behind `offset`, with positions from there. Mistakes above keep their messages and lose their places.
export function answerWithin(answer, offset) {
  const inside = ({ from }) => from >= offset;
  const moved = (range) => ({ ...range, from: range.from - offset, to: range.to - offset });
  return {
    ...answer,
    tokens: answer.tokens.filter(inside).map(moved),
    hints: answer.hints.filter(({ at }) => at > offset).map((hint) => ({ ...hint, at: hint.at - offset })),
    mistakes: answer.mistakes.map((mistake) => {
      const here = inside(mistake);
      return {
        ...(here ? moved(mistake) : mistake),
        above: !here,
        labels: here ? mistake.labels.filter(inside).map(moved) : [],
        fixes: mistake.fixes
          .filter(({ edits }) => edits.every(inside))
          .map((fix) => ({ ...fix, edits: fix.edits.map(moved) })),
      };
    }),
  };
}

// Asks an engine about blocks: the text of a question is what stands in the block.
export function engineWithin(engine, above) {
  const whole = (question) => {
    const before = above();
    const asked = { ...question, text: before + question.text };
    if (question.at !== undefined) asked.at += before.length;
    return [asked, before.length];
  };
  const placed = (kind, found, offset) => {
    if (!found || !offset) return found;
    if (kind === "edit") return answerWithin(found, offset);
    if (kind === "hover") return { ...found, from: found.from - offset, to: found.to - offset };
    return found;
  };
  return {
    async askLatest(question) {
      const [asked, offset] = whole(question);
      return placed(question.ask, await engine.askLatest(asked), offset);
    },
  };
}
