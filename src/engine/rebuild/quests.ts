/** Compares the repeating achievements in users' states with their completions and events in Postgres. */
import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { CatalogIndex } from '../../catalog/catalog-index.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { decimalOfMicros, decimalText } from '../../domain/decimal.ts';
import { isQuest } from '../../domain/repeat.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { QuestProgress } from '../../rules/user.ts';
import { loadCatalog } from '../../postgres/catalog.ts';
import { completedPeriods } from '../../postgres/quests.ts';
import { inSnapshot } from '../../postgres/transaction.ts';
import { type StoredUser, storedStates } from '../../postgres/users/stored-states.ts';
import { userKey } from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import { periodSums } from '../achievements/quests.ts';
import type { Suspect } from './confirmation.ts';

interface Servers {
  redis: Redis;
  pool: Pool;
}

/** The quests of tenants, read once per verification. */
export class QuestsOfTenants {
  private readonly pool: Pool;
  private readonly known = new Map<number, Promise<{ index: CatalogIndex; quests: Achievement[] } | null>>();

  constructor(pool: Pool) {
    this.pool = pool;
  }

  of(tenantNo: number): Promise<{ index: CatalogIndex; quests: Achievement[] } | null> {
    let known = this.known.get(tenantNo);
    if (known === undefined) this.known.set(tenantNo, (known = this.read(tenantNo)));
    return known;
  }

  private async read(tenantNo: number): Promise<{ index: CatalogIndex; quests: Achievement[] } | null> {
    const catalog = await loadCatalog(this.pool, tenantNo);
    const quests = catalog?.achievements.filter(isQuest) ?? [];
    return catalog === null || quests.length === 0 ? null : { index: new CatalogIndex(catalog), quests };
  }
}

/** Users whose states seem to differ from their completions, or from the sums of their events while a quest is active. */
export async function suspectQuests(
  servers: Servers,
  tenants: QuestsOfTenants,
  users: readonly StoredUser[],
): Promise<Suspect[]> {
  const suspects: Suspect[] = [];
  for (const tenantNo of new Set(users.map((user) => user.tenantNo))) {
    const tenant = await tenants.of(tenantNo);
    if (tenant === null) continue;
    const ids = users.filter((user) => user.tenantNo === tenantNo).map(({ id }) => id);
    for (const quest of tenant.quests) {
      const { held, stored } = await inSnapshot(servers.pool, (client) => textsOf(client, tenant.index, quest, ids));
      for (const id of ids)
        if (held.get(id) !== stored.get(id)) suspects.push(questSuspect(servers, tenant.index, quest, id));
    }
  }
  return suspects;
}

function questSuspect({ redis, pool }: Servers, index: CatalogIndex, quest: Achievement, id: string): Suspect {
  const { tenantNo } = index.catalog;
  const key = userKey(knownPart(redis, tenantNo, id), id);
  return {
    key,
    part: `achievement ${quest.no}`,
    redis: async () => {
      const packed = await redis.getBuffer(key);
      return packed === null ? null : questText(decodeUser(packed).quests.get(quest.no));
    },
    postgres: async () => {
      const { stored } = await inSnapshot(pool, (client) => textsOf(client, index, quest, [id]));
      return stored.get(id) ?? null;
    },
  };
}

/** A quest in the states of some users, and as it follows from their completions and events, in words. */
async function textsOf(
  client: PoolClient,
  index: CatalogIndex,
  quest: Achievement,
  ids: readonly string[],
): Promise<{ held: Map<string, string>; stored: Map<string, string> }> {
  const { tenantNo } = index.catalog;
  const states = await storedStates(client, tenantNo, ids);
  const completed = await completedPeriods(client, tenantNo, ids, [quest.no]);
  const sums = quest.status === 'active' ? await periodSums(client, index, { quest, ids }) : null;
  const held = new Map<string, string>();
  const stored = new Map<string, string>();
  for (const [id, state] of states) {
    const own = decodeUser(state).quests.get(quest.no);
    const done = new Set(completed.filter(({ userId }) => userId === id).map(({ period }) => period));
    const periods = (own?.periods ?? []).map((each) => {
      const sum = sums === null ? each : decimalOfMicros(sums.get(id)?.get(each.period) ?? 0n);
      return { ...each, ...sum, done: done.has(each.period) };
    });
    held.set(id, questText(own));
    stored.set(id, questText({ times: done.size, periods }));
  }
  return { held, stored };
}

const questText = ({ times, periods }: QuestProgress = { times: 0, periods: [] }): string =>
  [
    `completed ${times} times`,
    ...periods.map(({ period, done, ...sum }) => `${period}: ${decimalText(sum)}${done ? ', completed' : ''}`),
  ].join('; ');
