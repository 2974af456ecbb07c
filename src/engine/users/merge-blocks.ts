/** The two blocks of a merge, which are committed together. */
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { UserMerge } from '../../domain/administration/merge.ts';
import { COUNTER } from '../../packed/call-fields.ts';
import { KIND, kindField, MERGED_STREAKS, RECORD } from '../../packed/record-fields.ts';
import type { MergeRecord } from '../../packed/record.ts';
import type { OwnKey } from '../../postgres/users/merges.ts';
import { fieldOfGeneration, packedUse, UNKNOWN_BODY } from '../../redis/idempotency.ts';
import { aliasesKey, countersKey, quarantineKey, type TenantPart } from '../../redis/keys.ts';
import { leaveSets } from '../../rules/hiding.ts';
import { mergeMoves } from '../../rules/merge.ts';
import type { PlanBoard } from '../../rules/plan.ts';
import { mergeRecord } from '../../rules/record.ts';
import type { BoardRun } from '../../rules/teams.ts';
import type { User } from '../../rules/user.ts';
import { type Block, countsOfUser, type KeyUse, mapPart, movesPart } from '../changes/block.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { idempotencyDigest, timeOf } from '../ids.ts';
import { boardSetOf } from './hiding.ts';
import type { TwoUsers } from './merge-facts.ts';

/** The two users of a merge, resolved, and the part that holds both. */
export interface Pair {
  compiled: CompiledCatalog;
  part: TenantPart;
  from: string;
  into: string;
}

/** A merge as computed, and what its blocks need to know. */
export interface MergeChange {
  two: TwoUsers;
  after: User;
  packed: Buffer;
  answer: UserMerge;
  nowMs: number;
  /** The events in quarantine of `from` and `into`, as the snapshot has them. */
  quarantined: readonly (string | null)[];
  isCleared: (run: BoardRun) => boolean;
  boards: readonly PlanBoard[];
  /** Sorted sets in which `from` may be although the state does not name them. */
  sets: readonly string[];
  /** IDs of the records. */
  ids: { from: string; into: string };
}

/** The record of a user whom a merge only holds or removes. */
export const recordAbout = (userId: string, id: string, nowMs: number): MergeRecord => ({
  [kindField]: KIND.merge,
  [RECORD.id]: id,
  [RECORD.userId]: userId,
  [RECORD.atMs]: nowMs,
});

/** Removes `from`, as a deletion does. The ID stands for `into` from now on, and a later generation of users must not take it. */
export function blockOfFrom(
  { part, from, into }: Pair,
  change: MergeChange,
  { generation, quarantine }: ReadUser,
): Block {
  const { two, isCleared, sets, ids, nowMs } = change;
  const { user, packed } = two.from;
  const next = Math.max(Number(generation), user.generation ?? 0) + 1;
  const fields: Block['fields'] = [
    { key: countersKey(part), field: COUNTER.generation, before: generation, value: String(next) },
    { key: aliasesKey(part), field: from, before: '', value: into },
  ];
  if (quarantine.events !== '')
    fields.push({ key: quarantineKey(part), field: from, before: quarantine.events, value: '' });
  return {
    userId: from,
    expected: packed,
    generation,
    state: 'deleted',
    uses: [],
    counts: countsOfUser(part, user, { isCleared, sign: -1 }),
    fields,
    records: [
      mapPart(recordAbout(from, ids.from, nowMs), null),
      movesPart(
        leaveSets(
          user,
          sets.map((key) => boardSetOf(part, key)),
        ),
      ),
    ],
  };
}

export function blockOfInto(
  { part, from, into }: Pair,
  { two, after, packed, answer, nowMs, isCleared, boards, ids }: MergeChange,
  { read, ofFrom }: { read: ReadUser; ofFrom: ReadUser },
): Block {
  const { user: before } = two.into;
  const { basis, changes } = two.streaks;
  const fields: Block['fields'] = [];
  if (ofFrom.quarantine.events !== '') {
    const { events } = read.quarantine;
    const value = events + ofFrom.quarantine.events;
    fields.push({ key: quarantineKey(part), field: into, before: events, value });
  }
  const record = mergeRecord(
    { id: ids.into, userId: into, nowMs },
    [
      from,
      two.from.user.generation ?? -1,
      basis === 'from' ? MERGED_STREAKS.from : MERGED_STREAKS.into,
      JSON.stringify(answer),
    ] as MergeRecord[typeof RECORD.merged] & object,
    changes,
  );
  return {
    userId: into,
    expected: two.into.packed,
    generation: read.generation,
    state: packed,
    uses: two.keys.map((own) => useOf(own, into, before.generation)),
    counts: [
      ...countsOfUser(part, before, { isCleared, sign: -1 }),
      ...countsOfUser(part, after, { isCleared, sign: 1 }),
    ],
    fields,
    records: [mapPart(record, null), movesPart(mergeMoves({ before, after }, boards, isCleared))],
  };
}

/** A key of `from` as used by `into`. */
function useOf({ metricNo, key, usedBy }: OwnKey, into: string, generation: number | null): KeyUse {
  const { bucket, field } = idempotencyDigest(into, metricNo, key);
  const use = packedUse(timeOf(usedBy), UNKNOWN_BODY);
  return { keyNo: 0, bucket, field: fieldOfGeneration(field, generation ?? undefined), use };
}
