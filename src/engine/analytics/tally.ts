import type { PoolClient } from 'pg';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import { RECORD } from '../../packed/record-fields.ts';
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
import type { NamedUser } from '../../postgres/persist/events.ts';
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
  private values(): HeldValue[] {
    return [...this.heldValues.values()].filter(({ holders }) => holders.size > 0);
  }

  /** Known users whose retention is counted, each once. */
  private returning(): NamedUser[] {
    const users = new Map<string, NamedUser | null>();
    for (const { tenantNo, userId, facts } of this.counted) {
      const key = userKeyOf(tenantNo, userId);
      if (facts.some(isNewUser)) users.set(key, null);
      else if (facts.some(isRetained) && !users.has(key)) users.set(key, { tenantNo, userId });
    }
    return [...users.values()].filter((user) => user !== null);
  }

  /** Adds the sums in the client's transaction, after the users are stored. Not idempotent. */
  async store(client: PoolClient): Promise<void> {
    if (this.counted.length === 0) return;
    const segments = await countedSegments(client, this.values());
    const firstSegments = new Map<string, readonly number[]>();
    for (const { tenantNo, userId, segments: first } of await readFirstSegments(client, this.returning()))
      firstSegments.set(userKeyOf(tenantNo, userId), first);
    const { rows, added } = this.sums(segments, firstSegments);
    await addAnalytics(client, rows);
    await storeFirstSegments(client, added);
  }

  /** `firstSegments`: segments in which users were counted when they were first seen. Adds those of new users. */
  private sums(
    { segmentOf, controlShare }: CountedSegments,
    firstSegments: Map<string, readonly number[]>,
  ): { rows: AnalyticsRow[]; added: FirstSegments[] } {
    const rows = new Map<string, AnalyticsRow>();
    const added = new Map<string, FirstSegments>();
    for (const [place, { tenantNo, userId, values, facts }] of this.counted.entries()) {
      const groups: number[] = [SEGMENT.everyone];
      if (controlShare > 0) groups.push(isControl(userId, controlShare) ? SEGMENT.control : SEGMENT.others);
      const own = values.flatMap((value) => {
        const segment = segmentOf.get(value);
        return segment !== undefined && place >= segment.from ? [segment.no] : [];
      });
      const key = userKeyOf(tenantNo, userId);
      if (facts.some(isNewUser)) {
        firstSegments.set(key, own);
        if (own.length > 0) added.set(key, { tenantNo, userId, segments: own });
      }
      for (const fact of facts) {
        const more = isRetained(fact) ? (firstSegments.get(key) ?? []) : own;
        for (const segment of [...groups, ...more]) addTo(rows, { tenantNo, segment, fact });
      }
    }
    return { rows: [...rows.values()], added: [...added.values()] };
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

const isNewUser = ({ kind }: Fact): boolean => kind === COUNTED.newUsers;
const isRetained = ({ kind }: Fact): boolean => kind === COUNTED.retained;

const userKeyOf = (tenantNo: number, userId: string): string => `${tenantNo}:${userId}`;

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
