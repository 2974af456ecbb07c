import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { dateOf, DAY_MS, dayOf, FREQUENCIES, epochDay } from '../../domain/periods.ts';
import type { RecomputationAsked } from '../../domain/administration/recomputation.ts';
import { isQuest } from '../../domain/repeat.ts';
import {
  awardsOfTriggers,
  awardSums,
  cohortAfter,
  completionsOf,
  eachEvent,
  fixedAwards,
  longestEnded,
  triggersOfEvents,
  usersWithLateEvents,
} from '../../postgres/corrections/recomputation-history.ts';
import type { PlannedRow, StoredRecomputation } from '../../postgres/corrections/recomputations.ts';
import { detailsFromDay } from '../../postgres/partitions.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/streaks.ts';
import { inSnapshot } from '../../postgres/transaction.ts';
import { requireAllRows } from '../../postgres/users/row-moves.ts';
import { boundsOf, openBoards } from './open-boards.ts';
import { scoreDifferences } from './planned-scores.ts';
import { directionsOf, type UserPlan } from './planned-user.ts';
import { type Rules, rulesOf } from './rules.ts';
import { beginUserPlanning, planOf, type PlanRules, type UserHistory, type UserPlanning } from './user-proposal.ts';
import { importedPasts } from './user-replay.ts';
import { groupedBy } from '../../grouped.ts';

export interface PlannedSlice {
  /** The last user examined; `null` if none was left. */
  lastUser: string | null;
  users: number;
  /** Users with changes, and users who could not be planned. */
  rows: PlannedRow<UserPlan>[];
}

interface Planning {
  planning: UserPlanning;
  createdMs: number;
}

const failedRow = (userId: string, error: unknown): PlannedRow<UserPlan> => ({
  userId,
  createdMs: 0,
  plan: null,
  gains: false,
  loses: false,
  skipped: `The user could not be planned: ${(error as Error).message}`,
});

/** Settlements by which a streak ends or is replaced. */
const ENDED = (['lost', 'replaced', 'reset'] as const).map((kind) => SETTLEMENT_KINDS.indexOf(kind) + 1);

/**
 * Plans the next users of a recomputation from one snapshot of Postgres. A user who cannot be planned is included with the
 * reason, and does not stop the others. Returns a sentence if none can be planned because required events were dropped.
 */
export function planSlice(
  pool: Pool,
  slice: { job: StoredRecomputation; compiled: CompiledCatalog; nowMs: number; limit: number },
): Promise<PlannedSlice | string> {
  const { job, compiled, nowMs, limit } = slice;
  return inSnapshot(pool, async (client) => {
    await client.query('SET LOCAL max_parallel_workers_per_gather = 0');
    const { tenantNo, cohort, lastUser: after } = job;
    await requireAllRows(client, { tenantNo });
    const detailsDay = await detailsFromDay(client);
    const missing = missingDetails(compiled, job.request, detailsDay);
    if (missing !== null) return missing;
    const users = await cohortAfter(client, { tenantNo, cohort, after, limit });
    const by = await planRules(client, job, compiled, nowMs);
    const { plannings, rows } = await begin(client, { by, users, compiled, detailsDay });
    const orFailed = (userId: string, work: (one: Planning) => void): void => {
      const one = plannings.get(userId);
      if (one === undefined) return;
      try {
        work(one);
      } catch (error) {
        plannings.delete(userId);
        rows.push(failedRow(userId, error));
      }
    };
    const { metricNos, streaks } = by.rules;
    if (metricNos.length > 0 || streaks)
      await eachEvent(client, { tenantNo, ids: [...plannings.keys()], metricNos, streaks }, (event) =>
        orFailed(event.userId, ({ planning }) => planning.replay.event(event)),
      );
    for (const userId of plannings.keys())
      orFailed(userId, ({ planning, createdMs }) => {
        const plan = planOf(planning);
        if (plan !== null) rows.push({ userId, createdMs, plan, ...directionsOf(plan), skipped: null });
      });
    return { lastUser: users.at(-1)?.id ?? null, users: users.length, rows };
  });
}

async function planRules(
  client: PoolClient,
  job: StoredRecomputation,
  compiled: CompiledCatalog,
  nowMs: number,
): Promise<PlanRules> {
  const { what, since, mayRevoke } = job.request;
  const points = what.includes('points');
  const triggers = await triggersOfEvents(client, job.tenantNo);
  const boards = what.includes('boards') ? openBoards(compiled, nowMs) : null;
  return {
    rules: rulesOf(compiled, points, epochDay(nowMs)),
    points,
    achievements: what.includes('achievements'),
    boards,
    bounds: boundsOf(boards ?? []),
    mayRevoke,
    sinceDay: since === null ? -Infinity : dayOf(since),
    nowMs,
    triggers: new Map(triggers.map(({ no, type }) => [no, type])),
  };
}

async function begin(
  client: PoolClient,
  work: { by: PlanRules; users: { id: string; state: Buffer }[]; compiled: CompiledCatalog; detailsDay: number | null },
): Promise<{ plannings: Map<string, Planning>; rows: PlannedRow<UserPlan>[] }> {
  const { by, users, compiled, detailsDay } = work;
  const { tenantNo } = compiled.catalog;
  const rows: PlannedRow<UserPlan>[] = [];
  const decoded = new Map<string, User>();
  for (const { id, state } of users) {
    try {
      decoded.set(id, decodeUser(state));
    } catch (error) {
      rows.push(failedRow(id, error));
    }
  }
  const who = { tenantNo, ids: [...decoded.keys()] };
  const pasts = await importedPasts(client, tenantNo, decoded, by.rules.metricNos);
  const importedMs = new Map(Array.from(pasts, ([id, { atMs }]) => [id, atMs]));
  const since = by.sinceDay === -Infinity ? null : new Date(by.sinceDay * DAY_MS).toISOString().slice(0, 10);
  const { frequency } = compiled.catalog.streaks;
  const frequencyNo = FREQUENCIES.indexOf(frequency) + 1;
  const awards = groupedBy(await awardSums(client, { ...who, since, importedMs, bounds: by.bounds }), userOf);
  const except = [...by.triggers.keys()];
  const fixed = groupedBy(by.points ? await fixedAwards(client, { ...who, since, importedMs, except }) : [], userOf);
  const triggerNos = by.points || !by.mayRevoke ? [] : questTriggers(by.rules);
  const questAwards = groupedBy(await awardsOfTriggers(client, { ...who, triggerNos, bounds: by.bounds }), userOf);
  const completions = groupedBy(await completionsOf(client, who), userOf);
  const ended = await longestEnded(client, { ...who, frequencyNo, kinds: ENDED });
  const paysStreaks = by.points && [...by.triggers.values()].includes('streak');
  const late = paysStreaks ? await usersWithLateEvents(client, who) : new Set();
  const scored = { compiled, boards: by.boards ?? [], users: decoded, nowMs: by.nowMs, detailsFromDay: detailsDay };
  const scores = await scoreDifferences(client, scored);
  const plannings = new Map<string, Planning>();
  for (const [id, user] of decoded) {
    try {
      const history: UserHistory = {
        user,
        imported: pasts.get(id) ?? null,
        completions: (completions.get(id) ?? []).map(({ completion }) => completion),
        awards: awards.get(id) ?? [],
        fixed: fixed.get(id) ?? [],
        questAwards: questAwards.get(id) ?? [],
        boosts: compiled.ownBoosts(id),
        longestStreak: Math.max(user.streaks[frequency].length, ended.get(id) ?? 0),
        streakAsLived: !late.has(id) && user.corrections === 0,
        scores: scores.get(id) ?? new Map(),
      };
      plannings.set(id, { planning: beginUserPlanning(by, history), createdMs: user.createdMs });
    } catch (error) {
      rows.push(failedRow(id, error));
    }
  }
  return { plannings, rows };
}

/** The triggers that pay for repeating achievements. */
function questTriggers({ quests, systems }: Rules): number[] {
  const repeating = new Set([...quests.values()].flat().map(({ no }) => no));
  return systems.flatMap(({ achievement }) =>
    achievement.filter(({ achievement: no = 0 }) => repeating.has(no)).map(({ no }) => no),
  );
}

const userOf = ({ userId }: { userId: string }): string => userId;

/**
 * The part of a request that is impossible once events and awards before a day (epoch day; `null`: none) were dropped,
 * as a sentence; `null` if everything is possible. Totals, highest totals, streaks, completions and the sums of boards'
 * runs are kept.
 */
export function missingDetails(
  { catalog }: CompiledCatalog,
  { what, mayRevoke }: Pick<RecomputationAsked, 'what' | 'mayRevoke'>,
  detailsFromDay: number | null,
): string | null {
  if (detailsFromDay === null) return null;
  const dropped = `events and awards before ${dateOf(detailsFromDay)} were dropped (EVENT_RETENTION_DAYS).`;
  if (what.includes('points'))
    return `what: 'points' needs all events in their order, and ${dropped} 'achievements' and 'boards' can be computed without.`;
  if (!what.includes('achievements')) return null;
  const counting = catalog.achievements.find(
    (achievement) =>
      achievement.status === 'active' &&
      achievement.trigger === 'metric' &&
      (achievement.eventAttributes.length > 0 || isQuest(achievement)),
  );
  if (counting !== undefined)
    return `what: 'achievements' needs all events, for '${counting.key ?? counting.name}' counts those ${isQuest(counting) ? 'of each period' : 'with certain attributes'}, and ${dropped} 'boards' can be computed without.`;
  if (mayRevoke)
    return `mayRevoke needs all awards, to know what achievements paid, and ${dropped} Without it achievements can be computed.`;
  return null;
}
