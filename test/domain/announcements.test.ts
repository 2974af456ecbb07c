import { describe, expect, test } from 'vitest';
import {
  endAnnouncedAfter,
  endAnnouncedMs,
  startAnnouncedAfter,
  startAnnouncedMs,
} from '../../src/domain/notifications/notification.ts';
import { dateOf, dayOf } from '../../src/domain/periods.ts';
import type { RunRule } from '../../src/domain/runs.ts';

const at = (time: string): number => Date.parse(`${time}Z`);
const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
const rule = (start: string, end: string | null, runUnit: RunRule['runUnit'] = null, runInterval = 1): RunRule => ({
  start,
  end,
  runUnit,
  runInterval: runUnit && runInterval,
});
const ONCE = rule('2026-11-10', '2026-11-20');
const DAILY = rule('2026-11-10', null, 'day');
const MONTHLY = rule('2026-01-31', '2026-04-15', 'month');

test('the times', () => {
  expect(iso(startAnnouncedMs(dayOf('2026-11-10')))).toBe('2026-11-09T10:00');
  expect(iso(endAnnouncedMs(dayOf('2026-11-20')))).toBe('2026-11-21T13:00');
});

describe('the next start', () => {
  test.each([
    [ONCE, '2026-01-01T00:00', '2026-11-10'],
    [ONCE, '2026-11-09T09:59', '2026-11-10'],
    [ONCE, '2026-11-09T10:00', null],
    [ONCE, '2026-12-01T00:00', null],
    [rule('2026-11-10', null), '2026-11-09T10:00', null],
    [DAILY, '2026-11-01T10:00', '2026-11-10'],
    [DAILY, '2026-11-09T10:00', '2026-11-11'],
    [DAILY, '2026-11-12T09:59', '2026-11-13'],
    [MONTHLY, '2026-01-30T10:00', '2026-02-28'],
    [MONTHLY, '2026-02-27T10:00', '2026-03-31'],
    [MONTHLY, '2026-03-30T10:00', null],
  ])('%j after %s', (board, after, expected) => {
    const run = startAnnouncedAfter(board, at(after));
    expect(run && dateOf(run.startDay)).toBe(expected);
  });
});

describe('the next end', () => {
  test.each([
    [ONCE, '2026-01-01T00:00', '2026-11-20'],
    [ONCE, '2026-11-21T12:59', '2026-11-20'],
    [ONCE, '2026-11-21T13:00', null],
    [rule('2026-11-10', null), '2026-11-09T10:00', null],
    [DAILY, '2026-11-01T10:00', '2026-11-10'],
    [DAILY, '2026-11-11T13:00', '2026-11-11'],
    [DAILY, '2026-11-12T12:59', '2026-11-11'],
    [MONTHLY, '2026-02-28T13:00', '2026-03-30'],
    [MONTHLY, '2026-03-31T13:00', '2026-04-15'],
    [MONTHLY, '2026-04-16T13:00', null],
  ])('%j after %s', (board, after, expected) => {
    const run = endAnnouncedAfter(board, at(after));
    expect(run && dateOf(run.endDay)).toBe(expected);
  });
});
