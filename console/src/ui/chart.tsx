import { useEffect, useRef } from 'react';
import Plot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { number } from './format.ts';

const HEIGHT = 140;
const HOUR_S = 3_600;
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
/** Distances of lines of a chart of whole numbers. */
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
/** Distances of lines of a chart over minutes. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** The colour of a token as the canvas needs it: it knows nothing of custom properties. */
function colour(of: HTMLElement, token: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${token})`;
  of.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** A line or bars over time, and a dashed line to compare with; what is pointed at is said in figures. `x`: epoch seconds, ascending. */
export function Chart({
  label,
  x,
  y,
  before,
  bars = false,
  whole = false,
}: {
  label: string;
  x: readonly number[];
  y: readonly number[];
  /** The same of an earlier time. */
  before?: readonly number[];
  bars?: boolean;
  /** Its values are whole numbers. */
  whole?: boolean;
}) {
  const reading = useRef<HTMLSpanElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current!;
    const [accent, soft, line, muted] = ['--color-accent', '--color-accent-soft', '--color-line', '--color-muted'].map(
      (token) => colour(element, token),
    ) as [string, string, string, string];
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
            ({ cursor: { idx } }) => {
              const at = typeof idx === 'number' ? x[idx] : undefined;
              const then = before === undefined || at === undefined ? '' : ` (${number(before[idx!]!)} before)`;
              const text =
                at === undefined ? '' : `${(isDaily ? DAY : CLOCK).format(at * 1000)}: ${number(y[idx!]!)}${then}`;
              if (reading.current) reading.current.textContent = text;
            },
          ],
        },
        scales: {
          // Bars stand around their day: half of the first and last one is beyond it.
          ...(bars && { x: { range: (_, min, max) => [min - half, max + half] } }),
          y: { range: (_, min, max) => [Math.min(0, min), max <= 0 ? 1 : max * 1.1] },
        },
        axes: [
          {
            ...axis,
            size: 28,
            // Moments of a day take more room than days, and no two lines stand within a second.
            ...(!isDaily && { space: 90, incrs: SECONDS }),
            values: (_, at, __, ___, apart) => at.map((s) => (apart < HOUR_S ? CLOCK : DAY).format(s * 1000)),
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
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [label, x, y, before, bars, whole]);
  return (
    <div className="relative min-w-0">
      <div ref={frame} role="img" aria-label={label} className="overflow-hidden" style={{ height: HEIGHT }} />
      <span
        ref={reading}
        aria-hidden
        className="pointer-events-none absolute top-0 right-0 rounded bg-raised px-1 text-xs empty:hidden"
      />
    </div>
  );
}
