import { isExpected, type Second } from './generator.ts';
import { Histogram } from './histogram.ts';
import type { RequestKind } from './scenario.ts';

/** Reports a load while it runs: one line that changes in a terminal, a line every few seconds elsewhere. */
export interface Progress {
  say(line: string): void;
  /** A load of so many seconds begins. */
  begin(seconds: number): void;
  second(second: Second): void;
  /** Other work. `total`: `null` if it is not known. */
  step(name: string, done: number, total: number | null): void;
  end(): void;
}

const BAR = 16;
const LINE_EVERY_S = 5;
const STEP_EVERY_MS = { terminal: 100, lines: 2_000 };

/** Progress on standard error, because standard output is for results. */
export function createProgress(): Progress {
  const out = process.stderr;
  const isTerminal = out.isTTY === true;
  let seconds = 0;
  let statuses: Record<string, number> = {};
  /** Figures since the last line. */
  let recent: Second[] = [];
  let isLineOpen = false;
  let steppedMs = -Infinity;
  const write = (line: string): void => {
    const width = (out.columns ?? 120) - 1;
    if (isTerminal) out.write(`\r\x1b[K${line.slice(0, width)}`);
    else out.write(`${line}\n`);
    isLineOpen = isTerminal;
  };
  const end = (): void => {
    if (isLineOpen) out.write('\r\x1b[K');
    isLineOpen = false;
  };
  return {
    say: (line) => {
      end();
      out.write(`${line}\n`);
    },
    begin: (duration) => {
      seconds = duration;
      statuses = {};
      recent = [];
    },
    second: (second) => {
      for (const [name, count] of Object.entries(second.statuses)) {
        const [kind, status] = name.split(' ') as [RequestKind, string];
        const shown = isExpected(kind, status) ? status : `${status}!`;
        statuses[shown] = (statuses[shown] ?? 0) + count;
      }
      recent.push(second);
      if (!isTerminal && recent.length < LINE_EVERY_S && second.second + 1 < seconds) return;
      write(lineOf({ second: second.second + 1, seconds, statuses, recent, bar: isTerminal }));
      recent = [];
    },
    step: (name, done, total) => {
      const nowMs = performance.now();
      const isLast = total !== null && done === total;
      if (!isLast && nowMs - steppedMs < (isTerminal ? STEP_EVERY_MS.terminal : STEP_EVERY_MS.lines)) return;
      steppedMs = nowMs;
      const of = total === null ? '' : ` of ${total.toLocaleString('en')}`;
      write(`${name}: ${done.toLocaleString('en')}${of}`);
    },
    end,
  };
}

interface Shown {
  second: number;
  seconds: number;
  statuses: Readonly<Record<string, number>>;
  recent: readonly Second[];
  bar: boolean;
}

/** A line about the latest seconds. A status with an exclamation mark is a failure. */
export function lineOf({ second, seconds, statuses, recent, bar }: Shown): string {
  const sum = (pick: (one: Second) => number): number => recent.reduce((total, one) => total + pick(one), 0);
  const latency = Histogram.of(...recent.map((one) => one.latency));
  const full = Math.min(BAR, Math.round((second / seconds) * BAR));
  const perSecond = (count: number): string => (count / recent.length).toFixed(0);
  const answers = Object.entries(statuses).map(([status, count]) => `${status} ${count.toLocaleString('en')}`);
  return [
    `${bar ? `[${'#'.repeat(full)}${'-'.repeat(BAR - full)}] ` : ''}${second}/${seconds} s`,
    `${perSecond(sum((one) => one.answered))}/s of ${perSecond(sum((one) => one.due))}`,
    `p50 ${latency.percentile(0.5).toFixed(1)} p99 ${latency.percentile(0.99).toFixed(1)} ms`,
    `queue ${recent.at(-1)!.queue}`,
    answers.join(', '),
  ].join('  ');
}
