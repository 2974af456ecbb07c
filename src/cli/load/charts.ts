/** A line or an area of a chart. Points with a value of `null` are left out. */
export interface Series {
  name: string;
  /** Number of its colour, 0 to 5. */
  colour: number;
  values: readonly (number | null)[];
  area?: boolean;
}

const SIZE = { width: 440, height: 190, left: 46, right: 8, top: 8, bottom: 24 };
const PLOT = { width: SIZE.width - SIZE.left - SIZE.right, height: SIZE.height - SIZE.top - SIZE.bottom };
const TICKS = 4;

/** Text that is safe in HTML. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** A short number for an axis or a cell. */
export function short(value: number): string {
  if (value === 0) return '0';
  if (Math.abs(value) >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (Math.abs(value) >= 10_000) return `${Number((value / 1000).toPrecision(3))} k`;
  return value.toLocaleString('en', { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 });
}

/** A chart over time. `times`: of the values, seconds. */
export function timeChart(chart: {
  title: string;
  unit: string;
  times: readonly number[];
  series: readonly Series[];
}): string {
  const { title, unit, times, series } = chart;
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const top = niceTop(Math.max(...values, 0));
  const [from, to] = [times[0] ?? 0, Math.max(times.at(-1) ?? 1, (times[0] ?? 0) + 1)];
  const x = (time: number): number => SIZE.left + ((time - from) / (to - from)) * PLOT.width;
  const y = (value: number): number => SIZE.top + PLOT.height * (1 - value / top);
  const lines = series.map(({ colour, values: list, area }) => {
    const points = list.flatMap((value, at) =>
      value === null ? [] : [`${x(times[at]!).toFixed(1)},${y(value).toFixed(1)}`],
    );
    if (points.length === 0) return '';
    // A single point would be invisible.
    if (points.length === 1) points.push(points[0]!.replace(/^[^,]+/, (SIZE.width - SIZE.right).toFixed(1)));
    const base = y(0).toFixed(1);
    const [first, last] = [points[0]!.split(',')[0], points.at(-1)!.split(',')[0]];
    const filled =
      area === true
        ? `<polygon class="fill c${colour}" points="${first},${base} ${points.join(' ')} ${last},${base}"/>`
        : '';
    return `${filled}<polyline class="line c${colour}" points="${points.join(' ')}"/>`;
  });
  const xTicks = Array.from({ length: TICKS + 1 }, (_, no) => from + ((to - from) * no) / TICKS);
  const xLabels = xTicks.map((time, no) => label(x(time), { text: timeText(time), anchor: anchorOf(no) }));
  return figure({ title, unit, body: yGrid(top, y) + xLabels.join('') + lines.join(''), series });
}

/** A histogram with logarithmic classes. `bars`: lower and upper end in ms, and the number. */
export function histogramChart(chart: {
  title: string;
  unit: string;
  bars: readonly { from: number; to: number; count: number }[];
}): string {
  const { title, unit, bars } = chart;
  const top = niceTop(Math.max(...bars.map(({ count }) => count), 1));
  const y = (value: number): number => SIZE.top + PLOT.height * (1 - value / top);
  const width = PLOT.width / Math.max(1, bars.length);
  const drawn = bars.map(({ from, to, count }, no) => {
    const height = Math.max(count === 0 ? 0 : 1, SIZE.top + PLOT.height - y(count));
    const at = `x="${(SIZE.left + no * width + 0.5).toFixed(1)}" y="${(SIZE.top + PLOT.height - height).toFixed(1)}"`;
    return `<rect class="bar c0" ${at} width="${Math.max(1, width - 1).toFixed(1)}" height="${height.toFixed(1)}"><title>${short(from)} to ${short(to)} ms: ${short(count)}</title></rect>`;
  });
  // Classes that begin at 1, 2 or 5 and its multiples by ten.
  const labels = bars.flatMap(({ from }, no) =>
    /^[125](?:\.0)?e/.test(from.toExponential(1))
      ? [label(SIZE.left + no * width, { text: short(Number(from.toPrecision(1))), anchor: 'middle' })]
      : [],
  );
  return figure({ title, unit, body: yGrid(top, y) + labels.join('') + drawn.join(''), series: [] });
}

function figure(parts: { title: string; unit: string; body: string; series: readonly Series[] }): string {
  const { title, unit, body, series } = parts;
  const legend = series
    .map(({ name, colour }) => `<span class="key"><i class="c${colour}"></i>${escaped(name)}</span>`)
    .join('');
  return `<figure><figcaption><b>${escaped(title)}</b> <small>${escaped(unit)}</small> ${series.length > 1 ? legend : ''}</figcaption>
<svg viewBox="0 0 ${SIZE.width} ${SIZE.height}" role="img" aria-label="${escaped(`${title}, ${unit}`)}">${body}</svg></figure>`;
}

function yGrid(top: number, y: (value: number) => number): string {
  return Array.from({ length: TICKS + 1 }, (_, no) => {
    const value = (top * no) / TICKS;
    const at = y(value).toFixed(1);
    return `<line class="grid" x1="${SIZE.left}" x2="${SIZE.width - SIZE.right}" y1="${at}" y2="${at}"/><text x="${SIZE.left - 5}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${short(value)}</text>`;
  }).join('');
}

const label = (x: number, { text, anchor }: { text: string; anchor: string }): string =>
  `<text x="${x.toFixed(1)}" y="${SIZE.height - 6}" text-anchor="${anchor}">${text}</text>`;

const anchorOf = (tick: number): string => (tick === 0 ? 'start' : tick === TICKS ? 'end' : 'middle');

function timeText(seconds: number): string {
  if (seconds < 120) return `${short(seconds)} s`;
  return seconds < 7_200 ? `${short(seconds / 60)} min` : `${short(seconds / 3_600)} h`;
}

/** The end of an axis: a round number with four equal steps below it. */
function niceTop(most: number): number {
  if (most <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  const step = [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].find((factor) => most <= factor * unit)!;
  return step * unit;
}
