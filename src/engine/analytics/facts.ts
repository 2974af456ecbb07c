import { completedIn } from '../../packed/completed.ts';
import { COUNTED, durationOf, mondayOf, monthOf, RETURN_DAYS, sizeOf, type Counted } from '../../domain/analytics.ts';
import type {
  HappenedRecord,
  ImportedRecord,
  PackedCompletion,
  RecordedAward,
  RecordedBalanceChange,
  RecordedSettlement,
} from '../../packed/record.ts';
import {
  AWARD,
  BALANCE,
  BALANCE_CHANGE,
  COMPLETED,
  IMPORTED_AWARD,
  IMPORTED_DAY,
  KIND,
  kindField,
  RECOMPUTATION,
  RECORD,
  RECORDED_POINTS,
  RECORDED_STREAK,
  REVERSAL,
  SETTLEMENT,
} from '../../packed/record-fields.ts';
import type { PackedTotal } from '../../packed/state.ts';
import { TOTAL } from '../../packed/user-fields.ts';
import { activeDayOf, isLate, newActiveDay, type NewActiveDay } from './active-days.ts';
import { epochDay } from '../../domain/periods.ts';

/** A change of one sum; `COUNTED` describes the fields of each kind. */
export interface Fact {
  kind: Counted;
  day: number;
  subject: number;
  part: number;
  /** Negative to take back an earlier fact. */
  events: number;
  value: Micros;
}

/** Millionths: a number while it is a safe integer, so that adding is cheap; otherwise a bigint. */
export type Micros = number | bigint;

/** The sum of two, exact at any size. */
export function addMicros(a: Micros, b: Micros): Micros {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return BigInt(a) + BigInt(b);
}

const MILLION = 1_000_000;
/** Below this number of whole units, millionths are safe integers. */
const SMALL = 9e9;

const inMicros = (whole: number, micros = 0): Micros =>
  Math.abs(whole) < SMALL ? whole * MILLION + micros : BigInt(whole) * BigInt(MILLION) + BigInt(micros);

const fact = (
  kind: Counted,
  day: number,
  { subject = 0, part = 0, events = 1, value = 0 }: Partial<Omit<Fact, 'kind' | 'day'>> = {},
): Fact => ({ kind, day, subject, part, events, value });

const microsOf = (packed: PackedTotal): Micros => inMicros(packed[TOTAL.whole], packed[TOTAL.micros]);

/**
 * Facts about a record. `createdMs`: when Laurel first saw the user; if it is `null`, facts that depend on it are left out.
 * `active`: the day on which the record makes the user active for the first time.
 */
export function factsOf(record: HappenedRecord, createdMs: number | null, active: NewActiveDay | null): Fact[] {
  const facts: Fact[] = [];
  const kind = record[kindField];
  const day = epochDay(record[RECORD.atMs]);
  if (record[RECORD.isNew] !== undefined) facts.push(fact(COUNTED.newUsers, day));
  if (active !== null) addActive(facts, active, createdMs);
  if (kind === KIND.event || kind === KIND.reversal) addEvent(facts, record);
  for (const { achievementNo: achievement, quest } of completedIn(record))
    addCompletion(facts, {
      achievement,
      atMs: record[RECORD.atMs],
      createdMs: quest === null ? createdMs : null,
      events: 1,
    });
  addMoved(facts, record, createdMs);
  for (const points of record[RECORD.points] ?? [])
    for (const award of points[RECORDED_POINTS.awards])
      addAward(facts, award, { day: award[AWARD.day] ?? record[RECORD.day], system: points[RECORDED_POINTS.system] });
  const balance = record[RECORD.balance];
  if (balance !== undefined) addBalanceChange(facts, balance, record[RECORD.day]);
  addSettlements(facts, record[RECORD.settlements], record[RECORD.atMs]);
  addSettlements(facts, record[RECORD.repairs], record[RECORD.atMs]);
  return facts;
}

/** Whether a record has an event of a known user that may count as retention: the first of a week, or of one of `RETURN_DAYS`. */
export function returns(record: HappenedRecord, createdMs: number | null): boolean {
  if (record[RECORD.isNew] !== undefined) return false;
  if (isLate(record)) return true;
  const active = activeDayOf(record);
  return active !== null && (active.isNewInWeek || RETURN_DAYS.includes(daysSince(createdMs, active.day)));
}

/** Days from the one on which Laurel first saw a user; NaN if that is unknown. */
const daysSince = (createdMs: number | null, day: number): number =>
  createdMs === null ? NaN : day - epochDay(createdMs);

function addActive(facts: Fact[], { day, isNewInWeek, isNewInMonth }: NewActiveDay, createdMs: number | null): void {
  facts.push(fact(COUNTED.activeOnDay, day));
  const after = daysSince(createdMs, day);
  if (RETURN_DAYS.includes(after)) facts.push(fact(COUNTED.returned, day, { part: after }));
  if (isNewInMonth) facts.push(fact(COUNTED.activeInMonth, monthOf(day)));
  if (!isNewInWeek) return;
  const week = mondayOf(day);
  facts.push(fact(COUNTED.activeInWeek, week));
  if (createdMs !== null) facts.push(fact(COUNTED.retained, week, { part: mondayOf(epochDay(createdMs)) }));
}

function addEvent(facts: Fact[], record: HappenedRecord): void {
  const subject = record[RECORD.metric] ?? 0;
  const packed = record[RECORD.value];
  const value = packed === undefined ? 0 : microsOf(packed);
  const day = record[RECORD.occurredDay] ?? record[RECORD.day];
  const reversal = record[RECORD.reversal];
  // A reversal removes an event; a reversal of the reversal restores it.
  const isGone = reversal?.[REVERSAL.voids] === 1;
  const events = isGone ? -1 : 1;
  facts.push(fact(COUNTED.events, day, { subject, events, value }));
  facts.push(fact(COUNTED.sizes, day, { subject, part: sizeOf(isGone ? -value : value), events }));
  if (reversal === undefined && record[RECORD.streak]?.[RECORDED_STREAK.extended] === 1)
    facts.push(fact(COUNTED.streaksExtended, day));
}

/** `createdMs`: `null` also for repeating achievements, whose completions have no one time after the user came. */
function addCompletion(
  facts: Fact[],
  completion: { achievement: number; atMs: number; createdMs: number | null; events: number },
): void {
  const { achievement: subject, atMs, createdMs, events } = completion;
  const day = epochDay(atMs);
  facts.push(fact(COUNTED.completed, day, { subject, events }));
  if (createdMs !== null)
    facts.push(fact(COUNTED.durations, mondayOf(day), { subject, part: durationOf(atMs - createdMs), events }));
}

/** Completions that a reversal or a recomputation revoked or restored. */
function addMoved(facts: Fact[], record: HappenedRecord, createdMs: number | null): void {
  const reversal = record[RECORD.reversal];
  const recomputation = record[RECORD.recomputation];
  const add = (list: PackedCompletion[] | undefined, events: number): void => {
    // An empty Lua table is packed as a map.
    if (!Array.isArray(list)) return;
    for (const each of list)
      addCompletion(facts, {
        achievement: each[COMPLETED.achievement],
        atMs: each[COMPLETED.atMs],
        createdMs: each[COMPLETED.period] ? null : createdMs,
        events,
      });
  };
  add(reversal?.[REVERSAL.revoked], -1);
  add(reversal?.[REVERSAL.restored], 1);
  add(recomputation?.[RECOMPUTATION.revoked], -1);
  add(recomputation?.[RECOMPUTATION.restored], 1);
}

function addAward(
  facts: Fact[],
  award: Pick<RecordedAward, typeof AWARD.trigger | typeof AWARD.awarded>,
  { day, system: part }: { day: number; system: number },
): void {
  const { [AWARD.trigger]: subject, [AWARD.awarded]: points } = award;
  const value = inMicros(Math.abs(points));
  facts.push(fact(points < 0 ? COUNTED.taken : COUNTED.awarded, day, { subject, part, value }));
  facts.push(fact(COUNTED.pointsEver, 0, { subject: part, value: inMicros(points) }));
}

/** A change of a balance. A hold ends by itself unless it is captured or released, which leaves no record. */
function addBalanceChange(facts: Fact[], change: RecordedBalanceChange, day: number): void {
  const { [BALANCE_CHANGE.system]: subject, [BALANCE_CHANGE.kind]: part } = change;
  const value = inMicros(change[BALANCE_CHANGE.amount]);
  facts.push(fact(COUNTED.balanceChanges, day, { subject, part, value }));
  const endDay = change[BALANCE_CHANGE.holdEndDay];
  // A hold without the day was recorded by an older version.
  if (endDay === undefined || endDay === false) return;
  const ended = part === BALANCE.hold ? { subject, value } : { subject, events: -1, value: -value };
  facts.push(fact(COUNTED.holdsEnded, endDay + 1, ended));
}

function addSettlements(facts: Fact[], settlements: RecordedSettlement[] | undefined, atMs: number): void {
  for (const settlement of settlements ?? [])
    // A correction of freezes alone has no frequency.
    if (settlement[SETTLEMENT.frequency] > 0) facts.push(settlementFact(settlement, atMs));
}

const settlementFact = (settlement: RecordedSettlement, atMs: number): Fact =>
  fact(COUNTED.streakChanges, epochDay(settlement[SETTLEMENT.atMs] ?? atMs), {
    subject: settlement[SETTLEMENT.frequency],
    part: settlement[SETTLEMENT.kind],
  });

/** Takes back the fact about a stored change of a streak. */
export const supersededFact = ({ frequency, kind, atMs }: { frequency: number; kind: number; atMs: number }): Fact =>
  fact(COUNTED.streakChanges, epochDay(atMs), { subject: frequency, part: kind, events: -1 });

/** Facts about an imported user. An imported day has a sum but no number of events, and counts as active. */
export function factsOfImport(record: ImportedRecord, createdMs: number | null): Fact[] {
  const atMs = record[RECORD.atMs];
  const facts = [fact(COUNTED.newUsers, epochDay(createdMs ?? atMs))];
  for (const each of record[RECORD.days])
    facts.push(
      fact(COUNTED.events, each[IMPORTED_DAY.day], {
        subject: each[IMPORTED_DAY.metric],
        events: 0,
        value: BigInt(each[IMPORTED_DAY.change]),
      }),
    );
  const days = [...new Set(record[RECORD.days].map((each) => each[IMPORTED_DAY.day]))].toSorted((a, b) => a - b);
  for (const [index, day] of days.entries()) addActive(facts, newActiveDay(day, days[index - 1] ?? -1), createdMs);
  for (const each of record[RECORD.completions])
    addCompletion(facts, {
      achievement: each[COMPLETED.achievement],
      atMs: each[COMPLETED.atMs],
      createdMs: each[COMPLETED.period] ? null : createdMs,
      events: 1,
    });
  for (const each of record[RECORD.awards]) {
    const award = { [AWARD.trigger]: each[IMPORTED_AWARD.trigger], [AWARD.awarded]: each[IMPORTED_AWARD.awarded] };
    addAward(facts, award, { day: each[IMPORTED_AWARD.day], system: each[IMPORTED_AWARD.system] });
  }
  for (const settlement of record[RECORD.settlements]) facts.push(settlementFact(settlement, atMs));
  return facts;
}
