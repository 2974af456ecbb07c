import { useEffect, useRef } from 'react';
import Plot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type CalendarUnit, dateText, number, periodText } from './format.ts';

type Colour = () => string;

const HEIGHT = 140;
const HOUR_S = 3_600;
/** Width of a label of a week or month with its margin, in pixels. */
const LABEL_WIDTH = 64;
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
/** Possible line distances for whole numbers. */
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
/** Possible line distances for minutes. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const DARK = matchMedia('(prefers-color-scheme: dark)');
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** Resolves a colour token for the canvas, which does not know custom properties. */
function colour(of: HTMLElement, token: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${token})`;
  of.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** At most some of the values, at equal distances, the last one included. */
function someOf(values: readonly number[], most: number): number[] {
  const step = Math.ceil(values.length / most);
  return values.filter((_, index) => (values.length - 1 - index) % step === 0);
}

/** Space between the pointer and the text beside it, px. */
const GAP = 8;

/** Shows a text above the pointer, within a frame; below it if there is no room. */
function putAt(
  shown: HTMLElement,
  text: string,
  { x, y, within }: { x: number; y: number; within: HTMLElement },
): void {
  shown.textContent = text;
  const [width, height] = [shown.offsetWidth, shown.offsetHeight];
  const left = Math.min(Math.max(0, x - width / 2), within.clientWidth - width);
  const top = y - height - GAP;
  shown.style.transform = `translate(${left}px, ${top < 0 ? y + 2 * GAP : top}px)`;
}

interface ChartProps {
  label: string;
  x: readonly number[];
  y: readonly number[];
  /** The values of an earlier period. */
  before?: readonly number[];
  bars?: boolean;
  /** Its values are whole numbers. */
  whole?: boolean;
  /** The calendar period of each value, unless the chart shows times of day. */
  unit?: CalendarUnit;
}

/**
 * A line or bar chart over time, with an optional dashed line for comparison. Shows the values at the pointer. `x`:
 * epoch seconds, ascending.
 */
export function Chart({ label, x, y, before, bars = false, whole = false, unit = 'day' }: ChartProps) {
  const reading = useRef<HTMLSpanElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current!;
    // Read at every drawing, since the colour scheme may change.
    const [accent, soft, line, muted] = ['--color-accent', '--color-accent-soft', '--color-line', '--color-muted'].map(
      (token) => () => colour(element, token),
    ) as [Colour, Colour, Colour, Colour];
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px system-ui' };
    const step = (x[1] ?? 0) - (x[0] ?? 0);
    const isDaily = step >= HOUR_S;
    const half = step / 2;
    const paths = bars ? Plot.paths.bars!({ size: [0.7, 24] }) : undefined;
    const plot = new Plot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 }, drag: { x: false } },
        hooks: {
          setCursor: [
            ({ cursor: { idx, left = 0, top = 0 }, over }) => {
              const at = typeof idx === 'number' ? x[idx] : undefined;
              const then = before === undefined || at === undefined ? '' : ` (${number(before[idx!]!)} before)`;
              const text =
                at === undefined
                  ? ''
                  : `${isDaily ? periodText(at * 1000, unit) : CLOCK.format(at * 1000)}: ${number(y[idx!]!)}${then}`;
              if (reading.current)
                putAt(reading.current, text, { x: over.offsetLeft + left, y: over.offsetTop + top, within: element });
            },
          ],
        },
        scales: {
          // Bars are centred on their day, so half of the first and last bar lies outside.
          ...(bars && { x: { range: (_, min, max) => [min - half, max + half] } }),
          y: { range: (_, min, max) => [Math.min(0, min), max <= 0 ? 1 : max * 1.1] },
        },
        axes: [
          {
            ...axis,
            size: 28,
            // Times of day need more room than days; no two lines are within a second.
            ...(!isDaily && { space: 90, incrs: SECONDS }),
            // Weeks and months have labels of their own, at their first days.
            ...(unit !== 'day' && { splits: ({ width }) => someOf(x, Math.max(1, Math.floor(width / LABEL_WIDTH))) }),
            values: (_, at, __, ___, apart) =>
              at.map((s) => (unit === 'day' && apart < HOUR_S ? CLOCK.format(s * 1000) : dateText(s * 1000, unit))),
          },
          {
            ...axis,
            size: 44,
            values: (_, at) => at.map((value) => SHORT.format(value)),
            ...(whole && { incrs: WHOLE }),
          },
        ],
        series: [
          {},
          {
            label,
            stroke: accent,
            fill: bars ? accent : soft,
            width: 1.5,
            ...(paths && { paths }),
            points: { show: false },
          },
          ...(before ? [{ label: 'Before', stroke: muted, dash: [4, 3], width: 1.5, points: { show: false } }] : []),
        ],
      },
      [[...x], [...y], ...(before ? [[...before]] : [])],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const redraw = (): void => plot.redraw();
    const themed = new MutationObserver(redraw);
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    DARK.addEventListener('change', redraw);
    return () => {
      resized.disconnect();
      themed.disconnect();
      DARK.removeEventListener('change', redraw);
      plot.destroy();
    };
  }, [label, x, y, before, bars, whole, unit]);
  return (
    <div className="relative min-w-0">
      <div ref={frame} role="img" aria-label={label} className="overflow-hidden" style={{ height: HEIGHT }} />
      <span
        ref={reading}
        aria-hidden
        className="pointer-events-none absolute top-0 left-0 z-10 rounded border border-line bg-raised px-1.5 py-0.5 text-xs whitespace-nowrap shadow-pop empty:hidden"
      />
    </div>
  );
}
