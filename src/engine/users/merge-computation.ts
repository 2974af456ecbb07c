/** What a merge of two users makes of them, and when it may be made: the same within a shard and across shards. */
import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { LIMITS } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import { listFills } from '../../postgres/boards/progress.ts';
import { lettersAbout } from '../../postgres/corrections/dead-letters.ts';
import { mergeUsers } from '../../rules/merge.ts';
import type { PlanBoard } from '../../rules/plan.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { type Block, mapPart } from '../changes/block.ts';
import type { ReadUser, Subject } from '../changes/change-users.ts';
import { lackOfRoom } from '../changes/state-size.ts';
import { eventId } from '../ids.ts';
import { openBoards } from '../recomputations/open-boards.ts';
import { mergeAnswer } from './merge-answer.ts';
import { type ComputedMerge, recordAbout } from './merge-blocks.ts';
import { MOST_MERGED, readTwoUsers, type TwoUsers } from './merge-facts.ts';

/** Throws 409 or 503 while something else must come first. */
export async function requireQuiet(pool: Pool, tenantNo: number, users: { from: string; into: string }): Promise<void> {
  for (const field of ['from', 'into'] as const) {
    const letters = await lettersAbout(pool, { tenantNo, userId: users[field] });
    if (letters.length > 0)
      throw new AppError(
        'conflict',
        `${field}: a dead letter has data of the user that Postgres lacks. Retry or drop it first (laurel dead-letters).`,
      );
  }
  const fills = await listFills(pool, tenantNo);
  if (fills.some(({ status }) => status !== 'done'))
    throw new AppError('unavailable', 'Leaderboards are being filled from history; try again in a moment.');
}

/** Throws 404 for an unknown user; 422 for one who is too large. */
export async function computeMerge(
  pool: Pool,
  compiled: CompiledCatalog,
  { from, into, dryRun, nowMs }: { from: string; into: string; dryRun: boolean; nowMs: number },
): Promise<ComputedMerge> {
  const two = await readTwoUsers(pool, compiled, { from, into, nowMs });
  if (two === 'from' || two === 'into') throw new AppError('not_found', `${two}: there is no user with this ID.`);
  if (two === 'tooLarge')
    throw new AppError(
      'unprocessable',
      `from: the user has more than ${MOST_MERGED.events} events or ${MOST_MERGED.keys} used idempotency keys. Merge the smaller user into the larger one.`,
    );
  const after = mergedUser(compiled, two, nowMs);
  const packed = encodeUser(after);
  if (lackOfRoom(after, packed, null) !== null)
    throw new AppError('unprocessable', 'from: the merged user would have more data than a user may have.');
  return { two, after, packed, answer: mergeAnswer(compiled, two, after, { from, into, dryRun, nowMs }), nowMs };
}

function mergedUser(
  compiled: CompiledCatalog,
  { from, into, quests, bothRanked, streaks }: TwoUsers,
  nowMs: number,
): User {
  const open = new Map(openBoards(compiled, nowMs).map(({ board, runs }) => [board.no, { board, runs }]));
  return mergeUsers(into.user, from.user, {
    nowMs,
    streaks: streaks.streaks,
    length: streaks.length,
    quests,
    bothRanked,
    boards: Array.from(open.values(), ({ board }) => board),
    isOpen: ({ board, runDay }) => open.get(board)?.runs.some(({ first }) => first === runDay) === true,
    mostTokens: LIMITS.tokens,
  });
}

/** The leaderboards of a tenant. */
export const boardsOfMerge = (compiled: CompiledCatalog): PlanBoard[] =>
  compiled.catalog.leaderboards.map((board) => compileBoard(compiled, board, { metric: null, days: [] }));

/** Whether a user is the one of the snapshot; a new event in quarantine uses a key without changing the state. */
export const isSameUser = (read: ReadUser, packed: Buffer, quarantined: string | null | undefined): boolean =>
  read.packed?.equals(packed) === true && read.quarantine.events === (quarantined ?? '');

/** How long events wait because their user's merge had conflicts. */
export const HOLD_MS = 5_000;

/** Lets events of a user wait. Other changes do not: they are rare, and the merge is computed again. */
export const holdOf = (userId: string, nowMs: number): Subject<{ block: Block | null }> => ({
  userId,
  keys: [],
  isGuarded: false,
  compute: ({ packed, generation }) => {
    if (packed === null) return { block: null };
    const user = decodeUser(packed);
    user.heldUntilMs = nowMs + HOLD_MS;
    const records = [mapPart(recordAbout(userId, eventId(nowMs), nowMs), null)];
    const state = encodeUser(user);
    return { block: { userId, expected: packed, generation, state, uses: [], counts: [], fields: [], records } };
  },
});
