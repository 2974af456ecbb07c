import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { EventReversal } from '../../domain/administration/reversal.ts';
import type { PointsTrigger } from '../../domain/catalog.ts';
import { dayOf, epochDay } from '../../domain/periods.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import { COMPENSATED, COMPLETED, KIND, kindField } from '../../packed/record-fields.ts';
import type { Compensated, HappenedRecord, PackedCompletion } from '../../packed/record.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { QUARANTINE_STATUS, readQuarantined } from '../../postgres/corrections/quarantine.ts';
import {
  readAwards,
  readCompletions,
  readEvent,
  readHeld,
  readLastReversal,
  readRoot,
  type StoredEvent,
} from '../../postgres/corrections/reversals.ts';
import { isDropped } from '../../postgres/partitions.ts';
import { docsThen } from '../../postgres/timeline/catalog-then.ts';
import { inSnapshot, transaction } from '../../postgres/transaction.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { reversalRecord } from '../../rules/record.ts';
import { isRefusal } from '../../rules/refusal.ts';
import type { ScoreChange } from '../../rules/leaderboards.ts';
import { type Reversal, reverse } from '../../rules/reversal.ts';
import { replayStreaks } from '../../rules/streak-replay.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { matches } from '../achievements/quests.ts';
import { changeUser, refused, UNKNOWN_USER, unwritten, type UserChange, written } from '../changes/change-user.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { eventId } from '../ids.ts';
import { unlessRefused } from '../refusals.ts';
import { reversalAnswer, unchangedReversal } from './reversal-answer.ts';
import type { Scripts } from '../scripts.ts';
import { finalRunsWithout } from './final-runs.ts';
import { changedEvents, correctionOf, type PlannedReversal, reversalOf } from './planned-reversal.ts';
import { scoresAfter } from './reversal-scores.ts';
import { revocationsOf } from './revocations.ts';
import { readStreakFacts } from './streak-facts.ts';

interface ReversalsOptions {
  pool: Pool;
  scripts: Scripts;
  /** Whether Postgres holds a reversal (32 hex digits of the opposite event). */
  isStored: (id: string) => Promise<boolean>;
  clock: Clock;
  recordAudit: RecordAudit;
  /** See `ServicesCore`. */
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

type PlanOutcome = { unchanged: EventReversal } | { planned: Omit<PlannedReversal, OfUser> };

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
      const outcome = await plan(compiled, request);
      if ('unchanged' in outcome) return outcome.unchanged;
      const { facts, user, packed } = of;
      const replay = replayStreaks(facts, changedEvents(outcome.planned));
      const scores = await scoresAfter(pool, compiled, { ...outcome.planned, user, nowMs });
      const planned = { ...outcome.planned, replay, tz: user.zone, scores, nowMs };
      const reversal = reversalOf(compiled, planned);
      const finalRuns = planned.voids ? await finalRunsWithout(pool, compiled, correctionOf(compiled, planned)) : [];
      const made = await make(compiled, userId, { reversal, expected: packed!, dryRun: request.dryRun });
      if (made === null) continue;
      const answer = reversalAnswer(compiled, made, { dryRun: request.dryRun, finalRuns });
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
  ): Promise<{ record: HappenedRecord; scores: readonly ScoreChange[] } | null> {
    let scores: readonly ScoreChange[] = [];
    const nowMs = clock.now();
    const { plan } = compiled.userPlan(epochDay(nowMs));
    const id = eventId(nowMs);
    const compute = (read: ReadUser, part: TenantPart): UserChange => {
      if (read.packed === null) return unwritten(read, UNKNOWN_USER);
      if (!read.packed.equals(expected)) return refused(read, { refusal: 'outdated' });
      const user = decodeUser(read.packed);
      const outcome = reverse(user, reversal, plan, nowMs);
      if (isRefusal(outcome)) return refused(read, outcome);
      scores = outcome.scores;
      const record = reversalRecord(user, reversal, outcome, { plan, nowMs, id, userId });
      if (dryRun) return unwritten(read, record);
      const { ledgers, completions } = outcome;
      return written(user, read, { part, record, effects: { ledgers, completions, scores: outcome.scores } });
    };
    const change = { userId, compute };
    const changed = await changeUser(scripts, compiled.catalog.tenantNo, change, { isStored: () => isStored(id) });
    if (changed === null || changed.reply[kindField] === REFUSAL.outdated) return null;
    return { record: unlessRefused(compiled, changed.reply, [KIND.reversal]), scores };
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
    let result = await read();
    if (result === null) {
      // An event that was answered a moment ago may not be in Postgres yet.
      await persisted(tenantNo);
      result = await read();
    }
    if (result !== null) return result;
    throw await missingEvent(pool, tenantNo, id);
  }

  function plan(compiled: CompiledCatalog, request: ReversalRequest): Promise<PlanOutcome> {
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
        return { planned: { ...planned, counted, held: await heldAwards(client, tenantNo, planned) } };
      }
      const reversed = last?.id ?? root.id;
      const planned = await voiding(client, compiled, { root, reversed, request });
      return { planned: { ...planned, counted, held: await heldAwards(client, tenantNo, planned) } };
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
function heldAwards(
  client: PoolClient,
  tenantNo: number,
  { root, awards, revoked }: Pick<PlannedReversal, 'root' | 'awards' | 'revoked'>,
): Promise<string[]> {
  const all = [...awards, ...revoked.flatMap((each) => each.awards)];
  const ids = all.map((award) => award[COMPENSATED.award]);
  return readHeld(client, { tenantNo, userId: root.userId, root: root.id, awards: ids });
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
  const versions = earlier.map(({ id }) => ({ id, version: null, atMs }));
  const docs = await docsThen(client, tenantNo, versions);
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
