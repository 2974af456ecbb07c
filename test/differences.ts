import { verify, type VerifyOptions } from '../src/engine/rebuild/verify.ts';
import type { Difference } from '../src/engine/rebuild/confirmation.ts';

/** The differences between Redis and Postgres. */
export async function differencesIn({ redis, pool }: Pick<VerifyOptions, 'redis' | 'pool'>): Promise<Difference[]> {
  const differences: Difference[] = [];
  await verify({ redis, pool, onDifference: (difference) => differences.push(difference) });
  return differences;
}
