import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import {
  MOST_DIFFERENCES,
  type Verification,
  type VerificationDetails,
} from '../../domain/administration/verification.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { isUniqueViolation, transaction } from '../../postgres/transaction.ts';
import {
  addVerification,
  type CountedVerification,
  listVerifications,
  readDifferences,
  readVerification,
} from '../../postgres/verifications.ts';
import { knownParts } from '../../redis/parts.ts';

/** Verifications as administrators see them; `Verifying` does the work. */
export function createVerifications(redis: Redis, pool: Pool, clock: Clock, wake: () => Promise<void>) {
  /** Starts a verification of a tenant. Throws 409 while another one of the tenant is unfinished. */
  async function create(tenantNo: number, by: Author): Promise<Verification> {
    const nowMs = clock.now();
    const job = await transaction(pool, async (client) => {
      const added = await addVerification(client, tenantNo, by.who, nowMs);
      const entry = { action: 'create', kind: 'verification', id: added.id } as const;
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
      return added;
    }).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      throw new AppError('conflict', 'Another verification is not finished: wait for it or cancel it.');
    });
    await wake();
    return shown({ ...job, differences: 0 });
  }

  /** A tenant's verifications, newest first, at most a hundred. */
  async function list(tenantNo: number): Promise<Verification[]> {
    return (await listVerifications(pool, tenantNo)).map((job) => shown(job));
  }

  /** One of them, with what it found. Throws 404. */
  async function get(tenantNo: number, id: string): Promise<VerificationDetails> {
    const job = await readVerification(pool, tenantNo, id);
    if (job === null) throw new AppError('not_found', `There is no verification with the ID '${id}'.`);
    return { ...shown(job), found: await readDifferences(pool, job) };
  }

  function shown(verification: CountedVerification): Verification {
    const { tenantNo, done, total, requested, started, finished, ...job } = verification;
    const { id, status, differences, error, requestedBy } = job;
    return {
      id,
      status,
      progress: { done, total },
      shards: knownParts(redis, tenantNo!).map(({ shard }) => shard),
      differences,
      endedEarly: differences >= MOST_DIFFERENCES,
      error,
      requestedBy,
      requested: requested.toISOString(),
      started: started?.toISOString() ?? null,
      finished: finished?.toISOString() ?? null,
    };
  }

  return { create, list, get };
}
