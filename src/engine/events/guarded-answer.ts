import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decimalNumber, decimalText } from '../../domain/decimal.ts';
import { GUARD_NAMES, type GuardName } from '../../domain/guards.ts';
import { AppError } from '../../errors.ts';
import type { GuardedRecord, HappenedRecord } from '../../packed/record.ts';
import { GUARD, GUARD_ACTION, GUARDED, QUARANTINED } from '../../packed/guard-fields.ts';
import { RECORD } from '../../packed/record-fields.ts';
import { decimalOf } from '../../packed/state.ts';

const NAMES = new Map<number, GuardName>(GUARD_NAMES.map((name) => [GUARD[name], name]));

/** The guard of a number (GUARD). */
export const guardName = (guard: number): GuardName => NAMES.get(guard)!;

const LIMITS: Record<GuardName, string> = {
  minValue: 'the value must be at least',
  maxValue: 'the value must be at most',
  minSecondsBetween: 'seconds between two events of a user must be at least',
  maxSumPerHour: 'the sum of a user in an hour must be at most',
  maxSumPerDay: 'the sum of a user in a day must be at most',
  maxTotal: "a user's total must be at most",
};

/** Whether the event of a record is kept in quarantine. */
export const isQuarantined = (record: GuardedRecord): boolean =>
  record[RECORD.guard][GUARDED.action] === GUARD_ACTION.quarantined;

/** Why a guard refused an event. The metric, or the guard, may be gone by now. */
export function guardError(compiled: CompiledCatalog, record: GuardedRecord): AppError {
  const name = guardName(record[RECORD.guard][GUARDED.guard]);
  const metric = compiled.metricsByNo.get(record[RECORD.metric] ?? 0);
  const limit = metric?.guards?.[name]?.limit;
  const rule = limit === undefined ? '' : `: ${LIMITS[name]} ${limit}`;
  const full =
    record[RECORD.guard][GUARDED.action] === GUARD_ACTION.full
      ? ' The event would be kept in quarantine, which holds as many as it may of this user or in all.'
      : '';
  return new AppError(
    'refused_by_guard',
    `Refused by the guard '${name}' of the metric '${metric?.key}'${rule}.${full}`,
  );
}

/** What a guard did to an event that was applied all the same, as JSON text of a field behind others; '' for none. */
export function clampedJson(record: HappenedRecord): string {
  const guard = record[RECORD.guard];
  if (guard === undefined) return '';
  const value = decimalText(decimalOf(record[RECORD.value]!));
  return `,"guarded":{"guard":"${guardName(guard[GUARDED.guard])}","action":"clamp","value":${value}}`;
}

/** The same of one that is kept in quarantine. */
export const quarantinedJson = (guard: number): string =>
  `,"guarded":{"guard":"${guardName(guard)}","action":"quarantine"}`;

/** The guard for which an event (32 hex digits) waits among those of a user (QUARANTINED); null: it does not. */
export function quarantinedBy(events: string | undefined, eventId: string): number | null {
  for (let at = 0; at < (events?.length ?? 0); at += QUARANTINED.length)
    if (events!.startsWith(eventId, at)) return Number(events![at + QUARANTINED.idLength]);
  return null;
}

/** The same in words, for the results of a batch. */
export const guardedResult = (
  record: HappenedRecord,
): { guarded?: { guard: GuardName; action: 'clamp'; value: number } } => {
  const guard = record[RECORD.guard];
  if (guard === undefined) return {};
  const value = decimalNumber(decimalOf(record[RECORD.value]!));
  return { guarded: { guard: guardName(guard[GUARDED.guard]), action: 'clamp', value } };
};
