import { KIND, kindField, MERGED, MERGED_STREAKS, RECORD } from '../../packed/record-fields.ts';
import type {
  GoneRecord,
  GuardedRecord,
  HappenedRecord,
  ImportedRecord,
  MergeRecord,
  ProgressRecord,
  UncheckedRecord,
} from '../../packed/record.ts';
import { unpackAll } from '../../packed/state.ts';
import type { NamedUser } from '../../domain/user.ts';
import type { EventKey } from '../../postgres/persist/events.ts';
import type { Merged } from '../../postgres/users/row-moves.ts';
import { isProgress } from '../../redis/batches.ts';
import { fieldOfGeneration, type UsedKey } from '../../redis/idempotency.ts';
import { parseEntry, type RawEntry, type ReadEntry } from '../../redis/outbox.ts';
import { LateActiveDays } from '../analytics/active-days.ts';
import { AnalyticsTally, EntryUsers } from '../analytics/tally.ts';
import { idempotencyDigest } from '../ids.ts';
import type { HappenedEntry } from '../notifications/entry-notifications.ts';
import { reasonFor, UnreadableEntry } from './about-data.ts';
import { DayTally } from './day-tally.ts';
import { addGuarded } from './guarded-rows.ts';
import { addRecord, addStreakChanges, type HappenedRows } from './happened-rows.ts';
import { addImported, type ImportedRows } from './imported-rows.ts';
import { TouchedUsers, type UsersByNews } from './touched-users.ts';

export interface Batch extends HappenedRows, ImportedRows {
  /** A seal, and the ID of one that has ended. Each has a batch of its own, as merges have. */
  seal: Seal | null;
  unsealed: string | null;
  /** A merge, which has a batch of its own: the entries before it are stored first. */
  merge: Merge | null;
  /** Users to delete before anything is written. The entries' data about them from before the deletion is omitted. */
  deletions: Deletion[];
  /** Entries to report. */
  entries: HappenedEntry[];
  touched: UsersByNews;
  /** Counts by tenant and day, including users deleted in the batch. */
  tally: DayTally;
  /** The days on which late events made users active. */
  lateDays: LateActiveDays;
  /** What analytics count, including users deleted in the batch. */
  analytics: AnalyticsTally;
  /** How far the shard's batches of events are processed; `null` if these entries do not say. */
  batchProgress: string | null;
  /** Position of the last entry. */
  position: string;
}

type Rows = Omit<Batch, 'touched'>;

export interface Deletion extends NamedUser {
  /** Generation of the user whose rows Postgres holds, see `src/redis/idempotency.ts`. */
  generation: number | undefined;
  /** Where Redis stores the idempotency keys of the omitted events. */
  usedKeys: UsedKey[];
}

/** A user who was merged into another. */
export interface Merge extends Merged {
  id: string;
  atMs: number;
  /** Generation of `from`. */
  generation: number | undefined;
  /** Whose streak changes hold. */
  streaks: 'from' | 'into';
  /** JSON text. */
  answer: string;
  /** The ID of the seal (32 hex digits) if the users were on different shards. */
  seal: string | null;
}

/** A user who is sealed for a merge across shards (decision 54). `id`: 32 hex digits. */
export interface Seal extends Merged {
  id: string;
}

/** Where Redis stores that a user of a generation used an idempotency key. */
export function usedKey({ userId, generation }: Pick<Deletion, 'userId' | 'generation'>, used: EventKey): UsedKey {
  const { bucket, field } = idempotencyDigest(userId, used.metricNo, used.key);
  return { bucket, field: fieldOfGeneration(field, generation) };
}

/** Converts raw outbox entries (at least one) to rows: all, or those before the first merge, or only a merge that comes first. Throws UnreadableEntry if one of them is malformed. */
export function toBatch(raw: readonly RawEntry[]): Batch {
  try {
    return rowsOf(raw);
  } catch (error) {
    throw new UnreadableEntry(reasonFor(error), { cause: error });
  }
}

function rowsOf(raw: readonly RawEntry[]): Batch {
  const touched = new TouchedUsers();
  const batch = noRows();
  for (const rawEntry of raw) {
    const entry = parseEntry(rawEntry);
    const records = unpackAll(entry.records);
    const isMerge = records.some((record) => (record as UncheckedRecord | null)?.[kindField] === KIND.merge);
    if (isMerge && batch.entries.length > 0) break;
    touched.beginEntry();
    const happened: HappenedEntry = { tenantNo: entry.tenantNo, records: [], states: entry.states };
    batch.entries.push(happened);
    const users = new EntryUsers(entry.states);
    for (const record of records) add(batch, touched, { entry: happened, record, users });
    for (const [nth, id] of users.ids.entries()) touched.state(entry.tenantNo, id, entry.states[2 * nth + 1]!);
    batch.position = entry.id;
    if (isMerge) break;
  }
  return { ...batch, touched: touched.byNews() };
}

/** Converts records of one entry to rows. `after`: the states, for reports. Throws UnreadableEntry. */
export function recordsBatch(tenantNo: number, records: readonly unknown[], after: ReadEntry['states']): Batch {
  const touched = new TouchedUsers();
  const batch = noRows();
  const states = after.flatMap(({ userId, packed }) => [Buffer.from(userId), packed]);
  const entry: HappenedEntry = { tenantNo, records: [], states };
  batch.entries.push(entry);
  try {
    const users = new EntryUsers(states);
    for (const record of records) add(batch, touched, { entry, record, users });
  } catch (error) {
    throw new UnreadableEntry(reasonFor(error), { cause: error });
  }
  return { ...batch, touched: touched.byNews() };
}

const noRows = (lateDays = new LateActiveDays()): Rows => ({
  merge: null,
  seal: null,
  unsealed: null,
  deletions: [],
  events: [],
  quarantined: [],
  settled: [],
  guarded: [],
  reversals: [],
  recomputed: [],
  awards: [],
  completions: [],
  streakChanges: [],
  supersededChanges: [],
  pauses: [],
  streakCalls: [],
  balanceChanges: [],
  rankRewards: [],
  importedDays: [],
  importedCompletions: [],
  importedAwards: [],
  importedZones: [],
  importedTiers: [],
  entries: [],
  tally: new DayTally(),
  lateDays,
  analytics: new AnalyticsTally(lateDays),
  batchProgress: null,
  position: '',
});

function add(
  batch: Rows,
  touched: TouchedUsers,
  { entry, record: each, users }: { entry: HappenedEntry; record: unknown; users: EntryUsers },
): void {
  const { tenantNo } = entry;
  const record = each as HappenedRecord | GoneRecord | GuardedRecord | ImportedRecord | MergeRecord | ProgressRecord;
  if (record[kindField] === KIND.progress) {
    if (!isProgress(record[RECORD.progress])) throw new UnreadableEntry('invalid batch progress');
    batch.batchProgress = record[RECORD.progress];
    return;
  }
  if (record[kindField] === KIND.deletion) {
    addDeletion(batch, tenantNo, record);
    touched.forget(tenantNo, record[RECORD.userId]);
    return;
  }
  if (record[kindField] === KIND.merge) {
    addMerge(batch, tenantNo, record);
    if (record[RECORD.merged] !== undefined) entry.merge = record;
    touched.noteWhole(record[RECORD.userId]);
    return;
  }
  if (record[kindField] === KIND.guarded) {
    addGuarded(batch, tenantNo, record);
    return;
  }
  if (record[kindField] === KIND.imported) {
    addImported(batch, tenantNo, record);
    batch.analytics.addImported(tenantNo, record, users);
    touched.noteWhole(record[RECORD.userId]);
    return;
  }
  addRecord(batch, tenantNo, record);
  batch.tally.add(tenantNo, record);
  batch.lateDays.add(tenantNo, record);
  batch.analytics.add(tenantNo, record, users);
  entry.records.push(record);
  touched.note(record);
}

function addMerge(batch: Rows, tenantNo: number, record: MergeRecord): void {
  const merged = record[RECORD.merged];
  const into = record[RECORD.sealed];
  if (into !== undefined) batch.seal = { tenantNo, id: record[RECORD.id], from: record[RECORD.userId], into };
  batch.unsealed = record[RECORD.unsealed] ?? null;
  // The record about the user who is gone says nothing else.
  if (merged === undefined) return;
  const generation = merged[MERGED.generation];
  batch.merge = {
    tenantNo,
    id: record[RECORD.id],
    atMs: record[RECORD.atMs],
    from: merged[MERGED.from],
    into: record[RECORD.userId],
    generation: generation === -1 ? undefined : generation,
    streaks: merged[MERGED.streaks] === MERGED_STREAKS.from ? 'from' : 'into',
    answer: merged[MERGED.answer],
    seal: merged[MERGED.seal] ?? null,
  };
  addStreakChanges(batch, tenantNo, record);
}

function addDeletion(
  batch: Rows,
  tenantNo: number,
  { [RECORD.userId]: userId, [RECORD.generation]: generation }: GoneRecord,
): void {
  const others = (row: NamedUser): boolean => row.tenantNo !== tenantNo || row.userId !== userId;
  batch.analytics.forget(tenantNo, userId);
  batch.lateDays.forget(tenantNo, userId);
  let deletion = batch.deletions.find((known) => !others(known));
  if (deletion === undefined) batch.deletions.push((deletion = { tenantNo, userId, generation, usedKeys: [] }));
  for (const event of [...batch.events, ...batch.quarantined, ...batch.balanceChanges]) {
    const { metricNo, idempotencyKey: key } = event;
    if (!others(event) && key !== null) deletion.usedKeys.push(usedKey({ userId, generation }, { metricNo, key }));
  }
  batch.events = batch.events.filter(others);
  batch.quarantined = batch.quarantined.filter(others);
  batch.guarded = batch.guarded.filter(others);
  batch.reversals = batch.reversals.filter(({ event }) => others(event));
  batch.recomputed = batch.recomputed.filter(others);
  batch.awards = batch.awards.filter(others);
  batch.completions = batch.completions.filter(others);
  batch.streakChanges = batch.streakChanges.filter(others);
  batch.supersededChanges = batch.supersededChanges.filter(others);
  batch.pauses = batch.pauses.filter(others);
  batch.balanceChanges = batch.balanceChanges.filter(others);
  batch.rankRewards = batch.rankRewards.filter(others);
  batch.importedDays = batch.importedDays.filter(others);
  batch.importedCompletions = batch.importedCompletions.filter(others);
  batch.importedAwards = batch.importedAwards.filter(others);
  batch.importedTiers = batch.importedTiers.filter(others);
  for (const entry of batch.entries) {
    if (entry.tenantNo === tenantNo) entry.records = entry.records.filter((record) => record[RECORD.userId] !== userId);
  }
}
