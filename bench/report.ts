import type { Row } from './rows.ts';
import type { Target } from './targets.ts';

const COLUMNS: [string, number, (row: Row) => string][] = [
  ['events/s', 10, (row) => Math.round(row.perSecond).toLocaleString('en')],
  ['p50 ms', 8, (row) => row.p50.toFixed(1)],
  ['p99 ms', 8, (row) => row.p99.toFixed(1)],
  ['node µs', 9, (row) => row.nodeMicros.toFixed(1)],
  ['Redis µs', 9, (row) => row.redisMicros.toFixed(1)],
  ['store µs', 9, (row) => row.persistMicros.toFixed(1)],
  ['a call', 7, (row) => row.eventsPerCall.toFixed(1)],
  ['drain s', 8, (row) => row.drainSeconds.toFixed(2)],
  ['idle %', 7, (row) => (row.idle * 100).toFixed(0)],
  ['rounds', 8, (row) => `${row.kept}${row.dropped > 0 ? `−${row.dropped}` : ''}`],
];

/** The table of cases; `node µs` is CPU of the process that answers (or calls), `store µs` of worker and Postgres. */
export function tableOf(rows: readonly Row[]): string {
  const line = (cells: string[]): string =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(20) : cell.padStart(COLUMNS[at - 1]![1]))).join('');
  return [
    line(['', ...COLUMNS.map(([name]) => name)]),
    ...rows.map((row) => line([row.case, ...COLUMNS.map(([, , cell]) => cell(row))])),
  ].join('\n');
}

/** The figures beside their targets. */
export function targetTable(targets: readonly Target[]): string {
  const number = (value: number, unit: string): string =>
    `${unit === '' ? value.toFixed(2) : value.toFixed(unit === 'B' ? 0 : 1)} ${unit}`.trim();
  return targets
    .map(({ name, value, unit, target, least }) => {
      const sign = least ? '≥' : '≤';
      const verdict =
        value === null ? 'not measured' : (least ? value >= target : value <= target) ? 'reached' : 'MISSED';
      const shown = value === null ? '–' : number(value, unit);
      return `${name.padEnd(54)}${shown.padStart(10)}   ${sign} ${number(target, unit)}`.padEnd(84) + verdict;
    })
    .join('\n');
}
