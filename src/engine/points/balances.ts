/** Users' balances, and their changes in records. */
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { BalanceChange } from '../../domain/points.ts';
import { uuidText } from '../../domain/schemas.ts';
import { BALANCE, BALANCE_CHANGE, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import type { BalanceChangeRow } from '../../postgres/balance-changes.ts';
import { isoTimeOrNull } from '../../domain/periods.ts';

/** What an idempotency key is scoped by in place of a metric, whose number is above zero: see `balance_changes`. */
export const keyScope = (systemNo: number): number => -systemNo;
export const REFUND_SCOPE = 0;
/** Below minus each number of a points system. */
export const CLAIM_SCOPE = -2_147_483_648;

/** The change of a balance in a record; `null` if it has none. */
export function balanceChangeOf(tenantNo: number, record: HappenedRecord): BalanceChangeRow | null {
  const change = record[RECORD.balance];
  if (change === undefined) return null;
  const kind = change[BALANCE_CHANGE.kind];
  const closes = change[BALANCE_CHANGE.of] || null;
  const systemNo = change[BALANCE_CHANGE.system];
  const isRefund = kind === BALANCE.refund;
  const rewardNo = change[BALANCE_CHANGE.reward] ?? null;
  return {
    id: record[RECORD.id],
    tenantNo,
    userId: record[RECORD.userId],
    systemNo,
    kind,
    amount: change[BALANCE_CHANGE.amount],
    balance: change[BALANCE_CHANGE.balance],
    closes,
    expiresMs: change[BALANCE_CHANGE.expiresMs] || null,
    reason: change[BALANCE_CHANGE.reason] || null,
    reference: change[BALANCE_CHANGE.reference] || null,
    atMs: record[RECORD.atMs],
    metricNo: isRefund ? REFUND_SCOPE : rewardNo === null ? keyScope(systemNo) : CLAIM_SCOPE,
    rewardNo,
    idempotencyKey: isRefund ? closes : change[BALANCE_CHANGE.idempotencyKey] || null,
  };
}

const TYPES = new Map(Object.entries(BALANCE).map(([type, no]) => [no, type as keyof typeof BALANCE]));

export const changeType = ({ kind }: Pick<BalanceChangeRow, 'kind'>): keyof typeof BALANCE => TYPES.get(kind)!;

/** The answer about a change: the same whenever it is asked for. */
export const balanceChangeAnswer = (compiled: CompiledCatalog, row: BalanceChangeRow): BalanceChange => ({
  id: uuidText(row.id),
  type: changeType(row),
  pointsSystem: compiled.pointsSystemsByNo.get(row.systemNo)?.key ?? null,
  amount: row.amount,
  balance: row.balance,
  spendingId: row.closes === null ? null : uuidText(row.closes),
  expiresAt: isoTimeOrNull(row.expiresMs),
  reason: row.reason,
  reference: row.reference,
  ...(row.rewardNo !== null && { reward: compiled.rewardsByNo.get(row.rewardNo)?.key ?? null }),
  createdAt: new Date(row.atMs).toISOString(),
});
