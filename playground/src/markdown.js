// The few forms of Markdown that hovers use: fenced code, `code`, **strong**, paragraphs. Texts are never taken as HTML.

function inline(parent, text) {
  for (const part of text.split(/(`[^`]+`|\*\*[^*]+\*\*)/)) {
    if (part.startsWith("`")) parent.appendChild(document.createElement("code")).textContent = part.slice(1, -1);
    else if (part.startsWith("**")) parent.appendChild(document.createElement("strong")).textContent = part.slice(2, -2);
    else if (part) parent.append(part);
  }
}

export function fromMarkdown(text, kind) {
  const shown = document.createElement("div");
  shown.className = kind;
  for (const [at, part] of text.split(/```\w*\n/).entries()) {
    if (at % 2) {
      shown.appendChild(document.createElement("pre")).textContent = part.replace(/\n$/, "");
      continue;
    }
    for (const paragraph of part.split(/\n{2,}/))
      if (paragraph.trim()) inline(shown.appendChild(document.createElement("p")), paragraph.trim());
  }
  return shown;
}
