import type { Fold } from '../../domain/rule-kinds.ts';
import type { Pool, PoolClient } from 'pg';
import { compileAchievement } from '../../catalog/compile/achievements.ts';
import { secondaryOf } from '../../domain/secondary-score.ts';
import { compileBoard } from '../../catalog/compile/boards.ts';
import { pointsLimits } from '../../catalog/compile/points.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { isInside, reachedIn, type RunScore, scoreIn, secondaryIn } from '../../rules/leaderboards.ts';
import type { PlanAchievement } from '../../rules/plan.ts';
import { reversalRecord } from '../../rules/record.ts';
import { isRefusal } from '../../rules/refusal.ts';
import { type BoardCorrection, type Reversal, reverse, type Revocation } from '../../rules/reversal.ts';
import { type ChangedEvents, replayStreaks, type StreakReplay } from '../../rules/streak-replay.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { EventReversal } from '../../domain/administration/reversal.ts';
import { type Achievement, type Leaderboard, neededBy, type PointsTrigger } from '../../domain/catalog.ts';
import { floorOf, foldOf, NO_SCORE, turned } from '../../domain/leaderboard.ts';
import {
  clamped,
  type Decimal,
  decimalOfMicros,
  decimalText,
  type Micros,
  microsOf,
  parseDecimal,
  toDecimal,
  toMicros,
} from '../../domain/decimal.ts';
import { DAY_MS, dayOf } from '../../domain/periods.ts';
import { daysOf } from '../../domain/repeat.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { uuidText } from '../../domain/schemas.ts';
import { dayIn, zoneOffset } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { HISTORY_SUM } from '../../packed/call-fields.ts';
import type { HistorySum } from '../../packed/state.ts';
import { emptyHistorySum, historySum, packedCompletion } from '../../packed/packed-arrays.ts';
import { COMPENSATED, COMPLETED, KIND, kindField } from '../../packed/record-fields.ts';
import type { Compensated, HappenedRecord, PackedCompletion } from '../../packed/record.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { type CountedMetric, historySums } from '../../postgres/boards/past-scores.ts';
import { QUARANTINE_STATUS, readQuarantined } from '../../postgres/corrections/quarantine.ts';
import {
  readAwards,
  readAwardsOf,
  readCompletions,
  readEvent,
  readHeld,
  readLastReversal,
  readRoot,
  type StoredCompletion,
  type StoredEvent,
} from '../../postgres/corrections/reversals.ts';
import { isDropped } from '../../postgres/partitions.ts';
import { docsThen } from '../../postgres/timeline/catalog-then.ts';
import { inSnapshot, transaction } from '../../postgres/transaction.ts';
import { changeUser, refused, UNKNOWN_USER, unwritten, type UserChange, written } from '../changes/change-user.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { eventId } from '../ids.ts';
import { boardHistory, offsetsOf } from '../leaderboards/board-history.ts';
import { matches, periodsOfDay, periodSums } from '../achievements/quests.ts';
import { unlessRefused } from '../refusals.ts';
import { reversalAnswer, unchangedReversal } from '../responses.ts';
import type { Scripts } from '../scripts.ts';
import { type Correction, finalRunsWithout } from './final-runs.ts';
import { repairsOf, replayedStreaks } from './packed-replay.ts';
import { readStreakFacts } from './streak-facts.ts';

interface ReversalsOptions {
  pool: Pool;
  scripts: Scripts;
  /** Whether Postgres holds a reversal (32 hex digits of the opposite event). */
  isStored: (id: string) => Promise<boolean>;
  clock: Clock;
  recordAudit: RecordAudit;
  /** See `FrontendCore`. */
  persisted: (tenantNo: number, userId?: string) => Promise<void>;
}

interface ReversalRequest {
  /** A UUID, or 32 hex digits, of an event or of a reversal. */
  id: string;
  /** Also revokes the achievements that the event completed, and composites that require them, with their points. */
  revokeAchievements: boolean;
  dryRun: boolean;
}

/** How often a reversal is computed again because the user changed meanwhile. */
const TRIES = 16;

/** The fields of a reversal that come from the user's streaks. */
type OfUser = 'replay' | 'tz' | 'scores' | 'nowMs';

type Found = { unchanged: EventReversal } | { planned: Omit<PlannedReversal, OfUser> };

/**
 * Reverses events as if they had never happened; reversing a reversal restores the event. The effects are computed from
 * Postgres and applied in one atomic step if the user has not changed since; otherwise they are computed again. So only
 * one of several concurrent reversals of an event takes effect.
 */
export function createReversals({ pool, recordAudit, clock, persisted, scripts, isStored }: ReversalsOptions) {
  /**
   * Reverses one event. Idempotent: an event that is already reversed is answered as `unchanged`. Throws 404 for an
   * unknown event or a deleted user's event; 422 if a sum would leave its range; 503.
   */
  async function reverseEvent(compiled: CompiledCatalog, request: ReversalRequest, by: Author): Promise<EventReversal> {
    const { tenantNo } = compiled.catalog;
    const { event, root } = await find(tenantNo, request.id);
    let { userId } = event;
    const firstDay = dayOf(event.localDate);
    for (let tries = 0; tries < TRIES; tries++) {
      await persisted(tenantNo, userId);
      const nowMs = clock.now();
      // Read first: a later reversal changes the expected state and is noticed.
      const of = await readStreakFacts(pool, compiled, { userId, nowMs, firstDay, removed: [root] });
      if (of === null) {
        const now = (await find(tenantNo, request.id)).event.userId;
        if (now === userId) throw unknownEvent(request.id);
        // The user was merged into another, who has the event by now.
        userId = now;
        continue;
      }
      const found = await plan(compiled, request);
      if ('unchanged' in found) return found.unchanged;
      const { facts, user, packed } = of;
      const replay = replayStreaks(facts, changedEvents(found.planned));
      const scores = await scoresAfter(pool, compiled, { ...found.planned, user, nowMs });
      const planned = { ...found.planned, replay, tz: user.zone, scores, nowMs };
      const reversal = reversalOf(compiled, planned);
      const finalRuns = planned.voids ? await finalRunsWithout(pool, compiled, correctionOf(compiled, planned)) : [];
      const record = await make(compiled, userId, { reversal, expected: packed!, dryRun: request.dryRun });
      if (record === null) continue;
      const answer = reversalAnswer(compiled, record, { dryRun: request.dryRun, finalRuns });
      if (!request.dryRun) audit(tenantNo, answer, userId, by);
      return answer;
    }
    throw new AppError('unavailable', 'The user does too much at once for a reversal; try again in a moment.');
  }

  /** Applies a reversal once. `null`: the user has changed, or an earlier try was stored; the next round finds out. */
  async function make(
    compiled: CompiledCatalog,
    userId: string,
    { reversal, expected, dryRun }: { reversal: Reversal; expected: Buffer; dryRun: boolean },
  ): Promise<HappenedRecord | null> {
    const nowMs = clock.now();
    const { plan } = compiled.userPlan(Math.floor(nowMs / DAY_MS));
    const id = eventId(nowMs);
    const compute = (read: ReadUser, part: TenantPart): UserChange => {
      if (read.packed === null) return unwritten(read, UNKNOWN_USER);
      if (!read.packed.equals(expected)) return refused(read, { refusal: 'outdated' });
      const user = decodeUser(read.packed);
      const outcome = reverse(user, reversal, plan, nowMs);
      if (isRefusal(outcome)) return refused(read, outcome);
      const record = reversalRecord(user, reversal, outcome, { plan, nowMs, id, userId });
      if (dryRun) return unwritten(read, record);
      const { ledgers, completions, scores } = outcome;
      return written(user, read, { part, record, effects: { ledgers, completions, scores } });
    };
    const change = { userId, compute };
    const made = await changeUser(scripts, compiled.catalog.tenantNo, change, { isStored: () => isStored(id) });
    if (made === null || made.reply[kindField] === REFUSAL.outdated) return null;
    return unlessRefused(compiled, made.reply, [KIND.reversal]);
  }

  /** An event, and the ID of its original event: its own, unless it is a reversal. */
  async function find(tenantNo: number, id: string): Promise<{ event: StoredEvent; root: string }> {
    const read = () =>
      transaction(pool, async (client) => {
        const event = await readEvent(client, tenantNo, id);
        if (event === null) return null;
        const root = event.reverses === null ? event.id : await readRoot(client, event.id);
        return root === null ? null : { event, root };
      });
    let found = await read();
    if (found === null) {
      // An event that was answered a moment ago may not be in Postgres yet.
      await persisted(tenantNo);
      found = await read();
    }
    if (found !== null) return found;
    throw await missingEvent(pool, tenantNo, id);
  }

  function plan(compiled: CompiledCatalog, request: ReversalRequest): Promise<Found> {
    return inSnapshot(pool, async (client) => {
      const { tenantNo } = compiled.catalog;
      const event = await readEvent(client, tenantNo, request.id);
      if (event === null) throw unknownEvent(request.id);
      const rootId = event.reverses === null ? event.id : await readRoot(client, event.id);
      const root = rootId === null ? null : await readEvent(client, tenantNo, rootId);
      if (root === null) throw unknownEvent(request.id);
      const last = await readLastReversal(client, root.id);
      if (last !== null && (event.id === root.id ? last.inForce : last.id !== event.id))
        return { unchanged: unchangedReversal(compiled, { root, last, dryRun: request.dryRun }) };
      const counted = await countedBy(client, compiled, root);
      if (last?.inForce === true) {
        const awards = last.awards.map(negated);
        const restored = await missing(client, tenantNo, root, last.revoked);
        const planned = { root, reversed: last.id, voids: false, awards, revoked: [], restored };
        return { planned: { ...planned, counted, held: await held(client, tenantNo, planned) } };
      }
      const reversed = last?.id ?? root.id;
      const planned = await voiding(client, compiled, { root, reversed, request });
      return { planned: { ...planned, counted, held: await held(client, tenantNo, planned) } };
    });
  }

  /** Runs in the background; the caller does not wait for it. */
  function audit(tenantNo: number, answer: EventReversal, userId: string, by: Author): void {
    const { eventId: id, reversalId, revokedAchievements } = answer;
    const entry = { action: 'reverse', kind: 'event', id, userId, after: { reversalId, revokedAchievements } } as const;
    void recordAudit({ tenantNo, by, entries: [entry] });
  }

  return { reverse: reverseEvent };
}

export type Reversals = ReturnType<typeof createReversals>;

/**
 * The revoked completions that the user lacks. The user's state keeps only the latest periods of repeating achievements; a later event may
 * have completed another one again.
 */
async function missing(
  client: PoolClient,
  tenantNo: number,
  root: StoredEvent,
  revoked: readonly PackedCompletion[],
): Promise<PackedCompletion[]> {
  if (!revoked.some((each) => each[COMPLETED.period] !== undefined)) return [...revoked];
  const completions = await readCompletions(client, tenantNo, root);
  const isThere = (each: PackedCompletion): boolean =>
    completions.some(
      ({ achievementNo, period }) => achievementNo === each[COMPLETED.achievement] && period === each[COMPLETED.period],
    );
  return revoked.filter((each) => !isThere(each));
}

async function voiding(
  client: PoolClient,
  compiled: CompiledCatalog,
  { root, reversed, request }: { root: StoredEvent; reversed: string; request: ReversalRequest },
): Promise<Omit<PlannedReversal, OfUser | 'counted' | 'held'>> {
  const { tenantNo, pointsSystems } = compiled.catalog;
  const systemNos = pointsSystems.map(({ no }) => no);
  const awards = await readAwards(client, { tenantNo, userId: root.userId, id: root.id, systemNos });
  const revoked = request.revokeAchievements ? await revocationsOf(client, compiled, root, awards) : [];
  return { root, reversed, voids: true, awards, revoked, restored: [] };
}

/** Those of a reversal's awards that another reversal in force has taken. */
function held(
  client: PoolClient,
  tenantNo: number,
  { root, awards, revoked }: Pick<PlannedReversal, 'root' | 'awards' | 'revoked'>,
): Promise<string[]> {
  const all = [...awards, ...revoked.flatMap((each) => each.awards)];
  const ids = all.map((award) => award[COMPENSATED.award]);
  return readHeld(client, { tenantNo, userId: root.userId, root: root.id, awards: ids });
}

function changedEvents({ root, voids }: Pick<PlannedReversal, 'root' | 'voids'>): ChangedEvents {
  const { id, occurredMs, localDate, metricNo, value } = root;
  if (voids) return { remove: new Set([id]) };
  return { add: [{ id, atMs: occurredMs, day: dayOf(localDate), metricNo, value: parseDecimal(value) }] };
}

function negated(award: Compensated): Compensated {
  const opposite = structuredClone(award);
  opposite[COMPENSATED.points] = -award[COMPENSATED.points];
  return opposite;
}

/**
 * Numbers of the achievements and triggers that counted an event in a counter of their own. Achievements go by their
 * current conditions, since activating or editing one counts the whole history again. Triggers go by their conditions
 * when the event was applied, since their counters continue from there.
 */
async function countedBy(
  client: PoolClient,
  compiled: CompiledCatalog,
  { metricNo, attributes, atMs }: StoredEvent,
): Promise<number[]> {
  const metricId = compiled.metricsByNo.get(metricNo)?.id;
  if (attributes === null || metricId === undefined) return [];
  const { tenantNo, achievements, triggers } = compiled.catalog;
  const counts = (counting: Pick<PointsTrigger, 'metricId' | 'eventAttributes'>): boolean =>
    counting.metricId === metricId && counting.eventAttributes.length > 0 && matches(compiled, counting, attributes);
  const earlier = triggers.filter(({ type, created }) => type === 'metric' && created <= atMs);
  const asked = earlier.map(({ id }) => ({ id, version: null, atMs }));
  const docs = await docsThen(client, tenantNo, asked);
  const then = earlier.map((trigger, index): PointsTrigger => ({ ...trigger, ...docs[index]?.doc }));
  const counting = [...achievements.filter(({ trigger }) => trigger === 'metric'), ...then];
  return counting.filter((each) => each.status === 'active' && counts(each)).map(({ no }) => no);
}

/** A 404 that says why an event (a UUID, or 32 hex digits) that was not applied cannot be reversed. */
async function missingEvent(pool: Pool, tenantNo: number, id: string): Promise<AppError> {
  const [kept] = await readQuarantined(pool, tenantNo, [id]);
  if (kept?.status === QUARANTINE_STATUS.waiting)
    return refusal(`The event with the ID '${shown(id)}' waits in quarantine: it does not count yet. Drop it there.`);
  if (await isDropped(pool, id))
    return refusal(
      `The event with the ID '${shown(id)}' is older than events are kept: only the sums of its day are left, so it can no longer be reversed.`,
    );
  return unknownEvent(id);
}

const unknownEvent = (id: string): AppError => refusal(`There is no event with the ID '${shown(id)}'.`);

const refusal = (message: string): AppError => new AppError('not_found', message);

const shown = (id: string): string => (id.includes('-') ? id : uuidText(id));

function reversalOf(compiled: CompiledCatalog, planned: PlannedReversal): Reversal {
  const { root, voids, reversed, counted, awards, held, revoked, restored, replay } = planned;
  const value = parseDecimal(root.value);
  const sign = voids ? 1 : -1;
  return {
    root: root.id,
    reversed,
    voids,
    metric: root.metricNo,
    value: { whole: sign * value.whole, micros: sign * value.micros },
    occurredMs: root.occurredMs,
    occurredDay: dayOf(root.localDate),
    day: awardDay(planned),
    attributes: root.attributes === null ? '' : JSON.stringify(root.attributes),
    replayed: replayedStreaks(replay),
    ...repairsOf(replay),
    counted,
    quests: Array.from(countedPeriods(compiled, root), ([{ no }, period]) => ({ no, period })),
    awards,
    held,
    limits: pointsLimits(compiled.catalog),
    revoked,
    restored,
    boards: boardMoves(compiled, planned, { whole: -sign * value.whole, micros: -sign * value.micros }),
  };
}

/** The periods in which an event counts, by the current conditions of the active repeating achievements. */
const countedPeriods = (compiled: CompiledCatalog, event: StoredEvent): Map<Achievement, number> =>
  new Map(
    [...periodsOfDay(compiled, event.metricNo, dayOf(event.localDate))].filter(([quest]) =>
      matches(compiled, quest, event.attributes),
    ),
  );

/** The stored data that a reversal is built from, and its replay. */
interface PlannedReversal {
  replay: StreakReplay;
  root: StoredEvent;
  reversed: string;
  voids: boolean;
  /** See `Reversal`. */
  counted: number[];
  awards: Compensated[];
  held: string[];
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** The user's zone; `null` means UTC. */
  tz: string | null;
  /** By number of the board: see `scoresAfter`. */
  scores: ReadonlyMap<number, HistorySum>;
  nowMs: number;
}

/** The local day (epoch day) of an event's awards. A late event awards on the day on which it arrives. */
const awardDay = ({ root, tz }: Pick<PlannedReversal, 'root' | 'tz'>): number =>
  root.occurredMs === root.atMs ? dayOf(root.localDate) : dayIn(tz, root.atMs);

/** Changes in runs that are not final: of the event's local day on metric boards, of the awards on points boards. */
function boardMoves(compiled: CompiledCatalog, planned: PlannedReversal, earned: Decimal): BoardCorrection[] {
  const { root, tz, nowMs } = planned;
  const taken = takenBy(planned);
  const moves: BoardCorrection[] = [];
  for (const board of compiled.catalog.leaderboards) {
    const ofMetric = isOfMetric(compiled, board, root);
    if (board.status === 'inactive' || (!ofMetric && board.rankBy !== 'points')) continue;
    const rule = playedRule(board);
    const planBoard = compileBoard(compiled, board, { metric: null, days: [] });
    /** The first day (epoch day) of the open run that contains a time; `null` if there is none. */
    const runAt = ({ day, atMs }: { day: number; atMs: number }): number | null => {
      const run = runOf(rule, day);
      if (run === null || (run.endDay !== null && nowMs >= finalMs(run.endDay))) return null;
      return isInside(planBoard, secondOfDay(tz, atMs)) ? run.startDay : null;
    };
    if (ofMetric) {
      const run = runAt({ day: dayOf(root.localDate), atMs: root.occurredMs });
      const score = planned.scores.get(board.no);
      if (run === null) continue;
      if (floorOf(board) === 0) moves.push({ board: planBoard, run, earned, atMs: root.atMs });
      else if (score !== undefined) moves.push({ board: planBoard, run, score: runScore(score) });
      continue;
    }
    const byRun = new Map<number, { id: string; atMs: number }[]>();
    for (const each of taken) {
      const run = each.system === planBoard.system ? runAt(each) : null;
      if (run !== null) byRun.set(run, [...(byRun.get(run) ?? []), { id: each.award, atMs: each.atMs }]);
    }
    for (const [run, awards] of byRun) moves.push({ board: planBoard, run, awards });
  }
  return moves;
}

/**
 * The scores that change once the event is reversed, or counts again, by number of the board: of boards of the metric that
 * are not of the highest sum, in the event's run. The next best value is looked for only if the event holds the score, since
 * the event that holds it may have been dropped.
 */
async function scoresAfter(
  pool: Pool,
  compiled: CompiledCatalog,
  { root, voids, user, nowMs }: Pick<PlannedReversal, 'root' | 'voids' | 'nowMs'> & { user: User },
): Promise<Map<number, HistorySum>> {
  const scores = new Map<number, HistorySum>();
  const { tenantNo, leaderboards } = compiled.catalog;
  const { userId } = root;
  for (const board of leaderboards) {
    const run = runOf(playedRule(board), dayOf(root.localDate));
    if (floorOf(board) === 0 || !isOfMetric(compiled, board, root) || run === null) continue;
    const { counted, window } = boardHistory(compiled, board, nowMs);
    const planBoard = compileBoard(compiled, board, { metric: null, days: [] });
    const inRun = { board: board.no, runDay: run.startDay };
    const score = scoreIn(user, inRun);
    const secondary = secondaryIn(user, planBoard, run.startDay);
    const held = score && { micros: microsOf(score), reached: reachedIn(user, inRun), secondary: secondary ?? 0 };
    const fold = foldOf(board);
    const value = BigInt(turned(board, 1)) * toMicros(root.value);
    const attributes = root.attributes === null ? '' : JSON.stringify(root.attributes);
    const sent = planBoard.secondary === undefined ? 0 : secondaryOf(attributes, planBoard.secondary);
    const event = { value, occurredMs: root.occurredMs, secondary: sent };
    if (voids && held !== undefined && fold !== null && !holdsScore(held, fold, event)) continue;
    const [found] = await historySums(pool, {
      tenantNo,
      ids: [userId],
      // Of a sum, only whether an event remains is asked, and when it was reached.
      counted:
        board.ties === 'first' ? (counted as CountedMetric) : { ...(counted as CountedMetric), fold: fold ?? 'last' },
      runDays: [run.startDay],
      lastDay: run.endDay,
      times: window && { ...window, offsets: offsetsOf([{ userId, tz: user.zone }], { fromDay: run.startDay, nowMs }) },
      changed: voids ? { removed: root.id } : { added: root.id },
    });
    const remains = found?.sums[0] ?? emptyHistorySum(run.startDay, NO_SCORE);
    if (fold === null) {
      const sum = (held?.micros ?? 0n) + (voids ? -value : value);
      // No event remains.
      const reached = remains[HISTORY_SUM.reached] ?? 0;
      const isEmpty = sum === 0n && reached === 0;
      scores.set(
        board.no,
        isEmpty
          ? emptyHistorySum(run.startDay, NO_SCORE)
          : historySum(run.startDay, { ...clamped(decimalOfMicros(sum)), reached }),
      );
    } else if (voids || held === undefined || !isBetter(held, fold, remains)) scores.set(board.no, remains);
  }
  return scores;
}

interface HeldScore {
  micros: Micros;
  reached: number;
  secondary: number;
}

/** Whether an event with this value may be the one that holds a score. */
function holdsScore(
  { micros, reached, secondary }: HeldScore,
  fold: Fold,
  event: { value: Micros; occurredMs: number; secondary: number },
): boolean {
  // A score may have a later time than its event, if a clock went back.
  return (
    (fold === 'last' && reached < 1000 * (event.occurredMs + 1)) ||
    (micros === event.value && secondary === event.secondary)
  );
}

/** Whether a score is better, or later, than the best that is stored. */
function isBetter({ micros, reached, secondary }: HeldScore, fold: Fold, stored: HistorySum): boolean {
  if (fold === 'last') return reached > (stored[HISTORY_SUM.reached] ?? 0);
  const best = microsOf({ whole: stored[HISTORY_SUM.whole], micros: stored[HISTORY_SUM.micros] });
  if (micros === best) return secondary > (stored[HISTORY_SUM.secondary] ?? 0);
  return fold === 'max' ? micros > best : micros < best;
}

const runScore = (sum: HistorySum): RunScore => ({
  runDay: sum[HISTORY_SUM.runDay],
  whole: sum[HISTORY_SUM.whole],
  micros: sum[HISTORY_SUM.micros],
  reached: sum[HISTORY_SUM.reached] ?? null,
  secondary: sum[HISTORY_SUM.secondary] ?? 0,
});

/** The awards that may be taken or given back, with day and time: a composite may have awarded days after the event. */
function takenBy({ root, awards, revoked, tz }: PlannedReversal) {
  return [...awards, ...revoked.flatMap((each) => each.awards)].map((taken) => ({
    award: taken[COMPENSATED.award],
    system: taken[COMPENSATED.system],
    points: taken[COMPENSATED.points],
    day: taken[COMPENSATED.day] ?? awardDay({ root, tz }),
    atMs: taken[COMPENSATED.atMs] ?? root.atMs,
  }));
}

/** What final runs would notice. */
function correctionOf(compiled: CompiledCatalog, planned: PlannedReversal): Correction {
  const { root, nowMs, scores, tz } = planned;
  const held = new Set(planned.held);
  return {
    root,
    nowMs,
    scores,
    isOfMetric: (board) => isOfMetric(compiled, board, root),
    secondAt: (atMs) => secondOfDay(tz, atMs),
    taken: takenBy(planned).filter(({ award }) => !held.has(award)),
  };
}

const isOfMetric = (compiled: CompiledCatalog, { rankBy, metricId }: Leaderboard, { metricNo }: StoredEvent): boolean =>
  rankBy === 'metric' && compiled.catalog.metrics.some(({ id, no }) => id === metricId && no === metricNo);

/** The second of the local day in the user's current zone. */
function secondOfDay(tz: string | null, atMs: number): number {
  const offset = tz === null ? 0 : (zoneOffset(tz, atMs)?.offsetSeconds ?? 0);
  return (((Math.floor(atMs / 1000) + offset) % 86_400) + 86_400) % 86_400;
}

/** The achievements that a reversal revokes, each before those that require it. These are the achievements that the
 * event completed, those completed by reversed events for which this event may still have qualified the user, and
 * those that need one of them, whenever completed. Those that only calls complete stay. `awards`: the event's own awards.
 */
async function revocationsOf(
  client: PoolClient,
  compiled: CompiledCatalog,
  event: StoredEvent,
  awards: readonly Compensated[],
): Promise<Revocation[]> {
  const { tenantNo, triggers, pointsSystems } = compiled.catalog;
  const { userId } = event;
  const completions = await readCompletions(client, tenantNo, event);
  const missed = await missedPeriods(client, compiled, event, completions);
  const once = completions.filter(({ period }) => period === 0);
  const completed = new Map(once.map((completion) => [completion.achievementNo, completion]));
  const { own: caused, following } = cascade(
    compiled,
    event,
    completed,
    missed.map(({ achievement }) => achievement),
  );
  const gone = [
    ...missed,
    ...[...caused, ...following].map((achievement) => ({ achievement, completion: completed.get(achievement.no)! })),
  ];
  const ids = new Set(gone.map(({ achievement: { id } }) => id));
  const systemNos = new Map(pointsSystems.map(({ id, no }) => [id, no]));
  const paying = triggers.filter(
    ({ type, achievementId }) => type === 'achievement' && achievementId !== null && ids.has(achievementId),
  );
  const awarded = await readAwardsOf(client, {
    tenantNo,
    userId,
    triggers: paying.map(({ no, systemId }) => ({ no, systemNo: systemNos.get(systemId) ?? 0 })),
    timesMs: gone.map(({ completion }) => completion.atMs),
  });
  const own = new Set(awards.map((award) => award[COMPENSATED.award]));
  const paidBy = new Map(paying.map(({ no, achievementId }) => [no, achievementId]));
  return gone.map(({ achievement, completion }) => ({
    ...(completion.period === 0
      ? { achievement: revocable(compiled, achievement, following.includes(achievement)) }
      : ofQuest(completion, completions)),
    awards: awarded.filter(
      (award) =>
        !own.has(award[COMPENSATED.award]) &&
        paidBy.get(award[COMPENSATED.trigger]) === achievement.id &&
        (completion.period === 0 || award[COMPENSATED.atMs] === completion.atMs),
    ),
  }));
}

/** An achievement as the rules check whether it stays. One that only follows from others stays if the user still has those. */
function revocable(compiled: CompiledCatalog, achievement: Achievement, isFollowing: boolean): PlanAchievement {
  const plan = compileAchievement(compiled, achievement);
  if (!isFollowing || plan.requires === undefined) return plan;
  return { no: plan.no, of: [...(plan.of ?? []), ...plan.requires] };
}

/** The revocation of a repeating achievement's completion, without awards. */
function ofQuest(
  completion: StoredCompletion,
  completions: readonly StoredCompletion[],
): Pick<Revocation, 'achievement' | 'period' | 'latest'> {
  const { achievementNo: no, atMs, period } = completion;
  const others = completions.filter((each) => each.achievementNo === no && each.period !== period);
  return {
    achievement: { no },
    period: packedCompletion(no, atMs, period),
    ...(others.length > 0 && { latest: Math.max(...others.map((each) => each.atMs)) }),
  };
}

/** The completions by the event whose periods no longer suffice without it. */
async function missedPeriods(
  client: PoolClient,
  compiled: CompiledCatalog,
  event: StoredEvent,
  completions: readonly StoredCompletion[],
): Promise<{ achievement: Achievement; completion: StoredCompletion }[]> {
  const { userId, value } = event;
  const missed: { achievement: Achievement; completion: StoredCompletion }[] = [];
  for (const [quest, period] of countedPeriods(compiled, event)) {
    const completion = completions.find((each) => each.achievementNo === quest.no && each.period === period);
    if (completion?.ofEvent !== true) continue;
    const days = daysOf(quest, period, compiled.catalog.streaks.weekStart);
    const sums = await periodSums(client, compiled, { quest, ids: [userId], days });
    const left = (sums.get(userId)?.get(period) ?? 0n) - toMicros(value);
    if (left < toMicros(decimalText(toDecimal(quest.metricValue ?? 0))))
      missed.push({ achievement: quest, completion });
  }
  return missed;
}

function cascade(
  { catalog }: CompiledCatalog,
  event: StoredEvent,
  completed: ReadonlyMap<number, StoredCompletion>,
  missed: readonly Achievement[],
): { own: Achievement[]; following: Achievement[] } {
  const metricId = catalog.metrics.find(({ no }) => no === event.metricNo)?.id;
  const own = catalog.achievements.filter(({ no, trigger, metricId: counted }) => {
    const completion = completed.get(no);
    const ofMetric = trigger === 'metric' && counted === metricId;
    return completion?.ofEvent === true && (ofMetric || trigger === 'streak');
  });
  const ids = new Set([...own, ...missed].map(({ id }) => id));
  const following: Achievement[] = [];
  for (let more = [...own, ...missed]; more.length > 0;) {
    more = catalog.achievements.filter(
      (achievement) =>
        achievement.trigger !== 'api' &&
        !ids.has(achievement.id) &&
        completed.has(achievement.no) &&
        neededBy(achievement).some((needed) => ids.has(needed)),
    );
    for (const achievement of more) {
      following.push(achievement);
      ids.add(achievement.id);
    }
  }
  return { own, following };
}
