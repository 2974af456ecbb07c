import type { Redis } from 'ioredis';
import { systemClock } from '../../src/clock.ts';
import { DEMO } from '../../src/catalog/demo.ts';
import type { Catalog } from '../../src/domain/catalog.ts';
import type { Configuration, ConfiguredAchievement, ConfiguredLeaderboard } from '../../src/domain/configuration.ts';
import { DAY_MS } from '../../src/domain/periods.ts';
import { eventId } from '../../src/engine/ids.ts';
import { changeUserBalance } from '../../src/engine/changes/balance-change.ts';
import { Scripts } from '../../src/engine/scripts.ts';
import { KIND, kindField } from '../../src/packed/record-fields.ts';

/** The demo with one feature more. */
export interface Feature {
  name: string;
  configuration: Configuration;
  /** Each user has spent points and holds others. Without that, `spendableByUsers` and `expiresAfterDays` are not in the plan. */
  spends?: true;
}

const withAchievement = (fields: Partial<ConfiguredAchievement>): Configuration => ({
  ...DEMO,
  achievements: DEMO.achievements!.map((one) => (one.key === 'card-shark' ? { ...one, ...fields } : one)),
});

const withBoard = (fields: Partial<ConfiguredLeaderboard>): Configuration => ({
  ...DEMO,
  leaderboards: DEMO.leaderboards!.map((one) => (one.key === 'flips-of-the-week' ? { ...one, ...fields } : one)),
});

/** Each changes an achievement, a leaderboard or the points system that the demo has anyway. */
export const FEATURES: readonly Feature[] = [
  { name: 'none', configuration: DEMO },
  { name: 'a daily quest', configuration: withAchievement({ repeat: 'daily', metricValue: 10 }) },
  { name: 'a season', configuration: withAchievement({ startDate: '2025-01-01', endDate: '2099-12-31' }) },
  { name: 'requires', configuration: withAchievement({ requiresKeys: ['first-flip'] }) },
  { name: 'spent and expired points', configuration: DEMO, spends: true },
  { name: 'a board of highest values', configuration: withBoard({ aggregate: 'max' }) },
  { name: 'a board of latest values', configuration: withBoard({ aggregate: 'last' }) },
  { name: 'a board of lowest sums', configuration: withBoard({ order: 'ascending' }) },
  { name: 'a board of sums with ties by time', configuration: withBoard({ ties: 'first' }) },
  { name: 'teams', configuration: withBoard({ teamAttributeKey: 'country' }) },
];

/** Every user (see `EventMaker`) spends a point of the only points system and holds another for a day. */
export async function spendPoints(redis: Redis, { tenantNo, pointsSystems }: Catalog, users: number): Promise<void> {
  const scripts = new Scripts({ redis, clock: systemClock, onWritten: () => undefined });
  const nowMs = systemClock.now();
  const of = { system: pointsSystems[0]!.no, amount: 1 };
  const movements = [{ kind: 'spend', ...of } as const, { kind: 'hold', ...of, expiresInMs: DAY_MS } as const];
  for (let userNo = 0; userNo < users; userNo += 1) {
    for (const movement of movements) {
      const call = { userId: `user-${userNo}`, id: eventId(nowMs), movement, nowMs };
      const { reply } = await changeUserBalance(scripts, tenantNo, call);
      if (reply[kindField] !== KIND.user) throw new Error(`No points were spent: ${JSON.stringify(reply)}`);
    }
  }
}
