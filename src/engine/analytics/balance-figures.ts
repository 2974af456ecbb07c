import type { Pool } from 'pg';
import { COUNTED } from '../../domain/analytics.ts';
import { microsNumber } from '../../domain/decimal.ts';
import { BALANCE } from '../../packed/record-fields.ts';
import { readSumsTogether, type AnalyticsSum, type AskedSums } from '../../postgres/analytics.ts';

/** What happened to balances in a points system, apart from points awarded and taken. */
export interface BalanceChanges {
  /** Spent at once, or by capturing a hold. */
  spent: number;
  refunded: number;
  expired: number;
  /** How much more points are held afterwards; negative if less. */
  held: number;
}

/** Sums of both kinds (`COUNTED.balanceChanges`, `COUNTED.holdsEnded`) of one points system. */
export function balanceChangesOf(sums: readonly AnalyticsSum[]): BalanceChanges {
  let holdsEnded = 0n;
  const byKind = new Map<number, bigint>();
  for (const { kind, part, value } of sums)
    if (kind === COUNTED.holdsEnded) holdsEnded += value;
    else if (kind === COUNTED.balanceChanges) byKind.set(part, (byKind.get(part) ?? 0n) + value);
  const of = (kind: number): bigint => byKind.get(kind) ?? 0n;
  return {
    spent: microsNumber(of(BALANCE.spend) + of(BALANCE.capture)),
    refunded: microsNumber(of(BALANCE.refund)),
    expired: microsNumber(of(BALANCE.expire)),
    held: microsNumber(of(BALANCE.hold) - of(BALANCE.capture) - of(BALANCE.release) - holdsEnded),
  };
}

/** Points that were awarded and not taken, less those that were spent, held or expired. */
export const balanceOfAll = (net: number, { spent, refunded, expired, held }: BalanceChanges): number =>
  net - spent + refunded - expired - held;

type OfSegment = Pick<AskedSums, 'tenantNo' | 'segment'>;

/**
 * The changes up to the end of a day, by points system. On the present day (`today`, UTC) they are those up to now, also of users in
 * whose zone the next day has begun.
 */
export async function changesUpTo(
  pool: Pool,
  { tenantNo, segment, day, today }: OfSegment & { day: number; today: number },
): Promise<(systemNo: number) => BalanceChanges> {
  const upTo = (toDay: number, kind: AskedSums['kinds'][number]): Promise<AnalyticsSum[]> =>
    readSumsTogether(pool, { tenantNo, segment, kinds: [kind], fromDay: 0, toDay });
  const [changes, ended] = await Promise.all([
    upTo(day >= today ? today + 1 : day, COUNTED.balanceChanges),
    upTo(Math.min(day, today), COUNTED.holdsEnded),
  ]);
  return (systemNo) => balanceChangesOf([...changes, ...ended].filter(({ subject }) => subject === systemNo));
}

/** Points awarded minus points taken up to the end of a day, by points system. The present day is as in `changesUpTo`. */
export async function netUpTo(
  pool: Pool,
  { tenantNo, segment, day, today }: OfSegment & { day: number; today: number },
): Promise<(systemNo: number) => number> {
  const ever = readSumsTogether(pool, { tenantNo, segment, kinds: [COUNTED.pointsEver], fromDay: 0, toDay: 0 });
  const later =
    day >= today
      ? []
      : readSumsTogether(pool, {
          tenantNo,
          segment,
          kinds: [COUNTED.awarded, COUNTED.taken],
          fromDay: day + 1,
          toDay: today + 2,
        });
  const [total, after] = await Promise.all([ever, later]);
  return (systemNo) => {
    const sum = (sums: readonly AnalyticsSum[]): bigint => sums.reduce((all, { value }) => all + value, 0n);
    const since = (kind: number): bigint => sum(after.filter((row) => row.part === systemNo && row.kind === kind));
    const all = sum(total.filter(({ subject }) => subject === systemNo));
    return microsNumber(all - since(COUNTED.awarded) + since(COUNTED.taken));
  };
}
