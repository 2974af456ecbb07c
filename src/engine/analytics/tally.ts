import type { PoolClient } from 'pg';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, ImportedRecord } from '../../packed/record.ts';
import { firstAndOther, numbered, type Numbered } from '../../packed/unpack-state.ts';
import { USER } from '../../packed/user-fields.ts';
import { addAnalytics, type AnalyticsRow } from '../../postgres/analytics.ts';
import {
  type CountedSegments,
  countedSegments,
  type FirstSegments,
  type HeldValue,
  readFirstSegments,
  storeFirstSegments,
} from '../../postgres/analytics-segments.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { userHash } from '../leaderboards/snapshot-parts.ts';
import { isControl } from '../responses/users.ts';
import { activeDayOf, type LateActiveDays } from './active-days.ts';
import { addMicros, factsOf, factsOfImport, returns, type Fact, type Micros } from './facts.ts';

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

const NONE: [] = [];
const UNKNOWN: CountedState = { createdMs: null, attributes: NONE };

/** The users of an outbox entry as the entry left them. */
export class EntryUsers {
  /** In the order of the entry. */
  readonly ids: string[] = [];
  /** Packed until first asked for. */
  private readonly states = new Map<string, Buffer | CountedState>();

  /** `states`: user IDs and packed states, alternating. */
  constructor(states: readonly Buffer[]) {
    for (let at = 0; at + 1 < states.length; at += 2) {
      const id = states[at]!.toString('utf8');
      this.ids.push(id);
      this.states.set(id, states[at + 1]!);
    }
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
  const createdMs = isTime(created) ? created : null;
  if (typeof table !== 'object' || table === null) return { createdMs, attributes: NONE };
  const attributes: CountedState['attributes'] = [];
  for (const [no, value] of numbered(table as Numbered<unknown>))
    if (isNo(no) && typeof value === 'string') attributes.push([no, value]);
  return { createdMs, attributes };
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
  /** By tenant, attribute and value. */
  private readonly heldValues = new Map<number, Map<number, Map<string, HeldValue>>>();
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
    const values = this.valuesOf(tenantNo, userId, state);
    this.counted.push({ tenantNo, userId, values, facts, returns: returns(record, state.createdMs) });
  }

  addImported(tenantNo: number, record: ImportedRecord, users: EntryUsers): void {
    const userId = record[RECORD.userId];
    const state = users.stateOf(userId);
    const facts = (): Fact[] => factsOfImport(record, state.createdMs);
    this.counted.push({ tenantNo, userId, values: this.valuesOf(tenantNo, userId, state), facts, returns: false });
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
    for (const value of this.held()) if (value.tenantNo === tenantNo) value.holders.delete(hash);
  }

  /** Adds the sums in the client's transaction, after the users are stored. Not idempotent. */
  async store(client: PoolClient): Promise<void> {
    if (this.counted.length === 0) return;
    const values = this.held().filter(({ holders }) => holders.size > 0);
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
      const groups = [sums.of(tenantNo, SEGMENT.everyone)];
      if (controlShare > 0)
        groups.push(sums.of(tenantNo, isControl(userId, controlShare) ? SEGMENT.control : SEGMENT.others));
      const segments = [...groups];
      for (const value of values) {
        const segment = segmentOf.get(value);
        if (segment !== undefined && place >= segment.from) segments.push(sums.of(tenantNo, segment.no));
      }
      for (const fact of facts()) {
        if (fact.kind === COUNTED.newUsers) {
          const own = segments.slice(groups.length).map(({ segment }) => segment);
          firstSegments.set(userKeyOf(tenantNo, userId), own);
          if (own.length > 0) added.set(userKeyOf(tenantNo, userId), { tenantNo, userId, segments: own });
        }
        const isOfFirst = fact.kind === COUNTED.retained || fact.kind === COUNTED.returned;
        const first = isOfFirst ? (firstSegments.get(userKeyOf(tenantNo, userId)) ?? NONE) : null;
        sums.add(first === null ? segments : [...groups, ...first.map((no) => sums.of(tenantNo, no))], fact);
      }
    }
    return { rows: sums.rows(), added: [...added.values()] };
  }

  private valuesOf(tenantNo: number, userId: string, { attributes }: CountedState): readonly HeldValue[] {
    if (attributes.length === 0) return NONE;
    const holder = userHash(userId);
    const ofTenant = innerMap(this.heldValues, tenantNo);
    return attributes.map(([attributeNo, text]) => {
      const value = storableText(text);
      const ofAttribute = innerMap(ofTenant, attributeNo);
      let entry = ofAttribute.get(value);
      if (entry === undefined) {
        entry = { tenantNo, attributeNo, value, holders: new Map<number, number>() };
        ofAttribute.set(value, entry);
      }
      if (!entry.holders.has(holder)) entry.holders.set(holder, this.counted.length);
      return entry;
    });
  }

  private held(): HeldValue[] {
    const ofTenants = [...this.heldValues.values()];
    return ofTenants.flatMap((tenant) => [...tenant.values()].flatMap((attribute) => [...attribute.values()]));
  }
}

const userKeyOf = (tenantNo: number, userId: string): string => `${tenantNo}:${userId}`;

/** The map of a key, which is added if it is missing. */
function innerMap<K, V>(maps: Map<number, Map<K, V>>, key: number): Map<K, V> {
  let inner = maps.get(key);
  if (inner === undefined) maps.set(key, (inner = new Map<K, V>()));
  return inner;
}

/** The sums of a segment, by the place of the fact in `Sums`; `undefined` for facts that it lacks. */
interface SegmentSums {
  tenantNo: number;
  segment: number;
  events: (number | undefined)[];
  values: (Micros | undefined)[];
}

type CountedFact = Pick<Fact, 'kind' | 'day' | 'subject' | 'part'>;

/** Sums by segment and fact. A fact is looked up once for all its segments; keys are numbers, because building texts cost more than all else. */
class Sums {
  private readonly segments: SegmentSums[] = [];
  private readonly facts: CountedFact[] = [];
  /** By tenant and segment. */
  private readonly bySegment = new Map<number, Map<number, SegmentSums>>();
  /** The places of facts by kind, day, subject and part. */
  private readonly places = new Map<number, Map<number, Map<number, Map<number, number>>>>();

  of(tenantNo: number, segment: number): SegmentSums {
    const ofTenant = innerMap(this.bySegment, tenantNo);
    let sums = ofTenant.get(segment);
    if (sums === undefined) {
      ofTenant.set(segment, (sums = { tenantNo, segment, events: [], values: [] }));
      this.segments.push(sums);
    }
    return sums;
  }

  add(segments: readonly SegmentSums[], fact: Fact): void {
    const place = this.placeOf(fact);
    for (const { events, values } of segments) {
      events[place] = (events[place] ?? 0) + fact.events;
      values[place] = addMicros(values[place] ?? 0, fact.value);
    }
  }

  rows(): AnalyticsRow[] {
    return this.segments.flatMap(({ tenantNo, segment, events, values }) =>
      this.facts.flatMap((fact, place) => {
        const [sum, value] = [events[place], values[place]];
        return sum === undefined ? [] : { tenantNo, segment, ...fact, events: sum, value: BigInt(value ?? 0) };
      }),
    );
  }

  private placeOf({ kind, day, subject, part }: Fact): number {
    const byPart = innerMap(innerMap(innerMap(this.places, kind), day), subject);
    let place = byPart.get(part);
    if (place === undefined) {
      byPart.set(part, (place = this.facts.length));
      this.facts.push({ kind, day, subject, part });
    }
    return place;
  }
}
