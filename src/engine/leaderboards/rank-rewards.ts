import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { compileAchievement } from '../../catalog/compile/achievements.ts';
import { compileRankPlan } from '../../catalog/compile/plans.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import { kindOf } from '../../domain/fields/points.ts';
import { ranksOf } from '../../domain/fields/rank.ts';
import { epochDay } from '../../domain/periods.ts';
import { RECORD } from '../../packed/record-fields.ts';
import {
  endRewarding,
  noteRewarded,
  type OwingRun,
  owingRuns,
  type RankedUser,
  rewardedGroups,
  usersFrom,
} from '../../postgres/boards/rank-rewards.ts';
import type { Plan, PlanAchievement } from '../../rules/plan.ts';
import { rewardRank } from '../../rules/ranks.ts';
import { requestRecord } from '../../rules/record.ts';
import { AppError } from '../../errors.ts';
import { directAlias } from '../../redis/aliases.ts';
import { knownPart } from '../../redis/parts.ts';
import { withTimeLimit } from '../../pacing/time-limit.ts';
import { changeEach, type ChangeEachOptions } from '../changes/change-each.ts';
import { eventId } from '../ids.ts';
import { isPersisted } from '../persist/cursor-wait.ts';
import type { Pieces } from '../schedule/pieces.ts';
import { boardKeyOf, boardPiece } from './board-pieces.ts';

export interface RankRewardsOptions extends ChangeEachOptions {
  pool: Pool;
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
  pieces: Pieces;
  graceMs: number;
  /** Called after each step, so that tests can stop there. */
  onRewardStep?: (step: 'paid' | 'noted' | 'ended') => void | Promise<void>;
}

/** Users in a call, between which events come. */
const USERS_A_CALL = 200;
/** After this time the rest is left to the next call. */
const LONG_MS = 15_000;

/** The ranks of a group that a rule rewards. */
interface Band {
  no: number;
  first: number;
  last: number;
}

/** What a run's rules give, by their numbers, as far as they are still active. */
interface Rewards {
  compiled: CompiledCatalog;
  plan: Plan;
  triggers: ReadonlySet<number>;
  achievements: ReadonlyMap<number, PlanAchievement>;
}

/**
 * Rewards ranks of final runs: those of one leaderboard one after the other, and of a run only the rewarded ranks, in slices.
 * Postgres stores how far a run is rewarded, and the user's state stores the last rewarded run of each leaderboard. So a
 * repetition after a crash, or by two schedules, changes nothing.
 */
export function createRankRewards(options: RankRewardsOptions) {
  const { graceMs, pieces, pool, redis, onRewardStep, catalogs } = options;

  /** The runs to reward, except those of boards that were set aside; oldest first. */
  async function owing(): Promise<OwingRun[]> {
    return (await owingRuns(pool)).filter((run) => !pieces.isAside(boardKeyOf(run)));
  }

  /** The time (epoch ms) at which a run is rewarded. */
  function dueMs({ finalMs }: Pick<OwingRun, 'finalMs'>): number {
    return finalMs + graceMs;
  }

  /** Rewards the ranks of runs that became final by a time, in this order. Leaves the rest if it takes long. */
  async function upTo(lastMs: number, called: AbortSignal): Promise<void> {
    const ending = withTimeLimit(called, LONG_MS);
    for (;;) {
      const due = (await owing()).filter((run) => dueMs(run) <= lastMs);
      const [run] = due;
      if (run === undefined || ending.aborted) return;
      await pieces.attempt(boardPiece(run, run.runDay), ending, (signal) => reward(run, signal));
    }
  }

  async function reward(run: OwingRun, ending: AbortSignal): Promise<void> {
    const rewards = await rewardsOf(run);
    for (const group of await rewardedGroups(pool, run)) {
      const bands = run.rules
        .filter(({ no }) => rewards.triggers.has(no) || rewards.achievements.has(no))
        .map((rule): Band => ({ no: rule.no, ...ranksOf(rule, group.participants) }));
      const from = group.id === run.groupId ? run.place : 0;
      if (!(await rewardGroup({ run, rewards, bands, group }, from, ending))) return;
    }
    await endRewarding(pool, run.runId);
    await onRewardStep?.('ended');
  }

  /** Rewards a group from a place on. Returns false if it was aborted. */
  async function rewardGroup(rewarding: Rewarding, from: number, ending: AbortSignal): Promise<boolean> {
    const { run, rewards, group, bands } = rewarding;
    const utcDay = epochDay(run.finalMs);
    const limit = fittingCall(rewards.compiled.userPlan(utcDay).work, USERS_A_CALL);
    let place = from;
    let isAgain = false;
    for (const { first, last } of spansOf(bands)) {
      for (let isMore = true; isMore;) {
        if (ending.aborted) return false;
        const page = await usersFrom(pool, {
          groupId: group.id,
          // Of equal scores, the places are behind the rank.
          from: Math.max(place, first - 1),
          to: group.participants,
          first,
          limit,
        });
        const users = page.filter(({ rank }) => rank <= last);
        isMore = users.length === limit;
        if (users.length === 0) continue;
        const missing = await pay(rewarding, users);
        // A place of a user who was merged since the page was read belongs to the other user once Postgres has the merge.
        if (!isAgain && missing.length > 0 && (await waitForMerges(run.tenantNo, missing))) {
          isAgain = isMore = true;
          continue;
        }
        isAgain = false;
        await onRewardStep?.('paid');
        place = users.at(-1)!.place + 1;
        await noteRewarded(pool, run.runId, { groupId: group.id, place });
        await onRewardStep?.('noted');
      }
    }
    return true;
  }

  /** Whether any of some users, who do not exist, was merged into another. Returns when Postgres has these merges. */
  async function waitForMerges(tenantNo: number, userIds: readonly string[]): Promise<boolean> {
    const merged: string[] = [];
    for (const userId of userIds) if ((await directAlias(redis, tenantNo, userId)) !== null) merged.push(userId);
    for (const shard of new Set(merged.map((userId) => knownPart(redis, tenantNo, userId).shard)))
      if (!(await isPersisted({ redis, pool }, shard)))
        throw new AppError('unavailable', 'A merge is not stored yet; try again in a moment.');
    return merged.length > 0;
  }

  /** Returns the IDs of users who do not exist. */
  async function pay({ run, rewards, bands, group }: Rewarding, users: readonly RankedUser[]): Promise<string[]> {
    const { compiled, plan } = rewards;
    const { tenantNo, boardNo, runDay, finalMs } = run;
    const each = users.map((user) => ({ ...user, id: eventId(finalMs) }));
    const changes = await changeEach(options, tenantNo, each, (user, { userId, rank, score, id }) => {
      const nos = bands.filter(({ first, last }) => rank >= first && rank <= last).map(({ no }) => no);
      const outcome = rewardRank(user, plan, {
        board: boardNo,
        finalMs,
        triggers: new Set(nos),
        achievements: nos.flatMap((no) => rewards.achievements.get(no) ?? []),
        ownBoosts: compiled.ownBoosts(userId),
      });
      if (outcome === null) return { records: [] };
      const record = {
        ...requestRecord(user, outcome, { plan, nowMs: finalMs, isNew: false, id, userId }),
        [RECORD.version]: plan.version,
        [RECORD.ranked]: [boardNo, runDay, group.name, rank, score] as [number, number, string, number, number],
      };
      return { records: [{ record, effects: outcome }] };
    });
    return users.flatMap(({ userId }, at) => (changes[at] === null ? [userId] : []));
  }

  /** The run's rules that are still active, and still about its leaderboard. */
  async function rewardsOf({ tenantNo, version, boardNo, finalMs, rules }: OwingRun): Promise<Rewards> {
    await catalogs.atLeast(tenantNo, version);
    const compiled = await catalogs.of(tenantNo);
    const nos = new Set(rules.map(({ no }) => no));
    const boardId = compiled.leaderboardsByNo.get(boardNo)?.id;
    const isDue = (rule: { no: number; status: string; leaderboardId: string | null }): boolean =>
      nos.has(rule.no) && rule.status === 'active' && rule.leaderboardId === boardId;
    const { triggers, achievements } = compiled.catalog;
    return {
      compiled,
      plan: compileRankPlan(compiled, epochDay(finalMs)),
      triggers: new Set(triggers.filter((one) => isDue(one) && kindOf(one) === 'rank').map(({ no }) => no)),
      achievements: new Map(
        achievements.filter(isDue).map((achievement) => [achievement.no, compileAchievement(compiled, achievement)]),
      ),
    };
  }

  return { owing, dueMs, upTo };
}

export type RankRewards = ReturnType<typeof createRankRewards>;

interface Rewarding {
  run: OwingRun;
  rewards: Rewards;
  bands: readonly Band[];
  group: { id: number; name: string; participants: number };
}

/** The ranks that at least one rule rewards, as spans that do not touch, best first. */
function spansOf(bands: readonly Band[]): { first: number; last: number }[] {
  const spans: { first: number; last: number }[] = [];
  for (const { first, last } of bands.toSorted((a, b) => a.first - b.first)) {
    if (first > last) continue;
    const before = spans.at(-1);
    if (before === undefined || first > before.last + 1) spans.push({ first, last });
    else before.last = Math.max(before.last, last);
  }
  return spans;
}
