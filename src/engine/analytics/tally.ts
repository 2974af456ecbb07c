import { SEGMENT } from '../../domain/analytics.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, ImportedRecord } from '../../packed/record.ts';
import { unpackState, type PackedState } from '../../packed/state.ts';
import { isPackedState, numbered, type Numbered } from '../../packed/unpack-state.ts';
import { USER } from '../../packed/user-fields.ts';
import type { AnalyticsRow, CountedSegments, UserValue } from '../../postgres/analytics.ts';
import { isControl } from '../responses.ts';
import { factsOf, factsOfImport, type Fact } from './facts.ts';

interface CountedUser {
  tenantNo: number;
  userId: string;
  /** Attribute number → value, as the last entry about the user left them. */
  attributes: [no: number, value: string][];
  facts: Fact[];
}

/** The part of a user's state that analytics depend on. */
interface CountedState {
  /** When Laurel first saw the user, epoch ms; `null` if unknown. */
  createdMs: number | null;
  attributes: CountedUser['attributes'];
}

const UNKNOWN: CountedState = { createdMs: null, attributes: [] };

/** The users of an outbox entry as the entry left them, unpacked when first asked for. */
export class EntryUsers {
  private readonly packed = new Map<string, Buffer>();
  private readonly unpacked = new Map<string, CountedState>();

  /** `states`: user IDs and packed states, alternating. */
  constructor(states: readonly Buffer[]) {
    for (let at = 0; at + 1 < states.length; at += 2) this.packed.set(states[at]!.toString('utf8'), states[at + 1]!);
  }

  /** Nothing is known of a user whom the entry lacks or whose state is damaged: the event is stored all the same. */
  stateOf(userId: string): CountedState {
    let state = this.unpacked.get(userId);
    if (state !== undefined) return state;
    state = countedState(this.packed.get(userId));
    this.unpacked.set(userId, state);
    return state;
  }
}

function countedState(packed: Buffer | undefined): CountedState {
  if (packed === undefined || !isPackedState(packed)) return UNKNOWN;
  let state: PackedState;
  try {
    state = unpackState(packed);
  } catch {
    return UNKNOWN;
  }
  const createdMs: unknown = state[USER.createdMs];
  const table: unknown = state[USER.attributes];
  const attributes =
    typeof table === 'object' && table !== null ? [...numbered<unknown>(table as Numbered<unknown>)] : [];
  return {
    createdMs: isTime(createdMs) ? createdMs : null,
    attributes: attributes.filter((each): each is [number, string] => isNo(each[0]) && typeof each[1] === 'string'),
  };
}

const isNo = (no: number): boolean => Number.isInteger(no) && no > 0 && no <= 2_147_483_647;

/** Whether a value is a time that a date can have, epoch ms. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 8_640_000_000_000_000;

/**
 * Gathers what analytics count of outbox entries. A user is counted in the segments of the attributes that an entry leaves the user with. What a
 * user did who is deleted later stays counted.
 */
export class AnalyticsTally {
  private readonly counted: CountedUser[] = [];

  add(tenantNo: number, record: HappenedRecord, users: EntryUsers): void {
    const state = users.stateOf(record[RECORD.userId]);
    this.count(tenantNo, record[RECORD.userId], state, factsOf(record, state.createdMs));
  }

  addImported(tenantNo: number, record: ImportedRecord, users: EntryUsers): void {
    const state = users.stateOf(record[RECORD.userId]);
    this.count(tenantNo, record[RECORD.userId], state, factsOfImport(record, state.createdMs));
  }

  /** Counts a fact about a user of whom a record was counted, in the same segments. */
  addTo(tenantNo: number, userId: string, fact: Fact): void {
    const user = this.counted.findLast((counted) => counted.tenantNo === tenantNo && counted.userId === userId);
    this.counted.push({ tenantNo, userId, attributes: user?.attributes ?? [], facts: [fact] });
  }

  /** No value of a user who was deleted may become known as a segment. */
  forget(tenantNo: number, userId: string): void {
    for (const user of this.counted) if (user.tenantNo === tenantNo && user.userId === userId) user.attributes = [];
  }

  /** Every value of an attribute that a counted user has, once. */
  values(): UserValue[] {
    const values = new Map<string, UserValue>();
    for (const { tenantNo, attributes } of this.counted)
      for (const [attributeNo, value] of attributes)
        values.set(keyOf(tenantNo, attributeNo, value), { tenantNo, attributeNo, value });
    return [...values.values()];
  }

  /** The sums to add. `segments`: those of `values()`. Groups are counted while there is a control group. */
  rows({ segments, controlShare }: CountedSegments): AnalyticsRow[] {
    const segmentOf = new Map<string, number | null>();
    for (const [at, { tenantNo, attributeNo, value }] of this.values().entries())
      segmentOf.set(keyOf(tenantNo, attributeNo, value), segments[at] ?? null);
    const rows = new Map<string, AnalyticsRow>();
    for (const { tenantNo, userId, attributes, facts } of this.counted) {
      const of: number[] = [SEGMENT.everyone];
      if (controlShare > 0) of.push(isControl(userId, controlShare) ? SEGMENT.control : SEGMENT.others);
      for (const [attributeNo, value] of attributes) {
        const segment = segmentOf.get(keyOf(tenantNo, attributeNo, value)) ?? null;
        if (segment !== null) of.push(segment);
      }
      for (const fact of facts) for (const segment of of) addTo(rows, { tenantNo, segment, fact });
    }
    return [...rows.values()];
  }

  private count(tenantNo: number, userId: string, { attributes }: CountedState, facts: Fact[]): void {
    if (facts.length > 0) this.counted.push({ tenantNo, userId, attributes, facts });
  }
}

const keyOf = (tenantNo: number, attributeNo: number, value: string): string => `${tenantNo}:${attributeNo}:${value}`;

function addTo(
  rows: Map<string, AnalyticsRow>,
  { tenantNo, segment, fact }: { tenantNo: number; segment: number; fact: Fact },
): void {
  const { kind, day, subject, part, events, value } = fact;
  const key = `${tenantNo}:${kind}:${segment}:${day}:${subject}:${part}`;
  const row = rows.get(key);
  if (row === undefined) {
    rows.set(key, { tenantNo, segment, kind, day, subject, part, events, value });
    return;
  }
  row.events += events;
  row.value += value;
}
