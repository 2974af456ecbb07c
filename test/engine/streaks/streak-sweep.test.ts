import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StreakSettings } from '../../../src/domain/fields/tenant-settings.ts';
import { DAY_MS } from '../../../src/domain/periods.ts';
import { replaceStreaks } from '../../../src/domain/streaks/streak-settings.ts';
import { dayIn, dayStartMs } from '../../../src/domain/zone.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import type { StreakChange } from '../../../src/rules/streak-changes.ts';
import { createStreakAdmin } from '../../../src/engine/streaks/streak-admin.ts';
import { createStreakReads } from '../../../src/engine/streaks/streak-reads.ts';
import { StreakSweep } from '../../../src/engine/streaks/streak-sweep.ts';
import { SHARDS } from '../../../src/redis/keys.ts';
import { testDatabase } from '../../postgres/database.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestUsers } from '../users/test-users.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

const ZONES = [
  'UTC',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Europe/Berlin',
  'Pacific/Apia',
];
/** Those above, at which something may go wrong, as often as all the others together. */
const zone = fc.oneof(fc.constantFrom(...ZONES), fc.constantFrom(...Intl.supportedValuesOf('timeZone')));
const USERS = ['a', 'b', 'c'];

/** The same tenant twice on one Redis: one is swept, the other, of the same shard, never. */
class Twins {
  readonly swept: TestUsers;
  readonly left: TestUsers;
  readonly sweep: StreakSweep;

  constructor(settings: Partial<StreakSettings>) {
    const builder = new CatalogBuilder();
    builder.metric('m');
    builder.leaderboard('days', 'streak', { start: '2020-01-01' });
    builder.streaks(settings);
    const { redisUrl } = database.stack;
    this.swept = new TestUsers(redisUrl, { ...builder.catalog, tenantNo: 0 });
    this.left = new TestUsers(redisUrl, { ...builder.catalog, tenantNo: SHARDS });
    this.sweep = new StreakSweep({
      redis: this.swept.redis,
      pool: database.pool,
      catalogs: { of: () => this.swept.compiled(), atLeast: async () => undefined },
      onWritten: () => undefined,
      usersACall: 2,
    });
  }

  get both(): TestUsers[] {
    return [this.swept, this.left];
  }

  at(ms: number): void {
    for (const { clock } of this.both) clock.set(ms);
  }

  persist = () => new Persister({ redis: this.swept.redis, pool: database.pool }).drain(0, AbortSignal.abort());

  /** Like the schedule. */
  async sweepUpTo(ms: number): Promise<void> {
    await this.persist();
    for (;;) {
      const due = await this.sweep.due(ms);
      if (due === null) break;
      await this.sweep.perform(due, new AbortController().signal, ms + 1);
    }
    await this.persist();
  }

  change = (engine: TestUsers, user: string, change: StreakChange) =>
    createStreakAdmin({
      pool: database.pool,
      users: engine.users,
      scripts: engine.scripts,
      isStored: async () => false,
      clock: engine.clock,
      recordAudit: async () => undefined,
      persisted: async () => undefined,
    }).change(engine.compiled(), user, change);

  async streaks(engine: TestUsers, periods: number): Promise<unknown[]> {
    const reads = createStreakReads(engine.redis, database.pool, engine.users, engine.clock);
    return Promise.all(
      USERS.map((user) => reads.ofUser(engine.compiled(), user, periods).catch((error: Error) => error.message)),
    );
  }

  async close(): Promise<void> {
    await this.left.redis.quit();
    await this.swept.close();
  }
}

async function withTwins(settings: Partial<StreakSettings>, run: (twins: Twins) => Promise<void>): Promise<void> {
  const twins = new Twins(settings);
  try {
    await database.pool.query(
      'TRUNCATE users, events, awards, completions, streak_changes, streak_pauses, streak_zones, outbox_cursors',
    );
    await Promise.all(twins.both.map((engine) => engine.ready()));
    await run(twins);
  } finally {
    await twins.close();
  }
}

const frequency = fc.constantFrom('daily' as const, 'daily' as const, 'weekly' as const, 'monthly' as const);
const weekStart = fc.constantFrom('sunday' as const, 'monday' as const);
const freezes = fc.constantFrom(
  { enabled: false, initial: 0, max: 0, autoEarnInterval: null, autoEarnAmount: null },
  { enabled: true, initial: 2, max: 3, autoEarnInterval: null, autoEarnAmount: null },
  { enabled: true, initial: 0, max: 2, autoEarnInterval: 3, autoEarnAmount: 1 },
);

/** Days off of daily streaks, as weekdays. */
const daysOff = fc.oneof(
  fc.constantFrom<number[]>([], [0, 6], [1, 2, 3, 4, 5, 6]),
  fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { maxLength: 6 }),
);

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 100, max: 1000 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('act' as const), user: fc.constantFrom(...USERS) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('move' as const),
      user: fc.constantFrom(...USERS),
      tz: zone,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), user: fc.constantFrom(...USERS) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pause' as const),
      user: fc.constantFrom(...USERS),
      in: fc.integer({ min: 0, max: 6 }),
      days: fc.integer({ min: 0, max: 40 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settings' as const), frequency, weekStart, freezes, daysOff }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const), user: fc.constantFrom(...USERS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prefer' as const), user: fc.constantFrom(...USERS), daysOff }) },
);

const random = fc.record({
  frequency,
  weekStart,
  freezes,
  daysOff,
  homes: fc.tuple(zone, zone, zone),
  startDay: fc.integer({ min: 20_500, max: 21_200 }),
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
});

/** Only daily streaks have days off. */
const keptRules = <S extends Pick<StreakSettings, 'frequency' | 'daysOff'>>(settings: S): S => ({
  ...settings,
  personalization: true,
  daysOff: settings.frequency === 'daily' ? settings.daysOff.toSorted((a, b) => a - b) : [],
});

const RUNS = Number(process.env['RUNS'] ?? 20);

test('swept early, late or never, the answers are the same', { timeout: 300_000 + RUNS * 10_000 }, () =>
  fc.assert(
    fc.asyncProperty(random, ({ homes, startDay, steps, ...settings }) =>
      withTwins(keptRules(settings), async (twins) => {
        let nowMs = startDay * DAY_MS;
        twins.at(nowMs);
        for (const engine of twins.both) {
          for (const [index, id] of USERS.entries()) await engine.event('m', { id, tz: homes[index]! }, 1);
        }
        for (const [index, each] of steps.entries()) {
          const id = String(index + 1).padStart(32, '0');
          if (each.do === 'wait') twins.at((nowMs += each.hours * 3_600_000));
          else if (each.do === 'sweep') await twins.sweepUpTo(nowMs);
          else if (each.do === 'settings') {
            for (const engine of twins.both) {
              const { streaks } = engine.catalog;
              const { do: _, ...changed } = each;
              engine.catalog = replaceStreaks(engine.catalog, { ...streaks, ...keptRules(changed) }, nowMs);
            }
          } else {
            const said = await Promise.all(
              twins.both.map(async (engine) => {
                if (each.do === 'act') return (await engine.event('m', each.user, 1)).currentStreak;
                if (each.do === 'move')
                  return (await engine.event('m', { id: each.user, tz: each.tz }, 0)).currentStreak;
                if (each.do === 'prefer') {
                  const isDaily = engine.catalog.streaks.frequency === 'daily';
                  const streak = isDaily ? { daysOff: each.daysOff } : {};
                  return engine.profiles.updatePreferences(engine.compiled(), each.user, { streak });
                }
                if (each.do === 'reset') return twins.change(engine, each.user, { kind: 'reset' });
                if (each.do === 'freeze') {
                  return twins.change(engine, each.user, { kind: 'freeze', max: engine.catalog.streaks.freezes.max });
                }
                const today = dayIn((await engine.users.state(engine.catalog.tenantNo, each.user)).zone, nowMs);
                const from = today + each.in;
                return twins.change(engine, each.user, { kind: 'pause', pause: { from, to: from + each.days, id } });
              }),
            );
            expect(said[0]).toEqual(said[1]);
          }
          expect(await twins.streaks(twins.swept, 0)).toEqual(await twins.streaks(twins.left, 0));
        }
        await twins.persist();
        expect(await twins.streaks(twins.swept, 60)).toEqual(await twins.streaks(twins.left, 60));
        await twins.sweepUpTo(nowMs);
        expect(await twins.streaks(twins.swept, 60)).toEqual(await twins.streaks(twins.left, 60));
        // In another frequency a leaderboard shows its streaks when it is filled again.
        if (steps.some((each) => each.do === 'settings' && each.frequency !== settings.frequency)) return;
        // A sweep settles: the leaderboard agrees with a read.
        const board = await twins.swept.redis.keys('*:b:*');
        const own = board.find((key) => key.startsWith('{s0}:0:'));
        const scores = new Map<string, number>();
        const flat = own === undefined ? [] : await twins.swept.redis.zrange(own, '0', '-1', 'WITHSCORES');
        for (let at = 0; at < flat.length; at += 2) scores.set(flat[at]!, Number(flat[at + 1]));
        const streaks = (await twins.streaks(twins.swept, 0)) as { length: number }[];
        expect(USERS.map((user) => scores.get(user) ?? 0)).toEqual(streaks.map(({ length }) => length));
      }),
    ),
    { numRuns: RUNS },
  ),
);

test.each([
  ['Asia/Kathmandu', '2026-03-02', '2026-03-01T18:15:00Z'],
  ['Pacific/Chatham', '2026-04-05', '2026-04-04T10:15:00Z'],
  ['Pacific/Kiritimati', '2026-03-02', '2026-03-01T10:00:00Z'],
  ['Etc/GMT+12', '2026-03-02', '2026-03-02T12:00:00Z'],
  ['America/New_York', '2026-03-09', '2026-03-09T04:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-06', '2026-04-05T13:30:00Z'],
  // The day begins at 01:00 if midnight does not exist.
  ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00Z'],
  // A day that does not exist begins with the one after it.
  ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00Z'],
  ['No/Where', '2026-03-02', '2026-03-02T00:00:00Z'],
])('%s: %s begins at %s', (zone, date, instant) => {
  expect(new Date(dayStartMs(zone, Date.parse(date) / DAY_MS)).toISOString()).toBe(new Date(instant).toISOString());
});
