import { FREQUENCIES } from '../../domain/periods.ts';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { type ImportedOutcome, type ImportedUser, MOST_IMPORTED_ROWS } from '../../domain/imported-user.ts';
import { AppError } from '../../errors.ts';
import {
  packedCompletion,
  packedImportedAward,
  packedImportedDay,
  packedImportedSettlement,
  packedPause,
} from '../../packed/packed-arrays.ts';
import { KIND, kindField, RECORD, SETTLED } from '../../packed/record-fields.ts';
import type { ImportedRecord, RecordedTier } from '../../packed/record.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { listFills } from '../../postgres/boards/progress.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { enterSets } from '../../rules/hiding.ts';
import type { PlanBoard } from '../../rules/plan.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import { type Block, countsOfUser, mapPart, movesPart } from '../changes/block.ts';
import { changeUser, unwritten, type UserChange } from '../changes/change-user.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { lackOfRoom } from '../changes/state-size.ts';
import { eventId } from '../ids.ts';
import { besideClearing, type IsCleared } from '../leaderboards/beside-clearing.ts';
import { type Boards, createBoardsOfTenants } from '../rebuild/derived-keys.ts';
import { PROFILE_IS_FULL, STATE_IS_FULL } from '../refusals.ts';
import type { Scripts } from '../scripts.ts';
import { BadImport, type Draft, SkippedUser } from './draft.ts';
import { addPoints } from './points.ts';
import { addQuests, beginDraft } from './profile.ts';
import { addScores, addTotals, raisePeaks } from './scores.ts';
import { addStreaks } from './streaks.ts';
import { packedUser } from '../../redis/parts.ts';

interface ImportsOptions {
  redis: Redis;
  pool: Pool;
  scripts: Scripts;
  recordAudit: RecordAudit;
  clock: Clock;
}

interface Import {
  name: string;
  dryRun: boolean;
  by: Author;
}

type Bringing = Import & { isCleared: IsCleared };

/** What became of a user. `exists`: the user is not from this import. */
type Outcome = Exclude<ImportedOutcome['status'], 'skipped'> | 'exists' | 'tooLarge' | 'profileTooLarge';

/** The outcome for one user with the fields whose values were changed, or the reason why the user is invalid. */
type ImportResult = { outcome: ImportedOutcome; changed: string[] } | { refused: string };

export function createImports({ scripts, recordAudit, pool, clock, redis }: ImportsOptions) {
  const boardsOfTenants = createBoardsOfTenants(pool);

  /**
   * Imports users, each in one atomic step, and returns their results in order. Nothing is announced or awarded. An
   * existing user is refused, unless the import of the same name created the user; then nothing is done. Idempotent.
   * After an error (503) some of the users may exist.
   */
  async function bring(
    compiled: CompiledCatalog,
    users: readonly ImportedUser[],
    from: Import,
  ): Promise<ImportResult[]> {
    scripts.refuseOverload();
    if (!from.dryRun && users.some(({ leaderboards }) => leaderboards !== undefined)) await refuseFills(compiled);
    const results = await besideClearing({ redis, pool }, compiled.catalog.tenantNo, async (isCleared) => {
      const each: ImportResult[] = [];
      for (const user of users) each.push(await bringOne(compiled, user, { ...from, isCleared }));
      return each;
    });
    const brought = results.filter((result) => 'outcome' in result && result.outcome.status === 'imported').length;
    if (brought > 0) {
      const entry = { action: 'create', kind: 'import', name: from.name, after: { users: brought } } as const;
      void recordAudit({ tenantNo: compiled.catalog.tenantNo, by: from.by, entries: [entry] });
    }
    return results;
  }

  /** Throws 503 while boards are filled from history, because filling puts scores into the groups of the users' attributes. */
  async function refuseFills({ catalog }: CompiledCatalog): Promise<void> {
    const fills = await listFills(pool, catalog.tenantNo);
    if (fills.some(({ status }) => status !== 'done'))
      throw new AppError('unavailable', 'Leaderboards are being filled from history; try again in a moment.');
  }

  async function bringOne(compiled: CompiledCatalog, user: ImportedUser, from: Bringing): Promise<ImportResult> {
    let draft: Draft;
    try {
      draft = draftOf(compiled, user, clock.now());
    } catch (error) {
      if (error instanceof BadImport) return { refused: error.message };
      if (error instanceof SkippedUser)
        return { outcome: { id: user.id, status: 'skipped', skipped: [error.skipped] }, changed: [] };
      throw error;
    }
    const { skipped, changed } = draft;
    const outcome = await (from.dryRun ? predict(compiled, user.id, from) : importUser(draft, user.id, from));
    switch (outcome) {
      case 'exists':
        return { refused: 'The user exists and is not from this import: nothing was changed.' };
      case 'tooLarge':
        return { refused: STATE_IS_FULL };
      case 'profileTooLarge':
        return { refused: PROFILE_IS_FULL };
      case 'already':
      case 'ready':
      case 'imported':
        return { outcome: { id: user.id, status: outcome, skipped }, changed };
    }
  }

  /** The outcome that a dry run can predict: whether the user exists. */
  async function predict({ catalog }: CompiledCatalog, userId: string, { name }: Import): Promise<Outcome> {
    const packed = await packedUser(redis, catalog.tenantNo, userId);
    return packed === null ? 'ready' : outcomeOf(packed, name);
  }

  async function importUser(draft: Draft, userId: string, { name, isCleared }: Bringing): Promise<Outcome> {
    const { tenantNo } = draft.compiled.catalog;
    const boards = await boardsOfTenants.of(tenantNo);
    const id = eventId(draft.nowMs);
    // A retry may find the user whom an earlier try created.
    let isTried = false;
    const { reply } = (await changeUser<{ outcome: Outcome } | ImportedRecord>(scripts, tenantNo, {
      userId,
      compute: (read, part) => {
        if (read.packed !== null) {
          const outcome = outcomeOf(read.packed, name);
          return unwritten(read, { outcome: isTried && outcome === 'already' ? 'imported' : outcome });
        }
        if (read.mergedInto !== undefined) return unwritten(read, { outcome: 'exists' });
        isTried = true;
        return importOf(draft, read, { part, id, userId, name, boards, isCleared });
      },
    }))!;
    return 'outcome' in reply ? reply.outcome : 'imported';
  }

  return { bring };
}

/** The outcome for a user who exists: `already` if the import of the name created the user. */
const outcomeOf = (packed: Buffer, name: string): 'already' | 'exists' =>
  decodeUser(packed).importedBy === name ? 'already' : 'exists';

/** Creates a user: the state, leaderboard places, the user's part of the tenant's counts, and the history for Postgres. */
function importOf(
  draft: Draft,
  read: ReadUser,
  {
    part,
    id,
    userId,
    name,
    boards,
    isCleared,
  }: { part: TenantPart; id: string; userId: string; name: string; boards: Boards; isCleared: IsCleared },
): UserChange<{ outcome: Outcome } | ImportedRecord> {
  const { generation } = read;
  const user = { ...draft.state, importedBy: name, generation: generation === '' ? null : Number(generation) };
  const packed = encodeUser(user);
  const refusal = lackOfRoom(user, packed, null);
  if (refusal !== null) return unwritten(read, { outcome: refusal.refusal });
  const record = importedRecord(draft, id, userId);
  const block: Block = {
    userId,
    expected: null,
    generation,
    state: packed,
    uses: [],
    counts: countsOfUser(part, user, { isCleared, sign: 1 }),
    fields: [],
    records: [mapPart(record, null), movesPart(enterSets(user, rankedBoards(boards), isCleared))],
  };
  return { block, reply: record, packed };
}

/** The leaderboards as the rules see them. */
const rankedBoards = (boards: Boards): PlanBoard[] =>
  Array.from(boards, ([no, { grouped, timed, floor }]) => ({
    no,
    by: 'none',
    runs: [],
    floor,
    ...(timed && { ties: true }),
    ...(grouped && { groups: [] }),
  }));

function draftOf(compiled: CompiledCatalog, user: ImportedUser, nowMs: number): Draft {
  if (rowsOf(user) > MOST_IMPORTED_ROWS)
    throw new BadImport(`The user has more than ${MOST_IMPORTED_ROWS} days, awards, completions and periods together.`);
  const draft = beginDraft(compiled, user, nowMs);
  addTotals(draft, user);
  addQuests(draft);
  addPoints(draft, user);
  raisePeaks(draft);
  addStreaks(draft, user);
  addScores(draft, user);
  addTiers(draft, user);
  draft.changed = [...new Set(draft.changed)];
  draft.skipped = [...new Map(draft.skipped.map((part) => [`${part.field}: ${part.reason}`, part])).values()];
  return draft;
}

function rowsOf({ metrics = {}, points = {}, achievements = [], streak }: ImportedUser): number {
  const days = [...Object.values(metrics), ...Object.values(points)].map((each) => Object.keys(each.days ?? {}).length);
  const awards = Object.values(points).map((each) => each.awards?.length ?? 0);
  return [...days, ...awards, achievements.length, streak?.history?.length ?? 0].reduce((sum, count) => sum + count, 0);
}

/** The record of an imported user, with everything that Postgres stores. */
const importedRecord = (draft: Draft, id: string, userId: string): ImportedRecord => ({
  [kindField]: KIND.imported,
  [RECORD.id]: id,
  [RECORD.userId]: userId,
  [RECORD.atMs]: draft.nowMs,
  [RECORD.zone]: draft.tz ?? '',
  [RECORD.days]: draft.days.map(packedImportedDay),
  [RECORD.awards]: draft.awards.map(packedImportedAward),
  [RECORD.completions]: draft.completions.map(({ achievementNo, atMs, period }) =>
    packedCompletion(achievementNo, atMs, period),
  ),
  [RECORD.settlements]: draft.settlements.map(({ frequency, kind, atMs = draft.nowMs, ...rest }) =>
    packedImportedSettlement({ ...rest, atMs, frequency: FREQUENCIES.indexOf(frequency) + 1, kind: SETTLED[kind] }),
  ),
  [RECORD.pauses]: draft.pauses.map(({ id: pauseId, from, to }) =>
    packedPause({ firstDay: from, lastDay: to, id: pauseId }),
  ),
  ...(draft.tiers.length > 0 && {
    [RECORD.tiers]: draft.tiers.map(({ boardNo, tier }): RecordedTier => [boardNo, tier]),
  }),
});

/** Adds the user's tiers on leaderboards with leagues. Throws BadImport for a tier that the leaderboard does not have. */
function addTiers({ compiled, tiers, skipped }: Draft, { leaderboards = {} }: ImportedUser): void {
  for (const [key, { tier }] of Object.entries(leaderboards)) {
    if (tier === undefined) continue;
    const field = `leaderboards.${key}.tier`;
    const board = compiled.catalog.leaderboards.find((one) => one.key === key);
    if (board === undefined) skipped.push({ field, reason: 'no leaderboard has this key', days: 0 });
    else if (board.leagues === null) skipped.push({ field, reason: 'the leaderboard has no leagues', days: 0 });
    else if (tier > board.leagues.tiers.length)
      throw new BadImport(`${field}: the leaderboard has only ${board.leagues.tiers.length} tiers.`);
    // Users are in the lowest tier until they leave it.
    else if (tier > 1) tiers.push({ boardNo: board.no, tier: tier - 1 });
  }
}
