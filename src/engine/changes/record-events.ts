/** Applies events of users in one part of a tenant: what a user's events change is computed together and committed together. */
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, ScriptReply } from '../../packed/record.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import type { BatchReply } from '../../redis/batches.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { LARGE_STATE_BYTES } from '../../pacing/turns.ts';
import type { ReadyEvent } from '../events/ready-event.ts';
import type { StepPart } from './block.ts';
import { type Calls, type Changed, changeUsers, type Subject } from './change-users.ts';
import { type EventsChange, eventsChange, type PlacedEvent } from './event-change.ts';

/** When events happen, for leaderboards on which of equal scores the earlier one ranks higher. */
export interface ReachedClock {
  /** The next time. `after`: the latest time of a leaderboard, if it is later than the last one from here. */
  next: (nowMs: number, after?: number) => number;
}

/** How far (microseconds) the last time may be ahead of the clock: a clock that goes back further is followed. */
const MOST_AHEAD = 60_000_000;

/** A clock whose times (microseconds) never go back, also within a millisecond, and if the system's clock goes back by up to a minute. */
export function createReachedClock(): ReachedClock {
  let last = 0;
  return {
    next: (nowMs, after = 0) => {
      const clock = nowMs * 1000;
      // Tenants with test clocks share this one.
      last = Math.max(last < clock || last > clock + MOST_AHEAD ? clock : last + 1, after + 1);
      return last;
    },
  };
}

interface EventCall {
  nowMs: number;
  /** Maximum number of idempotency keys of a user on a UTC day; 0: unlimited. */
  keysPerDay: number;
  reached: ReachedClock;
  /** Called for each large state that was written, with the place of the user's first event. */
  onLargeState?: (place: number, bytes: number) => void;
}

/** A batch's step around its events. `indexes`: those of the events in the batch; `null` if nobody waits for results. */
export interface EventStep extends Omit<StepPart, 'results'> {
  indexes: readonly number[] | null;
  /** Results of events that were not sent. */
  unsent: readonly { index: number; answer: BatchReply }[];
}

export interface EventReplies {
  ended: 'done' | 'passed' | 'held' | 'stored';
  /** In the order of the events. */
  replies: ScriptReply[];
  refused: number;
}

/**
 * Applies events in the order of each user. With a step: all or nothing, and not at all if an event waits for an answer of Postgres, for
 * another replay or, since its user was or is being merged, for the other user (`held`).
 */
export async function recordEvents(
  calls: Calls,
  part: TenantPart,
  events: readonly ReadyEvent[],
  { nowMs, keysPerDay, reached, onLargeState }: EventCall,
  step: EventStep | null = null,
): Promise<EventReplies> {
  // Also of users whose changes are computed later, earlier events were earlier.
  const users = groupedByUser(events.map((event, place) => ({ event, place, reached: reached.next(nowMs) })));
  // Batches of a shard are processed one after another, and wait for nobody.
  const around = { part, nowMs, keysPerDay, mayWait: step === null };
  const subjects = users.map((own): Subject<EventsChange> => ({
    userId: own[0]!.event.userId,
    keys: own.flatMap(({ event }) => event.idempotency ?? []),
    isGuarded: own.some(({ event }) => event.plan.plan.guards !== undefined),
    compute: (read) => eventsChange(own, read, around),
  }));
  const { changed, ended } = await changeUsers(calls, part, subjects, {
    handlesSealed: true,
    onOvertaken: (latest, at) => {
      for (const placed of users[at]!) placed.reached = reached.next(nowMs, latest);
    },
    ...(step !== null && { step: (changes: readonly EventsChange[]) => stepPart(step, users, changes) }),
  });
  const replies: ScriptReply[] = [];
  for (const [at, own] of users.entries())
    for (const [nth, { event, place }] of own.entries()) replies[place] = replyTo(changed[at]!, nth, event);
  if (onLargeState !== undefined)
    for (const [at, own] of users.entries()) {
      const bytes = changed[at]!.change.block?.state?.length ?? 0;
      if (bytes >= LARGE_STATE_BYTES) onLargeState(own[0]!.place, bytes);
    }
  return { ended, replies, refused: changed.reduce((sum, { change }) => sum + change.refused, 0) };
}

function groupedByUser(events: readonly PlacedEvent[]): PlacedEvent[][] {
  const groups = new Map<string, PlacedEvent[]>();
  for (const placed of events) {
    const { userId } = placed.event;
    const own = groups.get(userId);
    if (own === undefined) groups.set(userId, [placed]);
    else own.push(placed);
  }
  return [...groups.values()];
}

/** The reply to a user's nth event, with the ranks of its commit. */
function replyTo({ change, boards, earlier }: Changed<EventsChange>, nth: number, { id }: ReadyEvent): ScriptReply {
  const reply = change.replies[nth]!;
  if (earlier !== null) {
    const record = (earlier as HappenedRecord[]).findLast((each) => each[RECORD.id] === id);
    return record ?? reply;
  }
  const ranked = boards[change.recordOf[nth]!] ?? null;
  return ranked === null ? reply : ({ ...reply, [RECORD.boards]: ranked } as ScriptReply);
}

const WAITING: ReadonlySet<unknown> = new Set([REFUSAL.unknownUse, REFUSAL.outdated, REFUSAL.merged, REFUSAL.held]);

/** The step's part of a commit; `null` if it must wait. */
function stepPart(
  { indexes, unsent, ...step }: EventStep,
  users: readonly PlacedEvent[][],
  changes: readonly EventsChange[],
): StepPart | null {
  if (changes.some(({ replies }) => replies.some((reply) => WAITING.has(reply[kindField])))) return null;
  if (indexes === null) return { ...step, results: null };
  const answers: BatchReply[] = [];
  for (const [at, { replies }] of changes.entries())
    for (const [nth, { place }] of users[at]!.entries()) answers[place] = replies[nth]!;
  const results = {
    indexes: [...indexes, ...unsent.map(({ index }) => index)],
    answers: [...answers, ...unsent.map(({ answer }) => answer)].map(resultOf),
  };
  return { ...step, results };
}

/** What the result of a batch's event depends on: a twentieth of the record of an applied event. */
function resultOf(reply: BatchReply): BatchReply {
  if (reply[kindField] !== KIND.event) return reply;
  const {
    [kindField]: kind,
    [RECORD.id]: id,
    [RECORD.total]: total,
    [RECORD.guard]: guard,
    [RECORD.value]: value,
  } = reply;
  const applied = { [kindField]: kind, [RECORD.id]: id, [RECORD.total]: total };
  return (guard === undefined ? applied : { ...applied, [RECORD.guard]: guard, [RECORD.value]: value }) as BatchReply;
}
