import { setTimeout as sleep } from 'node:timers/promises';
import { encodeUser } from '../src/rules/user-codec.ts';
import { newUser, type Streak } from '../src/rules/user.ts';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { DAY_MS, type Frequency, periodOf } from '../src/domain/periods.ts';
import { dayIn, zoneOffset } from '../src/domain/zone.ts';
import { bytesOf, textsOf } from '../src/postgres/row-text.ts';
import { userKey } from '../src/redis/keys.ts';
import { onlyPart } from '../test/stack/only-part.ts';

/** The zone of the users whose day ends; the load's users live elsewhere. */
const ZONE = 'Pacific/Kiritimati';
const TENANT = 0;
const AT_ONCE = 5_000;
const LOOK_MS = 50;
const PATIENCE_MS = 600_000;

/** Creates users (or resets those of an earlier call), each with a streak of three days that ends when today begins in their
 * zone. Nothing happens to them before `beginMidnight`. `nowMs`: any time of that day.
 */
export async function loadMidnight(options: { redis: Redis; pool: Pool; users: number; nowMs: number }): Promise<void> {
  const { redis, pool, users, nowMs } = options;
  const today = dayIn(ZONE, nowMs);
  for (let from = 0; from < users; from += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, users - from) }, (_, index) => `sleeper-${from + index}`);
    const states = ids.map((id) => stateOf(id, today));
    await redis.mset(ids.flatMap((id, index) => [userKey(onlyPart(TENANT), id), states[index]!]));
    await pool.query(
      `INSERT INTO users (tenant_no, id, created, state, attributes, points, zone, due_day)
       SELECT $1, id, now(), state, '{}', '{}', $2, $3 FROM unnest($4::text[], $5::bytea[]) AS made (id, state)
       ON CONFLICT (tenant_no, id) DO UPDATE SET state = EXCLUDED.state, due_day = EXCLUDED.due_day`,
      [TENANT, ZONE, today, textsOf(ids), bytesOf(states)],
    );
  }
  await pool.query('VACUUM ANALYZE users');
}

/** A user of some weeks whose last event was the day before yesterday. */
function stateOf(id: string, today: number): Buffer {
  const lastDay = today - 2;
  const { offsetSeconds, untilMs } = zoneOffset(ZONE, today * DAY_MS)!;
  const streak = (frequency: Frequency): Streak => {
    const last = periodOf(lastDay, frequency, 'monday');
    return {
      length: 3,
      startDay: lastDay - 2,
      lastPeriod: last,
      extendedMs: lastDay * DAY_MS,
      currentPeriod: last,
      sums: new Map(),
    };
  };
  return encodeUser({
    ...newUser((today - 40) * DAY_MS, { freezes: 0, generation: null }),
    updatedMs: lastDay * DAY_MS,
    name: `Name of ${id}`,
    zone: ZONE,
    offsetSeconds,
    offsetUntilMs: untilMs,
    totals: new Map([
      [1, { whole: 120, micros: 0, peak: null }],
      [2, { whole: 7, micros: 500_000, peak: null }],
      [3, { whole: 33, micros: 0, peak: null }],
    ]),
    streaks: { daily: streak('daily'), weekly: streak('weekly'), monthly: streak('monthly') },
    points: new Map([[10, 250]]),
    completions: new Map([
      [20, (today - 30) * DAY_MS],
      [21, (today - 20) * DAY_MS],
    ]),
  });
}

/** Makes the zone's midnight due: the next pass of a schedule sweeps it. `nowMs`: as when they were loaded. */
export async function beginMidnight(pool: Pool, nowMs: number): Promise<void> {
  await pool.query(
    `INSERT INTO streak_zones (tenant_no, zone, swept_day) VALUES ($1, $2, $3)
     ON CONFLICT (tenant_no, zone) DO UPDATE SET swept_day = EXCLUDED.swept_day, last_user = ''`,
    [TENANT, ZONE, dayIn(ZONE, nowMs) - 1],
  );
}

/** Waits until the sweep has begun, or is over. Throws after ten minutes. */
export async function untilMidnight(pool: Pool, nowMs: number, state: 'begun' | 'over'): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { rows } = await pool.query<{ sweptDay: number; lastUser: string }>(
      'SELECT swept_day AS "sweptDay", last_user AS "lastUser" FROM streak_zones WHERE tenant_no = $1 AND zone = $2',
      [TENANT, ZONE],
    );
    const zone = rows[0];
    if (zone !== undefined && zone.sweptDay >= dayIn(ZONE, nowMs)) return;
    if (zone !== undefined && zone.lastUser !== '' && state === 'begun') return;
    if (performance.now() > deadline)
      throw new Error(`The sweep of ${ZONE} has not ${state === 'begun' ? 'begun' : 'ended'}.`);
    await sleep(LOOK_MS);
  }
}
