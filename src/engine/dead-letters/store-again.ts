import type { Redis } from 'ioredis';
import type { PoolClient } from 'pg';
import type { FailedPart } from '../../domain/dead-letters.ts';
import {
  noteOwed,
  positionsOwed,
  supersededUsers,
  type WholeDeadLetter,
} from '../../postgres/corrections/dead-letters.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import { comparePositions } from '../../redis/outbox.ts';
import { readEntry, type ReadEntry, type ReadRecord } from '../../redis/outbox-entry.ts';
import { type UncheckedRecord } from '../../packed/record.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import { USER } from '../../packed/user-fields.ts';
import { attempt } from '../persist/by-halves.ts';
import type { Reports } from '../persist/store-report.ts';
import { storeParts, type WantedParts } from '../persist/store-parts.ts';
import { unpackState } from '../../packed/state.ts';

/**
 * Stores the parts of a dead letter that were not stored yet, in the client's transaction; those that cannot be now
 * either. A state of a user who has a younger one is left out: there is nothing to be done for it. So is nobody deleted
 * who came back after the deletion that the letter holds.
 */
export async function storeAgain(
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
        reason: 'the deleted user is back since: delete the user again, and drop this',
      });
    else wanted.records.push({ at, item });
  }
  const states = entry.states.map((item, at) => ({ at, item })).filter(({ at }) => parts.has(`state ${at}`));
  const { position } = letter;
  const userIds = states.map(({ item }) => item.userId);
  const superseded = new Set<string>();
  const looked = await attempt(client, async () => {
    if (tenantNo === null) return;
    for (const id of await supersededUsers(client, { tenantNo, userIds, position })) superseded.add(id);
  });
  if (looked === null) wanted.states = states.filter(({ item }) => !superseded.has(item.userId));
  const failed = [...(await storeParts(client, redis, wanted, reports)), ...refused];
  if (tenantNo !== null) await noteYounger(client, { tenantNo, letter, states: wanted.states, failed });
  if (entry.hasRest) failed.push({ part: 'rest', at: entry.records.length, reason: 'it cannot be read to its end' });
  return failed;
}

/** Of users whose state was stored now a younger one may wait in another letter: it is to be stored when that is tried. */
async function noteYounger(
  client: PoolClient,
  {
    tenantNo,
    letter,
    states,
    failed,
  }: {
    tenantNo: number;
    letter: WholeDeadLetter;
    states: { at: number; item: ReadEntry['states'][number] }[];
    failed: readonly FailedPart[];
  },
): Promise<void> {
  for (const { at, item } of states) {
    if (failed.some((part) => part.part === 'state' && part.at === at)) continue;
    const { userId } = item;
    const owed = (await positionsOwed(client, { tenantNo, userId })).toSorted(comparePositions).at(-1);
    if (owed !== undefined && comparePositions(owed, letter.position) > 0)
      await noteOwed(client, { tenantNo, userIds: [userId], position: owed });
  }
}

/** Whether a record is of a deletion, and Postgres holds a user of that ID who came after it. */
async function isBack(client: PoolClient, tenantNo: number, { value }: ReadRecord): Promise<boolean> {
  const record = (value ?? {}) as UncheckedRecord;
  const userId = record[RECORD.userId];
  if (record[kindField] !== KIND.deletion || typeof userId !== 'string') return false;
  const stored = await storedState(client, { tenantNo, userId });
  return stored !== null && unpackState(stored)[USER.createdMs] >= Number(record[RECORD.atMs]);
}
