/** Events sent later than they happened, which change the streak since then. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { decimalText, toMicros } from '../../domain/decimal.ts';
import { localDay } from '../../domain/periods.ts';
import { replayStreaks } from '../../domain/streaks/replay.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { FREQUENCIES } from '../../domain/streaks/settle.ts';
import { dayIn, zoneOffset } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { SENT } from '../../packed/call-fields.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { OUTDATED, REFUSAL } from '../../packed/refusal-fields.ts';
import { decodeState } from '../../packed/state.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import { userKey } from '../../redis/keys.ts';
import type { ReadyEvent } from '../events/event-call.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';
import { Overload } from '../refusals.ts';
import { stateDigest } from '../scripts.ts';
import { repairsOf, replayed, type Replayed } from './packed-replay.ts';
import { factsOfNewUser, readStreakFacts, type UserFacts } from './streak-facts.ts';

/** Late events of one tenant that a process works on at once: each takes some queries. */
const MOST_AT_ONCE = 4;
/** Those of one tenant that a process has, working or waiting; more are refused, so that nobody's fill it. */
const MOST_HERE = 256;
/** Of these, those of one user: whoever sends many at once leaves room for the others. */
const MOST_OF_USER = 64;
/** A late event that waited longer for its turn is refused: while nothing is stored each takes until it gives up. */
const MOST_WAIT_MS = 20_000;

interface TenantTurns {
  here: number;
  working: number;
  waiting: (() => void)[];
}

interface UserTurns {
  here: number;
  /** Settles when the last one that came is done. */
  last: Promise<void>;
}

/** Has late events wait for one another: those of one user go one after another, those of a tenant a few at a time. */
export class LateTurns {
  private readonly tenants = new Map<number, TenantTurns>();
  private readonly users = new Map<string, UserTurns>();
  private readonly mostWaitMs: number;

  constructor(mostWaitMs = MOST_WAIT_MS) {
    this.mostWaitMs = mostWaitMs;
  }

  /** Does the work when it is its turn. 503 if too many of the tenant's, or of the user's, are here, or its turn comes too late. */
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

/** Hands the turn on to the next who waits. */
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

/** Has an event applied by `lua/record_events.lua`, alone or with others; its answer. */
type Submit = (event: ReadyEvent) => Promise<ScriptReply>;

/** How often a replay is made again because the user did something meanwhile. */
const MOST_REPLAYS = 8;

/**
 * Events that say when they happened. One of the user's today takes the way of all events, and only keeps its time. One of an
 * earlier day is late: the user's streaks are replayed with it in its place, from what Postgres holds, and the event is
 * applied in one atomic step only if the user is still the one that the replay was made of.
 */
export class LateEvents {
  private readonly options: LateEventsOptions;
  private readonly turns = new LateTurns();

  constructor(options: LateEventsOptions) {
    this.options = options;
  }

  /**
   * Has an event applied that happened at a time (epoch ms). 503 if too many late ones wait, if what was written before is
   * not stored, or if the user does too much meanwhile: nothing is applied then.
   */
  async submit(ready: ReadyEvent, atMs: number, submit: Submit): Promise<ScriptReply> {
    const when = await this.whenOf(ready, atMs);
    if (when.day >= when.today) return submit(withOccurred(ready, { at: atMs, second: when.second }));
    const { tenantNo } = ready.compiled.catalog;
    return this.turns.run(tenantNo, ready.userId, () => this.submitLate(ready, atMs, submit));
  }

  /**
   * The event with the time that it happened at, and with its replay if it is late: of the user of now. A step of a batch says
   * when it was accepted, and how often it was tried: a user who never rests holds up nobody else's events for ever.
   */
  async prepared(ready: ReadyEvent, atMs: number, step?: { acceptedMs: number; tries: number }): Promise<ReadyEvent> {
    const { redis, pool, clock, log } = this.options;
    const { day, second, today } = await this.whenOf(ready, atMs, step?.acceptedMs);
    if (day >= today) return withOccurred(ready, { at: atMs, second });
    if (step !== undefined && step.tries >= MOST_REPLAYS) {
      log.warn({ event: ready.id, tries: step.tries }, 'a late event is applied without repairing its streak');
      return withOccurred(ready, occurredUnrepaired(ready, { atMs, second, day, nowMs: step.acceptedMs }));
    }
    const { compiled, userId } = ready;
    const { tenantNo } = compiled.catalog;
    const live = await redis.getBuffer(userKey(tenantNo, userId));
    const nowMs = clock.now();
    if (live !== null) {
      const stored = await storedState(pool, { tenantNo, userId });
      if (stored === null || !live.equals(stored)) await untilPersisted({ redis, pool }, tenantNo);
    }
    const facts =
      (live === null ? null : await readStreakFacts(pool, compiled, { userId, nowMs, firstDay: day })) ??
      factsOfNewUser(compiled, { tz: sentZone(ready), nowMs });
    const when = { atMs, second, day, nowMs };
    try {
      return withOccurred(ready, occurredLate(ready, facts, when));
    } catch (error) {
      // A fault of ours in a replay must not hold up everybody's batches: the event itself counts.
      if (step === undefined) throw error;
      log.error({ event: ready.id, err: error }, 'a late event is applied without repairing its streak');
      return withOccurred(ready, occurredUnrepaired(ready, when));
    }
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

  /** When a time was where the user is, and the user's today. A zone that comes with the event counts only for one who is new. */
  private async whenOf(
    ready: ReadyEvent,
    atMs: number,
    nowMs = this.options.clock.now(),
  ): Promise<{ day: number; second: number; today: number }> {
    const packed = await this.options.redis.getBuffer(userKey(ready.compiled.catalog.tenantNo, ready.userId));
    const tz = packed === null ? sentZone(ready) : decodeState(packed).tz;
    const { offsetSeconds } = (tz === null ? null : zoneOffset(tz, atMs)) ?? { offsetSeconds: 0 };
    const day = localDay(atMs, offsetSeconds);
    const second = Math.floor(atMs / 1000) + offsetSeconds - day * 86_400;
    return { day, second, today: dayIn(tz, nowMs) };
  }
}

const withOccurred = (ready: ReadyEvent, occurred: Occurred): ReadyEvent => ({
  ...ready,
  sent: { ...ready.sent, [SENT.occurred]: occurred },
});

/** The event with what guards left of its value, if a reply says so. */
export function withAllowed(event: ReadyEvent, reply: ScriptReply | null | undefined): ReadyEvent {
  if (reply?.[kindField] !== REFUSAL.outdated) return event;
  const { [OUTDATED.whole]: whole, [OUTDATED.micros]: micros } = reply;
  return whole === undefined || micros === undefined ? event : { ...event, allowed: { whole, micros } };
}

const sentZone = ({ sent }: ReadyEvent): string | null => sent?.[SENT.zone] || null;

/** When an event happened, as the script takes it beside the user fields (`SENT.occurred`). */
interface Occurred {
  /** Epoch ms. */
  at: number;
  /** Second of the user's local day. */
  second: number;
  /** Of a late one: its local day (epoch day), and what its replay came to. */
  day?: number;
  superseded?: string[];
  repairs?: number[][];
  late?: Late;
}

/** A late event's replay, without its streaks where they stay as they are, see `lua/lib/replay.lua`. Settlements are packed as SETTLEMENT, streaks as STREAK. */
interface Late extends Omit<Replayed, 'streaks'> {
  streaks?: Replayed['streaks'];
  /** SHA-1 of the user's state that it was made of; '' for a user who is new. Left out: whoever the user is by now. */
  digest?: string;
  /** The value that it was made of. */
  whole?: number;
  micros?: number;
  /** Lengths that the streak that counts was extended to: with the event, and without it. */
  reached: readonly number[];
  before: readonly number[];
  most?: number[];
  /** Whether the streak that counts is longer by the event. */
  extended: boolean;
  /** Board number → first day (epoch day) of the run that the event counts in. */
  runs: Record<number, number>;
}

interface LateDay {
  /** When it happened, epoch ms, and the second of the local day. */
  atMs: number;
  second: number;
  /** The local day that it belongs to (epoch day). */
  day: number;
  nowMs: number;
}

/** Replays a user's streaks with a late event in its place. */
function occurredLate(ready: ReadyEvent, { facts, packed }: UserFacts, when: LateDay): Occurred {
  const { atMs, second, day, nowMs } = when;
  const metricNo = ready.plan.plan.metric;
  const { allowed = ready.value } = ready;
  const value = toMicros(decimalText(allowed));
  const replay = replayStreaks(facts, { add: [{ id: ready.id, atMs, day, metricNo, value }] });
  const { frequency } = facts.rule;
  return {
    at: atMs,
    second,
    day,
    ...repairsOf(replay),
    late: {
      digest: packed === null ? '' : stateDigest(packed),
      ...replayed(replay),
      reached: replay.reached.is,
      before: replay.reached.was,
      most: FREQUENCIES.map((each) => replay.most[each]),
      extended: replay.streaks[frequency].length > facts.now.streaks[frequency].length,
      ...allowed,
      runs: openRuns(ready.compiled, metricNo, { day, nowMs }),
    },
  };
}

/** A late event whose streaks stay as they are: all else is as for any. */
function occurredUnrepaired(ready: ReadyEvent, { atMs, second, day, nowMs }: LateDay): Occurred {
  const runs = openRuns(ready.compiled, ready.plan.plan.metric, { day, nowMs });
  const nothing = { freezes: 0, settlements: [], beside: [], gained: 0, reached: [], before: [] };
  return { at: atMs, second, day, late: { ...nothing, extended: false, runs } };
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
