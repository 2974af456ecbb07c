import { describe, expect, test } from 'vitest';
import {
  achievementDueMs,
  RECAP_TIMES,
  recapDays,
  REMINDER_TIMES,
} from '../../src/domain/notifications/email-times.ts';
import { momentAfter, momentToday, wallTimeMs } from '../../src/domain/zone.ts';
import { dateOf, dayOf } from '../../src/domain/periods.ts';

const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
const at = (time: string): number => Date.parse(`${time}Z`);

describe('a local time', () => {
  test.each([
    [null, '2026-03-29', 20, '2026-03-29T20:00'],
    ['Europe/Berlin', '2026-03-28', 20, '2026-03-28T19:00'],
    ['Europe/Berlin', '2026-03-29', 20, '2026-03-29T18:00'],
    ['Europe/Berlin', '2026-10-25', 20, '2026-10-25T19:00'],
    // 02:30 does not exist in spring, and exists twice in autumn.
    ['Europe/Berlin', '2026-03-29', 2.5, '2026-03-29T01:30'],
    ['Europe/Berlin', '2026-10-25', 2.5, '2026-10-25T00:30'],
    ['Asia/Kathmandu', '2026-06-01', 9, '2026-06-01T03:15'],
    ['Pacific/Kiritimati', '2026-06-01', 10, '2026-05-31T20:00'],
    ['Pacific/Pago_Pago', '2026-06-01', 10, '2026-06-01T21:00'],
    ['No/Such', '2026-06-01', 10, '2026-06-01T10:00'],
    // The clocks went forward at midnight.
    ['America/Sao_Paulo', '2018-11-04', 20, '2018-11-04T22:00'],
  ])('%s %s %d:00', (zone, date, hours, expected) => {
    expect(iso(wallTimeMs(zone, dayOf(date), hours * 60))).toBe(expected);
  });
});

describe('the next reminder', () => {
  test.each([
    ['daily', null, '2026-11-22T19:59', '2026-11-22T20:00'],
    ['daily', null, '2026-11-22T20:00', '2026-11-23T20:00'],
    ['daily', 'America/New_York', '2026-11-01T00:00', '2026-11-01T00:00'],
    ['daily', 'America/New_York', '2026-11-01T00:01', '2026-11-02T01:00'],
    ['daily', 'Pacific/Apia', '2011-12-29T12:00', '2011-12-30T06:00'],
    ['weekly', 'Europe/Berlin', '2026-11-22T12:00', '2026-11-27T08:00'],
    ['weekly', 'Europe/Berlin', '2026-11-27T08:00', '2026-12-04T08:00'],
    ['monthly', 'Europe/Berlin', '2026-02-25T08:00', '2026-03-25T08:00'],
    ['monthly', 'Europe/Berlin', '2026-03-25T08:00', '2026-04-25T07:00'],
    ['monthly', 'Asia/Tokyo', '2026-11-24T23:59', '2026-11-25T00:00'],
  ] as const)('%s in %s after %s', (frequency, zone, after, expected) => {
    // One ms earlier, so that the next reminder after that moment is the expected one.
    const afterMs = at(after) - (after === expected ? 1 : 0);
    expect(iso(momentAfter(REMINDER_TIMES[frequency], zone, afterMs).atMs)).toBe(expected);
  });

  test('of a day, only once it is over', () => {
    const time = REMINDER_TIMES.daily;
    expect(momentToday(time, 'Asia/Tokyo', at('2026-11-22T10:59'))).toBeNull();
    expect(momentToday(time, 'Asia/Tokyo', at('2026-11-22T11:00'))).toEqual({
      atMs: at('2026-11-22T11:00'),
      day: dayOf('2026-11-22'),
    });
    expect(momentToday(time, 'Asia/Tokyo', at('2026-11-22T15:00'))).toBeNull();
    expect(momentToday(REMINDER_TIMES.weekly, null, at('2026-11-26T20:00'))).toBeNull();
  });
});

describe('recaps', () => {
  test.each([
    ['weekly', '2026-11-22T12:00', '2026-11-23T08:00', '2026-11-16', '2026-11-22'],
    ['monthly', '2026-11-22T12:00', '2026-12-01T08:00', '2026-11-01', '2026-11-30'],
    ['monthly', '2026-12-31T12:00', '2027-01-01T08:00', '2026-12-01', '2026-12-31'],
    ['monthly', '2028-02-10T12:00', '2028-03-01T08:00', '2028-02-01', '2028-02-29'],
  ] as const)('%s after %s', (aggregation, after, due, from, to) => {
    const { atMs, day } = momentAfter(RECAP_TIMES[aggregation], 'Europe/Berlin', at(after));
    expect(iso(atMs)).toBe(due);
    const { fromDay, toDay } = recapDays(aggregation, day);
    expect([dateOf(fromDay), dateOf(toDay)]).toEqual([from, to]);
  });
});

describe('an achievement completed', () => {
  test.each([
    ['Europe/Berlin', '2026-11-22T03:00', '2026-11-22T16:00'],
    ['Europe/Berlin', '2026-11-22T15:59', '2026-11-22T16:00'],
    ['Europe/Berlin', '2026-11-22T16:00', '2026-11-22T16:00'],
    ['Europe/Berlin', '2026-11-22T18:30', '2026-11-22T18:30'],
    ['Europe/Berlin', '2026-11-22T20:00', '2026-11-22T20:00'],
    ['Europe/Berlin', '2026-11-22T20:01', '2026-11-23T16:00'],
    ['Europe/Berlin', '2026-10-24T20:01', '2026-10-25T16:00'],
    [null, '2026-11-22T22:00', '2026-11-23T17:00'],
    ['Asia/Tokyo', '2026-11-22T08:30', '2026-11-22T08:30'],
  ])('in %s at %s', (zone, completed, due) => {
    expect(iso(achievementDueMs(zone, at(completed)))).toBe(due);
  });
});
