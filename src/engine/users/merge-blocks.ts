/** The two blocks of a merge, which are committed together. */
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { UserMerge } from '../../domain/administration/merge.ts';
import { COUNTER } from '../../packed/call-fields.ts';
import { QUARANTINED } from '../../packed/guard-fields.ts';
import { KIND, kindField, MERGED_STREAKS, RECORD } from '../../packed/record-fields.ts';
import type { MergeRecord } from '../../packed/record.ts';
import type { OwnKey } from '../../postgres/users/merges.ts';
import { fieldOfGeneration, packedUse, UNKNOWN_BODY } from '../../redis/idempotency.ts';
import { aliasesKey, countersKey, mergePermitsKey, quarantineKey, type TenantPart } from '../../redis/keys.ts';
import { PERMIT } from '../../redis/merge-permits.ts';
import { leaveSets } from '../../rules/hiding.ts';
import { mergeMoves } from '../../rules/merge.ts';
import type { PlanBoard } from '../../rules/plan.ts';
import { mergeRecord } from '../../rules/record.ts';
import type { User } from '../../rules/user.ts';
import { type Block, countsOfUser, type KeyUse, mapPart, movesPart } from '../changes/block.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { idempotencyDigest, timeOf } from '../ids.ts';
import type { IsCleared } from '../leaderboards/beside-clearing.ts';
import { boardSetOf } from './hiding.ts';
import type { TwoUsers } from './merge-facts.ts';

/** The two users of a merge, resolved, and the part of `into`. */
export interface Pair {
  compiled: CompiledCatalog;
  part: TenantPart;
  from: string;
  into: string;
}

/** A merge as computed from a snapshot of Postgres. */
export interface ComputedMerge {
  two: TwoUsers;
  after: User;
  packed: Buffer;
  answer: UserMerge;
  nowMs: number;
}

/** A merge as computed, and what the block of `into` needs to know. */
export interface MergeChange extends ComputedMerge {
  isCleared: IsCleared;
  boards: readonly PlanBoard[];
  /** ID of the record. */
  id: string;
  /** The seal of `from`, who is on another shard. */
  seal?: string;
}

/** The record of a user whom a merge only holds or removes. */
export const recordAbout = (userId: string, id: string, nowMs: number): MergeRecord => ({
  [kindField]: KIND.merge,
  [RECORD.id]: id,
  [RECORD.userId]: userId,
  [RECORD.atMs]: nowMs,
});

/** What the removal of a merged user needs to know. */
interface Removal extends Pick<MergeChange, 'isCleared'> {
  userId: string;
  /** The user, who is the one that was read. */
  user: User;
  /** The user for whom the ID stands from now on; `null`: for nobody. */
  alias: string | null;
  /** Sorted sets in which the user may be although the state does not name them. */
  sets: readonly string[];
  record: MergeRecord;
}

/** Removes `from`, as a deletion does. A later generation of users must not take what is left. */
export function blockOfFrom(
  part: TenantPart,
  { packed, generation, quarantine }: ReadUser,
  { userId, user, alias, isCleared, sets, record }: Removal,
): Block {
  const next = Math.max(Number(generation), user.generation ?? 0) + 1;
  const fields: Block['fields'] = [
    { key: countersKey(part), field: COUNTER.generation, before: generation, value: String(next) },
  ];
  if (alias !== null) fields.push({ key: aliasesKey(part), field: userId, before: '', value: alias });
  const counts = countsOfUser(part, user, { isCleared, sign: -1 });
  if (quarantine.events !== '') {
    const key = quarantineKey(part);
    fields.push({ key, field: userId, before: quarantine.events, value: '' });
    counts.push({ key, field: QUARANTINED.count, added: -eventsIn(quarantine.events) });
  }
  const places = leaveSets(
    user,
    sets.map((key) => boardSetOf(part, key)),
  );
  return {
    userId,
    expected: packed,
    generation,
    state: 'deleted',
    uses: [],
    counts,
    fields,
    records: [mapPart(record, null), movesPart(places)],
  };
}

/** How many events of a user are in quarantine. */
const eventsIn = (packed: string): number => packed.length / QUARANTINED.length;

export function blockOfInto(
  { part, from, into }: Pair,
  { two, after, packed, answer, nowMs, isCleared, boards, id, seal }: MergeChange,
  read: ReadUser,
  fromQuarantine: string,
): Block {
  const { user: before } = two.into;
  const { basis, changes } = two.streaks;
  const fields: Block['fields'] = [];
  const counts = [
    ...countsOfUser(part, before, { isCleared, sign: -1 }),
    ...countsOfUser(part, after, { isCleared, sign: 1 }),
  ];
  if (fromQuarantine !== '') {
    const { events } = read.quarantine;
    const key = quarantineKey(part);
    fields.push({ key, field: into, before: events, value: events + fromQuarantine });
    counts.push({ key, field: QUARANTINED.count, added: eventsIn(fromQuarantine) });
  }
  if (seal !== undefined) fields.push({ key: mergePermitsKey(part), field: seal, before: PERMIT, value: '' });
  const record = mergeRecord(
    { id, userId: into, nowMs },
    [
      from,
      two.from.user.generation ?? -1,
      basis === 'from' ? MERGED_STREAKS.from : MERGED_STREAKS.into,
      JSON.stringify(answer),
      ...(seal === undefined ? [] : [seal]),
    ] as unknown as MergeRecord[typeof RECORD.merged] & object,
    changes,
  );
  return {
    userId: into,
    expected: two.into.packed,
    generation: read.generation,
    state: packed,
    uses: two.keys.map((own) => useOf(own, into, before.generation)),
    counts,
    fields,
    records: [mapPart(record, null), movesPart(mergeMoves(before, after, boards, isCleared))],
  };
}

/** A key of `from` as used by `into`. */
function useOf({ metricNo, key, usedBy }: OwnKey, into: string, generation: number | null): KeyUse {
  const { bucket, field } = idempotencyDigest(into, metricNo, key);
  const use = packedUse(timeOf(usedBy), UNKNOWN_BODY);
  return { keyNo: 0, bucket, field: fieldOfGeneration(field, generation ?? undefined), use };
}
