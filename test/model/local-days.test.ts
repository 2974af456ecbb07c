import { expect, test } from 'vitest';
import type { StreakSettings } from '../../src/domain/fields/tenant-settings.ts';
import { CatalogBuilder } from '../engine/catalog-builder.ts';
import { TestEngine } from '../engine/events/engine.ts';
import { testStack } from '../stack/stack.ts';
import { LaurelModel } from './laurel-model.ts';
import { opened } from '../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));
const engine = opened(() => new TestEngine(stack.redisUrl, new CatalogBuilder().catalog));

/** When an event happens, the user's zone from then on, and the streak's length and whether it was extended. */
type Act = readonly [at: string, tz: string, length: number, extended: boolean];

/** The last second of a day and the first of the next, and the same a day later. */
const around = (tz: string, first: [string, string], second: [string, string]): Act[] => [
  [first[0], tz, 1, true],
  [first[1], tz, 2, true],
  [second[0], tz, 2, false],
  [second[1], tz, 3, true],
];
const days = (tz: string, first: string, second: string): Act[] => {
  const before = (iso: string): string => new Date(Date.parse(iso) - 1_000).toISOString();
  return around(tz, [before(first), first], [before(second), second]);
};
const weekly = { frequency: 'weekly' } as const;
const monthly = { frequency: 'monthly' } as const;

const TABLE: readonly (readonly [string, Partial<StreakSettings>, readonly Act[]])[] = [
  ['the day of 23 hours, north', {}, days('Europe/Berlin', '2027-03-27T23:00:00Z', '2027-03-28T22:00:00Z')],
  ['the day of 25 hours, north', {}, days('Europe/Berlin', '2027-10-30T22:00:00Z', '2027-10-31T23:00:00Z')],
  ['the day of 23½ hours, south', {}, days('Australia/Lord_Howe', '2027-10-02T13:30:00Z', '2027-10-03T13:00:00Z')],
  ['the day of 24½ hours, south', {}, days('Australia/Lord_Howe', '2027-04-03T13:00:00Z', '2027-04-04T13:30:00Z')],
  ['the day that begins at one', {}, days('America/Santiago', '2027-09-05T04:00:00Z', '2027-09-06T03:00:00Z')],
  ['quarter hours', {}, days('Asia/Kathmandu', '2027-06-01T18:15:00Z', '2027-06-02T18:15:00Z')],
  ['quarter hours, 23 of them', {}, days('Pacific/Chatham', '2027-09-25T11:15:00Z', '2027-09-26T10:15:00Z')],
  ['half hours', {}, days('America/St_Johns', '2027-06-01T02:30:00Z', '2027-06-02T02:30:00Z')],
  ['UTC+14 at the year end', {}, days('Pacific/Kiritimati', '2027-12-31T10:00:00Z', '2028-01-01T10:00:00Z')],
  ['UTC−12 at the year end', {}, days('Etc/GMT+12', '2027-12-31T12:00:00Z', '2028-01-01T12:00:00Z')],
  ['into and out of a leap day', {}, days('UTC', '2028-02-29T00:00:00Z', '2028-03-01T00:00:00Z')],
  ['no leap day', {}, days('UTC', '2027-03-01T00:00:00Z', '2027-03-02T00:00:00Z')],
  [
    'a leap day missed',
    {},
    [
      ['2028-02-28T12:00:00Z', 'UTC', 1, true],
      ['2028-03-01T12:00:00Z', 'UTC', 1, true],
    ],
  ],
  [
    'weeks from Sunday over a year end',
    { ...weekly, weekStart: 'sunday' },
    [
      ['2027-12-31T12:00:00Z', 'UTC', 1, true],
      ['2028-01-01T23:59:59Z', 'UTC', 1, false],
      ['2028-01-02T00:00:00Z', 'UTC', 2, true],
    ],
  ],
  [
    'weeks from Monday over a year end',
    { ...weekly, weekStart: 'monday' },
    [
      ['2027-12-31T12:00:00Z', 'UTC', 1, true],
      ['2028-01-02T23:59:59Z', 'UTC', 1, false],
      ['2028-01-03T00:00:00Z', 'UTC', 2, true],
    ],
  ],
  [
    'months of every length',
    monthly,
    [
      ['2027-12-31T23:59:59Z', 'UTC', 1, true],
      ['2028-01-01T00:00:00Z', 'UTC', 2, true],
      ['2028-02-29T23:59:59Z', 'UTC', 3, true],
      ['2028-03-31T12:00:00Z', 'UTC', 4, true],
      ['2028-05-01T00:00:00Z', 'UTC', 1, true],
    ],
  ],
  [
    'months end at the local midnight',
    monthly,
    [
      ['2027-01-31T18:14:59Z', 'Asia/Kathmandu', 1, true],
      ['2027-01-31T18:15:00Z', 'Asia/Kathmandu', 2, true],
    ],
  ],
  [
    'back over the date line',
    {},
    [
      ['2027-06-09T12:00:00Z', 'Pacific/Apia', 1, true],
      ['2027-06-09T12:00:00Z', 'Pacific/Pago_Pago', 1, false],
      ['2027-06-10T12:00:00Z', 'Pacific/Pago_Pago', 1, false],
      ['2027-06-11T12:00:00Z', 'Pacific/Pago_Pago', 2, true],
    ],
  ],
  [
    'on over the date line',
    {},
    [
      ['2027-06-09T12:00:00Z', 'Pacific/Pago_Pago', 1, true],
      ['2027-06-09T12:00:01Z', 'Pacific/Apia', 1, false],
      ['2027-06-10T10:59:59Z', 'Pacific/Apia', 1, false],
      ['2027-06-10T11:00:00Z', 'Pacific/Apia', 2, true],
    ],
  ],
  [
    'on over the date line with a day still to be met',
    {},
    [
      ['2027-06-09T10:59:59Z', 'Pacific/Pago_Pago', 1, true],
      ['2027-06-10T10:59:59Z', 'Pacific/Apia', 2, true],
      ['2027-06-10T11:00:00Z', 'Pacific/Apia', 3, true],
    ],
  ],
  [
    'a month left by travelling',
    monthly,
    [
      ['2027-01-05T12:00:00Z', 'America/New_York', 1, true],
      ['2027-02-28T23:30:00Z', 'Europe/Berlin', 2, true],
      ['2027-03-31T12:00:00Z', 'Europe/Berlin', 2, false],
      ['2027-04-01T12:00:00Z', 'Europe/Berlin', 3, true],
    ],
  ],
];

let tenantNo = 100;

test.each(TABLE)('%s', async (_, settings, acts) => {
  const builder = new CatalogBuilder((tenantNo += 1));
  builder.metric('m');
  builder.streaks(settings);
  engine.catalog = builder.catalog;
  const model = new LaurelModel(builder.catalog, 0);
  for (const [at, tz, length, extended] of acts) {
    model.nowMs = Date.parse(at);
    engine.clock.set(model.nowMs);
    const user = { id: 'u', tz };
    const said = (await engine.event('m', user, 1)).currentStreak;
    expect([at, said.length, said.extended]).toEqual([at, length, extended]);
    const expected = model.event({ metricKey: 'm', user, value: 1, attributes: {}, key: null, metadata: null });
    expect(said).toEqual(expected!['currentStreak']);
  }
});
