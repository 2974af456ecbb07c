import type { PoolClient } from 'pg';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, ImportedRecord } from '../../packed/record.ts';
import { firstAndOther, numbered, type Numbered } from '../../packed/unpack-state.ts';
import { USER } from '../../packed/user-fields.ts';
import {
  addAnalytics,
  countedSegments,
  readFirstSegments,
  storeFirstSegments,
  valueKey,
  type AnalyticsRow,
  type CountedSegments,
  type FirstSegments,
  type HeldValue,
  type UserValue,
} from '../../postgres/analytics.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { userHash } from '../leaderboards/snapshot-parts.ts';
import { isControl } from '../responses.ts';
import { activeDayOf, type LateActiveDays } from './active-days.ts';
import { factsOf, factsOfImport, returns, type Fact } from './facts.ts';

/** A user of an outbox entry, and what is counted about the user. */
interface CountedUser {
  tenantNo: number;
  userId: string;
  /** As the entry left them. */
  values: readonly HeldValue[];
  /** Called when the facts are summed: thousands of them at once would cost more in garbage collection than in counting. */
  facts: () => Fact[];
  /** Whether retention is counted of a user who is not new. */
  returns: boolean;
}

/** The part of a user's state that analytics depend on. */
interface CountedState {
  /** When Laurel first saw the user, epoch ms; `null` if unknown. */
  createdMs: number | null;
  attributes: [no: number, value: string][];
}

const UNKNOWN: CountedState = { createdMs: null, attributes: [] };

/** The users of an outbox entry as the entry left them. */
export class EntryUsers {
  /** Packed until first asked for. */
  private readonly states = new Map<string, Buffer | CountedState>();

  /** `states`: user IDs and packed states, alternating. */
  constructor(states: readonly Buffer[]) {
    for (let at = 0; at + 1 < states.length; at += 2) this.states.set(states[at]!.toString('utf8'), states[at + 1]!);
  }

  /** Nothing is known about a user whose state is missing or damaged: the event is stored all the same. */
  stateOf(userId: string): CountedState {
    const known = this.states.get(userId);
    if (known === undefined) return UNKNOWN;
    if (!Buffer.isBuffer(known)) return known;
    const state = countedState(known);
    this.states.set(userId, state);
    return state;
  }
}

function countedState(packed: Buffer): CountedState {
  let created: unknown, table: unknown;
  try {
    [created, table] = firstAndOther(packed, USER.attributes);
  } catch {
    return UNKNOWN;
  }
  const attributes: CountedState['attributes'] = [];
  if (typeof table === 'object' && table !== null)
    for (const [no, value] of numbered(table as Numbered<unknown>))
      if (isNo(no) && typeof value === 'string') attributes.push([no, value]);
  return { createdMs: isTime(created) ? created : null, attributes };
}

const isNo = (no: number): boolean => Number.isInteger(no) && no > 0 && no <= 2_147_483_647;

/** Whether a value is a time that a date can have, epoch ms. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 8_640_000_000_000_000;

/**
 * Collects what analytics count about outbox entries. A user is counted in the segments of the attributes that an entry leaves the
 * user with. What a user did stays counted after the user's deletion.
 */
export class AnalyticsTally {
  private readonly counted: CountedUser[] = [];
  private readonly heldValues = new Map<string, HeldValue>();
  private readonly late: Pick<LateActiveDays, 'dayOf'>;

  constructor(late: Pick<LateActiveDays, 'dayOf'>) {
    this.late = late;
  }

  add(tenantNo: number, record: HappenedRecord, users: EntryUsers): void {
    const userId = record[RECORD.userId];
    const state = users.stateOf(userId);
    const facts = (): Fact[] => factsOf(record, state.createdMs, activeDayOf(record) ?? this.late.dayOf(record));
    // An event always has facts.
    if (record[kindField] !== KIND.event && facts().length === 0) return;
    this.count({ tenantNo, userId, facts, returns: returns(record, state.createdMs) }, state);
  }

  addImported(tenantNo: number, record: ImportedRecord, users: EntryUsers): void {
    const userId = record[RECORD.userId];
    const state = users.stateOf(userId);
    this.count({ tenantNo, userId, facts: () => factsOfImport(record, state.createdMs), returns: false }, state);
  }

  /** Counts a fact about a user of a counted record, in the same segments. */
  addTo(tenantNo: number, userId: string, fact: Fact): void {
    const user = this.counted.findLast((counted) => counted.tenantNo === tenantNo && counted.userId === userId);
    this.counted.push({ tenantNo, userId, values: user?.values ?? [], facts: () => [fact], returns: false });
  }

  /** Counts a deleted user in no segment of an attribute, so that none of the user's values becomes known. */
  forget(tenantNo: number, userId: string): void {
    for (const user of this.counted) if (user.tenantNo === tenantNo && user.userId === userId) user.values = [];
    const hash = userHash(userId);
    for (const value of this.heldValues.values()) if (value.tenantNo === tenantNo) value.holders.delete(hash);
  }

  /** Adds the sums in the client's transaction, after the users are stored. Not idempotent. */
  async store(client: PoolClient): Promise<void> {
    if (this.counted.length === 0) return;
    const values = [...this.heldValues.values()].filter(({ holders }) => holders.size > 0);
    const segments = await countedSegments(client, values);
    const returning = this.counted.filter((user) => user.returns);
    const firstSegments = new Map<string, readonly number[]>();
    for (const { tenantNo, userId, segments: first } of await readFirstSegments(client, returning))
      firstSegments.set(userKeyOf(tenantNo, userId), first);
    const { rows, added } = this.sums(segments, firstSegments);
    await addAnalytics(client, rows);
    await storeFirstSegments(client, added);
  }

  /** `firstSegments`: the segments in which users were counted when they were first seen. Those of new users are added to it. */
  private sums(
    { segmentOf, controlShare }: CountedSegments,
    firstSegments: Map<string, readonly number[]>,
  ): { rows: AnalyticsRow[]; added: FirstSegments[] } {
    const sums = new Sums();
    const added = new Map<string, FirstSegments>();
    for (const [place, { tenantNo, userId, values, facts }] of this.counted.entries()) {
      const groups: number[] = [SEGMENT.everyone];
      if (controlShare > 0) groups.push(isControl(userId, controlShare) ? SEGMENT.control : SEGMENT.others);
      const userKey = userKeyOf(tenantNo, userId);
      const own: number[] = [];
      for (const value of values) {
        const segment = segmentOf.get(value);
        if (segment !== undefined && place >= segment.from) own.push(segment.no);
      }
      const segments = sums.of(tenantNo, [...groups, ...own]);
      for (const fact of facts()) {
        if (fact.kind === COUNTED.newUsers) {
          firstSegments.set(userKey, own);
          if (own.length > 0) added.set(userKey, { tenantNo, userId, segments: own });
        }
        if (fact.kind !== COUNTED.retained && fact.kind !== COUNTED.returned) sums.add(segments, fact);
        else sums.add(sums.of(tenantNo, [...groups, ...(firstSegments.get(userKey) ?? [])]), fact);
      }
    }
    return { rows: sums.rows(), added: [...added.values()] };
  }

  private count(user: Omit<CountedUser, 'values'>, { attributes }: CountedState): void {
    const { tenantNo, userId } = user;
    const holder = attributes.length > 0 ? userHash(userId) : 0;
    const values = attributes.map(([attributeNo, text]) =>
      this.held({ tenantNo, attributeNo, value: storableText(text) }, holder),
    );
    this.counted.push({ ...user, values });
  }

  private held(value: UserValue, holder: number): HeldValue {
    const key = valueKey(value);
    let held = this.heldValues.get(key);
    if (held === undefined) this.heldValues.set(key, (held = { ...value, holders: new Map() }));
    if (!held.holders.has(holder)) held.holders.set(holder, this.counted.length);
    return held;
  }
}

const userKeyOf = (tenantNo: number, userId: string): string => `${tenantNo}:${userId}`;

/** The sums of a segment, by a key of the fact. */
interface SegmentSums {
  tenantNo: number;
  segment: number;
  byFact: Map<string, AnalyticsRow>;
}

class Sums {
  private readonly bySegment = new Map<string, SegmentSums>();

  of(tenantNo: number, segments: readonly number[]): SegmentSums[] {
    return segments.map((segment) => {
      const key = `${tenantNo}:${segment}`;
      let sums = this.bySegment.get(key);
      if (sums === undefined) this.bySegment.set(key, (sums = { tenantNo, segment, byFact: new Map() }));
      return sums;
    });
  }

  add(segments: readonly SegmentSums[], { kind, day, subject, part, events, value }: Fact): void {
    const key = `${kind}:${day}:${subject}:${part}`;
    for (const { tenantNo, segment, byFact } of segments) {
      const row = byFact.get(key);
      if (row === undefined) byFact.set(key, { tenantNo, segment, kind, day, subject, part, events, value });
      else {
        row.events += events;
        if (value !== 0n) row.value += value;
      }
    }
  }

  rows(): AnalyticsRow[] {
    return [...this.bySegment.values()].flatMap(({ byFact }) => [...byFact.values()]);
  }
}
