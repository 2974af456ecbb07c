import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import type { Leaderboard } from '../../domain/catalog.ts';
import {
  addMoves,
  type ClosingProgress,
  type CohortMember,
  cohortsAfter,
  endClosing,
  followingRun,
  lockClosing,
  moveClosing,
  type Moved,
  openRun,
  type OwedClosing,
  owedClosings,
  scoredMembers,
  usersAbove,
  waitingMembers,
} from '../../postgres/boards/league-closings.ts';
import { boardOf } from '../../postgres/boards/progress.ts';
import { transaction } from '../../postgres/transaction.ts';
import { beforeNaming } from '../../postgres/users/stored-states.ts';
import { type LeagueRule, moveOf, moveOfInactive, ruleOf, tierAfter, tierIn } from '../../rules/leagues.ts';
import { withTimeLimit } from '../../pacing/time-limit.ts';
import type { Publisher } from '../notifications/due/publisher.ts';
import { type ScheduledWork, workInPieces } from '../schedule/due-work.ts';
import { type OnPieceFailed, Pieces } from '../schedule/pieces.ts';
import { boardKeyOf, boardPiece } from './board-pieces.ts';
import { seatMembers } from './league-entries.ts';
import { GivenStandings } from './given-standings.ts';

/** What a transaction of a closing did. */
export type ClosingStep = 'cohorts' | 'inactive' | 'seated' | 'ended';

interface LeagueClosingOptions {
  publisher: Publisher;
  onFailed?: OnPieceFailed;
  /** Called in a transaction before its commit, so that tests can stop there. */
  onStep?: (step: ClosingStep) => void | Promise<void>;
}

/** Of a transaction, which takes about 50 ms. */
const COHORTS = 100;
const USERS = 1_000;
/** A pause after each transaction, as a share of its duration, so that events do not wait for the same processors and disk. */
const PAUSE_SHARE = 0.35;
const MOST_PAUSE_MS = 100;
/** After this time the rest is left to the next call. */
const LONG_MS = 5_000;

/**
 * Closes the cohorts of final runs: users move to other tiers, then users who wait for the next run get their cohorts. Each
 * transaction stores the progress with what it did, so a crash repeats nothing. Only Postgres is read and written.
 */
export function createLeagueClosing({ onFailed, publisher, onStep }: LeagueClosingOptions): ScheduledWork {
  const pieces = new Pieces({ kind: 'leagues of final runs', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const [first] = await owed();
    return first !== undefined && first.finalMs <= upToMs ? first.finalMs : null;
  }

  async function perform(_dueMs: number, called: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const ending = withTimeLimit(called, LONG_MS);
    const wanting = await publisher.wanting(['leaderboard.tier_changed']);
    for (;;) {
      const run = (await owed()).find(({ finalMs }) => finalMs <= upToMs);
      if (run === undefined || ending.aborted) return;
      const receivers = wanting.filter(({ tenantNo }) => tenantNo === run.tenantNo);
      const isHeard = (userId: string): boolean => receivers.some(({ users }) => users === null || users.has(userId));
      await pieces.attempt(boardPiece(run, run.runDay), ending, (signal) => close(run, isHeard, signal));
    }
  }

  async function owed(): Promise<OwedClosing[]> {
    const owed = await owedClosings(publisher.pool);
    return owed.filter((run) => !pieces.isAside(boardKeyOf(run)));
  }

  async function close(run: OwedClosing, isHeard: (userId: string) => boolean, ending: AbortSignal): Promise<void> {
    for (let step: ClosingStep | null = 'cohorts'; step !== null && step !== 'ended' && !ending.aborted;) {
      const beganMs = performance.now();
      step = await transaction(publisher.pool, async (client) => {
        // Another worker may do it, or have done it.
        const progress = await lockClosing(client, run.runId);
        if (progress === null) return null;
        await beforeNaming(client, run.tenantNo);
        const done = await closeFurther(client, run, progress, isHeard);
        await onStep?.(done);
        return done;
      });
      await sleep(Math.min(PAUSE_SHARE * (performance.now() - beganMs), MOST_PAUSE_MS));
    }
  }

  return workInPieces(pieces, { due, perform, seesItself: true, isUpkeep: true });
}

async function closeFurther(
  client: PoolClient,
  run: OwedClosing,
  { leagues, cohort, userId }: ClosingProgress,
  isHeard: (userId: string) => boolean,
): Promise<ClosingStep> {
  const rule = ruleOf(leagues);
  if (cohort !== null) {
    const moved = await closeCohorts(client, run, rule, cohort);
    await addMoves(client, run, reported(moved.users, isHeard));
    await moveClosing(client, run.runId, { cohort: moved.last, userId });
    return 'cohorts';
  }
  if (rule.inactive === 'fall') {
    const { last, inactive } = await usersAbove(client, run, userId, USERS);
    if (last !== null) {
      await addMoves(client, run, reported(inactiveMoves(inactive, rule), isHeard));
      await moveClosing(client, run.runId, { cohort, userId: last });
      return 'inactive';
    }
  }
  return seatFollowing(client, run);
}

const reported = (moved: readonly Omit<Moved, 'isReported'>[], isHeard: (userId: string) => boolean): Moved[] =>
  moved.map((each) => ({ ...each, isReported: !isHeard(each.userId) }));

/** How the users of the next cohorts move. `last`: up to which cohort; `null` after the last one. */
async function closeCohorts(
  client: PoolClient,
  run: OwedClosing,
  rule: LeagueRule,
  after: number,
): Promise<{ users: Omit<Moved, 'isReported'>[]; last: number | null }> {
  const cohorts = await cohortsAfter(client, run, { after, limit: COHORTS });
  const board = await boardOf(client, run);
  if (cohorts.length === 0 || board === null) return { users: [], last: null };
  const members = new Map<number, CohortMember[]>(cohorts.map(({ id }) => [id, []]));
  for (const member of await scoredMembers(
    client,
    run,
    cohorts.map(({ id }) => id),
  ))
    members.get(member.cohort)!.push(member);
  const users: Omit<Moved, 'isReported'>[] = [];
  for (const { id, tier } of cohorts) users.push(...(await cohortMoves(members.get(id)!, board, rule, tier)));
  return { users, last: cohorts.at(-1)!.id };
}

async function cohortMoves(
  members: readonly CohortMember[],
  board: Leaderboard,
  rule: LeagueRule,
  stored: number,
): Promise<Omit<Moved, 'isReported'>[]> {
  const tier = tierIn(rule, stored);
  const standings = await GivenStandings.of(members, board);
  const moved: Omit<Moved, 'isReported'>[] = [];
  for (const { userId, rank = 1 } of await standings.page(0, members.length)) {
    const after = tierAfter(rule, tier, moveOf(rule, { tier, rank, users: members.length }));
    if (after !== tier) moved.push({ userId, tierBefore: tier, tier: after, rank });
  }
  return moved;
}

const inactiveMoves = (
  users: readonly { userId: string; tier: number }[],
  rule: LeagueRule,
): Omit<Moved, 'isReported'>[] =>
  users.flatMap(({ userId, tier: stored }) => {
    const tier = tierIn(rule, stored);
    if (moveOfInactive(rule, tier) !== 'down') return [];
    return [{ userId, tierBefore: tier, tier: tierAfter(rule, tier, 'down'), rank: null }];
  });

/** Gives cohorts to users of the following run who wait. After the last ones, users of that run get them at once. */
async function seatFollowing(client: PoolClient, run: OwedClosing): Promise<ClosingStep> {
  const { runDay, leagues } = await followingRun(client, run);
  const following = runDay === null || leagues === null ? null : { ...run, runDay };
  if (following !== null) {
    const waiting = await waitingMembers(client, following, USERS);
    if (waiting.length === USERS) {
      await seatMembers(client, following, leagues!, waiting);
      return 'seated';
    }
  }
  // Transactions that found another run open end first, and their users wait.
  await openRun(client, { ...run, runDay });
  if (following !== null) await seatMembers(client, following, leagues!, await waitingMembers(client, following, 1e9));
  await endClosing(client, run.runId);
  return 'ended';
}
