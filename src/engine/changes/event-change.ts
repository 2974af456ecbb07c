/** Computes what a user's events change: from the user as read to the block that commits it. */
import { GUARD_ACTION, QUARANTINED } from '../../packed/guard-fields.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { Refusal as PackedRefusal, ScriptReply } from '../../packed/record.ts';
import { MERGED_INTO, REFUSAL, REPLAY, UNKNOWN_USE } from '../../packed/refusal-fields.ts';
import { recordOf } from '../../packed/state.ts';
import { fieldOfGeneration } from '../../redis/idempotency.ts';
import { quarantineKey, type TenantPart } from '../../redis/keys.ts';
import { eventRecord, type EventTexts, guardedRecord, standing } from '../../rules/event-record.ts';
import { applyEvent, type EventOutcome, type RuleEvent, type StoppedEvent } from '../../rules/event.ts';
import { addToQuarantine, type Quarantine } from '../../rules/guards.ts';
import type { CompiledPlan } from '../../rules/plan.ts';
import { requestRecord } from '../../rules/record.ts';
import { isRefusal, type Refusal } from '../../rules/refusal.ts';
import { applyRequest } from '../../rules/request.ts';
import { oneMoreKey } from '../../rules/used-keys.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import { newUser, SEALED_MS, type User } from '../../rules/user.ts';
import type { ReadyEvent } from '../events/ready-event.ts';
import { stateDigest } from '../scripts.ts';
import { type Block, countsOf, eventPart, mapPart } from './block.ts';
import type { ReadUser } from './change-users.ts';
import { packedRefusal } from './packed-refusal.ts';
import { lackOfRoom } from './state-size.ts';

/** What a user's events change. */
export interface EventsChange {
  /** `null` if nothing is written. */
  block: Block | null;
  /** The reply to each event; those of applied events lack the ranks on leaderboards. */
  replies: ScriptReply[];
  /** The number of each event's record in the block, from 0; -1 for events without one. */
  recordOf: number[];
  /** Events that were refused and leave no trace. */
  refused: number;
}

interface Surroundings {
  part: TenantPart;
  nowMs: number;
  /** Maximum number of idempotency keys of a user on a UTC day; 0: unlimited. */
  keysPerDay: number;
  /** Whether events wait for users who are being merged. */
  mayWait: boolean;
}

/** An event of a call. */
export interface PlacedEvent {
  event: ReadyEvent;
  /** Its place in the call, from 0. */
  place: number;
  /** When it happens (microseconds), for leaderboards that rank equal scores by time. */
  reached: number;
}

/** Applies a user's events in order. */
export const eventsChange = (events: readonly PlacedEvent[], read: ReadUser, around: Surroundings): EventsChange =>
  new UserEvents(events[0]!.event.userId, read, around).apply(events);

const OUTDATED_REPLY: PackedRefusal = { [RECORD.kind]: REFUSAL.outdated };
const NO_REPLY: PackedRefusal = { [RECORD.kind]: REFUSAL.unknownUse };

/** A user in the course of some events. */
class UserEvents {
  /** The state after the last event that was applied; `null` for a user who does not exist yet. */
  private packed: Buffer | null;
  /** The same decoded, if it is known. */
  private current: User | null = null;
  private readonly block: Block;
  private readonly quarantine: Quarantine;
  private readonly uses = new Map<string, string>();
  private readonly userId: string;
  private readonly read: ReadUser;
  private readonly around: Surroundings;
  private readonly change: EventsChange = { block: null, replies: [], recordOf: [], refused: 0 };
  private isHeldBack = false;
  /** Of the event that is being applied. */
  private place = 0;
  private reached = 0;
  /** The last event that was applied. */
  private lastApplied: string | null = null;
  /** The number of the next idempotency key, and that of the last event's record. */
  private keyNo = 0;
  private lastRecord = -1;

  constructor(userId: string, read: ReadUser, around: Surroundings) {
    this.userId = userId;
    this.read = read;
    this.around = around;
    this.packed = read.packed;
    this.quarantine = { ...read.quarantine };
    this.block = {
      userId,
      expected: read.packed,
      generation: read.generation,
      state: null,
      uses: [],
      counts: [],
      fields: [],
      records: [],
    };
  }

  apply(events: readonly PlacedEvent[]): EventsChange {
    for (const { event, place, reached } of events) {
      this.place = place;
      this.reached = reached;
      this.change.replies.push(this.take(event));
      this.change.recordOf.push(this.lastRecord);
      if (event.idempotency !== null) this.keyNo += 1;
    }
    const { block, quarantine, read, around } = this;
    if (quarantine.events !== read.quarantine.events) {
      const key = quarantineKey(around.part);
      const added = quarantine.total - read.quarantine.total;
      block.fields.push({ key, field: this.userId, before: read.quarantine.events, value: quarantine.events });
      if (added !== 0) block.counts.push({ key, field: QUARANTINED.count, added });
    }
    if (this.packed !== read.packed) block.state = this.packed;
    if (block.records.length > 0) this.change.block = block;
    return this.change;
  }

  /** A late event that follows another one is applied only after it, and must be applied itself: later replays contain it. */
  private take(event: ReadyEvent): ScriptReply {
    this.lastRecord = -1;
    const after = event.occurred?.after;
    if (after !== undefined && after !== this.lastApplied && !this.isHeldBack) return OUTDATED_REPLY;
    const reply = this.answer(event);
    const kind = reply[kindField];
    if (kind === KIND.event) this.lastApplied = event.id;
    const mayStay = kind === KIND.event || kind === REFUSAL.outdated || this.isHeldBack;
    return after === undefined || mayStay ? reply : OUTDATED_REPLY;
  }

  private answer(event: ReadyEvent): ScriptReply {
    // An earlier event of this user waits for Postgres. Later ones wait too, to keep their order.
    if (this.isHeldBack) return NO_REPLY;
    const { mergedInto } = this.read;
    if (mergedInto !== undefined) return { [RECORD.kind]: REFUSAL.merged, [MERGED_INTO.userId]: mergedInto };
    const { idempotency } = event;
    const field = idempotency === null ? null : this.fieldOf(idempotency.field);
    const read = this.read.uses[this.keyNo] ?? '';
    const use = field === null ? '' : (this.uses.get(field) ?? this.answered(event, read));
    if (use === null) {
      this.isHeldBack = true;
      const generation = this.generation();
      return {
        [RECORD.kind]: REFUSAL.unknownUse,
        [UNKNOWN_USE.token]: read.slice(1),
        ...(generation !== null && { [UNKNOWN_USE.generation]: generation }),
      };
    }
    if (use !== '') {
      // After a conflict, only the first of several events with this key knows of its use.
      if (field !== null) this.uses.set(field, use);
      return this.replay(event, use);
    }
    const reply = this.attempt(event, field);
    if (!isRefusal(reply)) return reply;
    this.change.refused += 1;
    return packedRefusal(reply);
  }

  /** The use of a key; `null` if Postgres must be asked, or asked again. */
  private answered({ lookedUp }: ReadyEvent, read: string): string | null {
    if (!read.startsWith('?')) return read;
    return lookedUp?.token === read.slice(1) ? lookedUp.use : null;
  }

  private generation(): number | null {
    if (this.packed !== null) return (this.current ??= decodeUser(this.packed)).generation;
    return this.read.generation === '' ? null : Number(this.read.generation);
  }

  private fieldOf(field: string): string {
    return fieldOfGeneration(field, this.generation() ?? undefined);
  }

  /** The user as of the last applied event, for a change that may fail and leave it half changed. */
  private takeUser({ plan }: CompiledPlan): User {
    const user = this.current;
    this.current = null;
    if (user !== null) return user;
    if (this.packed !== null) return decodeUser(this.packed);
    return newUser(this.around.nowMs, { freezes: plan.streak.freezes, generation: this.generation() });
  }

  private replay(event: ReadyEvent, use: string): ScriptReply {
    const { plan } = event.plan;
    const { total, streak, day } = standing(this.takeUser(event.plan), plan, this.around.nowMs);
    return {
      [RECORD.kind]: REFUSAL.replay,
      [REPLAY.use]: use,
      [REPLAY.total]: total,
      [REPLAY.streak]: streak,
      [REPLAY.day]: day,
      ...(plan.guards !== undefined && { [REPLAY.quarantined]: this.quarantine.events }),
    };
  }

  private attempt(event: ReadyEvent, field: string | null): ScriptReply | Refusal {
    const { nowMs } = this.around;
    const { plan } = event.plan;
    const digest = event.occurred?.digest;
    if (digest !== undefined && digest !== (this.packed === null ? '' : stateDigest(this.packed)))
      return { refusal: 'outdated' };
    const user = this.takeUser(event.plan);
    if (user.heldUntilMs !== null) {
      const isHeld = user.heldUntilMs === SEALED_MS || (user.heldUntilMs > nowMs && this.around.mayWait);
      if (isHeld) return { refusal: 'held' };
      user.heldUntilMs = null;
    }
    const used = field === null ? null : oneMoreKey(user, this.around);
    if (used !== null && isRefusal(used)) return used;
    const isNew = this.packed === null;
    const quarantine = { ...this.quarantine };
    const ruleEvent = ruleEventOf(event);
    const outcome = applyEvent(user, ruleEvent, {
      plan,
      nowMs,
      isNew,
      reached: event.occurred === undefined ? this.reached : event.occurred.atMs * 1000,
      quarantine,
    });
    if (isRefusal(outcome)) return outcome;
    if (outcome.kind === 'stopped') return this.stop(event, ruleEvent, outcome, field);
    if (used !== null) user.usedKeys = used;
    const packed = encodeUser(user);
    const refusal = lackOfRoom(user, packed, this.packed);
    if (refusal !== null) return refusal;
    this.packed = packed;
    this.current = user;
    this.quarantine.events = quarantine.events;
    this.quarantine.total = quarantine.total;
    this.noteUse(event, field);
    return this.addRecord(event, user, { ruleEvent, outcome, isNew });
  }

  private addRecord(
    event: ReadyEvent,
    user: User,
    { ruleEvent, outcome, isNew }: { ruleEvent: RuleEvent; outcome: EventOutcome; isNew: boolean },
  ): ScriptReply {
    const { nowMs, part } = this.around;
    const { plan } = event.plan;
    const { occurred } = event;
    const list = eventRecord(user, ruleEvent, outcome, {
      plan,
      nowMs,
      isNew,
      texts: textsOf(event),
      repairs: occurred ?? {},
    });
    this.block.counts.push(...countsOf(part, { isNew, ...outcome }));
    const record = eventPart(list, { moves: outcome.scores, isNow: occurred === undefined, place: this.place });
    this.lastRecord = this.block.records.push(record) - 1;
    return recordOf(list) as ScriptReply;
  }

  private noteUse({ idempotency }: ReadyEvent, field: string | null): void {
    if (idempotency === null || field === null) return;
    this.uses.set(field, idempotency.use);
    this.block.uses.push({ keyNo: this.keyNo, bucket: idempotency.bucket, field, use: idempotency.use });
  }

  /** An event that a guard stopped is recorded. A quarantined one uses its key, and its user fields apply at once. */
  private stop(
    event: ReadyEvent,
    ruleEvent: RuleEvent,
    stopped: StoppedEvent,
    field: string | null,
  ): ScriptReply | Refusal {
    const { nowMs } = this.around;
    const { plan } = event.plan;
    const isKept = stopped.action === 'quarantined';
    if (isKept) {
      const refusal = this.keepUser(event, ruleEvent, field);
      if (refusal !== null) return refusal;
      addToQuarantine(this.quarantine, event.id, stopped.guard);
      this.noteUse(event, field);
    }
    const guard = { guard: stopped.guard, action: GUARD_ACTION[stopped.action] };
    const record = guardedRecord(this.takeUser(event.plan), ruleEvent, guard, { plan, nowMs, texts: textsOf(event) });
    this.lastRecord = this.block.records.push(mapPart(record, null, this.place)) - 1;
    if (!isKept) this.change.refused += 1;
    return record;
  }

  /** Applies a quarantined event's user fields, as in a request about the user, because guards concern only the value. */
  private keepUser(event: ReadyEvent, { sent, ownBoosts }: RuleEvent, field: string | null): Refusal | null {
    const { nowMs, part } = this.around;
    const { plan } = event.plan;
    const isNew = this.packed === null;
    const user = this.takeUser(event.plan);
    const used = field === null ? null : oneMoreKey(user, this.around);
    if (used !== null && isRefusal(used)) return used;
    if (isNew || sent !== null) {
      const outcome = applyRequest(user, { sent, ownBoosts, achievement: null }, { plan, nowMs, isNew });
      if (isRefusal(outcome)) return outcome;
      user.updatedMs = nowMs;
      const refusal = lackOfRoom(user, encodeUser(user), this.packed);
      if (refusal !== null) return refusal;
      const id = idBeside(event.id);
      const record = requestRecord(user, outcome, { plan, nowMs, isNew, id, userId: event.userId });
      this.block.counts.push(...countsOf(part, { isNew, ...outcome }));
      this.block.records.push(mapPart(record, outcome.scores, this.place));
    }
    if (used !== null) user.usedKeys = used;
    if (isNew || sent !== null || used !== null) {
      this.packed = encodeUser(user);
      this.current = user;
    }
    return null;
  }
}

const ID_DIGIT = 27;
/**
 * An ID derived from an event's ID, for the changes that the same request makes to the user, whose awards need IDs of their own. It
 * differs in the last digit that is not part of the time, the version or an award's number.
 */
const idBeside = (id: string): string =>
  id.slice(0, ID_DIGIT) + ((parseInt(id[ID_DIGIT]!, 16) + 8) % 16).toString(16) + id.slice(ID_DIGIT + 1);

const textsOf = ({ userId, attributes, idempotency }: ReadyEvent): EventTexts => ({
  userId,
  attributes,
  key: idempotency?.key ?? '',
});

function ruleEventOf(ready: ReadyEvent): RuleEvent {
  const { id, userId, value, sent, attributes, counted, compiled, occurred, metadata } = ready;
  return {
    id,
    value,
    sent,
    attributes,
    counted: counted === '' ? [] : counted.split(',').map(Number),
    ownBoosts: compiled.ownBoosts(userId),
    occurred: occurred ?? null,
    ...(metadata !== undefined && { metadata }),
  };
}
