import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { localDay } from '../../domain/periods.ts';
import { dayIn, zoneOffset } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { SENT } from '../../packed/call-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { kindField } from '../../packed/record-fields.ts';
import { OUTDATED, REFUSAL } from '../../packed/refusal-fields.ts';
import { decodeState } from '../../packed/state.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import { userKey } from '../../redis/keys.ts';
import type { ReadyEvent } from '../events/event-call.ts';
import type { Log } from '../../log/log.ts';
import { untilPersisted } from '../persisted/until-persisted.ts';
import { occurredLate, occurredUnrepaired, type Occurred } from './late-event.ts';
import { LateTurns } from './late-turns.ts';
import { factsOfNewUser, readStreakFacts } from './streak-facts.ts';

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
