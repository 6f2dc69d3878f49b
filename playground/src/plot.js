// Curves as SVG. Colours come from the style sheet, so that they follow the theme.

const WIDTH = 640;
const HEIGHT = 240;
const MARGIN = { left: 64, right: 16, top: 28, bottom: 36 };

const escape = (text) => String(text).replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);

function round(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

// Draws curves `{ name, points: [[x, y], …] }` with a title for each axis. Points that are not finite are left out.
export function plot(curves, { x: alongX, y: alongY, label = round }) {
  const finite = curves.map((curve) => ({ ...curve, points: curve.points.filter(([, y]) => Number.isFinite(y)) }));
  const all = finite.flatMap((curve) => curve.points);
  if (all.length < 2) return "";
  const bounds = (at) => {
    const values = all.map((point) => point[at]);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return least === most ? [least - 1, most + 1] : [least, most];
  };
  const [[x0, x1], [y0, y1]] = [bounds(0), bounds(1)];
  const x = (value) => MARGIN.left + ((value - x0) / (x1 - x0)) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (value) => HEIGHT - MARGIN.bottom - ((value - y0) / (y1 - y0)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const lines = finite.map((curve, at) => {
    const path = curve.points.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`).join(" ");
    return `<polyline class="curve curve-${at % 4}" points="${path}"><title>${escape(curve.name)}</title></polyline>`;
  });
  const ticks = [y0, (y0 + y1) / 2, y1].map(
    (value) =>
      `<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${MARGIN.left - 6}" y="${y(value) + 4}" text-anchor="end">${escape(label(value))}</text>`,
  );
  const bottom = HEIGHT - MARGIN.bottom + 16;
  const ends =
    `<text x="${MARGIN.left}" y="${bottom}">${escape(round(x0))}</text>` +
    `<text x="${WIDTH - MARGIN.right}" y="${bottom}" text-anchor="end">${escape(round(x1))}</text>` +
    `<text x="${(WIDTH + MARGIN.left) / 2}" y="${bottom + 14}" text-anchor="middle">${escape(alongX)}</text>`;
  const names = finite.map((curve) => curve.name).join(", ");
  const title = `${names} by ${alongX}: from ${label(y0)} to ${label(y1)}`;
  return (
    `<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(title)}">` +
    `<text x="4" y="12">${escape(alongY)}</text>${ticks.join("")}${ends}${lines.join("")}</svg>`
  );
}
