import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/author.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import {
  type DeadLetter,
  deleteLetters,
  type LetterQuery,
  listLetters,
  noteStored,
  noteTried,
  readLetter,
  type WholeDeadLetter,
} from '../../postgres/corrections/dead-letters.ts';
import { awaitCursor } from '../../postgres/shards.ts';
import { transaction } from '../../postgres/transaction.ts';
import { forgetEntry, keptEntry } from '../../redis/kept-entries.ts';
import { readEntry, unpackFields } from '../../redis/outbox-entry.ts';
import type { Reporter } from '../notifications/reporter.ts';
import { reportable } from '../persist/store-parts.ts';
import type { Reports } from '../persist/store-report.ts';
import { storeAgain } from './store-again.ts';

export interface DeadLettersOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  /** Reports what is stored after all. */
  reporter?: Reporter;
  /** Says that a shard's persister may have given way to a retry. */
  onRetried: (shard: number) => void;
}

/** Entries of the outbox that were set aside (`persist/set-aside.ts`): what an administrator does about them. */
export class DeadLetters {
  private readonly options: DeadLettersOptions;

  constructor(options: DeadLettersOptions) {
    this.options = options;
  }

  /** Some of them, oldest first. */
  list(query: LetterQuery): Promise<DeadLetter[]> {
    return listLetters(this.options.pool, query);
  }

  /** One, with the fields of its entry as they were in the outbox; null fields: they are there no more. 404. */
  async show(id: string): Promise<{ letter: DeadLetter; fields: Buffer[] | null }> {
    const letter = await readLetter(this.options.pool, id);
    if (letter === null) throw noLetter();
    return { letter, fields: await this.fieldsOf(letter) };
  }

  /**
   * Stores what was not stored of an entry, as far as it can be now: see `store-again.ts`. One transaction, under the lock
   * of the shard's cursor, so that no entry is stored meanwhile. What is stored already is not stored again, and one that
   * is stored wholly stays as it is. 404; 422 where the entry's bytes are lost. `by`: who asked.
   */
  async retry(id: string, by: Author): Promise<DeadLetter> {
    const { pool, redis, onRetried } = this.options;
    const before = await readLetter(pool, id);
    if (before === null) throw noLetter();
    if (before.status === 'stored') return before;
    const { shard, position } = before;
    const reports = await this.reportsOf(before);
    const after = await transaction(pool, async (client) => {
      await awaitCursor(client, shard);
      const letter = await readLetter(client, id);
      if (letter === null) throw noLetter();
      if (letter.status === 'stored') return letter;
      const fields = await this.fieldsOf(letter);
      if (fields === null) throw new AppError('unprocessable', 'The bytes of this entry are lost: Redis kept them');
      const failed = await storeAgain(client, redis, { letter, fields, reports });
      await (failed.length === 0 ? noteStored(client, id) : noteTried(client, id, failed));
      await this.note(client, by, [{ action: 'update', letter }]);
      return readLetter(client, id);
    });
    if (before.inRedis && after?.status === 'stored') await forgetEntry(redis, shard, position);
    onRetried(shard);
    return after!;
  }

  /** Removes some for good, whatever they hold; the IDs of those that there were. */
  async drop(ids: string[], by: Author): Promise<string[]> {
    const { pool, redis } = this.options;
    const dropped = await transaction(pool, async (client) => {
      const letters = await deleteLetters(client, ids);
      await this.note(
        client,
        by,
        letters.map((letter) => ({ action: 'delete' as const, letter })),
      );
      return letters;
    });
    for (const { shard, position, inRedis } of dropped) if (inRedis) await forgetEntry(redis, shard, position);
    return dropped.map(({ id }) => id);
  }

  private async fieldsOf({ entry, inRedis, shard, position }: WholeDeadLetter): Promise<Buffer[] | null> {
    const packed = inRedis ? await keptEntry(this.options.redis, shard, position) : entry;
    return packed && unpackFields(packed);
  }

  private async reportsOf(letter: WholeDeadLetter): Promise<Reports | undefined> {
    const { reporter } = this.options;
    const fields = reporter && (await this.fieldsOf(letter));
    if (reporter === undefined || fields === null || fields === undefined) return undefined;
    await reporter.refresh();
    return { reporter, reporting: await reporter.prepare(reportable(readEntry(fields))) };
  }

  private async note(
    client: PoolClient,
    by: Author,
    done: { action: 'update' | 'delete'; letter: { id: string; position: string } }[],
  ): Promise<void> {
    await writeAudit(client, {
      tenantNo: null,
      nowMs: this.options.clock.now(),
      by,
      entries: done.map(({ action, letter: { id, position } }) => ({ action, kind: 'deadLetter', id, name: position })),
    });
  }
}

const noLetter = (): AppError => new AppError('not_found', 'There is no dead letter with this ID');
