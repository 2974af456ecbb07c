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
export class Verifications {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly wake: () => Promise<void>;

  /** @param options.wake makes workers look for jobs */
  constructor(redis: Redis, pool: Pool, clock: Clock, wake: () => Promise<void>) {
    this.redis = redis;
    this.pool = pool;
    this.clock = clock;
    this.wake = wake;
  }

  /** Starts a verification of a tenant. Throws 409 while another one of the tenant is unfinished. */
  async create(tenantNo: number, by: Author): Promise<Verification> {
    const nowMs = this.clock.now();
    const job = await transaction(this.pool, async (client) => {
      const added = await addVerification(client, { tenantNo, requestedBy: by.who, nowMs });
      const entry = { action: 'create', kind: 'verification', id: added.id } as const;
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
      return added;
    }).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      throw new AppError('conflict', 'Another verification is not finished: wait for it or cancel it.');
    });
    await this.wake();
    return this.shown({ ...job, differences: 0 });
  }

  /** A tenant's verifications, newest first, at most a hundred. */
  async list(tenantNo: number): Promise<Verification[]> {
    return (await listVerifications(this.pool, tenantNo)).map((job) => this.shown(job));
  }

  /** One of them, with what it found. Throws 404. */
  async get(tenantNo: number, id: string): Promise<VerificationDetails> {
    const job = await readVerification(this.pool, tenantNo, id);
    if (job === null) throw new AppError('not_found', `There is no verification with the ID '${id}'.`);
    return { ...this.shown(job), found: await readDifferences(this.pool, job) };
  }

  private shown(verification: CountedVerification): Verification {
    const { tenantNo, done, total, requested, started, finished, ...job } = verification;
    const { id, status, differences, error, requestedBy } = job;
    return {
      id,
      status,
      progress: { done, total },
      shards: knownParts(this.redis, tenantNo!).map(({ shard }) => shard),
      differences,
      endedEarly: differences >= MOST_DIFFERENCES,
      error,
      requestedBy,
      requested: requested.toISOString(),
      started: started?.toISOString() ?? null,
      finished: finished?.toISOString() ?? null,
    };
  }
}
