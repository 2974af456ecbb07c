import type { Redis } from 'ioredis';
import { userKey } from '../../src/redis/keys.ts';
import type { StoredEvent } from './audit-events.ts';
import type { HttpClient } from './http.ts';
import { microsOf, microsText } from './micros.ts';
import type { Metric, ModelUser } from './model.ts';
import type { EntryPosition } from './stack.ts';
import { onlyPart } from '../stack/only-part.ts';

/** A user's rows in Postgres. */
export interface Stored {
  /** `<kind> <key>` of a resource → its number, and back. */
  numbers: Map<string, number>;
  keys: Map<number, string>;
  events: StoredEvent[];
  /** Sums by user. */
  awards: { userId: string; awarded: string }[];
  completions: { userId: string; no: number }[];
  states: Map<string, { state: Buffer; points: Record<string, number> }>;
  deadLetters: EntryPosition[];
}

const METRICS: Metric[] = ['cards', 'minutes', 'spend'];
const DAY_MS = 86_400_000;

/** Compares totals, points, completions and streak of a user in the API and in Postgres with the model. */
export async function auditUser(
  user: { id: string; model: ModelUser; app: HttpClient; redis: Redis; tenantNo: number; stored: Stored },
  differences: string[],
): Promise<void> {
  const { id, model, app, redis, tenantNo, stored } = user;
  const compare = (what: string, found: unknown, expected: unknown): void => {
    if (String(found) !== String(expected))
      differences.push(`${id}: ${what} is ${String(found)}, expected ${String(expected)}`);
  };
  const get = async <T>(path: string): Promise<T> => {
    const { status, body } = await app.read(`/v1/users/${id}/${path}`);
    if (status !== 200) throw new Error(`${id}: ${path} was answered ${status}: ${JSON.stringify(body)}`);
    return body as T;
  };
  const events = stored.events.filter(({ userId }) => userId === id);

  for (const metric of METRICS) {
    const mine = events.filter(({ metricNo }) => metricNo === stored.numbers.get(`metric ${metric}`));
    const expected = microsText(model.totals[metric]);
    compare(
      `the sum of ${metric} in Postgres`,
      microsText(mine.reduce((sum, { value }) => sum + microsOf(value), 0n)),
      expected,
    );
    compare(`the total of ${metric}`, (await get<{ current: number }>(`metrics/${metric}`)).current, expected);
    // In their stored order, each event adds its value to the previous total.
    const befores = mine.map(({ total, value }) => microsOf(total) - microsOf(value)).concat(model.totals[metric]);
    compare(
      `the chain of totals of ${metric}`,
      ordered(befores),
      ordered([0n, ...mine.map(({ total }) => microsOf(total))]),
    );
  }

  const system = stored.numbers.get('points_system xp');
  compare('points', (await get<{ total: number }>('points/xp')).total, model.points);
  compare('awards in Postgres', stored.awards.find(({ userId }) => userId === id)?.awarded ?? 0, model.points);
  compare('points in Postgres', stored.states.get(id)?.points[String(system)] ?? 0, model.points);

  const completed = (await get<{ key: string }[]>('achievements')).map(({ key }) => key);
  compare('achievements', completed.toSorted(), [...model.achieved].toSorted());
  const rows = stored.completions
    .filter(({ userId }) => userId === id)
    .map(({ no }) => stored.keys.get(no) ?? `no. ${no}`);
  compare('completions in Postgres', rows.toSorted(), [...model.achieved].toSorted());

  compare('streak', (await get<{ length: number }>('streak')).length, streakOf(events));
  const packed = await redis.getBuffer(userKey(onlyPart(tenantNo), id));
  compare('the state in Postgres', stored.states.get(id)?.state.toString('hex'), packed?.toString('hex'));
}

const ordered = (numbers: bigint[]): string => numbers.toSorted((a, b) => (a < b ? -1 : Number(a > b))).join(' ');

/** Consecutive days, up to the last one, with an event of positive value. */
function streakOf(events: readonly StoredEvent[]): number {
  const days = new Set(events.filter(({ value }) => microsOf(value) > 0n).map(({ date }) => Date.parse(date) / DAY_MS));
  const last = Math.max(...days);
  let length = 0;
  while (days.has(last - length)) length += 1;
  return length;
}
