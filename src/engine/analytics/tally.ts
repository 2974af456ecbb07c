import { SEGMENT } from '../../domain/analytics.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, ImportedRecord } from '../../packed/record.ts';
import { firstAndOther, numbered, type Numbered } from '../../packed/unpack-state.ts';
import { USER } from '../../packed/user-fields.ts';
import {
  valueKey,
  type AnalyticsRow,
  type CountedSegments,
  type HeldValue,
  type UserValue,
} from '../../postgres/analytics.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { userHash } from '../leaderboards/snapshot-parts.ts';
import { isControl } from '../responses.ts';
import { factsOf, factsOfImport, type Fact } from './facts.ts';

/** A user of some outbox entries that follow one another, and what is counted of the user. */
interface CountedUser {
  tenantNo: number;
  userId: string;
  /** As the entry left them. */
  values: readonly HeldValue[];
  facts: Fact[];
}

/** The part of a user's state that analytics depend on. */
interface CountedState {
  /** When Laurel first saw the user, epoch ms; `null` if unknown. */
  createdMs: number | null;
  attributes: [no: number, value: string][];
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
  if (packed === undefined) return UNKNOWN;
  let created: unknown, table: unknown;
  try {
    [created, table] = firstAndOther(packed, USER.attributes);
  } catch {
    return UNKNOWN;
  }
  const attributes =
    typeof table === 'object' && table !== null ? [...numbered<unknown>(table as Numbered<unknown>)] : [];
  return {
    createdMs: isTime(created) ? created : null,
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
  private readonly heldValues = new Map<string, HeldValue>();

  /** Counts a record whose fields were checked. */
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
    this.counted.push({ tenantNo, userId, values: user?.values ?? [], facts: [fact] });
  }

  /** A user who was deleted is counted in no segment of an attribute, so that no value becomes known. */
  forget(tenantNo: number, userId: string): void {
    for (const user of this.counted) if (user.tenantNo === tenantNo && user.userId === userId) user.values = [];
    const hash = userHash(userId);
    for (const value of this.heldValues.values()) if (value.tenantNo === tenantNo) value.holders.delete(hash);
  }

  /** The distinct values of the counted users. */
  values(): HeldValue[] {
    return [...this.heldValues.values()].filter(({ holders }) => holders.size > 0);
  }

  /** The sums to add. `segmentOf`: of `values()`. Groups are counted while there is a control group. */
  rows({ segmentOf, controlShare }: CountedSegments): AnalyticsRow[] {
    const rows = new Map<string, AnalyticsRow>();
    for (const [place, { tenantNo, userId, values, facts }] of this.counted.entries()) {
      const segments: number[] = [SEGMENT.everyone];
      if (controlShare > 0) segments.push(isControl(userId, controlShare) ? SEGMENT.control : SEGMENT.others);
      for (const value of values) {
        const segment = segmentOf.get(value);
        if (segment !== undefined && place >= segment.from) segments.push(segment.no);
      }
      for (const fact of facts) for (const segment of segments) addTo(rows, { tenantNo, segment, fact });
    }
    return [...rows.values()];
  }

  private count(tenantNo: number, userId: string, { attributes }: CountedState, facts: Fact[]): void {
    if (facts.length === 0) return;
    const holder = attributes.length > 0 ? userHash(userId) : 0;
    const values = attributes.map(([attributeNo, text]) =>
      this.held({ tenantNo, attributeNo, value: storableText(text) }, holder),
    );
    this.counted.push({ tenantNo, userId, values, facts });
  }

  private held(value: UserValue, holder: number): HeldValue {
    const key = valueKey(value);
    let held = this.heldValues.get(key);
    if (held === undefined) this.heldValues.set(key, (held = { ...value, holders: new Map() }));
    if (!held.holders.has(holder)) held.holders.set(holder, this.counted.length);
    return held;
  }
}

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
