import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { FailedPart, ShownDeadLetter } from '../../domain/administration/dead-letters.ts';
import { AppError } from '../../errors.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, UncheckedRecord } from '../../packed/record.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { namedState } from '../../packed/unpack-state.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import {
  type DeadLetter,
  deleteLetters,
  lettersAbout,
  type LetterQuery,
  listLetters,
  noteOwed,
  noteStored,
  noteTried,
  positionsOwed,
  readLetter,
  supersededUsers,
  type WholeDeadLetter,
} from '../../postgres/corrections/dead-letters.ts';
import { awaitCursors } from '../../postgres/shards.ts';
import { transaction } from '../../postgres/transaction.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import {
  bytesAside,
  comparePositions,
  forgetEntry,
  readEntry,
  type ReadEntry,
  type ReadRecord,
  unpackFields,
} from '../../redis/outbox.ts';
import type { Reporter } from '../notifications/reporter.ts';
import { attempt, type Reports, userOf } from './batch-transaction.ts';
import { reportable, storeParts, type WantedParts } from './refused-entries.ts';

interface DeadLettersOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  reporter?: Reporter;
  /** Called when a shard's persister may have given way to a retry. */
  onRetried: (shard: number) => void;
}

/** Dead letters: outbox entries that were set aside (`refused-entries.ts`). Administrators list, retry and drop them. */
export function createDeadLetters({ pool, redis, clock, onRetried, reporter }: DeadLettersOptions) {
  /** Some of them, oldest first. */
  function list(query: LetterQuery): Promise<DeadLetter[]> {
    return listLetters(pool, query);
  }

  /** One of them, with the fields of its outbox entry; `fields` is `null` if they are lost. Throws 404. */
  async function show(id: string): Promise<{ letter: DeadLetter; fields: Buffer[] | null }> {
    const letter = await readLetter(pool, id);
    if (letter === null) throw noLetter();
    return { letter, fields: await fieldsOf(letter) };
  }

  /**
   * Stores the missing parts of an entry as far as possible (`storeAgain`). Runs in one transaction under the lock of
   * the shard's cursor, so that no entry is stored meanwhile. Idempotent: stored parts are not stored again, and a
   * fully stored letter stays unchanged. Throws 404, or 422 if the entry's bytes are lost. `by`: who asked.
   */
  async function retry(id: string, by: Author): Promise<DeadLetter> {
    const before = await readLetter(pool, id);
    if (before === null) throw noLetter();
    if (before.status === 'stored') return before;
    const { shard, position } = before;
    const reports = await reportsOf(before);
    const after = await transaction(pool, async (client) => {
      await awaitCursors(client, [shard]);
      const letter = await readLetter(client, id);
      if (letter === null) throw noLetter();
      if (letter.status === 'stored') return letter;
      const fields = await fieldsOf(letter);
      if (fields === null) throw new AppError('unprocessable', 'The bytes of this entry are lost: Redis kept them');
      const failed = await storeAgain(client, redis, { letter, fields, reports });
      await (failed.length === 0 ? noteStored(client, id) : noteTried(client, id, failed));
      await note(client, by, [{ action: 'update', letter }]);
      return readLetter(client, id);
    });
    if (before.inRedis && after?.status === 'stored') await forgetEntry(redis, shard, position);
    onRetried(shard);
    return after!;
  }

  /** Deletes some for good, regardless of their contents. Returns the IDs of those that existed. */
  async function drop(ids: string[], by: Author): Promise<string[]> {
    const dropped = await transaction(pool, async (client) => {
      const letters = await deleteLetters(client, ids);
      await note(
        client,
        by,
        letters.map((letter) => ({ action: 'delete' as const, letter })),
      );
      return letters;
    });
    for (const { shard, position, inRedis } of dropped) if (inRedis) await forgetEntry(redis, shard, position);
    return dropped.map(({ id }) => id);
  }

  async function fieldsOf(letter: WholeDeadLetter): Promise<Buffer[] | null> {
    const packed = await bytesAside(redis, letter);
    return packed && unpackFields(packed);
  }

  async function reportsOf(letter: WholeDeadLetter): Promise<Reports | undefined> {
    const fields = reporter && (await fieldsOf(letter));
    if (reporter === undefined || fields === null || fields === undefined) return undefined;
    await reporter.refresh();
    return { reporter, reporting: await reporter.prepare(letter.shard, reportable(readEntry(fields))) };
  }

  async function note(
    client: PoolClient,
    by: Author,
    done: { action: 'update' | 'delete'; letter: { id: string; position: string } }[],
  ): Promise<void> {
    await writeAudit(client, {
      tenantNo: null,
      nowMs: clock.now(),
      by,
      entries: done.map(({ action, letter: { id, position } }) => ({ action, kind: 'deadLetter', id, name: position })),
    });
  }

  return { list, show, retry, drop };
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

const noLetter = (): AppError => new AppError('not_found', 'There is no dead letter with this ID');

/** Stores a letter's missing parts. Skips outdated states, and deletions of users who came back. */
async function storeAgain(
  client: PoolClient,
  redis: Redis,
  { letter, fields, reports }: { letter: WholeDeadLetter; fields: Buffer[]; reports: Reports | undefined },
): Promise<FailedPart[]> {
  const entry = readEntry(fields);
  const { tenantNo } = entry;
  const parts = new Set(letter.parts.map(({ part, at }) => `${part} ${at}`));
  const restFrom = letter.parts.find(({ part }) => part === 'rest')?.at ?? Infinity;
  const wanted: WantedParts = { tenantNo, records: [], states: [], after: entry.states };
  const refused: FailedPart[] = [];
  for (const [at, item] of entry.records.entries()) {
    if (!parts.has(`record ${at}`) && at < restFrom) continue;
    if (tenantNo !== null && (await isBack(client, tenantNo, item)))
      refused.push({
        part: 'record',
        at,
        reason: 'the deleted user has come back: delete the user again, and drop this',
      });
    else wanted.records.push({ at, item });
  }
  const states = entry.states.map((item, at) => ({ at, item })).filter(({ at }) => parts.has(`state ${at}`));
  const { position } = letter;
  const userIds = states.map(({ item }) => item.userId);
  const superseded = new Set<string>();
  const outcome = await attempt(client, async () => {
    if (tenantNo === null) return;
    for (const id of await supersededUsers(client, { tenantNo, userIds, position })) superseded.add(id);
  });
  if (outcome === null) wanted.states = states.filter(({ item }) => !superseded.has(item.userId));
  const failed = [...(await storeParts(client, redis, wanted, reports)), ...refused];
  if (tenantNo !== null) await noteYounger(client, { tenantNo, letter, states: wanted.states, failed });
  if (entry.hasRest) failed.push({ part: 'rest', at: entry.records.length, reason: 'its end cannot be read' });
  return failed;
}

/** Another letter may hold a newer state of these users; its retry stores it. */
async function noteYounger(
  client: PoolClient,
  found: {
    tenantNo: number;
    letter: WholeDeadLetter;
    states: { at: number; item: ReadEntry['states'][number] }[];
    failed: readonly FailedPart[];
  },
): Promise<void> {
  const { tenantNo, letter, states, failed } = found;
  for (const { at, item } of states) {
    if (failed.some((part) => part.part === 'state' && part.at === at)) continue;
    const { userId } = item;
    const owed = (await positionsOwed(client, tenantNo, userId)).toSorted(comparePositions).at(-1);
    if (owed !== undefined && comparePositions(owed, letter.position) > 0)
      await noteOwed(client, { tenantNo, userIds: [userId], position: owed });
  }
}

/** Whether a record is a deletion and Postgres holds a later user with the same ID. */
async function isBack(client: PoolClient, tenantNo: number, { value }: ReadRecord): Promise<boolean> {
  const record = (value ?? {}) as UncheckedRecord;
  const userId = record[RECORD.userId];
  if (record[kindField] !== KIND.deletion || typeof userId !== 'string') return false;
  const stored = await storedState(client, { tenantNo, userId });
  return stored !== null && decodeUser(stored).createdMs >= Number(record[RECORD.atMs]);
}

/** A user's records in waiting dead letters, in order, as far as they can be read. Some of them may be stored. */
export async function recordsAside(
  { redis, pool }: { redis: Redis; pool: Pool },
  user: { tenantNo: number; userId: string },
): Promise<HappenedRecord[]> {
  const records: HappenedRecord[] = [];
  for (const letter of await lettersAbout(pool, user)) {
    const packed = await bytesAside(redis, letter);
    if (packed === null) continue;
    for (const { value } of readEntry(unpackFields(packed)).records)
      if (userOf(value) === user.userId) records.push(value as HappenedRecord);
  }
  return records;
}

export function readableEntry(fields: readonly Buffer[]): NonNullable<ShownDeadLetter['entry']> {
  const { records, states } = readEntry([...fields]);
  return {
    records: records.map(({ value }) => value),
    states: states.map(({ userId, packed }) => ({ user: userId, state: readable(packed) })),
    fields: fields.map((field) => field.toString('base64')),
  };
}

function readable(packed: Buffer): unknown {
  try {
    return namedState(packed);
  } catch {
    return null;
  }
}
