import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { QUARANTINED } from '../../packed/guard-fields.ts';
import { waitingEvents, waitingTenants, type WaitingEvent } from '../../postgres/quarantine/read-quarantine.ts';
import { quarantineKey, shardOf } from '../../redis/keys.ts';
import type { Suspect } from './confirm.ts';
import { flushed, type Loaders } from './loader.ts';

/** The fields of a tenant's hash. */
function hashOf(events: readonly WaitingEvent[]): Map<string, string> {
  const hash = new Map<string, string>();
  for (const { userId, id, guard } of events) hash.set(userId, `${hash.get(userId) ?? ''}${id}${guard}`);
  if (events.length > 0) hash.set(QUARANTINED.count, String(events.length));
  return hash;
}

/** Loads which events wait in quarantine, of some shards. */
export async function loadQuarantine(pool: Pool, loaders: Loaders): Promise<void> {
  for (const tenantNo of await waitingTenants(pool)) {
    const loader = loaders.get(shardOf(tenantNo));
    if (loader === undefined) continue;
    const hash = hashOf(await waitingEvents(pool, tenantNo));
    await loader.addPairs(['HSET', quarantineKey(tenantNo)], [...hash].flat());
  }
  await flushed(loaders);
}

/** A tenant's hash as one text: users in any order, and of each the events in any order; null: nothing waits. */
function textOf(hash: ReadonlyMap<string, string>): string | null {
  const fields = [...hash].flatMap(([user, events]) => {
    if (user === QUARANTINED.count) return events === '0' ? [] : [`${events} in all`];
    const all = Array.from({ length: events.length / QUARANTINED.length }, (_, at) =>
      events.slice(at * QUARANTINED.length, (at + 1) * QUARANTINED.length),
    );
    return [`${user} ${all.toSorted().join()}`];
  });
  return fields.length === 0 ? null : fields.toSorted().join('; ');
}

/** What waits in a tenant's quarantine. */
export const quarantineSuspect = ({ redis, pool }: { redis: Redis; pool: Pool }, tenantNo: number): Suspect => ({
  key: quarantineKey(tenantNo),
  part: '',
  redis: async () => textOf(new Map(Object.entries(await redis.hgetall(quarantineKey(tenantNo))))),
  postgres: async () => textOf(hashOf(await waitingEvents(pool, tenantNo))),
});
