import type { Redis } from 'ioredis';
import type { PoolClient } from 'pg';
import type { FailedPart } from '../../domain/dead-letters.ts';
import {
  deleteLetters,
  lettersAbout,
  rewriteLetter,
  type WholeDeadLetter,
} from '../../postgres/corrections/dead-letters.ts';
import type { NamedUser } from '../../postgres/persist/events.ts';
import { forgetEntry, keepEntry, keptEntry } from '../../redis/kept-entries.ts';
import { packFields, readEntry, unpackFields, type ReadEntry } from '../../redis/outbox-entry.ts';
import { userOf, usersOf } from './users-of.ts';
import { OUTBOX } from '../../packed/call-fields.ts';

/** Takes a record's place, so that the others keep theirs: msgpack's nil. */
const NOTHING = Buffer.from([0xc0]);

/**
 * Leaves a deleted user out of the dead letters, in the transaction of the deletion: a letter that waits for nobody else
 * goes; in the others the user's records and state become nothing, and so does what could not be read, for it
 * may be the user's. A letter that names nobody readable cannot be found by a user.
 */
export async function forgetInLetters(client: PoolClient, redis: Redis, user: NamedUser): Promise<void> {
  for (const letter of await lettersAbout(client, user)) await forgetIn(client, redis, { letter, user });
}

async function forgetIn(
  client: PoolClient,
  redis: Redis,
  { letter, user: { userId } }: { letter: WholeDeadLetter; user: NamedUser },
): Promise<void> {
  const { id, shard, position, inRedis } = letter;
  const fields = inRedis ? await keptEntry(redis, shard, position) : letter.entry;
  const entry = fields && readEntry(unpackFields(fields));
  if (entry === null || !usersOf(entry).includes(userId)) return;
  const parts = letter.parts.filter((part) => part.part !== 'rest' && userOfPart(entry, part) !== userId);
  if (parts.length === 0) {
    await deleteLetters(client, [id]);
    if (inRedis) await forgetEntry(redis, shard, position);
    return;
  }
  const rewritten = without(entry, userId);
  if (inRedis) await keepEntry(redis, shard, position, rewritten);
  await rewriteLetter(client, { id, entry: inRedis ? null : rewritten, parts, userId });
}

const userOfPart = ({ records, states }: ReadEntry, { part, at }: FailedPart): string | undefined =>
  part === 'state' ? states[at]?.userId : userOf(records[at]?.value);

function without({ tenantNo, records, states }: ReadEntry, userId: string): Buffer {
  const kept = records.map(({ value, bytes }) => (userOf(value) === userId ? NOTHING : bytes));
  const fields: Buffer[] = [OUTBOX.tenant, String(tenantNo), OUTBOX.records].map((text) => Buffer.from(text));
  fields.push(Buffer.concat(kept));
  for (const state of states) {
    const own = state.userId === userId;
    fields.push(Buffer.from(OUTBOX.user), Buffer.from(own ? '' : state.userId));
    fields.push(Buffer.from(OUTBOX.state), own ? Buffer.alloc(0) : state.packed);
  }
  return packFields(fields);
}
