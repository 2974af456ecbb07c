import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { PointsTrigger } from '../../domain/catalog.ts';
import { decimalNumber, toMicros } from '../../domain/decimal.ts';
import { dayOf } from '../../domain/periods.ts';
import { type ChangedEvents, replayStreaks } from '../../domain/streaks/replay.ts';
import type { EventReversal } from '../../domain/administration/reversal.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import {
  COMPENSATED,
  COMPLETED,
  KIND,
  kindField,
  RECORD,
  RECORDED_POINTS,
  RECORDED_STREAK,
  REVERSAL,
  SHORTFALL,
} from '../../packed/record-fields.ts';
import type { Compensated, HappenedRecord, PackedCompletion } from '../../packed/record.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import { decimalOf } from '../../packed/state.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { QUARANTINE_STATUS, readQuarantined } from '../../postgres/corrections/quarantine.ts';
import {
  readAwards,
  readEvent,
  readHeld,
  readLastReversal,
  readRoot,
  type StoredEvent,
  type StoredReversal,
} from '../../postgres/corrections/reversals.ts';
import { isDropped } from '../../postgres/partitions.ts';
import { docsThen } from '../../postgres/timeline/catalog-then.ts';
import { inSnapshot, transaction } from '../../postgres/transaction.ts';
import { unlessRefused } from '../refusals.ts';
import { type Scripts, stateDigest } from '../scripts.ts';
import { type PlannedReversal, reversalPlan, type ReversalPlan, revocationsOf } from './reversal-plan.ts';
import { readStreakFacts } from './streak-facts.ts';

interface ReversalsOptions {
  pool: Pool;
  scripts: Scripts;
  /** Whether Postgres holds a reversal (32 hex digits of the opposite event). */
  isStored: (id: string) => Promise<boolean>;
  clock: Clock;
  recordAudit: RecordAudit;
  /** Resolves when Postgres holds the tenant's writes so far; rejects with 503 if that takes too long. */
  persisted: (tenantNo: number) => Promise<void>;
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
type OfUser = 'expected' | 'replay' | 'tz' | 'nowMs';

type Found = { unchanged: EventReversal } | { planned: Omit<PlannedReversal, OfUser> };

/**
 * Reverses events as if they had never happened; reversing a reversal restores the event. The effects are computed from
 * Postgres and applied in one atomic step if the user has not changed since; otherwise they are computed again. So only
 * one of several concurrent reversals of an event takes effect.
 */
export class Reversals {
  private readonly options: ReversalsOptions;

  constructor(options: ReversalsOptions) {
    this.options = options;
  }

  /**
   * Reverses one event. Idempotent: an event that is already reversed is answered as `unchanged`. Throws 404 for an
   * unknown event or a deleted user's event; 422 if a sum would leave its range; 503.
   */
  async reverse(compiled: CompiledCatalog, request: ReversalRequest, by: Author): Promise<EventReversal> {
    const { pool, clock, persisted } = this.options;
    const { tenantNo } = compiled.catalog;
    const { event, root } = await this.find(tenantNo, request.id);
    const { userId } = event;
    const firstDay = dayOf(event.localDate);
    for (let tries = 0; tries < TRIES; tries++) {
      await persisted(tenantNo);
      const nowMs = clock.now();
      // Read first: a later reversal changes the expected state and is noticed.
      const of = await readStreakFacts(pool, compiled, { userId, nowMs, firstDay, removed: [root] });
      if (of === null) throw unknownEvent(request.id);
      const found = await this.plan(compiled, request);
      if ('unchanged' in found) return found.unchanged;
      const { facts, state, packed } = of;
      const replay = replayStreaks(facts, changedEvents(found.planned));
      const plan = reversalPlan(compiled, {
        ...found.planned,
        expected: stateDigest(packed!),
        replay,
        tz: state.tz,
        nowMs,
      });
      const record = await this.make(compiled, userId, { reversal: plan, dryRun: request.dryRun });
      if (record === null) continue;
      const answer = reversalAnswer(compiled, record, request.dryRun);
      if (!request.dryRun) this.audit(tenantNo, { answer, userId, by });
      return answer;
    }
    throw new AppError('unavailable', 'The user does too much at once for a reversal; try again in a moment.');
  }

  /** Applies a reversal once. `null`: the user has changed, or an earlier try was stored; the next round finds out. */
  private async make(
    compiled: CompiledCatalog,
    userId: string,
    body: { reversal: ReversalPlan; dryRun: boolean },
  ): Promise<HappenedRecord | null> {
    const { scripts, isStored } = this.options;
    const { tenantNo } = compiled.catalog;
    const called = await scripts.callUser(tenantNo, { script: 'reverse_event', userId, compiled, body, isStored });
    if (called === null || called.reply[kindField] === REFUSAL.outdated) return null;
    return unlessRefused(compiled, called.reply, [KIND.reversal]);
  }

  /** An event, and the ID of its original event: its own, unless it is a reversal. */
  private async find(tenantNo: number, id: string): Promise<{ event: StoredEvent; root: string }> {
    const { pool, persisted } = this.options;
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

  private plan(compiled: CompiledCatalog, request: ReversalRequest): Promise<Found> {
    return inSnapshot(this.options.pool, async (client) => {
      const { tenantNo } = compiled.catalog;
      const event = await readEvent(client, tenantNo, request.id);
      if (event === null) throw unknownEvent(request.id);
      const rootId = event.reverses === null ? event.id : await readRoot(client, event.id);
      const root = rootId === null ? null : await readEvent(client, tenantNo, rootId);
      if (root === null) throw unknownEvent(request.id);
      const last = await readLastReversal(client, root.id);
      if (last !== null && (event.id === root.id ? last.inForce : last.id !== event.id))
        return { unchanged: unchangedAnswer(compiled, { root, last, dryRun: request.dryRun }) };
      const counted = await countedBy(client, compiled, root);
      if (last?.inForce === true) {
        const awards = last.awards.map(negated);
        const planned = { root, reversed: last.id, voids: false, awards, revoked: [], restored: last.revoked };
        return { planned: { ...planned, counted, held: await held(client, tenantNo, planned) } };
      }
      const reversed = last?.id ?? root.id;
      const planned = await voiding(client, compiled, { root, reversed, request });
      return { planned: { ...planned, counted, held: await held(client, tenantNo, planned) } };
    });
  }

  /** Runs in the background; the caller does not wait for it. */
  private audit(tenantNo: number, { answer, userId, by }: { answer: EventReversal; userId: string; by: Author }): void {
    const { eventId: id, reversalId, revokedAchievements } = answer;
    const entry = { action: 'reverse', kind: 'event', id, userId, after: { reversalId, revokedAchievements } } as const;
    void this.options.recordAudit({ tenantNo, by, entries: [entry] });
  }
}

async function voiding(
  client: PoolClient,
  compiled: CompiledCatalog,
  { root, reversed, request }: { root: StoredEvent; reversed: string; request: ReversalRequest },
): Promise<Omit<PlannedReversal, OfUser | 'counted' | 'held'>> {
  const { tenantNo, pointsSystems } = compiled.catalog;
  const systemNos = pointsSystems.map(({ no }) => no);
  const awards = await readAwards(client, { tenantNo, userId: root.userId, id: root.id, systemNos });
  const revoked = request.revokeAchievements ? await revocationsOf(client, compiled, { event: root, awards }) : [];
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
  return { add: [{ id, atMs: occurredMs, day: dayOf(localDate), metricNo, value: toMicros(value) }] };
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
  const matches = ({
    metricId: counted,
    eventAttributes,
  }: Pick<PointsTrigger, 'metricId' | 'eventAttributes'>): boolean =>
    counted === metricId &&
    eventAttributes.length > 0 &&
    eventAttributes.every(({ attributeId, attributeValue }) => {
      const key = compiled.attributesById.get(attributeId)?.key;
      return key !== undefined && attributes[key] === attributeValue;
    });
  const earlier = triggers.filter(({ type, created }) => type === 'metric' && created <= atMs);
  const asked = earlier.map(({ id }) => ({ id, version: null, atMs }));
  const docs = await docsThen(client, tenantNo, asked);
  const then = earlier.map((trigger, index): PointsTrigger => ({ ...trigger, ...docs[index]?.doc }));
  const counting = [...achievements.filter(({ trigger }) => trigger === 'metric'), ...then];
  return counting.filter((each) => each.status === 'active' && matches(each)).map(({ no }) => no);
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

function reversalAnswer(compiled: CompiledCatalog, record: HappenedRecord, dryRun: boolean): EventReversal {
  const reversal = record[RECORD.reversal]!;
  const metric = compiled.metricsByNo.get(record[RECORD.metric]!);
  // Lua's MessagePack encodes an empty table as a map.
  const shortfalls = new Map(
    Object.values(reversal[REVERSAL.shortfalls]).map((each) => [each[SHORTFALL.system], each[SHORTFALL.points]]),
  );
  const points = (record[RECORD.points] ?? []).flatMap((changed) => {
    const no = changed[RECORDED_POINTS.system];
    const system = compiled.catalog.pointsSystems.find((each) => each.no === no);
    const total = changed[RECORDED_POINTS.after];
    if (system === undefined) return [];
    return [
      {
        key: system.key,
        total,
        changed: total - changed[RECORDED_POINTS.before],
        shortfall: shortfalls.get(no) ?? 0,
      },
    ];
  });
  return {
    status: reversal[REVERSAL.voids] === 1 ? 'reversed' : 'restored',
    dryRun,
    eventId: uuidText(reversal[REVERSAL.root]),
    reversalId: dryRun ? null : uuidText(record[RECORD.id]),
    userId: record[RECORD.userId],
    metricKey: metric?.key ?? null,
    value: decimalNumber(decimalOf(record[RECORD.value]!)),
    total: decimalNumber(decimalOf(record[RECORD.total]!)),
    streak: record[RECORD.streak]![RECORDED_STREAK.length],
    points,
    revokedAchievements: achievementKeys(compiled, reversal[REVERSAL.revoked]),
    restoredAchievements: achievementKeys(compiled, reversal[REVERSAL.restored]),
  };
}

function unchangedAnswer(
  compiled: CompiledCatalog,
  { root, last, dryRun }: { root: StoredEvent; last: StoredReversal; dryRun: boolean },
): EventReversal {
  const value = Number(root.value);
  return {
    status: 'unchanged',
    dryRun,
    eventId: uuidText(root.id),
    reversalId: uuidText(last.id),
    userId: root.userId,
    metricKey: compiled.metricsByNo.get(root.metricNo)?.key ?? null,
    value: last.inForce ? 0 - value : value,
    total: null,
    streak: null,
    points: [],
    revokedAchievements: [],
    restoredAchievements: [],
  };
}

const achievementKeys = (compiled: CompiledCatalog, completions: readonly PackedCompletion[]): string[] =>
  Object.values(completions).flatMap((each) => {
    const achievement = compiled.achievementsByNo.get(each[COMPLETED.achievement]);
    return achievement === undefined ? [] : [achievement.key ?? achievement.id];
  });
