/** Measures of long work and of data. They are not in `format.ts`, which every screen loads. */
import { counted, number } from './format.ts';

const SPANS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** `3 hours`, for a number of seconds. */
export function duration(seconds: number): string {
  const [unit, size] = SPANS.find(([, length]) => seconds >= length) ?? ['second', 1];
  return counted(Math.round(seconds / size), unit);
}

/** `250 per second, 2 minutes left`; '' before the first result, no time left without a total. */
export function paceText({ done, total }: { done: number; total: number | null }, elapsedMs: number): string {
  if (done === 0 || elapsedMs <= 0) return '';
  const perSecond = (done / elapsedMs) * 1_000;
  const rate = `${number(Number(perSecond.toPrecision(2)))} per second`;
  if (total === null || done >= total) return rate;
  return `${rate}, ${duration(Math.max(1, Math.ceil((total - done) / perSecond)))} left`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `1.5 GiB`. */
export function bytes(value: number): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  const shown = value / 1_024 ** step;
  return `${number(shown < 10 ? Math.round(shown * 10) / 10 : Math.round(shown))} ${UNITS[step]!}`;
}
