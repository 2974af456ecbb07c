import type { Pool } from 'pg';
import { compileBackdatingPlan } from '../../catalog/compile/plans.ts';
import { type CompiledCatalog, loadCompiled } from '../../catalog/compiled-catalog.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import type { Clock } from '../../clock.ts';
import { clamped, parseDecimal } from '../../domain/decimal.ts';
import { epochDay } from '../../domain/periods.ts';
import { isQuest } from '../../domain/repeat.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { Job } from '../../postgres/jobs.ts';
import { requireAllRows } from '../../postgres/users/row-moves.ts';
import { usersAfter } from '../../postgres/users/selections.ts';
import { inSnapshot } from '../../postgres/transaction.ts';
import { storedStates } from '../../postgres/users/stored-states.ts';
import { type AchievementHistory, backdate, takeHistory } from '../../rules/backdating.ts';
import type { Plan } from '../../rules/plan.ts';
import { requestRecord } from '../../rules/record.ts';
import { isRefusal } from '../../rules/refusal.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { dayOfUser, type QuestPeriod, type User } from '../../rules/user.ts';
import { changeEach, type ChangeEachOptions, type EachChange } from '../changes/change-each.ts';
import { eventId } from '../ids.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { type OnPieceFailed, userPiece } from '../schedule/pieces.ts';
import { sliceOfUsers, untilCurrent } from './user-slices.ts';
import { latestPeriods, matchingSums } from '../achievements/quests.ts';

/** A job that completes an activated or edited achievement for the users who already qualify. */
export type Backdating = Job<{ achievementNo: number }, { completed?: number }> & { tenantNo: number };

export interface BackdatingOptions extends ChangeEachOptions {
  pool: Pool;
  clock: Clock;
  /** See `JobWork.minAgeMs`. */
  minAgeMs?: number;
  onFailed?: OnPieceFailed;
}

/** Every process has a new catalog within a second; wait twice that. */
const MIN_AGE_MS = 2_000;
/** Users in a call, between which events come. */
const USERS_A_CALL = 200;
const TITLE = 'backdating of achievements';

/** A user's state, and what of the same snapshot belongs to it. */
interface Counted {
  state: Buffer;
  /** Decimal text: sum of the matching events, if the achievement counts only these. */
  count?: string;
  /** The latest periods of a repeating achievement. */
  periods?: QuestPeriod[];
}

const historyOf = (achievement: number, { count, periods }: Counted): AchievementHistory => ({
  achievement,
  count: count === undefined ? null : clamped(parseDecimal(count)),
  periods: periods ?? null,
});

/** A user's change. `outdated`: the user has changed since the history was read, which must be read again. */
interface BackdatedUser extends EachChange {
  outcome: 'completed' | 'unchanged' | 'outdated';
}

/** Some users of a slice. */
interface Users {
  compiled: CompiledCatalog;
  request: Backdating;
  ids: readonly string[];
}

/** Completes activated or edited achievements for the users who already qualify. A repeated completion changes nothing. */
export function createBackdatingEngine(options: BackdatingOptions): JobWork<Backdating> {
  const { clock, pool, onFailed } = options;
  const kinds = ['backdating'] as const;
  const title = TITLE;
  const minAgeMs: number = options.minAgeMs ?? MIN_AGE_MS;

  async function slice(job: Backdating, record: RecordSlice): Promise<void> {
    const { tenantNo } = job;
    const compiled = await loadCompiled(pool, tenantNo);
    if (compiled?.achievementsByNo.get(job.parameters.achievementNo)?.status !== 'active') {
      await record(async () => ({ end: 'done' }));
      return;
    }
    const limit = fittingCall(compiled.userPlan(epochDay(clock.now())).work, USERS_A_CALL);
    await sliceOfUsers(options, job, record, {
      limit,
      next: async (after) => {
        const ids = (await usersAfter(pool, tenantNo, after, limit)).map(({ id }) => id);
        const completed = (job.result.completed ?? 0) + (await complete({ compiled, request: job, ids }));
        return { last: ids.at(-1) ?? null, users: ids.length, store: async () => ({ result: { completed } }) };
      },
    });
  }

  /** Completes the achievement for users who qualify. Returns how many of them completed it. */
  async function complete({ compiled, request, ids }: Users): Promise<number> {
    const achievement = compiled.achievementsByNo.get(request.parameters.achievementNo)!;
    const counting =
      achievement.trigger === 'metric' && (achievement.eventAttributes.length > 0 || isQuest(achievement));
    let completed = 0;
    const busy = await untilCurrent(ids, async (some) => {
      const counts = counting ? await readCounts({ compiled, request, ids: some }) : null;
      const outcomes = await call({ compiled, request, ids: some }, counts);
      completed += outcomes.filter((each) => each?.outcome === 'completed').length;
      return some.filter((_, index) => outcomes[index]?.outcome === 'outdated');
    });
    leaveOut(request, busy);
    return completed;
  }

  /** Gives up on users who never stop changing: their next events complete the achievement. */
  function leaveOut({ tenantNo, parameters: { achievementNo } }: Backdating, ids: readonly string[]): void {
    const error = new Error('The user keeps changing: earlier events are left out.');
    for (const id of ids) onFailed?.({ kind: TITLE, piece: userPiece(tenantNo, id, { achievementNo }), error });
  }

  async function readCounts({ compiled, request, ids }: Users): Promise<Map<string, Counted>> {
    return inSnapshot(pool, async (client) => {
      const { tenantNo, parameters } = request;
      await requireAllRows(client, { tenantNo });
      const achievement = compiled.achievementsByNo.get(parameters.achievementNo)!;
      const counted = new Map<string, Counted>();
      if (achievement.eventAttributes.length > 0)
        for (const { id, ...row } of await matchingSums(client, compiled, achievement, ids)) counted.set(id, row);
      if (!isQuest(achievement)) return counted;
      const states = await storedStates(client, tenantNo, ids);
      const latest = await latestPeriods(client, compiled, achievement, ids);
      for (const [id, state] of states) counted.set(id, { state, ...counted.get(id), periods: latest.get(id) ?? [] });
      return counted;
    });
  }

  async function call(
    { compiled, request, ids }: Users,
    counts: Map<string, Counted> | null,
  ): Promise<(BackdatedUser | null)[]> {
    const { achievementNo } = request.parameters;
    const nowMs = clock.now();
    const plan = compileBackdatingPlan(compiled, new Set([achievementNo]), epochDay(nowMs));
    const users = ids.map((userId) => ({ userId, id: eventId(nowMs) }));
    return changeEach(options, request.tenantNo, users, (user, one, packed) => {
      const counted = counts?.get(one.userId);
      if (counted !== undefined && !counted.state.equals(packed)) return { records: [], outcome: 'outdated' };
      const history = counted === undefined ? null : historyOf(achievementNo, counted);
      return backdatedUser(user, one, packed, { plan, history, ownBoosts: compiled.ownBoosts(one.userId), nowMs });
    });
  }

  return { kinds, title, minAgeMs, slice };
}

function backdatedUser(
  user: User,
  one: { userId: string; id: string },
  packed: Buffer,
  { plan, ...change }: Parameters<typeof backdate>[2] & { plan: Plan },
): BackdatedUser {
  const { history, nowMs } = change;
  const request = { plan, nowMs, isNew: false, ...one };
  const applied = backdate(user, plan, change);
  if (isRefusal(applied)) {
    if (history === null) return { records: [], outcome: 'unchanged' };
    // What was counted stays, so that the first event that can pay completes the achievements.
    Object.assign(user, decodeUser(packed));
    takeHistory(user, history);
    const nothing = { settlements: null, completed: [], quests: [], ledgers: [], scores: [] };
    const effects = { day: dayOfUser(user, nowMs), ...nothing };
    const record = { ...requestRecord(user, effects, request), [RECORD.backdated]: 1 as const };
    return { records: [{ record, effects }], outcome: 'unchanged' };
  }
  const isCompleted = applied.completed.length > 0;
  if (!isCompleted && history === null) return { records: [], outcome: 'unchanged' };
  const record = {
    ...requestRecord(user, applied, request),
    [RECORD.backdated]: 1 as const,
    [RECORD.version]: plan.version,
  };
  return { records: [{ record, effects: applied }], outcome: isCompleted ? 'completed' : 'unchanged' };
}
