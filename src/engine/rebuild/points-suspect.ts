import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { pointsTotals } from '../../postgres/rebuild/points-totals.ts';
import { tenantKey } from '../../redis/keys.ts';
import { totalFields } from '../../redis/points-totals.ts';
import type { Suspect } from './confirm.ts';
import type { SetMembers } from './set-members.ts';
import type { Sides } from './suspects.ts';

/**
 * The counts of a points system, where they are not what the users' states made of them a while ago (`noted`). They are compared as one,
 * since an event changes several.
 */
export async function suspectPoints(
  { redis, pool }: Pick<Sides, 'redis' | 'pool'>,
  key: string,
  noted: SetMembers,
): Promise<Suspect[]> {
  if (await noted.areCounted(key, heldCounts(redis, key))) return [];
  const { tenantNo, rest } = tenantKey(key)!;
  const held = async (): Promise<string | null> => {
    const counts = new Map<string, number>();
    for await (const piece of heldCounts(redis, key)) for (const [field, users] of piece) counts.set(field, users);
    return textOf(counts);
  };
  const wanted = async (): Promise<string | null> => {
    const counts = new Map<string, number>();
    for (const { total, users } of await pointsTotals(pool, { tenantNo, systemNo: Number(rest) }))
      for (const field of totalFields(total)) counts.set(field, (counts.get(field) ?? 0) + users);
    return textOf(counts);
  };
  return [{ key, part: '', redis: held, postgres: wanted }];
}

const AT_ONCE = 1_000;

/** In pieces: there may be as many totals as users. */
async function* heldCounts(redis: Redis, key: string): AsyncGenerator<[field: string, users: number][]> {
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', AT_ONCE);
    yield flat.flatMap((field, at) => (at % 2 === 0 ? [[field, Number(flat[at + 1])] as [string, number]] : []));
    cursor = next;
  } while (cursor !== '0');
}

/** As many counts as a person reads; the rest only as a digest. */
const LEGIBLE = 20;

/** Equal counts have equal texts; null: nobody has points. */
function textOf(counts: ReadonlyMap<string, number>): string | null {
  if (counts.size === 0) return null;
  const all = Array.from(counts, ([field, users]) => `${field}: ${users}`).toSorted();
  const text = all.slice(0, LEGIBLE).join(', ');
  if (all.length <= LEGIBLE) return text;
  return `${text}, … (${all.length} counts, ${createHash('sha1').update(all.join()).digest('hex')})`;
}
