/** Late events: events sent after the day on which they happened. They change the streak from then on. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { transaction } from '../../postgres/transaction.ts';
import { storedStateAndMove } from '../../postgres/users/row-moves.ts';
import { lateQuests, periodsOfDay } from '../achievements/quests.ts';
import type { ReadyEvent } from '../events/ready-event.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';
import { factsOfNewUser, readStreakFacts, type UserFacts } from './streak-facts.ts';
import { packedUser } from '../../redis/parts.ts';
import type { LateQuestPeriod } from '../../rules/quests.ts';
import {
  lateInTurn,
  localTime,
  movesUser,
  occurredLate,
  occurredUnrepaired,
  type PreparedInTurn,
  sentZone,
  withAllowed,
  withOccurred,
} from './late-replay.ts';
import { createLateTurns } from './late-turns.ts';
import { addTo } from '../../grouped.ts';

/** Applies an event, alone or with others, and returns the reply. */
type Submit = (event: ReadyEvent) => Promise<ScriptReply>;

/** How often a replay is repeated because the user changed meanwhile. */
const MOST_REPLAYS = 8;
/** Users of a step whose histories are read at once. */
const USERS_AT_ONCE = 4;

/** When a batch was accepted, and how often its step was tried. */
interface StepTry {
  acceptedMs: number;
  tries: number;
}

/** An event of a batch, and when it happened (epoch ms). */
interface TimedEvent {
  ready: ReadyEvent;
  atMs: number;
}

/**
 * Applies events that carry their own time. An event of the user's current day is applied like any other and only keeps
 * its time. An event of an earlier day is late: the user's streaks are replayed with it in its place, from the data in
 * Postgres. The event is then applied in one atomic step, provided that the user has not changed since the replay.
 */
export function createLateEvents(redis: Redis, pool: Pool, clock: Clock, log: Pick<Log, 'warn' | 'error'>) {
  const turns = createLateTurns();

  /**
   * Applies an event that happened at a time (epoch ms). Throws 503, with nothing applied, if too many late events
   * wait, if earlier writes are not yet in Postgres, or if the user changes too often meanwhile.
   */
  async function submit(ready: ReadyEvent, atMs: number, submit: Submit): Promise<ScriptReply> {
    const when = await whenOf(ready, atMs);
    if (when.day >= when.today) return submit(withOccurred(ready, { atMs, second: when.second, late: null }));
    const { tenantNo } = ready.compiled.catalog;
    return turns.run(tenantNo, ready.userId, () => submitLate(ready, atMs, submit));
  }

  /**
   * The event with its time and, if it is late, the replay for the user's current state. `step`: when the batch was
   * accepted, and how often the event was tried. After too many tries the event is applied without a repaired streak,
   * so that a constantly active user cannot hold up the other events of the batch.
   */
  async function prepare(ready: ReadyEvent, atMs: number, step?: StepTry): Promise<ReadyEvent> {
    const { day, second, today } = await whenOf(ready, atMs, step?.acceptedMs);
    if (day >= today) return withOccurred(ready, { atMs, second, late: null });
    if (step !== undefined && step.tries >= MOST_REPLAYS) {
      log.warn({ event: ready.id, tries: step.tries }, 'a late event is applied without repairing its streak');
      return withOccurred(ready, occurredUnrepaired(ready, { atMs, second, day, nowMs: step.acceptedMs }));
    }
    const { compiled } = ready;
    const nowMs = clock.now();
    const facts = (await factsOf(ready, { nowMs, firstDay: day })) ?? factsOfNewUser(compiled, sentZone(ready), nowMs);
    const when = { atMs, second, day, nowMs };
    try {
      return withOccurred(ready, occurredLate(ready, facts, { ...when, quests: await quests(ready, facts, day) }));
    } catch (error) {
      // A bug in the replay must not hold up every batch: apply the event itself.
      if (step === undefined) throw error;
      log.error({ event: ready.id, err: error }, 'a late event is applied without repairing its streak');
      return withOccurred(ready, occurredUnrepaired(ready, when));
    }
  }

  /**
   * The first events of a batch's step, prepared for being applied together, in order. Returns at least one, and fewer than all if the
   * next one depends on more than the state and history of its user before the step.
   */
  async function preparedInTurn(events: readonly TimedEvent[], step: StepTry): Promise<ReadyEvent[]> {
    // After a conflict, the smallest step has the best chance.
    const attempted = step.tries === 0 ? events : events.slice(0, 1);
    const ofUser = new Map<string, number[]>();
    for (const [at, { ready }] of attempted.entries()) {
      addTo(ofUser, ready.userId, at);
    }
    const users: { places: number[]; own: PreparedInTurn }[] = [];
    const all = [...ofUser.values()];
    for (let at = 0; at < all.length; at += USERS_AT_ONCE)
      users.push(
        ...(await Promise.all(
          all.slice(at, at + USERS_AT_ONCE).map(async (places) => ({
            places,
            own: await prepareOfUser(
              places.map((place) => attempted[place]!),
              step,
            ),
          })),
        )),
      );
    const end = Math.min(attempted.length, ...users.map(({ places, own }) => places[own.count] ?? Infinity));
    const prepared = new Map<number, ReadyEvent>();
    for (const { places, own } of users) {
      const first = own.first(places.filter((place) => place < end).length);
      for (const [nth, event] of first.entries()) prepared.set(places[nth]!, event);
    }
    return attempted.slice(0, end).map((_, at) => prepared.get(at)!);
  }

  /** The first of a user's events. */
  async function prepareOfUser(events: readonly TimedEvent[], step: StepTry): Promise<PreparedInTurn> {
    const first = events[0]!;
    const alone = async (): Promise<PreparedInTurn> => inTurn([await prepare(first.ready, first.atMs, step)]);
    if (events.length === 1) return alone();
    const { compiled, userId } = first.ready;
    const packed = await packedUser(redis, compiled.catalog.tenantNo, userId);
    if (packed === null) return alone();
    const { zone } = decodeUser(packed);
    const today = dayIn(zone, step.acceptedMs);
    const timed = events.map(({ ready, atMs }) => ({ ready, atMs, ...localTime(zone, atMs) }));
    const isLate = timed[0]!.day < today;
    let end = timed.findIndex(
      ({ day }, at) => at > 0 && (day < today !== isLate || movesUser(events[at - 1]!.ready, zone)),
    );
    if (end === -1) end = timed.length;
    const together = timed.slice(0, end);
    if (!isLate) return inTurn(together.map(({ ready, ...when }) => withOccurred(ready, { ...when, late: null })));
    if (end === 1) return alone();
    const nowMs = clock.now();
    const firstDay = Math.min(...together.map(({ day }) => day));
    const facts = await factsOf(first.ready, { nowMs, firstDay });
    const prepared = facts === null ? null : await lateInTurn(together, facts, nowMs);
    return prepared !== null && prepared.count > 1 ? prepared : alone();
  }

  /** What the user's streaks depend on, when Postgres has everything about the user; `null` for a new user. */
  async function factsOf(
    { compiled, userId }: ReadyEvent,
    { nowMs, firstDay }: { nowMs: number; firstDay: number },
  ): Promise<UserFacts | null> {
    const { tenantNo } = compiled.catalog;
    const live = await packedUser(redis, tenantNo, userId);
    if (live === null) return null;
    const stored = await storedStateAndMove(pool, { tenantNo, userId });
    if (stored === null || stored.isMoving || !live.equals(stored.state))
      await untilPersisted({ redis, pool }, tenantNo, userId);
    return readStreakFacts(pool, compiled, { userId, nowMs, firstDay });
  }

  /** The periods of repeating achievements in which the event counts. */
  async function quests(
    { compiled, plan, userId }: ReadyEvent,
    { user, packed }: UserFacts,
    day: number,
  ): Promise<Record<number, LateQuestPeriod>> {
    const periods = periodsOfDay(compiled, plan.plan.metric, day);
    if (periods.size === 0) return {};
    const storedUser = packed === null ? null : user;
    return transaction(pool, (client) => lateQuests(client, compiled, { userId, user: storedUser, periods }));
  }

  async function submitLate(ready: ReadyEvent, atMs: number, submit: Submit): Promise<ScriptReply> {
    let event = ready;
    for (let replays = 0; replays < MOST_REPLAYS; replays++) {
      const reply = await submit(await prepare(event, atMs));
      if (reply[kindField] !== REFUSAL.outdated) return reply;
      event = withAllowed(event, reply);
    }
    throw new AppError('unavailable', 'The user does too much at once for a late event; try again in a moment.');
  }

  /** The local day and second in the user's zone, and the current day. A sent zone counts only for a new user. */
  async function whenOf(
    ready: ReadyEvent,
    atMs: number,
    nowMs = clock.now(),
  ): Promise<{ day: number; second: number; today: number }> {
    const packed = await packedUser(redis, ready.compiled.catalog.tenantNo, ready.userId);
    const tz = packed === null ? sentZone(ready) : decodeUser(packed).zone;
    return { ...localTime(tz, atMs), today: dayIn(tz, nowMs) };
  }

  return { submit, preparedInTurn };
}

export type LateEvents = ReturnType<typeof createLateEvents>;

/** Events that do not depend on one another. */
const inTurn = (events: ReadyEvent[]): PreparedInTurn => ({
  count: events.length,
  first: (count) => events.slice(0, count),
});
