import type { Pool } from 'pg';
import { listUsers } from '../../postgres/users/find-users.ts';
import { sampleUsers, within } from '../../postgres/users/selections.ts';

/** Whom to look at, in random order, and what a figure about them is worth for all. */
export interface Examined {
  ids: string[];
  /** `exact`: these are all; `estimate`: a random sample; `atLeast`: the first by ID, the others are not known. */
  figure: 'exact' | 'estimate' | 'atLeast';
}

/** Of more users than that a sample is looked at: 100 calls of a script, about 0.1 s of Redis in all. */
const MOST = 10_000;
/** A smaller sample says too little. */
const LEAST = 1_000;
/** Pages are drawn, not users: some more than needed, so that there are seldom too few. */
const RESERVE = 1.2;
const SAMPLING_MS = 1_000;

/** Some of a tenant's users, all where there are few. `of`: how many there are. Cost: bounded, however many users and tenants. */
export async function usersToExamine(
  pool: Pool,
  { tenantNo, of, most = MOST }: { tenantNo: number; of: number; most?: number },
): Promise<Examined> {
  if (of > most) {
    const percent = Math.min(100, (100 * RESERVE * most) / of);
    const drawn = await within(pool, SAMPLING_MS, (client) => sampleUsers(client, { tenantNo, percent }));
    if (drawn !== null && drawn.length >= Math.min(LEAST, most))
      return { ids: shuffled(drawn).slice(0, most), figure: 'estimate' };
  }
  const ids = await listUsers(pool, { tenantNo, after: null, order: 'asc', limit: most + 1, skip: 0 });
  return { ids: shuffled(ids.slice(0, most)), figure: ids.length > most ? 'atLeast' : 'exact' };
}

function shuffled(ids: string[]): string[] {
  for (let last = ids.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [ids[last], ids[other]] = [ids[other]!, ids[last]!];
  }
  return ids;
}
