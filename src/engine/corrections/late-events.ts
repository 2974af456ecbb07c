/** Late events: events sent after the day on which they happened. They change the streak from then on. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { localDay } from '../../domain/periods.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { dayIn, zoneOffset } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { OUTDATED, REFUSAL } from '../../packed/refusal-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { transaction } from '../../postgres/transaction.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import { lateQuests, periodsOfDay } from '../achievements/quests.ts';
import type { OccurredEvent, ReadyEvent } from '../events/ready-event.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';
import { Overload } from '../refusals.ts';
import { stateDigest } from '../scripts.ts';
import { repairsOf, replayedStreaks } from './packed-replay.ts';
import { factsOfNewUser, readStreakFacts, type UserFacts } from './streak-facts.ts';
import { packedUser } from '../../redis/parts.ts';
import type { LateQuestPeriod } from '../../rules/quests.ts';
import { replayStreaks } from '../../rules/streak-replay.ts';

/** Late events that a process handles at once for each tenant; each takes some queries. */
const MOST_AT_ONCE = 4;
/** Limit of working and waiting late events for each tenant in a process; more are refused. */
const MOST_HERE = 256;
/** The same limit for each user, so that one user leaves room for the others. */
const MOST_OF_USER = 64;
/** A late event that waits longer for its turn is refused. Each takes until its timeout while Postgres stores nothing. */
const MOST_WAIT_MS = 20_000;

interface TenantTurns {
  here: number;
  working: number;
  waiting: (() => void)[];
}

interface UserTurns {
  here: number;
  /** Settles when the most recent event is done. */
  last: Promise<void>;
}

/** Queues late events: one at a time for each user, a few at a time for each tenant. */
export class LateTurns {
  private readonly tenants = new Map<number, TenantTurns>();
  private readonly users = new Map<string, UserTurns>();
  private readonly mostWaitMs: number;

  constructor(mostWaitMs = MOST_WAIT_MS) {
    this.mostWaitMs = mostWaitMs;
  }

  /** Does the work when its turn comes. Throws 503 if too many wait, or the turn comes too late. */
  async run<T>(tenantNo: number, userId: string, work: () => Promise<T>): Promise<T> {
    const tenant = this.tenants.get(tenantNo) ?? { here: 0, working: 0, waiting: [] };
    if (tenant.here >= MOST_HERE) throw new Overload('Too many late events wait; try again in a moment.');
    const name = `${tenantNo}:${userId}`;
    const user = this.users.get(name) ?? { here: 0, last: Promise.resolve() };
    if (user.here >= MOST_OF_USER) throw new Overload('Too many late events of the user wait; try again in a moment.');
    this.tenants.set(tenantNo, tenant);
    this.users.set(name, user);
    tenant.here += 1;
    user.here += 1;
    const before = user.last;
    const untilMs = performance.now() + this.mostWaitMs;
    let end = (): void => undefined;
    user.last = new Promise<void>((resolve) => (end = resolve));
    try {
      await before;
      await enter(tenant);
      try {
        if (performance.now() > untilMs)
          throw new Overload('Late events take too long to be stored; try again in a moment.');
        return await work();
      } finally {
        leave(tenant);
      }
    } finally {
      end();
      user.here -= 1;
      if (user.here === 0) this.users.delete(name);
      tenant.here -= 1;
      if (tenant.here === 0) this.tenants.delete(tenantNo);
    }
  }
}

async function enter(tenant: TenantTurns): Promise<void> {
  if (tenant.working >= MOST_AT_ONCE) await new Promise<void>((resolve) => tenant.waiting.push(resolve));
  else tenant.working += 1;
}

function leave(tenant: TenantTurns): void {
  const next = tenant.waiting.shift();
  if (next === undefined) tenant.working -= 1;
  else next();
}

interface LateEventsOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  log: Pick<Log, 'warn' | 'error'>;
}

/** Applies an event, alone or with others, and returns the reply. */
type Submit = (event: ReadyEvent) => Promise<ScriptReply>;

/** How often a replay is repeated because the user changed meanwhile. */
const MOST_REPLAYS = 8;

/**
 * Applies events that carry their own time. An event of the user's current day is applied like any other and only keeps
 * its time. An event of an earlier day is late: the user's streaks are replayed with it in its place, from the data in
 * Postgres. The event is then applied in one atomic step, provided that the user has not changed since the replay.
 */
export class LateEvents {
  private readonly options: LateEventsOptions;
  private readonly turns = new LateTurns();

  constructor(options: LateEventsOptions) {
    this.options = options;
  }

  /**
   * Applies an event that happened at a time (epoch ms). Throws 503, with nothing applied, if too many late events
   * wait, if earlier writes are not yet in Postgres, or if the user changes too often meanwhile.
   */
  async submit(ready: ReadyEvent, atMs: number, submit: Submit): Promise<ScriptReply> {
    const when = await this.whenOf(ready, atMs);
    if (when.day >= when.today) return submit(withOccurred(ready, { atMs, second: when.second, late: null }));
    const { tenantNo } = ready.compiled.catalog;
    return this.turns.run(tenantNo, ready.userId, () => this.submitLate(ready, atMs, submit));
  }

  /**
   * The event with its time and, if it is late, the replay for the user's current state. `step`: when the batch was
   * accepted, and how often the event was tried. After too many tries the event is applied without a repaired streak,
   * so that a constantly active user cannot hold up the other events of the batch.
   */
  async prepared(ready: ReadyEvent, atMs: number, step?: { acceptedMs: number; tries: number }): Promise<ReadyEvent> {
    const { redis, pool, clock, log } = this.options;
    const { day, second, today } = await this.whenOf(ready, atMs, step?.acceptedMs);
    if (day >= today) return withOccurred(ready, { atMs, second, late: null });
    if (step !== undefined && step.tries >= MOST_REPLAYS) {
      log.warn({ event: ready.id, tries: step.tries }, 'a late event is applied without repairing its streak');
      return withOccurred(ready, occurredUnrepaired(ready, { atMs, second, day, nowMs: step.acceptedMs }));
    }
    const { compiled, userId } = ready;
    const { tenantNo } = compiled.catalog;
    const live = await packedUser(redis, tenantNo, userId);
    const nowMs = clock.now();
    if (live !== null) {
      const stored = await storedState(pool, { tenantNo, userId });
      if (stored === null || !live.equals(stored)) await untilPersisted({ redis, pool }, tenantNo, userId);
    }
    const facts =
      (live === null ? null : await readStreakFacts(pool, compiled, { userId, nowMs, firstDay: day })) ??
      factsOfNewUser(compiled, { tz: sentZone(ready), nowMs });
    const when = { atMs, second, day, nowMs };
    try {
      return withOccurred(ready, occurredLate(ready, facts, { ...when, quests: await this.quests(ready, facts, day) }));
    } catch (error) {
      // A bug in the replay must not hold up every batch: apply the event itself.
      if (step === undefined) throw error;
      log.error({ event: ready.id, err: error }, 'a late event is applied without repairing its streak');
      return withOccurred(ready, occurredUnrepaired(ready, when));
    }
  }

  /** The periods of repeating achievements in which the event counts. */
  private async quests(
    { compiled, plan, userId }: ReadyEvent,
    { user, packed }: UserFacts,
    day: number,
  ): Promise<Record<number, LateQuestPeriod>> {
    const periods = periodsOfDay(compiled, plan.plan.metric, day);
    if (periods.size === 0) return {};
    const kept = packed === null ? null : user;
    return transaction(this.options.pool, (client) => lateQuests(client, compiled, { userId, user: kept, periods }));
  }

  private async submitLate(ready: ReadyEvent, atMs: number, submit: Submit): Promise<ScriptReply> {
    let event = ready;
    for (let replays = 0; replays < MOST_REPLAYS; replays++) {
      const reply = await submit(await this.prepared(event, atMs));
      if (reply[kindField] !== REFUSAL.outdated) return reply;
      event = withAllowed(event, reply);
    }
    throw new AppError('unavailable', 'The user does too much at once for a late event; try again in a moment.');
  }

  /** The local day and second in the user's zone, and the current day. A sent zone counts only for a new user. */
  private async whenOf(
    ready: ReadyEvent,
    atMs: number,
    nowMs = this.options.clock.now(),
  ): Promise<{ day: number; second: number; today: number }> {
    const packed = await packedUser(this.options.redis, ready.compiled.catalog.tenantNo, ready.userId);
    const tz = packed === null ? sentZone(ready) : decodeUser(packed).zone;
    const { offsetSeconds } = (tz === null ? null : zoneOffset(tz, atMs)) ?? { offsetSeconds: 0 };
    const day = localDay(atMs, offsetSeconds);
    const second = Math.floor(atMs / 1000) + offsetSeconds - day * 86_400;
    return { day, second, today: dayIn(tz, nowMs) };
  }
}

const withOccurred = (ready: ReadyEvent, occurred: OccurredEvent): ReadyEvent => ({ ...ready, occurred });

/** The event with the value that the guards allow, if a reply reduces it. */
export function withAllowed(event: ReadyEvent, reply: ScriptReply | null | undefined): ReadyEvent {
  if (reply?.[kindField] !== REFUSAL.outdated) return event;
  const { [OUTDATED.whole]: whole, [OUTDATED.micros]: micros } = reply;
  return whole === undefined || micros === undefined ? event : { ...event, allowed: { whole, micros } };
}

const sentZone = ({ sent }: ReadyEvent): string | null => sent?.zone ?? null;

interface LateDay {
  /** When it happened (epoch ms), and the second of the local day. */
  atMs: number;
  second: number;
  day: number;
  nowMs: number;
}

/** Replays a user's streaks with a late event in its place. */
function occurredLate(
  ready: ReadyEvent,
  { facts, packed }: UserFacts,
  when: LateDay & { quests: Record<number, LateQuestPeriod> },
): OccurredEvent {
  const { atMs, second, day, nowMs, quests } = when;
  const metricNo = ready.plan.plan.metric;
  const { allowed = ready.value } = ready;
  const replay = replayStreaks(facts, {
    add: [{ id: ready.id, atMs, day, metricNo, value: allowed }],
  });
  const { streaks, reached, most } = replay;
  const { frequency } = facts.rule;
  return {
    atMs,
    second,
    day,
    ...repairsOf(replay),
    digest: packed === null ? '' : stateDigest(packed),
    late: {
      replayed: { ...replayedStreaks(replay), value: allowed },
      reached,
      most,
      extended: streaks[frequency].length > facts.now.streaks[frequency].length,
      runs: openRuns(ready.compiled, metricNo, { day, nowMs }),
      quests,
    },
  };
}

/** A late event that leaves the streaks unchanged; everything else is applied as usual. */
function occurredUnrepaired(ready: ReadyEvent, { atMs, second, day, nowMs }: LateDay): OccurredEvent {
  const periods = periodsOfDay(ready.compiled, ready.plan.plan.metric, day);
  return {
    atMs,
    second,
    day,
    late: {
      replayed: null,
      reached: { is: [], was: [] },
      most: null,
      extended: false,
      runs: openRuns(ready.compiled, ready.plan.plan.metric, { day, nowMs }),
      quests: Object.fromEntries(Array.from(periods, ([{ no }, period]) => [no, { period }])),
    },
  };
}

/** The runs of a metric's boards that contain a day and are not final. */
function openRuns(
  { catalog, metricsByNo }: CompiledCatalog,
  metricNo: number,
  { day, nowMs }: { day: number; nowMs: number },
): Record<number, number> {
  const metricId = metricsByNo.get(metricNo)?.id;
  const runs: Record<number, number> = {};
  for (const board of catalog.leaderboards) {
    if (board.rankBy !== 'metric' || board.metricId !== metricId) continue;
    const run = runOf(playedRule(board), day);
    if (run !== null && (run.endDay === null || nowMs < finalMs(run.endDay))) runs[board.no] = run.startDay;
  }
  return runs;
}
